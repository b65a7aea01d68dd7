/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whose figure is what matters: they fail only where nothing could be measured. */
#include "gpu_checks.h"

#include <stdio.h>
#include <string.h>

#include "gpu_measures.h"

#define BATCHES_OF_196_KB "synthetic 100000 shape=32,64,3 | batch 32"
#define BATCHES_OF_38_MB  "synthetic 100000 shape=224,224,3 | batch 256"

/* Steps of a busy kernel, beside the same kernel in a device loop without data. */
static gpu_verdict measure_steps(const char *device, sluice_mode mode, int step_us, char *text)
{
    gpu_run run = {};
    gpu_busy *busy;
    double reference = 0.0;
    double steps;

    NEED_CUDA(gpu_make_busy(step_us, NULL, &busy));
    if (gpu_measure_loop(busy, (uint32_t)(500000 / step_us), &reference, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    run.device = device;
    run.pipeline = BATCHES_OF_196_KB;
    run.mode = mode;
    run.seconds = 2.0;
    run.sink_size = 100;
    run.step = gpu_busy_step;
    run.user = busy;
    gpu_train(&run);
    NEED(run.status == SLUICE_OK, "%s: %s", device, run.error);
    steps = gpu_share((double)run.stats.steps, run.stats.seconds);
    return gpu_say(text, GPU_PASS,
                   "%s, steps of %d us, batches of 196 KB: %.1f %% of the kernel without data, "
                   "%.0f steps/s, data wait %.1f %%, %llu yields",
                   sluice_mode_name(mode), step_us, 100.0 * gpu_share(steps, reference), steps,
                   100.0 * run.stats.data_wait_share, (unsigned long long)run.stats.yields);
}

gpu_verdict check_loop_steps(char *text)
{
    return measure_steps("cuda:0", SLUICE_MODE_LOOP, 50, text);
}

gpu_verdict check_short_loop_steps(char *text)
{
    return measure_steps("cuda:0", SLUICE_MODE_LOOP, 5, text);
}

gpu_verdict check_graph_steps(char *text)
{
    return measure_steps("cuda:0", SLUICE_MODE_GRAPH, 50, text);
}

gpu_verdict check_pull_steps(char *text)
{
    return measure_steps("cuda:0,transport=pull", SLUICE_MODE_LOOP, 50, text);
}

/* The bus, unless batches are made more slowly. */
gpu_verdict check_large_batches(char *text)
{
    const double bytes = 38535168.0;
    gpu_run run = {};
    double pinned = 0.0;
    double made = 0.0;
    double copied;

    if (gpu_measure_copy(cudaMemcpyHostToDevice, 0, &pinned, text) != GPU_PASS ||
        gpu_measure_producer(BATCHES_OF_38_MB, (uint64_t)bytes, &made, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    run.device = "cuda:0";
    run.pipeline = BATCHES_OF_38_MB;
    run.mode = SLUICE_MODE_LOOP;
    run.seconds = 2.0;
    run.sink_size = 100;
    run.step = gpu_busy_step;
    gpu_train(&run);
    NEED(run.status == SLUICE_OK, "%s", run.error);
    copied = gpu_share((double)run.stats.steps * bytes / 1e9, run.stats.seconds);
    return gpu_say(text, GPU_PASS,
                   "batches of 38.5 MB: %.1f GB/s, %.1f %% of a pinned copy's %.1f GB/s; made at "
                   "%.1f GB/s",
                   copied, 100.0 * gpu_share(copied, pinned), pinned, made);
}

gpu_verdict check_copies_with_words(char *text)
{
    gpu_rate rates[GPU_COPIES];
    gpu_rate firsts[GPU_FIRST_WORDS];
    double pinned = 0.0;

    if (gpu_measure_copy(cudaMemcpyHostToDevice, 0, &pinned, text) != GPU_PASS ||
        gpu_measure_copies(rates, text) != GPU_PASS ||
        gpu_measure_first_words(firsts, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    return gpu_say(
        text, GPU_PASS,
        "%% of a pinned copy's %.1f GB/s, in one stream and in two: 4 MB %.1f %.1f, 4 of "
        "them in a copy %.1f %.1f, 196 KB %.1f %.1f, 5 of them in a copy %.1f %.1f; us "
        "to the first of two words: 4 MB %.0f %.0f, 38.5 MB %.0f %.0f",
        pinned, 100.0 * gpu_share(rates[0].value, pinned),
        100.0 * gpu_share(rates[1].value, pinned), 100.0 * gpu_share(rates[2].value, pinned),
        100.0 * gpu_share(rates[3].value, pinned), 100.0 * gpu_share(rates[4].value, pinned),
        100.0 * gpu_share(rates[5].value, pinned), 100.0 * gpu_share(rates[6].value, pinned),
        100.0 * gpu_share(rates[7].value, pinned), firsts[0].value, firsts[1].value,
        firsts[2].value, firsts[3].value);
}

gpu_verdict check_loop_turn(char *text)
{
    double launch_us = 0.0;
    double per_s = 0.0;

    if (gpu_measure_launch(&launch_us, text) != GPU_PASS ||
        gpu_measure_loop(NULL, 10000, &per_s, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    return gpu_say(text, GPU_PASS, "a turn of a WHILE node %.2f us, a launch with its wait %.2f us",
                   1e6 * gpu_share(1.0, per_s), launch_us);
}
