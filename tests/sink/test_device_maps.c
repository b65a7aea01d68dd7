/* SPDX-License-Identifier: Apache-2.0 */
/* config.device_maps: operators of the user's between GetNext and the step, in every mode; on the
 * fake of CUDA they are enqueued as kernels. */
#include "testing.h"
#include "train_kit.h"
#if defined(SLI_KIT_ON_CUDA)
#include "cuda_kit.h"
#endif

enum { PIXELS = 48 };

/* New column `sum`: the sum of the image's bytes. */
static sluice_status sum_rows(const sluice_step *step, const sluice_tensor *outputs, void *user)
{
    const sluice_tensor *image = sluice_step_input(step, "image");

    (void)user;
    for (uint64_t row = 0; row < image->shape[0]; row++) {
        int32_t sum = 0;

        for (int i = 0; i < PIXELS; i++) {
            sum += ((const uint8_t *)image->data)[row * PIXELS + (uint64_t)i];
        }
        ((int32_t *)outputs[0].data)[row] = sum;
    }
    return SLUICE_OK;
}

/* Replaces `label` by two numbers: the label plus 1000, and twice the sum of the map before. */
static sluice_status pair_rows(const sluice_step *step, const sluice_tensor *outputs, void *user)
{
    const int32_t *label = sluice_step_input(step, "label")->data;
    const int32_t *sum = sluice_step_input(step, "sum")->data;

    (void)user;
    for (uint64_t row = 0; row < outputs[0].shape[0]; row++) {
        ((int32_t *)outputs[0].data)[2 * row] = label[row] + 1000;
        ((int32_t *)outputs[0].data)[2 * row + 1] = 2 * sum[row];
    }
    return SLUICE_OK;
}

#if defined(SLI_KIT_ON_CUDA)
static void map_body(void *const *args, unsigned blocks, unsigned threads)
{
    sluice_device_map_fn function;
    const sluice_tensor *outputs;

    (void)blocks;
    (void)threads;
    memcpy(&function, args[0], sizeof(function));
    memcpy(&outputs, args[2], sizeof(outputs));
    (void)function(args[1], outputs, NULL);
}

static const fake_kernel map_kernel = {
    "kit_map",
    map_body,
    3,
    {sizeof(sluice_device_map_fn), sizeof(sluice_step), sizeof(const sluice_tensor *)}};

static sluice_status run_map(sluice_device_map_fn map, const sluice_step *step,
                             const sluice_tensor *outputs)
{
    const dim3 one = {1, 1, 1};
    sluice_step view = *step;
    void *args[] = {&map, &view, &outputs};

    return cudaLaunchKernel(&map_kernel, one, one, args, 0, step->stream) == cudaSuccess
               ? SLUICE_OK
               : sluice_fail(SLUICE_E_DEVICE, "cudaLaunchKernel fails");
}
#else
static sluice_status run_map(sluice_device_map_fn map, const sluice_step *step,
                             const sluice_tensor *outputs)
{
    return map(step, outputs, NULL);
}
#endif

static sluice_status sum_map(const sluice_step *step, const sluice_tensor *outputs, void *user)
{
    (void)user;
    return run_map(sum_rows, step, outputs);
}

static sluice_status pair_map(const sluice_step *step, const sluice_tensor *outputs, void *user)
{
    (void)user;
    return run_map(pair_rows, step, outputs);
}

static sluice_status failing_map(const sluice_step *step, const sluice_tensor *outputs, void *user)
{
    (void)step;
    (void)outputs;
    (void)user;
    return sluice_fail(SLUICE_E_IO, "no table of weights");
}

static const sluice_column sum_column = {.name = "sum", .dtype = SLUICE_I32};
static const sluice_column pair_column = {
    .name = "label", .dtype = SLUICE_I32, .rank = 1, .shape = {2}};

typedef struct two_maps {
    sluice_device_map sum;
    sluice_device_map pair;
    const sluice_device_map *list[2];
    _Atomic uint64_t right;
    _Atomic uint64_t wrong;
} two_maps;

