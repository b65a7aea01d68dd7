/* SPDX-License-Identifier: Apache-2.0 */
/* A channel with three held batches and a device map: each batch, and what the map makes of it, is
 * read late, in another stream, and is host:0's. */
#include "gpu_checks.h"
#include "gpu_loop.h"

#include <string.h>

enum { HELD = 3, BATCHES = 120, ROWS = 16, VALUES = ROWS * 40 * 48 * 3 };

static const char *const pipeline =
    "synthetic 5000 shape=40,48,3 | shuffle | random_horizontal_flip | batch 16 "
    "drop_remainder=true";

static __global__ void complement_kernel(const uint8_t *images, uint8_t *out)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (i < VALUES) {
        out[i] = (uint8_t)(255 - images[i]);
    }
}

static sluice_status complement(const sluice_step *s, const sluice_tensor *outputs, void *)
{
    complement_kernel<<<(VALUES + 255) / 256, 256, 0, (cudaStream_t)s->stream>>>(
        (const uint8_t *)sluice_step_input(s, "image")->data, (uint8_t *)outputs[0].data);
    return gpu_launched();
}

/* Fetches in streams[0] and reads in streams[1], behind a kernel that takes a while. */
static gpu_verdict fetch(gpu_loop *l, const gpu_busy *busy, uint8_t *seen, char *text)
{
    const sluice_batch *held[HELD];
    cudaStream_t streams[2];
    cudaEvent_t ready;

    NEED_CUDA(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    NEED_CUDA(cudaStreamCreateWithFlags(&streams[0], cudaStreamNonBlocking));
    NEED_CUDA(cudaStreamCreateWithFlags(&streams[1], cudaStreamNonBlocking));
    for (int n = 0; n < BATCHES; n += HELD) {
        for (int i = 0; i < HELD; i++) {
            NEED(sluice_channel_get_next(l->channel, streams[0], SLUICE_FOREVER, &held[i]) ==
                     SLUICE_OK,
                 "batch %d: %s", n + i, sluice_last_error());
        }
        NEED_CUDA(cudaEventRecord(ready, streams[0]));
        NEED_CUDA(cudaStreamWaitEvent(streams[1], ready, 0));
        for (int i = HELD - 1; i >= 0; i--) { /* released in the other order */
            uint8_t *to = seen + 2 * (size_t)VALUES * (size_t)(n + i);

            gpu_launch_busy(busy, streams[1]);
            NEED_CUDA(cudaMemcpyAsync(to, sluice_batch_input(held[i], "image")->data, VALUES,
                                      cudaMemcpyDeviceToHost, streams[1]));
            NEED_CUDA(cudaMemcpyAsync(to + VALUES, sluice_batch_input(held[i], "complement")->data,
                                      VALUES, cudaMemcpyDeviceToHost, streams[1]));
            NEED(sluice_channel_release(l->channel, held[i], streams[1]) == SLUICE_OK,
                 "batch %d: %s", n + i, sluice_last_error());
        }
    }
    NEED_CUDA(cudaDeviceSynchronize());
    return GPU_PASS;
}

static gpu_verdict compare(const uint8_t *seen, char *text)
{
    gpu_loop host = {};

    NEED(gpu_loop_open(&host, "host:0", pipeline, BATCHES, 1, NULL) == SLUICE_OK, "host:0: %s",
         sluice_last_error());
    for (int n = 0; n < BATCHES; n++, seen += 2 * (size_t)VALUES) {
        const sluice_batch *batch = NULL;
        const uint8_t *image;

        NEED(sluice_channel_get_next(host.channel, NULL, SLUICE_FOREVER, &batch) == SLUICE_OK,
             "host:0: %s", sluice_last_error());
        image = (const uint8_t *)sluice_batch_input(batch, "image")->data;
        NEED(memcmp(seen, image, VALUES) == 0, "batch %d is not host:0's", n);
        for (int i = 0; i < VALUES; i++) {
            NEED(seen[VALUES + i] == 255 - image[i], "value %d of batch %d's map is wrong", i, n);
        }
    }
    gpu_loop_close(&host);
    return GPU_PASS;
}

gpu_verdict check_held_maps(char *text)
{
    static const char *const devices[] = {"cuda:0,transport=push", "cuda:0,transport=pull"};
    static const sluice_column column = {"complement", SLUICE_U8, 3, {40, 48, 3}};
    sluice_device_map map;
    uint8_t *seen = NULL;
    gpu_busy *busy;

    sluice_device_map_init(&map);
    map.name = "complement";
    map.map = complement;
    map.outputs = &column;
    map.output_count = 1;
    NEED_CUDA(gpu_make_busy(200.0, NULL, &busy));
    NEED_CUDA(cudaMallocHost(&seen, 2 * (size_t)VALUES * BATCHES));
    for (int i = 0; i < 2; i++) {
        gpu_loop l = {};
        gpu_verdict verdict;

        NEED(gpu_loop_open(&l, devices[i], pipeline, BATCHES, HELD, &map) == SLUICE_OK, "%s: %s",
             devices[i], sluice_last_error());
        verdict = fetch(&l, busy, seen, text);
        gpu_loop_close(&l);
        if (verdict != GPU_PASS || compare(seen, text) != GPU_PASS) {
            return GPU_FAIL;
        }
    }
    return gpu_say(text, GPU_PASS, "%d batches in each of 2 ways, %d held, read late: host:0's",
                   (int)BATCHES, (int)HELD);
}
