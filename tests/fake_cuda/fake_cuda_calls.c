/* SPDX-License-Identifier: Apache-2.0 */
/* The fake's books: calls by name, and those that nobody may make while a sink runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda_work.h"

enum { NAMES = 128 };

static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the next two */
static const char *names[NAMES];
static int64_t counts[NAMES];
static bool guarded;

/* What takes the driver's lock or waits until the device is idle, or may. */
static const char *const stalls[] = {"cudaMalloc",
                                     "cudaFree",
                                     "cudaHostRegister",
                                     "cudaHostUnregister",
                                     "cudaMallocHost",
                                     "cudaHostAlloc",
                                     "cudaFreeHost",
                                     "cudaGraphInstantiate",
                                     "cudaGraphInstantiateWithFlags",
                                     "cudaStreamCreate",
                                     "cudaStreamCreateWithFlags",
                                     "cudaStreamCreateWithPriority",
                                     "cudaEventCreate",
                                     "cudaEventCreateWithFlags"};

void fake_calls_start(void)
{
    pthread_mutex_lock(&names_lock);
    memset(counts, 0, sizeof(counts));
    pthread_mutex_unlock(&names_lock);
    guarded = false;
}

/* The place of a name, or where it may be put. */
static size_t place_of(const char *name)
{
    size_t place = 0;

    while (place < NAMES && names[place] != NULL && strcmp(names[place], name) != 0) {
        place++;
    }
    if (place == NAMES) {
        fake_forbidden("more different calls than the fake counts");
    }
    return place;
}

void fake_note(const char *name)
{
    size_t place;

    pthread_mutex_lock(&names_lock);
    place = place_of(name);
    names[place] = name;
    counts[place]++;
    pthread_mutex_unlock(&names_lock);
}

int64_t fake_cuda_count_of(const char *name)
{
    int64_t count;

    pthread_mutex_lock(&names_lock);
    count = counts[place_of(name)];
    pthread_mutex_unlock(&names_lock);
    return count;
}

void fake_cuda_guard_sinks(bool guard)
{
    pthread_mutex_lock(&fake_lock);
    guarded = guard;
    pthread_mutex_unlock(&fake_lock);
}

static bool sink_runs(void)
{
    const struct CUctx_st *context = fake_cuda_current();

    if (context != NULL) {
        return context->sinks > 0;
    }
    for (cudaStream_t stream = fake_streams; stream != NULL; stream = stream->next) {
        if (stream->context->sinks > 0) {
            return true;
        }
    }
    return false;
}

bool fake_guards(void)
{
    return guarded && sink_runs();
}

void fake_guard(const char *name)
{
    bool stall = false;

    for (size_t i = 0; i < sizeof(stalls) / sizeof(stalls[0]) && !stall; i++) {
        stall = strcmp(name, stalls[i]) == 0;
    }
    if (stall && fake_guards()) {
        fprintf(stderr, "fake CUDA: %s while a sink runs\n", name);
        abort();
    }
}
