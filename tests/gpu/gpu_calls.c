/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See gpu_calls.h. Only callbacks are asked for, which leave the device alone: what records
 * kernels' activity has them run one after another, and a sink would starve.
 *
 * The runtime calls the driver for what it is asked, so a call may be seen in both domains: each is
 * counted for itself, and of a thread the larger number is told.
 */
#include "gpu_calls.h"

#include <cupti.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

enum { THREADS = 256, NAME_SIZE = 16, DRIVER = 0, RUNTIME = 1, DOMAINS = 2 };

/* Written by its thread alone. */
typedef struct thread_calls {
    char name[NAME_SIZE];
    _Atomic uint64_t counts[DOMAINS][GPU_CALLS];
} thread_calls;

static thread_calls threads[THREADS]; /* the last one is of all that find no other free */
static atomic_uint thread_count;
static _Thread_local thread_calls *mine;

static thread_calls *of_this_thread(void)
{
    if (mine == NULL) {
        const unsigned int place =
            atomic_fetch_add_explicit(&thread_count, 1U, memory_order_relaxed);

        mine = &threads[place < THREADS ? place : THREADS - 1];
        (void)prctl(PR_GET_NAME, mine->name);
    }
    return mine;
}

static void CUPTIAPI count(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                           const void *data)
{
    const CUpti_CallbackData *call = data;
    gpu_call kind;

    (void)user;
    (void)id;
    if (call->callbackSite != CUPTI_API_ENTER || call->functionName == NULL) {
        return;
    }
    kind = gpu_call_of(call->functionName);
    if (kind != GPU_CALL_OTHER) {
        const int place = domain == CUPTI_CB_DOMAIN_DRIVER_API ? DRIVER : RUNTIME;

        atomic_fetch_add_explicit(&of_this_thread()->counts[place][kind], 1U, memory_order_relaxed);
    }
}

static const char *text_of(CUptiResult result)
{
    const char *text = NULL;

    return cuptiGetResultString(result, &text) == CUPTI_SUCCESS && text != NULL ? text : "?";
}

__attribute__((visibility("default"))) gpu_calls_begin_fn gpu_calls_begin;
__attribute__((visibility("default"))) gpu_calls_read_fn gpu_calls_read;
__attribute__((visibility("default"))) gpu_calls_list_fn gpu_calls_list;

const char *gpu_calls_begin(void)
{
    CUpti_SubscriberHandle subscriber;
    CUptiResult result = cuptiSubscribe(&subscriber, count, NULL);

    if (result == CUPTI_SUCCESS) {
        result = cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
    }
    if (result == CUPTI_SUCCESS) {
        result = cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
    }
    return result == CUPTI_SUCCESS ? NULL : text_of(result);
}

static uint64_t count_of(thread_calls *thread, int kind)
{
    const uint64_t driver =
        atomic_load_explicit(&thread->counts[DRIVER][kind], memory_order_relaxed);
    const uint64_t runtime =
        atomic_load_explicit(&thread->counts[RUNTIME][kind], memory_order_relaxed);

    return driver > runtime ? driver : runtime;
}

void gpu_calls_read(const char *thread, gpu_calls *calls_out)
{
    memset(calls_out, 0, sizeof(*calls_out));
    for (int i = 0; i < THREADS; i++) {
        if (thread != NULL && strcmp(threads[i].name, thread) != 0) {
            continue;
        }
        for (int kind = 0; kind < GPU_CALLS; kind++) {
            calls_out->counts[kind] += count_of(&threads[i], kind);
        }
    }
}

void gpu_calls_list(gpu_call call, char *text_out, size_t size)
{
    size_t used = 0;

    text_out[0] = '\0';
    for (int i = 0; i < THREADS && used < size; i++) {
        const uint64_t count = count_of(&threads[i], (int)call);

        if (count > 0) {
            used +=
                (size_t)snprintf(text_out + used, size - used, "%s%s %llu", used > 0 ? ", " : "",
                                 threads[i].name, (unsigned long long)count);
        }
    }
}
