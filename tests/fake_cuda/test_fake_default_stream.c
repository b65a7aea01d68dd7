/* SPDX-License-Identifier: Apache-2.0 */
/* The fake of CUDA itself: the default streams beside a capture. */
#include <pthread.h>

#include "channel_kit.h"
#include "fake_kit.h"
#include "testing.h"

static cudaStream_t blocking; /* ordered with the legacy default stream */

static void start(void)
{
    fake_kit_start();
    fake_cuda_allow_users_calls(true);
    T_CUDA(cudaStreamCreateWithFlags(&blocking, cudaStreamDefault));
}

static void finish(void)
{
    T_CUDA(cudaStreamDestroy(blocking));
    fake_kit_finish();
}

static void begin(cudaStream_t stream)
{
    T_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
}

/* Ends a capture of one node, and does not run it. */
static void end_with_one_node(cudaStream_t stream)
{
    cudaGraph_t graph = NULL;
    size_t count = 0;

    T_CUDA(cudaStreamEndCapture(stream, &graph));
    T_CUDA(cudaGraphGetNodes(graph, NULL, &count));
    T_EQ(count, 1);
    T_CUDA(cudaGraphDestroy(graph));
}

static void end_spoilt(cudaStream_t stream)
{
    cudaGraph_t graph = NULL;

    T_CUDA_ERROR(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
}

/* ---- streams that do not wait for it --------------------------------------------------------- */

/* The kernel runs once, and is not in the graph. */
static void work_beside_the_capture_of_a_non_blocking_stream_runs_at_once(void)
{
    static const cudaStream_t defaults[] = {NULL, cudaStreamLegacy, cudaStreamPerThread};

    for (size_t i = 0; i < 3; i++) {
        start();
        begin(fake_kit_stream);
        T_CUDA(fake_kit_append(1));
        T_CUDA(fake_kit_append_on(defaults[i], 2));
        T_CUDA(cudaStreamSynchronize(defaults[i]));
        T_CUDA(cudaStreamQuery(defaults[i]));
        fake_kit_appended(1, (const uint64_t[]){2});
        end_with_one_node(fake_kit_stream);
        finish();
    }
}

/* ---- streams that do ------------------------------------------------------------------------- */

typedef struct legacy_call {
    int which;
    cudaError_t error;
} legacy_call;

static void *call_legacy(void *arg)
{
    legacy_call *call = arg;
    uint64_t word = 0;

    fake_cuda_use(0);
    switch (call->which) {
    case 0:
        call->error = fake_kit_append_on(NULL, 2);
        break;
    case 1:
        call->error = cudaMemcpyAsync(fake_kit_words, &word, 8, cudaMemcpyHostToDevice, NULL);
        break;
    case 2:
        call->error = cudaMemcpy(&word, fake_kit_words, 8, cudaMemcpyDeviceToHost);
        break;
    case 3:
        call->error = cudaMemset(fake_kit_words, 1, 8);
        break;
    case 4:
        call->error = cudaStreamSynchronize(cudaStreamLegacy);
        break;
    default:
        call->error = cudaStreamQuery(cudaStreamLegacy);
        break;
    }
    return NULL;
}

/* From whatever thread: what it would depend on is the stream's, not the thread's. */
static void the_legacy_stream_spoils_the_capture_of_a_blocking_one(void)
{
    for (int i = 0; i < 12; i++) {
        legacy_call call = {i / 2, cudaSuccess};
        pthread_t thread;

        start();
        begin(blocking);
        T_CUDA(fake_kit_append_on(blocking, 1));
        if (i % 2 == 0) {
            (void)call_legacy(&call);
        } else {
            T_EQ(pthread_create(&thread, NULL, call_legacy, &call), 0);
            pthread_join(thread, NULL);
        }
        T_CUDA_ERROR(call.error, cudaErrorStreamCaptureImplicit);
        T_CUDA_ERROR(fake_kit_append_on(blocking, 3), cudaErrorStreamCaptureInvalidated);
        T_EQ(fake_kit_words[0], 0);
        end_spoilt(blocking);
        T_CUDA(fake_kit_append_on(NULL, 4)); /* which is over */
        T_CUDA(cudaStreamSynchronize(NULL));
        fake_kit_appended(1, (const uint64_t[]){4});
        finish();
    }
}

static void asking_about_the_legacy_stream_spoils_nothing(void)
{
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusActive;

    start();
    T_CUDA(cudaStreamIsCapturing(cudaStreamLegacy, &status));
    T_EQ(status, cudaStreamCaptureStatusNone);
    begin(blocking);
    T_CUDA(fake_kit_append_on(blocking, 1));
    T_CUDA_ERROR(cudaStreamIsCapturing(cudaStreamLegacy, &status), cudaErrorStreamCaptureImplicit);
    T_CUDA_ERROR(cudaStreamGetCaptureInfo(NULL, &status, NULL, NULL, NULL, NULL, NULL),
                 cudaErrorStreamCaptureImplicit);
    end_with_one_node(blocking);
    finish();
}

/* Two blocking streams are not ordered with each other: a capture in one leaves the other alone. */
static void the_threads_stream_knows_of_no_capture(void)
{
    start();
    begin(blocking);
    T_CUDA(fake_kit_append_on(blocking, 1));
    T_CUDA(fake_kit_append_on(cudaStreamPerThread, 2));
    T_CUDA(cudaStreamSynchronize(cudaStreamPerThread));
    fake_kit_appended(1, (const uint64_t[]){2});
    end_with_one_node(blocking);
    finish();
}

/* ---- order ----------------------------------------------------------------------------------- */

static void *append_to_own(void *arg)
{
    cudaError_t *error = arg;

    fake_cuda_use(0);
    *error = fake_kit_append_on(cudaStreamPerThread, 3);
    return NULL;
}

/* A blocking stream and two threads' own before the legacy one, and again behind it. */
static void the_legacy_stream_is_ordered_with_blocking_ones(void)
{
    for (int i = 0; i < 20; i++) {
        cudaError_t error = cudaErrorUnknown;
        pthread_t thread;

        start();
        T_CUDA(channel_kit_rest(blocking, 200));
        T_CUDA(fake_kit_append_on(blocking, 1));
        T_CUDA(fake_kit_append_on(NULL, 2));
        T_EQ(pthread_create(&thread, NULL, append_to_own, &error), 0);
        pthread_join(thread, NULL);
        T_CUDA(error);
        T_CUDA(fake_kit_append_on(cudaStreamLegacy, 4));
        T_CUDA(fake_kit_append_on(cudaStreamPerThread, 5));
        T_CUDA(cudaDeviceSynchronize());
        fake_kit_appended(5, (const uint64_t[]){1, 2, 3, 4, 5});
        finish();
    }
}

static void *id_of_own(void *arg)
{
    unsigned long long *id = arg;

    fake_cuda_use(0);
    T_CUDA(cudaStreamGetId(cudaStreamPerThread, id));
    return NULL;
}

static void each_stream_has_an_identifier(void)
{
    unsigned long long ids[6] = {0};
    cudaStream_t stream = NULL;
    pthread_t thread;

    start();
    T_CUDA(cudaStreamGetId(NULL, &ids[0]));
    T_CUDA(cudaStreamGetId(cudaStreamLegacy, &ids[1]));
    T_CUDA(cudaStreamGetId(cudaStreamPerThread, &ids[2]));
    T_EQ(pthread_create(&thread, NULL, id_of_own, &ids[3]), 0);
    pthread_join(thread, NULL);
    for (int i = 4; i < 6; i++) { /* the second may have the handle of the first */
        T_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        T_CUDA(cudaStreamGetId(stream, &ids[i]));
        T_CUDA(cudaStreamDestroy(stream));
    }
    T_EQ(ids[0], ids[1]);
    for (int i = 1; i < 6; i++) {
        for (int j = 1; j < i; j++) {
            T_TRUE(ids[i] != ids[j]);
        }
    }
    finish();
}

/* Neither call waits; what was given is done. */
static void streams_and_events_are_destroyed_with_their_work_pending(void)
{
    cudaStream_t stream = NULL;
    cudaEvent_t event = NULL;

    start();
    T_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    T_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    T_CUDA(channel_kit_rest(stream, 500));
    T_CUDA(fake_kit_append_on(stream, 1));
    T_CUDA(cudaEventRecord(event, stream));
    T_CUDA(cudaStreamWaitEvent(fake_kit_stream, event, 0));
    T_CUDA(cudaEventDestroy(event));
    T_CUDA(cudaStreamDestroy(stream));
    T_CUDA(fake_kit_append(2));
    T_CUDA(cudaStreamSynchronize(fake_kit_stream));
    fake_kit_appended(2, (const uint64_t[]){1, 2});
    finish();
}

const t_test fake_default_stream_tests[] = {
    T_TEST(work_beside_the_capture_of_a_non_blocking_stream_runs_at_once),
    T_TEST(the_legacy_stream_spoils_the_capture_of_a_blocking_one),
    T_TEST(asking_about_the_legacy_stream_spoils_nothing),
    T_TEST(the_threads_stream_knows_of_no_capture),
    T_TEST(the_legacy_stream_is_ordered_with_blocking_ones),
    T_TEST(each_stream_has_an_identifier),
    T_TEST(streams_and_events_are_destroyed_with_their_work_pending),
    T_END,
};
