/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_train() on cuda:0: the same as on host:0 in every mode, and what happens when all is late.
 */
#include "gpu_checks.h"

#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

/* 40 samples in batches of 16: the last one of a pass is padded. */
#define SMALL                                                                                      \
    "synthetic 40 shape=30,20,3 classes=10 | shuffle | random_horizontal_flip 0.5 | batch 16"

/* A batch takes one worker some ten milliseconds. */
#define SLOW "synthetic 1000 shape=3000,3000,3 classes=10 | resize 32,32 | batch 1"

static gpu_run probe_run(const char *device, const char *pipeline, sluice_mode mode)
{
    gpu_run run = {};

    run.device = device;
    run.pipeline = pipeline;
    run.mode = mode;
    run.steps = 100;
    run.sink_size = 7; /* the last sink is shorter, and slots wrap at other places */
    run.digest = true;
    run.step = gpu_probe_step;
    return run;
}

/* Runs both, and says where they differ. */
static gpu_verdict compare(gpu_run *run, char *text)
{
    gpu_run host = *run;

    host.device = "host:0";
    host.mode = SLUICE_MODE_DIRECT;
    host.slots = 0;
    gpu_train(&host);
    NEED(host.status == SLUICE_OK, "host:0: %s", host.error);
    gpu_train(run);
    NEED(run->status == SLUICE_OK, "%s: %s", sluice_mode_name(run->mode), run->error);
    NEED(run->stats.digest == host.stats.digest, "%s: digest %016llx, on host:0 %016llx",
         sluice_mode_name(run->mode), (unsigned long long)run->stats.digest,
         (unsigned long long)host.stats.digest);
    NEED(run->outputs == host.outputs && run->misplaced == 0,
         "%s: outputs are not those of host:0; %llu steps out of order",
         sluice_mode_name(run->mode), (unsigned long long)run->misplaced);
    NEED(run->stats.steps == host.stats.steps && run->stats.samples == host.stats.samples,
         "%s: %llu steps, on host:0 %llu", sluice_mode_name(run->mode),
         (unsigned long long)run->stats.steps, (unsigned long long)host.stats.steps);
    return GPU_PASS;
}

gpu_verdict check_modes(char *text)
{
    for (int i = 0; i < 4; i++) {
        gpu_run run = probe_run("cuda:0", SMALL, modes[i]);

        if (compare(&run, text) != GPU_PASS) {
            return GPU_FAIL;
        }
    }
    return gpu_say(text, GPU_PASS, "4 modes, 100 steps: inputs and outputs are those of host:0");
}

gpu_verdict check_conversions(char *text)
{
    static const char *const pipelines[] = {
        SMALL,
        "synthetic 40 shape=32,32,3 | normalize imagenet | to_chw | batch 16",
        "synthetic 40 shape=31,33,3 | random_horizontal_flip 0.5 | normalize imagenet | to_chw | "
        "batch 7",
        "synthetic 40 shape=32,32,3 | random_horizontal_flip 0.5 | normalize imagenet dtype=f16 | "
        "to_chw | batch 16",
        "synthetic 40 shape=24,40,3 | normalize imagenet dtype=bf16 | to_chw | batch 16",
        "synthetic 40 shape=31,36,3 | random_horizontal_flip 0.5 | normalize imagenet | to_chw | "
        "batch 7",
        "synthetic 40 shape=31,40,3 | random_horizontal_flip 0.5 | normalize imagenet dtype=f16 | "
        "batch 7",
        "synthetic 40 shape=24,36,3 | random_horizontal_flip 0.5 | normalize imagenet | batch 16",
        "synthetic 40 shape=32,32,1 | to_dtype f32 scale=true | batch 16",
        "synthetic 40 shape=32,32,3 | normalize imagenet offload=host | to_chw | batch 16",
        "synthetic 40 shape=32,32,3 | random_horizontal_flip | device | random_affine 30 "
        "filter=bilinear | color_jitter 0.5 saturation=0.5 hue=0.4 | random_erasing 1 value=9 | "
        "normalize imagenet dtype=f16 | to_chw | batch 16",
        "synthetic 40 shape=32,32,3 | device | random_solarize 99 | random_perspective | "
        "random_grayscale | normalize imagenet | batch 7",
        "synthetic 40 shape=31,33,3 | device | random_posterize 3 | random_rotation 180 | to_chw | "
        "batch 7",
    };
    const int count = sizeof(pipelines) / sizeof(pipelines[0]);

    for (int i = 0; i < count; i++) {
        gpu_run run = probe_run("cuda:0", pipelines[i], SLUICE_MODE_LOOP);
        char why[GPU_TEXT];

        run.steps = 12;
        NEED(compare(&run, why) == GPU_PASS, "%s: %.300s", pipelines[i], why);
    }
    return gpu_say(text, GPU_PASS, "%d pipelines: all bytes are those of host:0", count);
}

