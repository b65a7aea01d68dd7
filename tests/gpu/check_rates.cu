/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks with a rate as their figure. What a rate should be is printed; only one that is far from
 * it fails, for that is a mistake and no matter of tuning.
 */
#include "gpu_checks.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gpu_measures.h"

/* Adds to a text of so many bytes. */
static void add_share(char *text, size_t size, const char *name, double share)
{
    const size_t length = strlen(text);

    snprintf(text + length, size - length, "%s%s %.0f %%", length > 0 ? ", " : "", name,
             100.0 * share);
}

gpu_verdict check_gather_rate(char *text)
{
    static const double fails = 0.5;
    gpu_rate gathers[GPU_GATHERS];
    char shares[GPU_TEXT] = "";
    double copy = 0.0;
    double worst = 0.0;

    if (gpu_measure_copy(cudaMemcpyDeviceToDevice, 0, &copy, text) != GPU_PASS ||
        gpu_measure_gathers(gathers, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    for (int i = 0; i < GPU_GATHERS; i++) {
        const double share = gpu_share(gathers[i].value, 2.0 * copy);

        add_share(shares, sizeof(shares), gathers[i].name + strlen("gather_"), share);
        worst = i == 0 || share < worst ? share : worst;
    }
    return gpu_say(text, worst < fails ? GPU_FAIL : GPU_PASS,
                   "of a device copy's %.0f GB/s (goal 80 %%, fails below %.0f %%): %.400s",
                   2.0 * copy, 100.0 * fails, shares);
}

/* Loop mode needs no core for a step, graph mode one for each launch. */
gpu_verdict check_step_gaps(char *text)
{
    gpu_gap_run loop = {};
    gpu_gap_run graph = {};

    loop.mode = SLUICE_MODE_LOOP;
    graph.mode = SLUICE_MODE_GRAPH;
    loop.slots = graph.slots = 64; /* 16 ms of batches, so that data are there */
    loop.busy_cores = graph.busy_cores = true;
    if (gpu_measure_gaps(&loop, text) != GPU_PASS || gpu_measure_gaps(&graph, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    return gpu_say(text, GPU_PASS,
                   "all cores busy, p50/p99/most us: loop %.1f/%.1f/%.1f with %llu yields, graph "
                   "%.1f/%.1f/%.1f",
                   1e-3 * (double)loop.gaps.p50_ns, 1e-3 * (double)loop.gaps.p99_ns,
                   1e-3 * (double)loop.gaps.most_ns, (unsigned long long)loop.yields,
                   1e-3 * (double)graph.gaps.p50_ns, 1e-3 * (double)graph.gaps.p99_ns,
                   1e-3 * (double)graph.gaps.most_ns);
}

/* Is there a NUMA node of that number? */
static bool is_node(int node)
{
    char path[80];

    snprintf(path, sizeof(path), "/sys/devices/system/node/node%d", node);
    return access(path, F_OK) == 0;
}

/* Staging on each node in turn, one of which at most is the device's. */
gpu_verdict check_far_node(char *text)
{
    char rates[GPU_TEXT] = "";

    if (!is_node(1)) {
        return gpu_say(text, GPU_SKIP, "the machine has one NUMA node");
    }
    for (int node = 0; node < 4 && is_node(node); node++) {
        const size_t length = strlen(rates);
        char device[40];
        gpu_run run = {};

        snprintf(device, sizeof(device), "cuda:0,node=%d", node);
        run.device = device;
        run.pipeline = "synthetic 100000 shape=256,256,1 | batch 64";
        run.mode = SLUICE_MODE_LOOP;
        run.seconds = 2.0;
        run.sink_size = 100;
        run.step = gpu_busy_step;
        gpu_train(&run);
        NEED(run.status == SLUICE_OK, "%s: %s", device, run.error);
        snprintf(rates + length, sizeof(rates) - length, "%snode %d %.1f GB/s",
                 length > 0 ? ", " : "", node,
                 gpu_share((double)run.stats.steps * 4194304 / 1e9, run.stats.seconds));
    }
    return gpu_say(text, GPU_PASS, "batches of 4 MB, staging and slots' words on %.400s", rates);
}
