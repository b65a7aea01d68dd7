/* SPDX-License-Identifier: Apache-2.0 */
/* A device map of your own: a warp-affine in a CUDA kernel, compared with the stage affine of the
 * library, which GetNext runs. `device_warp cuda:0`, or `device_warp host:0` for the CPU. */
#include <cuda_runtime.h>
#include <math.h>
#include <sluice/sluice.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 64, ROWS = 16, BATCHES = 8, VALUES = ROWS * SIDE * SIDE * 3 };
static const char plain[] = "synthetic 128 shape=64,64,3 | shuffle | batch 16";
static const char built_in[] = "synthetic 128 shape=64,64,3 | shuffle | device | affine 20 "
                               "translate=3,-5 scale=0.8 filter=bilinear | batch 16";

/* ---- the operator ---------------------------------------------------------------------------- */

/* From a pixel of the result to a point of the image. */
struct affine_map {
    float m[6];
};

/* Value i of the result (ROWS, SIDE, SIDE, 3): bilinear, black outside the image. */
__host__ __device__ static uint8_t warped(const uint8_t *images, const affine_map &map, int i)
{
    const uint8_t *image = images + i / (SIDE * SIDE * 3) * (SIDE * SIDE * 3);
    const float x = i / 3 % SIDE + 0.5f, y = i / (3 * SIDE) % SIDE + 0.5f;
    const float at_x = map.m[0] * x + map.m[1] * y + map.m[2] - 0.5f;
    const float at_y = map.m[3] * x + map.m[4] * y + map.m[5] - 0.5f;
    const int left = (int)floorf(at_x), top = (int)floorf(at_y);
    float sum = 0, inside = 0;

    for (int k = 0; k < 4; k++) {
        const int column = left + k % 2, line = top + k / 2;
        const float weight = (1 - fabsf(at_x - column)) * (1 - fabsf(at_y - line));

        if (column >= 0 && column < SIDE && line >= 0 && line < SIDE) {
            sum += weight * image[(line * SIDE + column) * 3 + i % 3];
            inside += weight;
        }
    }
    return (uint8_t)rintf(sum * inside); /* torchvision fades to the fill as well */
}

__global__ void warp(const uint8_t *images, uint8_t *out, affine_map map)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < VALUES) {
        out[i] = warped(images, map, i);
    }
}

/* Called for each batch of a channel; sluice_train() captures its launches with those of the step.
 */
static sluice_status warp_batch(const sluice_step *step, const sluice_tensor *outputs, void *user)
{
    const uint8_t *images = (const uint8_t *)sluice_step_input(step, "image")->data;
    uint8_t *out = (uint8_t *)outputs[0].data;
    const affine_map map = *(const affine_map *)user;

    if (step->stream == NULL) { /* a host device */
        for (int i = 0; i < VALUES; i++) {
            out[i] = warped(images, map, i);
        }
        return SLUICE_OK;
    }
    warp<<<(VALUES + 255) / 256, 256, 0, (cudaStream_t)step->stream>>>(images, out, map);
    return cudaGetLastError() == cudaSuccess ? SLUICE_OK : sluice_fail(SLUICE_E_DEVICE, "launch");
}

/* ---- the comparison -------------------------------------------------------------------------- */

/* The map of `affine 20 translate=3,-5 scale=0.8`: about the centre of the image. */
static affine_map make_map(void)
{
    const double turn = 20 * 3.14159265358979 / 180, centre = SIDE / 2.0;
    const double c = cos(turn) / 0.8, s = sin(turn) / 0.8;

    return {{(float)c, (float)s, (float)(centre - c * (centre + 3) - s * (centre - 5)), (float)-s,
             (float)c, (float)(centre + s * (centre + 3) - c * (centre - 5))}};
}

/* Copies the next batch of a channel to the host. */
static sluice_status fetch(sluice_channel *channel, bool on_host, uint8_t *to)
{
    const sluice_batch *batch = NULL;
    const sluice_status st = sluice_channel_get_next(channel, NULL, SLUICE_FOREVER, &batch);

    if (st == SLUICE_OK && on_host) {
        memcpy(to, sluice_batch_input(batch, "image")->data, VALUES);
    } else if (st == SLUICE_OK && cudaMemcpy(to, sluice_batch_input(batch, "image")->data, VALUES,
                                             cudaMemcpyDeviceToHost) != cudaSuccess) {
        return sluice_fail(SLUICE_E_DEVICE, "cudaMemcpy");
    }
    return st;
}

static sluice_status compare(sluice_channel *const *channels, bool on_host)
{
    static uint8_t images[2][VALUES];
    int largest = 0, different = 0;
    sluice_status st = SLUICE_OK;

    for (int n = 0; n < BATCHES && st == SLUICE_OK; n++) {
        st = fetch(channels[0], on_host, images[0]);
        st = st == SLUICE_OK ? fetch(channels[1], on_host, images[1]) : st;
        for (int i = 0; i < VALUES; i++) {
            const int difference = abs(images[0][i] - images[1][i]);

            largest = difference > largest ? difference : largest;
            different += difference > 0;
        }
    }
    if (st == SLUICE_OK) {
        printf("%d of %d values differ, by at most %d\n", different, BATCHES * VALUES, largest);
    }
    return st == SLUICE_OK && largest > 1 ? sluice_fail(SLUICE_E_INVALID, "the warps differ") : st;
}

int main(int argc, char **argv)
{
    const char *const texts[2] = {built_in, plain};
    sluice_device *device = NULL;
    sluice_dataset *datasets[2] = {NULL, NULL};
    sluice_channel *channels[2] = {NULL, NULL};
    affine_map at = make_map();
    sluice_column image = {"image", SLUICE_U8, 3, {SIDE, SIDE, 3}};
    sluice_device_map map;
    const sluice_device_map *maps[] = {&map};
    sluice_status st = sluice_device_open(argc > 1 ? argv[1] : "cuda:0", &device);
    const bool has_device = st == SLUICE_OK;

    sluice_device_map_init(&map);
    map.name = "warp";
    map.map = warp_batch;
    map.user = &at;
    map.outputs = &image; /* takes the place of the column of this name */
    map.output_count = 1;
    for (int i = 0; i < 2 && st == SLUICE_OK; i++) {
        sluice_channel_config config;

        sluice_channel_config_init(&config);
        config.device_maps = maps;
        config.device_map_count = i; /* the second channel has the map */
        st = sluice_dataset_parse(texts[i], &datasets[i]);
        st = st == SLUICE_OK ? sluice_channel_open(device, datasets[i], &config, &channels[i]) : st;
        st = st == SLUICE_OK ? sluice_channel_start(channels[i]) : st;
    }
    st = st == SLUICE_OK ? compare(channels, sluice_device_name(device)[0] == 'h') : st;
    if (st != SLUICE_OK) {
        fprintf(stderr, "%s\n", sluice_last_error());
    }
    for (int i = 0; i < 2; i++) {
        sluice_channel_close(channels[i]);
        sluice_dataset_destroy(datasets[i]);
    }
    sluice_device_close(device);
    return !has_device ? 77 : st != SLUICE_OK;
}