gpu_verdict check_loop(char *text)
{
    gpu_run run = probe_run("cuda:0", SMALL, SLUICE_MODE_LOOP);

    if (compare(&run, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    return gpu_say(text, GPU_PASS, "100 steps as on host:0; %llu launches, %llu of them yields",
                   (unsigned long long)run.stats.launches, (unsigned long long)run.stats.yields);
}

/*
 * Only machine code of this device's own could stand in for PTX: it is not there for older ones. A
 * driver runs the machine code of a toolkit that is newer than itself, but does not read its PTX.
 */
gpu_verdict check_ptx(char *text)
{
    int major = 0;
    int driver = 0;

    NEED_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    NEED_CUDA(cudaDriverGetVersion(&driver));
    if (major < 9) {
        return gpu_say(text, GPU_SKIP, "PTX is built for the last architecture, by default 9.0");
    }
    if (driver < CUDART_VERSION) {
        return gpu_say(text, GPU_SKIP, "the driver knows CUDA %d.%d, and no PTX of %d.%d",
                       driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000,
                       CUDART_VERSION % 1000 / 10);
    }
    return check_loop(text);
}

gpu_verdict check_launches(char *text)
{
    gpu_run run = probe_run("cuda:0", SMALL, SLUICE_MODE_LOOP);

    run.sink_size = 25;
    gpu_train(&run);
    NEED(run.status == SLUICE_OK, "%s", run.error);
    NEED(run.stats.launches == 4 + run.stats.yields && run.stats.syncs == run.stats.launches,
         "%llu launches, %llu syncs, %llu yields for 4 sinks",
         (unsigned long long)run.stats.launches, (unsigned long long)run.stats.syncs,
         (unsigned long long)run.stats.yields);
    return gpu_say(text, GPU_PASS, "4 sinks of 25: %llu launches, %llu syncs, %llu yields",
                   (unsigned long long)run.stats.launches, (unsigned long long)run.stats.syncs,
                   (unsigned long long)run.stats.yields);
}

gpu_verdict check_sinks_of_one(char *text)
{
    for (int i = 0; i < 4; i++) {
        gpu_run run = probe_run("cuda:0", SMALL, modes[i]);

        run.sink_size = 1;
        run.steps = 10;
        if (compare(&run, text) != GPU_PASS) {
            return GPU_FAIL;
        }
    }
    return gpu_say(text, GPU_PASS, "4 modes, 10 sinks of 1 step");
}

gpu_verdict check_wrap(char *text)
{
    for (uint32_t slots = 2; slots <= 5; slots++) {
        gpu_run run = probe_run("cuda:0", SMALL, SLUICE_MODE_LOOP);

        run.slots = slots;
        run.steps = 5000;
        run.sink_size = 999;
        if (compare(&run, text) != GPU_PASS) {
            return GPU_FAIL;
        }
    }
    return gpu_say(text, GPU_PASS, "5000 steps through 2, 3, 4 and 5 slots");
}

/* A step of several batches, whose outputs add up. */
gpu_verdict check_micro_batches(char *text)
{
    for (int i = 0; i < 4; i++) {
        gpu_run run = probe_run("cuda:0", SMALL, modes[i]);

        run.micro_batches = 3;
        run.steps = 40;
        if (compare(&run, text) != GPU_PASS) {
            return GPU_FAIL;
        }
    }
    return gpu_say(text, GPU_PASS, "4 modes, 40 steps of 3 batches");
}

/* Whole turns of four, then what is left of a sink; and turns whose batches are late. */
gpu_verdict check_unrolled(char *text)
{
    static const char *const devices[] = {"cuda:0,unroll=4", "cuda:0,unroll=4,transport=pull"};
    uint64_t launches = 0;
    gpu_run late = probe_run("cuda:0,unroll=4,spin_us=100", SLOW, SLUICE_MODE_LOOP);

    for (int i = 0; i < 2; i++) {
        gpu_run run = probe_run(devices[i], SMALL, SLUICE_MODE_LOOP);

        run.slots = 5;
        run.sink_size = 11;
        if (compare(&run, text) != GPU_PASS) {
            return GPU_FAIL;
        }
        launches = run.stats.launches;
    }
    late.workers = 1;
    late.steps = 20;
    if (compare(&late, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    return gpu_say(text, GPU_PASS,
                   "turns of 4, sinks of 11: 100 steps as on host:0, %llu launches; 20 late ones "
                   "with %llu yields",
                   (unsigned long long)launches, (unsigned long long)late.stats.yields);
}

gpu_verdict check_nan(char *text)
{
    for (int i = 0; i < 4; i++) {
        gpu_run run = probe_run("cuda:0", SMALL, modes[i]);

        run.step = gpu_nan_step;
        run.sink_size = 100;
        gpu_train(&run);
        NEED(run.status == SLUICE_E_NAN && run.stats.first_nan_step == 30 && run.stats.steps == 31,
             "%s: %s after %llu steps: %s", sluice_mode_name(run.mode),
             sluice_status_name(run.status), (unsigned long long)run.stats.steps, run.error);
    }
    return gpu_say(text, GPU_PASS, "4 modes end in a sink of 100, after the step that gave it");
}

/* ---- data that are late ---------------------------------------------------------------------- */

gpu_verdict check_starved(char *text)
{
    gpu_run run = probe_run("cuda:0,spin_us=100", SLOW, SLUICE_MODE_LOOP);

    run.workers = 1;
    run.steps = 20;
    if (compare(&run, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    NEED(run.stats.yields > 0, "no yield in 20 steps that wait");
    return gpu_say(text, GPU_PASS, "%llu yields in 20 steps, and all as on host:0",
                   (unsigned long long)run.stats.yields);
}

/* Copies must make progress while a kernel waits for them, or each wait ends with a yield. */
gpu_verdict check_patient(char *text)
{
    gpu_run run = probe_run("cuda:0,spin_us=1000000", SLOW, SLUICE_MODE_LOOP);

    run.workers = 1;
    run.steps = 20;
    if (compare(&run, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    NEED(run.stats.yields == 0, "%llu yields: nothing arrives while a kernel waits",
         (unsigned long long)run.stats.yields);
    return gpu_say(text, GPU_PASS, "no yield in 20 waits: batches arrive while a kernel waits");
}

/* ---- stopping, from another thread ----------------------------------------------------------- */

struct stopper {
    sluice_stop *stop;
    volatile uint64_t *done; /* steps, counted by the device; NULL: nobody counts */
    uint64_t done_when_asked;
    double asked;
};

static void *stop_soon(void *user)
{
    const struct timespec wait = {1, 500000000};
    stopper *s = (stopper *)user;

    nanosleep(&wait, NULL);
    s->done_when_asked = s->done != NULL ? *s->done : 0;
    s->asked = gpu_now();
    sluice_stop_request(s->stop);
    return NULL;
}

static gpu_verdict stop_run(gpu_run *run, stopper *s, char *text)
{
    pthread_t thread;

    NEED(sluice_stop_create(&s->stop) == SLUICE_OK, "%s", sluice_last_error());
    run->stop = s->stop;
    run->digest = false;
    run->sink_size = 100000;
    run->steps = 0;
    run->seconds = 20.0;
    NEED(pthread_create(&thread, NULL, stop_soon, s) == 0, "no thread");
    gpu_train(run);
    (void)pthread_join(thread, NULL);
    sluice_stop_destroy(s->stop);
    NEED(run->status == SLUICE_STOPPED, "%s %s", sluice_status_name(run->status), run->error);
    return GPU_PASS;
}

/* Steps of 20 ms: the one at hand may end, and one more may have begun. */
gpu_verdict check_stop(char *text)
{
    gpu_run run = probe_run("cuda:0", SMALL, SLUICE_MODE_LOOP);
    stopper s = {};
    volatile uint64_t *done;
    volatile uint64_t *counts;
    gpu_busy *busy;

    NEED_CUDA(cudaHostAlloc((void **)&done, sizeof(*done), cudaHostAllocMapped));
    NEED_CUDA(cudaHostGetDevicePointer((void **)&counts, (void *)done, 0));
    *done = 0;
    NEED_CUDA(gpu_make_busy(20000.0, counts, &busy));
    s.done = done;
    run.step = gpu_busy_step;
    run.user = busy;
    if (stop_run(&run, &s, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    NEED(s.done_when_asked > 0, "no step ran in 1.5 s");
    NEED(*done - s.done_when_asked <= 2, "%llu steps after the request",
         (unsigned long long)(*done - s.done_when_asked));
    NEED(run.stats.steps == *done, "%llu steps told of %llu", (unsigned long long)run.stats.steps,
         (unsigned long long)*done);
    return gpu_say(text, GPU_PASS, "%llu steps of 20 ms after the request, in a sink of 100000",
                   (unsigned long long)(*done - s.done_when_asked));
}

gpu_verdict check_stop_starved(char *text)
{
    gpu_run run = probe_run("cuda:0", SLOW, SLUICE_MODE_LOOP);
    stopper s = {};
    double ms;

    run.workers = 1;
    if (stop_run(&run, &s, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    ms = (run.ended - s.asked) * 1e3;
    NEED(ms < 1000.0, "ended %.0f ms after the request", ms);
    return gpu_say(text, GPU_PASS, "ended %.1f ms after the request", ms);
}

/* ---- the trainer's thread, and kernels that come late ---------------------------------------- */

/* Sinks of 100 steps of 2 ms: half a second each at the most. */
static gpu_verdict busy_run(gpu_run *run, char *text)
{
    gpu_busy *busy;

    *run = probe_run("cuda:0", SMALL, SLUICE_MODE_LOOP);
    NEED_CUDA(gpu_make_busy(2000.0, NULL, &busy));
    run->step = gpu_busy_step;
    run->user = busy;
    run->digest = false;
    run->sink_size = 100;
    run->steps = 500;
    return GPU_PASS;
}

gpu_verdict check_trainer_sleeps(char *text)
{
    gpu_run run;
    double share;

    if (busy_run(&run, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    gpu_train(&run);
    NEED(run.status == SLUICE_OK, "%s", run.error);
    NEED(run.sink_seconds > 0.1, "4 sinks took %.3f s only", run.sink_seconds);
    share = 100.0 * run.cpu_seconds / run.sink_seconds;
    NEED(share < 5.0, "the trainer's thread uses %.1f %% of a core", share);
    return gpu_say(text, GPU_PASS, "the trainer's thread uses %.2f %% of a core", share);
}

static __global__ void late_kernel(uint32_t *word)
{
    *word = 77;
}

static cudaError_t late_error;
static uint32_t late_word;

static void *launch_late(void *user)
{
    const struct timespec wait = {0, 300000000};
    uint32_t *word = (uint32_t *)user;
    cudaStream_t stream;

    nanosleep(&wait, NULL);
    late_error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    late_kernel<<<1, 1, 0, stream>>>(word);
    late_error = late_error == cudaSuccess ? cudaStreamSynchronize(stream) : late_error;
    return NULL;
}

/* With CUDA_MODULE_LOADING=LAZY a kernel that nobody has launched yet is loaded while a sink runs.
 */
gpu_verdict check_late_kernel(char *text)
{
    gpu_run run;
    pthread_t thread;
    uint32_t *word;

    NEED_CUDA(cudaMalloc(&word, sizeof(*word)));
    if (busy_run(&run, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    NEED(pthread_create(&thread, NULL, launch_late, word) == 0, "no thread");
    gpu_train(&run);
    (void)pthread_join(thread, NULL);
    NEED(run.status == SLUICE_OK, "%s", run.error);
    NEED_CUDA(late_error);
    NEED_CUDA(cudaMemcpy(&late_word, word, sizeof(late_word), cudaMemcpyDeviceToHost));
    NEED(late_word == 77, "the late kernel did not run");
    return gpu_say(text, GPU_PASS, "500 steps, %llu yields, beside a kernel launched 0.3 s late",
                   (unsigned long long)run.stats.yields);
}
