/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake's default streams. The legacy one of a context is ordered with all blocking streams of
 * that context, a thread's own is a blocking stream. They are made when they are first used, and
 * end with the test.
 */
#include "fake_cuda_work.h"

static cudaStream_t legacy[FAKE_DEVICES];
static bool users_calls;
static uint64_t test; /* number of it */

static _Thread_local struct {
    uint64_t test;
    cudaStream_t at[FAKE_DEVICES];
} own;

void fake_defaults_start(void)
{
    for (int i = 0; i < FAKE_DEVICES; i++) {
        legacy[i] = NULL;
    }
    users_calls = false;
    test++;
}

void fake_cuda_allow_users_calls(bool allow)
{
    pthread_mutex_lock(&fake_lock);
    users_calls = allow;
    pthread_mutex_unlock(&fake_lock);
}

bool fake_users_calls(void)
{
    return users_calls;
}

bool fake_is_legacy(cudaStream_t stream)
{
    return stream != NULL && stream == legacy[stream->context->device];
}

static cudaStream_t make_default(CUcontext context, bool blocking)
{
    cudaStream_t stream = fake_stream_new(context, blocking, 0);

    stream->is_default = true;
    return stream;
}

static cudaStream_t legacy_of(CUcontext context)
{
    if (legacy[context->device] == NULL) {
        legacy[context->device] = make_default(context, false);
    }
    return legacy[context->device];
}

static cudaStream_t own_of(CUcontext context)
{
    if (own.test != test) {
        for (int i = 0; i < FAKE_DEVICES; i++) {
            own.at[i] = NULL;
        }
        own.test = test;
    }
    if (own.at[context->device] == NULL) {
        own.at[context->device] = make_default(context, true);
    }
    return own.at[context->device];
}

void fake_resolve(const char *call, cudaStream_t *stream)
{
    const bool is_legacy = *stream == NULL || *stream == cudaStreamLegacy;
    CUcontext context;

    if (!is_legacy && *stream != cudaStreamPerThread) {
        return;
    }
    context = fake_context(call);
    if (!users_calls) {
        fake_forbidden("the default stream");
    }
    *stream = is_legacy ? legacy_of(context) : own_of(context);
}

void fake_order_legacy(cudaStream_t stream)
{
    if (stream->blocking && legacy[stream->context->device] != NULL) {
        fake_order_behind(stream, legacy[stream->context->device]);
    }
    for (cudaStream_t s = fake_streams; s != NULL && fake_is_legacy(stream); s = s->next) {
        if (s->blocking && s->context == stream->context) {
            fake_order_behind(stream, s);
        }
    }
}

void fake_wait_legacy(CUcontext context)
{
    cudaStream_t s = fake_streams;

    while (s != NULL) {
        if (s->context == context && s->pending > 0 && (s->blocking || fake_is_legacy(s))) {
            pthread_cond_wait(&fake_changed, &fake_lock);
            s = fake_streams; /* others may have come and gone */
        } else {
            s = s->next;
        }
    }
}
