/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publish ordering: every word of every batch is looked at by the step, on the device, and must be
 * of the sample that stands there. A slot that is announced before its bytes have arrived shows.
 */
#include "gpu_checks.h"

#include <stdio.h>

static gpu_verdict content(uint64_t steps, const char *shape, unsigned int rows, double seconds,
                           char *text)
{
    gpu_content seen = {};
    gpu_content *on_device;
    gpu_run run = {};
    char pipeline[200];

    NEED_CUDA(cudaMalloc(&on_device, sizeof(seen)));
    NEED_CUDA(gpu_upload(on_device, &seen, sizeof(seen)));
    snprintf(pipeline, sizeof(pipeline), GPU_CONTENT_PIPELINE, shape, rows);
    run.device = "cuda:0";
    run.pipeline = pipeline;
    run.mode = SLUICE_MODE_LOOP;
    run.steps = steps;
    run.seconds = seconds;
    run.sink_size = 1000;
    run.step = gpu_content_step;
    run.user = on_device;
    gpu_train(&run);
    NEED(run.status == SLUICE_OK, "%s", run.error);
    NEED_CUDA(cudaMemcpy(&seen, on_device, sizeof(seen), cudaMemcpyDeviceToHost));
    NEED(seen.wrong == 0, "%llu words of %llu batches are wrong", seen.wrong,
         (unsigned long long)run.stats.steps);
    NEED(seen.rows == run.stats.steps * rows && run.stats.steps > 0, "%llu rows in %llu steps",
         seen.rows, (unsigned long long)run.stats.steps);
    return gpu_say(text, GPU_PASS, "%llu batches of %llu in %.1f s, every word right, %llu yields",
                   (unsigned long long)run.stats.steps, (unsigned long long)steps,
                   run.stats.seconds, (unsigned long long)run.stats.yields);
}

/* As many as 10 seconds give. */
gpu_verdict check_content_brief(char *text)
{
    return content(100000, "32,64,3", 32, 10.0, text);
}

gpu_verdict check_content_small(char *text)
{
    return content(1000000, "16,32,1", 8, 60.0, text);
}

gpu_verdict check_content_medium(char *text)
{
    return content(100000, "32,64,3", 32, 45.0, text);
}

gpu_verdict check_content_large(char *text)
{
    return content(2000, "1024,2048,1", 32, 45.0, text);
}