/* The step: checks what the maps wrote. */
static void look(kit *k, const sluice_step *step)
{
    two_maps *maps = k->user;
    const sluice_tensor *image = sluice_step_input(step, "image");
    const sluice_tensor *label = sluice_step_input(step, "label");
    const sluice_tensor *sum = sluice_step_input(step, "sum");
    bool right = step->input_count == 3 && label->rank == 2 && label->shape[0] == 2 &&
                 label->shape[1] == 2 && sum->rank == 1 && sum->bytes == 8;

    for (uint64_t row = 0; right && row < 2; row++) {
        const int32_t *pair = (const int32_t *)label->data + 2 * row;
        int32_t want = 0;

        for (int i = 0; i < PIXELS; i++) {
            want += ((const uint8_t *)image->data)[row * PIXELS + (uint64_t)i];
        }
        right = ((const int32_t *)sum->data)[row] == want && pair[0] >= 1000 && pair[1] == 2 * want;
    }
    atomic_fetch_add(right ? &maps->right : &maps->wrong, 1);
}

static void init(kit *k, two_maps *maps)
{
    memset((void *)maps, 0, sizeof(*maps));
    sluice_device_map_init(&maps->sum);
    maps->sum.name = "row sums";
    maps->sum.map = sum_map;
    maps->sum.outputs = &sum_column;
    maps->sum.output_count = 1;
    maps->pair = maps->sum;
    maps->pair.name = "pairs";
    maps->pair.map = pair_map;
    maps->pair.outputs = &pair_column;
    maps->list[0] = &maps->sum;
    maps->list[1] = &maps->pair;
    kit_init(k);
    k->config.device_maps = maps->list;
    k->config.device_map_count = 2;
    k->user = maps;
}

static void the_step_reads_what_the_maps_wrote_in_every_mode(void)
{
    static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                        SLUICE_MODE_LOOP};
    static const char *const devices[] = {"host:0", "host:0,copy=1"};

    for (size_t i = 0; i < 8; i++) {
        const sluice_column expected[] = {sum_column, pair_column};
        two_maps maps;
        kit k;

        init(&k, &maps);
        k.device = devices[i % 2];
        k.config.mode = modes[i / 2];
        k.config.micro_batches = i % 2 == 0 ? 1 : 2;
        k.model.inputs = expected;
        k.model.input_count = 2;
        k.in_step = look;
        T_OK(kit_run(&k));
        kit_check(&k);
        T_EQ(atomic_load(&maps.right), 100);
        T_EQ(atomic_load(&maps.wrong), 0);
        kit_fini(&k);
    }
}

static void an_error_of_a_map_ends_the_run_with_its_name(void)
{
    two_maps maps;
    kit k;

    init(&k, &maps);
    maps.pair.map = failing_map;
    T_STATUS(kit_run(&k), SLUICE_E_IO);
    T_CONTAINS(k.error, "device map pairs returned");
    T_CONTAINS(k.error, "no table of weights");
    kit_fini(&k);
}

static void refuse(kit *k, const char *text)
{
    T_STATUS(kit_run(k), SLUICE_E_INVALID);
    T_CONTAINS(k->error, text);
}

static void wrong_maps_are_refused(void)
{
    sluice_column column = sum_column;
    two_maps maps;
    kit k;

    init(&k, &maps);
    maps.sum.outputs = &column;
    column.rank = 1;
    refuse(&k, "device map row sums: output sum");
    column.shape[0] = UINT64_MAX / 4;
    refuse(&k, "device map row sums: output sum");
    column.rank = SLUICE_MAX_RANK + 1;
    refuse(&k, "device map row sums: outputs[0] is not a column");
    maps.sum.output_count = 0;
    refuse(&k, "device map row sums: 0 outputs");
    maps.sum.map = NULL;
    refuse(&k, "device map row sums: map is NULL");
    maps.sum.name = NULL;
    refuse(&k, "device_maps[0].name is NULL");
    maps.list[0] = NULL;
    refuse(&k, "device_maps[0] is NULL");
    k.config.device_maps = NULL;
    refuse(&k, "device_maps is NULL");
    kit_fini(&k);
}

static void the_model_is_checked_against_the_outputs(void)
{
    const sluice_column scalar = {.name = "label", .dtype = SLUICE_I32};
    two_maps maps;
    kit k;

    init(&k, &maps);
    k.model.inputs = &scalar; /* the dataset's own column, which the map replaces */
    k.model.input_count = 1;
    refuse(&k, "column label is i32 (2)");
    kit_fini(&k);
}

const t_test device_maps_tests[] = {
    T_TEST(the_step_reads_what_the_maps_wrote_in_every_mode),
    T_TEST(an_error_of_a_map_ends_the_run_with_its_name),
    T_TEST(wrong_maps_are_refused),
    T_TEST(the_model_is_checked_against_the_outputs),
    T_END,
};
