/* SPDX-License-Identifier: Apache-2.0 */
#include "device_map_kit.h"

#include <string.h>
#if defined(SLI_FAKE_CUDA)
#include "fake_cuda.h"
#endif

const sluice_column device_map_sum_column = {.name = "sum", .dtype = SLUICE_I32};
const sluice_column device_map_pair_column = {
    .name = "label", .dtype = SLUICE_I32, .rank = 1, .shape = {2}};
const sluice_column device_map_view_column = {
    .name = "view", .dtype = SLUICE_I64, .rank = 1, .shape = {4}};

/* ---- bodies ---------------------------------------------------------------------------------- */

static void sum_body(const sluice_step *step, const sluice_tensor *outputs)
{
    const sluice_tensor *image = sluice_step_input(step, "image");
    const size_t bytes = image->bytes / image->shape[0];

    for (uint64_t row = 0; row < image->shape[0]; row++) {
        int32_t sum = 0;

        for (size_t i = 0; i < bytes; i++) {
            sum += ((const uint8_t *)image->data)[row * bytes + i];
        }
        ((int32_t *)outputs[0].data)[row] = sum;
    }
}

static void pair_body(const sluice_step *step, const sluice_tensor *outputs)
{
    const int32_t *label = sluice_step_input(step, "label")->data;
    const int32_t *sum = sluice_step_input(step, "sum")->data;

    for (uint64_t row = 0; row < outputs[0].shape[0]; row++) {
        ((int32_t *)outputs[0].data)[2 * row] = label[row] + 1000;
        ((int32_t *)outputs[0].data)[2 * row + 1] = 2 * sum[row];
    }
}

static void look_body(const sluice_step *step, const sluice_tensor *outputs)
{
    const bool plain = *step->micro == 0 && *step->learning_rate == 0 && step->outputs == NULL;
    const device_map_view view = {.step = plain ? (int64_t)*step->step : -1,
                                  .epoch = (int64_t)*step->epoch,
                                  .random_key = (int64_t)*step->random_key,
                                  .valid_rows = *step->valid_rows};

    for (uint64_t row = 0; row < outputs[0].shape[0]; row++) {
        ((device_map_view *)outputs[0].data)[row] = view;
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

typedef void (*map_body)(const sluice_step *step, const sluice_tensor *outputs);

#if defined(SLI_FAKE_CUDA)
static void run_body(void *const *args, unsigned blocks, unsigned threads)
{
    const sluice_tensor *outputs;
    map_body body;

    (void)blocks;
    (void)threads;
    memcpy(&body, args[0], sizeof(body));
    memcpy(&outputs, args[2], sizeof(outputs));
    body(args[1], outputs);
}

static const fake_kernel kernel = {
    "kit_map", run_body, 3, {sizeof(map_body), sizeof(sluice_step), sizeof(const sluice_tensor *)}};

static sluice_status call(map_body body, const sluice_step *step, const sluice_tensor *outputs)
{
    const dim3 one = {1, 1, 1};
    sluice_step view = *step;
    void *args[] = {&body, &view, &outputs};

    return cudaLaunchKernel(&kernel, one, one, args, 0, step->stream) == cudaSuccess
               ? SLUICE_OK
               : sluice_fail(SLUICE_E_DEVICE, "cudaLaunchKernel fails");
}
#else
static sluice_status call(map_body body, const sluice_step *step, const sluice_tensor *outputs)
{
    body(step, outputs);
    return SLUICE_OK;
}
#endif

sluice_status device_map_sum(const sluice_step *step, const sluice_tensor *outputs, void *user)
{
    (void)user;
    return call(sum_body, step, outputs);
}

sluice_status device_map_pair(const sluice_step *step, const sluice_tensor *outputs, void *user)
{
    (void)user;
    return call(pair_body, step, outputs);
}

sluice_status device_map_look(const sluice_step *step, const sluice_tensor *outputs, void *user)
{
    (void)user;
    return call(look_body, step, outputs);
}

sluice_status device_map_fail(const sluice_step *step, const sluice_tensor *outputs, void *user)
{
    (void)step;
    (void)outputs;
    (void)user;
    return sluice_fail(SLUICE_E_IO, "no table of weights");
}

void device_map_init(sluice_device_map *map, const char *name, sluice_device_map_fn function,
                     const sluice_column *output)
{
    sluice_device_map_init(map);
    map->name = name;
    map->map = function;
    map->outputs = output;
    map->output_count = 1;
}
