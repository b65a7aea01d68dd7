/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lies between two steps, by stamps of the device's clock at the begin and the end of each:
 * also while every core of the host is busy, so that whoever has to launch has to wait for a core.
 */
#include "gpu_measures.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { STEPS = 4000, STEP_US = 250, MAX_CORES = 1024 };

/* Device memory. */
struct stamped {
    uint64_t ticks;
    uint64_t count; /* of steps so far */
    gpu_stamp stamps[STEPS];
};

static __global__ void stamped_kernel(stamped *s, float *output)
{
    const long long begin = clock64();
    const uint64_t place = s->count;
    uint64_t begin_ns;
    uint64_t end_ns;

    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin_ns));
    while ((uint64_t)(clock64() - begin) < s->ticks) {
    }
    *output = 0.0f;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(end_ns));
    if (place < STEPS) {
        s->stamps[place].begin_ns = begin_ns;
        s->stamps[place].end_ns = end_ns;
    }
    s->count = place + 1;
}

static sluice_status stamped_step(const sluice_step *s, void *user)
{
    stamped_kernel<<<1, 1, 0, (cudaStream_t)s->stream>>>((stamped *)user, &s->outputs[0]);
    return gpu_launched();
}

/* ---- busy cores ------------------------------------------------------------------------------ */

struct burners {
    pthread_t threads[MAX_CORES];
    int count;
    int stop; /* atomic */
};

static void *burn(void *user)
{
    burners *b = (burners *)user;

    while (__atomic_load_n(&b->stop, __ATOMIC_RELAXED) == 0) {
    }
    return NULL;
}

/* One for each core that this process may use. */
static void begin_burning(burners *b)
{
    cpu_set_t cores;
    int wanted = 1;

    if (sched_getaffinity(0, sizeof(cores), &cores) == 0) {
        wanted = CPU_COUNT(&cores);
    }
    b->stop = 0;
    b->count = 0;
    while (b->count < wanted && b->count < MAX_CORES &&
           pthread_create(&b->threads[b->count], NULL, burn, b) == 0) {
        b->count++;
    }
}

static void end_burning(burners *b)
{
    __atomic_store_n(&b->stop, 1, __ATOMIC_RELAXED);
    while (b->count > 0) {
        b->count--;
        (void)pthread_join(b->threads[b->count], NULL);
    }
}

/* ---- a run ----------------------------------------------------------------------------------- */

static gpu_verdict take_gaps(const stamped *on_device, gpu_gaps *gaps, char *text)
{
    stamped *seen = (stamped *)malloc(sizeof(*seen));
    uint64_t *ns = (uint64_t *)malloc(STEPS * sizeof(*ns));
    gpu_verdict verdict = GPU_PASS;
    cudaError_t error;

    NEED(seen != NULL && ns != NULL, "no memory");
    error = cudaMemcpy(seen, on_device, sizeof(*seen), cudaMemcpyDeviceToHost);
    if (error != cudaSuccess || seen->count != STEPS ||
        !gpu_gaps_of(seen->stamps, STEPS, ns, gaps)) {
        verdict = gpu_say(text, GPU_FAIL, "%llu stamps of %d steps, or steps overlap: %s",
                          (unsigned long long)seen->count, (int)STEPS, cudaGetErrorString(error));
    }
    free(seen);
    free(ns);
    return verdict;
}

gpu_verdict gpu_measure_gaps(gpu_gap_run *run, char *text)
{
    gpu_run train = {};
    burners busy;
    stamped *on_device;
    uint64_t ticks;

    NEED_CUDA(gpu_ticks_of(STEP_US, &ticks));
    NEED_CUDA(cudaMalloc(&on_device, sizeof(*on_device)));
    NEED_CUDA(cudaMemset(on_device, 0, sizeof(*on_device)));
    NEED_CUDA(gpu_upload(&on_device->ticks, &ticks, sizeof(ticks)));
    train.device = "cuda:0";
    train.pipeline = "synthetic 100000 shape=32,32,1 | batch 8";
    train.mode = run->mode;
    train.slots = run->slots;
    train.steps = STEPS;
    train.sink_size = STEPS;
    train.step = stamped_step;
    train.user = on_device;
    if (run->busy_cores) {
        begin_burning(&busy);
    }
    gpu_train(&train);
    if (run->busy_cores) {
        end_burning(&busy);
    }
    NEED(train.status == SLUICE_OK, "%s: %s", sluice_mode_name(run->mode), train.error);
    run->yields = train.stats.yields;
    if (take_gaps(on_device, &run->gaps, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    NEED_CUDA(cudaFree(on_device));
    return GPU_PASS;
}
