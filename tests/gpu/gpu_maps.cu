/* SPDX-License-Identifier: Apache-2.0 */
/* What a device map adds to a step: the launch of a kernel of the user's, or a node of its graph.
 */
#include "gpu_measures.h"

enum {
    HEIGHT = 32,
    WIDTH = 64,
    CHANNELS = 3,
    ROWS = 32,
    VALUES = ROWS * HEIGHT * WIDTH * CHANNELS
};
static const char pipeline[] = "synthetic 100000 shape=32,64,3 | batch 32";

static const struct {
    const char *name;
    sluice_mode mode;
    bool has_map;
} cases[GPU_MAPS] = {
    {"step_direct_without_map", SLUICE_MODE_DIRECT, false},
    {"step_direct_with_map", SLUICE_MODE_DIRECT, true},
    {"step_graph_without_map", SLUICE_MODE_GRAPH, false},
    {"step_graph_with_map", SLUICE_MODE_GRAPH, true},
    {"step_loop_without_map", SLUICE_MODE_LOOP, false},
    {"step_loop_with_map", SLUICE_MODE_LOOP, true},
};

static __global__ void invert_kernel(const uint8_t *images, uint8_t *out)
{
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);

    if (i < VALUES) {
        out[i] = (uint8_t)(255 - images[i]);
    }
}

static sluice_status invert_batch(const sluice_step *s, const sluice_tensor *outputs, void *user)
{
    (void)user;
    invert_kernel<<<(VALUES + 255) / 256, 256, 0, (cudaStream_t)s->stream>>>(
        (const uint8_t *)sluice_step_input(s, "image")->data, (uint8_t *)outputs[0].data);
    return gpu_launched();
}

gpu_verdict gpu_measure_maps(gpu_rate rates[GPU_MAPS], char *text)
{
    static const sluice_column image = {"image", SLUICE_U8, 3, {HEIGHT, WIDTH, CHANNELS}};
    sluice_device_map map;

    sluice_device_map_init(&map);
    map.name = "invert";
    map.map = invert_batch;
    map.outputs = &image;
    map.output_count = 1;
    for (int i = 0; i < GPU_MAPS; i++) {
        gpu_run run = {};

        rates[i].name = cases[i].name;
        run.device = "cuda:0";
        run.pipeline = pipeline;
        run.mode = cases[i].mode;
        run.seconds = 1.0;
        run.sink_size = 100;
        run.step = gpu_busy_step;
        run.map = cases[i].has_map ? &map : NULL;
        gpu_train(&run);
        NEED(run.status == SLUICE_OK && run.stats.steps > 0, "%s: %s", cases[i].name, run.error);
        rates[i].value = 1e6 * run.stats.seconds / (double)run.stats.steps;
    }
    return GPU_PASS;
}
