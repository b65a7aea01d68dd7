/* SPDX-License-Identifier: Apache-2.0 */
/* What waiting for the CUDA device costs, on the fake of CUDA: polls, blocking waits and wakes. */
#include <sched.h>

#include "clock_int.h"
#include "cuda_device_int.h"
#include "fake_kit.h"
#include "kernel_kit.h"
#include "testing.h"

enum { WAITS = 10, BYTES = 4096 };

typedef struct one_stream {
    sluice_device *device;
    sli_stream stream;
    uint64_t *gate; /* device memory: an open gate and what its kernel writes, then a block */
} one_stream;

static void open_stream(one_stream *s, const char *uri, sli_stream_use use)
{
    memset(s, 0, sizeof(*s));
    fake_cuda_start(&readable);
    T_OK(sluice_device_open(uri, &s->device));
    T_OK(sli_device_alloc(s->device, BYTES, (void **)&s->gate));
    T_OK(sli_device_clear(s->device, s->gate, BYTES));
    fake_kit_open(s->gate);
    T_OK(sli_stream_open(s->device, "test", use, NULL, 0, &s->stream));
}

static void close_stream(one_stream *s)
{
    sli_stream_close(&s->stream);
    sli_device_free(s->device, s->gate, BYTES);
    sluice_device_close(s->device);
    nothing_is_live();
}

/* A kernel that ends once the gate is open. */
static sluice_status launch_gate(void *arg)
{
    one_stream *s = arg;
    void *args[] = {&s->gate};

    return cudaLaunchKernel(&fake_kit_gate_kernel, fake_kit_single, fake_kit_single, args, 0,
                            sli_cuda_stream_handle(s->stream.handle)) == cudaSuccess
               ? SLUICE_OK
               : SLUICE_E_DEVICE;
}

static void launch(one_stream *s)
{
    T_OK(sli_cuda_stream_enqueue(s->stream.handle, launch_gate, s));
}

static uint64_t wakes(const one_stream *s)
{
    return sli_cuda_stream_wakes(s->stream.handle);
}

/* ---- a caller that waits --------------------------------------------------------------------- */

/* A sink, a yield and a step of direct mode are a launch and a wait. */
static void a_wait_for_what_is_soon_done_wakes_no_thread(void)
{
    one_stream s;

    open_stream(&s, "cuda:0,poll_us=1000000", SLI_STREAM_STEPS);
    for (int i = 0; i < WAITS; i++) {
        launch(&s);
        T_OK(sli_stream_wait(&s.stream, -1));
    }
    T_EQ(wakes(&s), 0);
    T_EQ(fake_cuda_count_of("cudaEventRecord"), 0);
    T_EQ(fake_cuda_count_of("cudaEventSynchronize"), 0);
    T_TRUE(fake_cuda_count_of("cudaStreamQuery") >= WAITS);
    close_stream(&s);
}

/* The thread for the event, the device's interrupt, the caller. */
static void a_wait_that_blocks_takes_three_wakes_at_most(void)
{
    one_stream s;

    open_stream(&s, "cuda:0,poll_us=0", SLI_STREAM_STEPS);
    for (int i = 0; i < WAITS; i++) {
        launch(&s);
        T_OK(sli_stream_wait(&s.stream, -1));
    }
    T_TRUE(wakes(&s) >= WAITS && wakes(&s) <= 3 * WAITS);
    T_EQ(fake_cuda_count_of("cudaEventSynchronize"), WAITS);
    T_EQ(fake_cuda_count_of("cudaStreamQuery"), 0);
    close_stream(&s);
}

static void what_is_enqueued_wakes_no_thread(void)
{
    one_stream s;

    open_stream(&s, "cuda:0,poll_us=1000000", SLI_STREAM_STEPS);
    for (int i = 0; i < 100 * WAITS; i++) {
        launch(&s);
    }
    T_OK(sli_stream_wait(&s.stream, -1));
    T_EQ(wakes(&s), 0);
    close_stream(&s);
}

static void a_long_wait_blocks_behind_the_poll(void)
{
    one_stream s;

    open_stream(&s, "cuda:0,poll_us=100", SLI_STREAM_STEPS);
    s.gate[0] = 0;
    launch(&s);
    T_STATUS(sli_stream_wait(&s.stream, 5000000), SLUICE_TIMEOUT);
    T_CUDA(cudaGetLastError());
    fake_kit_open(s.gate);
    T_OK(sli_stream_wait(&s.stream, -1));
    T_TRUE(s.gate[1] != 0);
    T_EQ(fake_cuda_count_of("cudaEventRecord"), 1);
    close_stream(&s);
}

/* A wait is for jobs of the thread, too. */
static void a_wait_is_for_words_behind_the_work(void)
{
    uint64_t word = 0;
    one_stream s;

    open_stream(&s, "cuda:0,poll_us=1000000", SLI_STREAM_STEPS);
    for (uint64_t i = 1; i <= WAITS; i++) {
        launch(&s);
        T_OK(sli_stream_write(&s.stream, &word, i, NULL));
        launch(&s);
        T_OK(sli_stream_wait(&s.stream, -1));
        T_EQ(word, i);
    }
    close_stream(&s);
}

static void a_query_that_fails_is_the_streams_error(void)
{
    one_stream s;

    open_stream(&s, "cuda:0,poll_us=1000000", SLI_STREAM_STEPS);
    launch(&s);
    fake_cuda_fail_queries(1, cudaErrorIllegalAddress);
    T_STATUS(sli_stream_wait(&s.stream, -1), SLUICE_E_DEVICE);
    T_CONTAINS(sluice_last_error(), "cudaStreamQuery: cudaErrorIllegalAddress");
    T_STATUS(sli_stream_status(&s.stream), SLUICE_E_DEVICE);
    close_stream(&s);
}

/* The caller's thread may have one of mode global under way, which forbids queries. */
static void a_poll_spoils_no_capture(void)
{
    cudaGraph_t graph = NULL;
    cudaStream_t other;
    one_stream s;

    open_stream(&s, "cuda:0,poll_us=1000000", SLI_STREAM_STEPS);
    fake_cuda_use(0);
    T_CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    T_CUDA(cudaStreamBeginCapture(other, cudaStreamCaptureModeGlobal));
    launch(&s);
    T_OK(sli_stream_wait(&s.stream, -1));
    T_CUDA(cudaStreamEndCapture(other, &graph));
    T_CUDA(cudaGraphDestroy(graph));
    T_CUDA(cudaStreamDestroy(other));
    close_stream(&s);
}

/* ---- the stream's thread --------------------------------------------------------------------- */

static void the_thread_polls_before_it_blocks(void)
{
    uint64_t word = 0;
    one_stream s;

    open_stream(&s, "cuda:0,poll_us=1000000", SLI_STREAM_COPIES);
    for (uint64_t i = 1; i <= WAITS; i++) {
        T_OK(sli_stream_copy(&s.stream, s.gate + 8, "copy", 5));
        T_OK(sli_stream_write(&s.stream, &word, i, NULL));
        T_OK(sli_stream_wait(&s.stream, -1));
        T_EQ(word, i);
    }
    T_EQ(fake_cuda_count_of("cudaEventSynchronize"), 0);
    T_TRUE(fake_cuda_count_of("cudaEventQuery") >= WAITS);
    close_stream(&s);
}

static void a_poll_that_fails_is_the_copys_error(void)
{
    uint64_t word = 0;
    one_stream s;

    open_stream(&s, "cuda:0,poll_us=1000000", SLI_STREAM_COPIES);
    fake_cuda_fail_queries(1, cudaErrorIllegalAddress);
    T_OK(sli_stream_copy(&s.stream, s.gate + 8, "copy", 5));
    T_OK(sli_stream_write(&s.stream, &word, 1, NULL));
    T_STATUS(sli_stream_wait(&s.stream, -1), SLUICE_E_DEVICE);
    T_CONTAINS(sluice_last_error(), "a copy to the device: cudaErrorIllegalAddress");
    T_EQ(word, 0);
    close_stream(&s);
}

/* ---- streams --------------------------------------------------------------------------------- */

static void streams_of_copies_have_the_highest_priority(void)
{
    static const sli_stream_use uses[] = {SLI_STREAM_STEPS, SLI_STREAM_COPIES};
    int priority = 1;
    one_stream s;

    for (int i = 0; i < 2; i++) {
        open_stream(&s, "cuda:0", uses[i]);
        T_CUDA(cudaStreamGetPriority(sli_cuda_stream_handle(s.stream.handle), &priority));
        T_EQ(priority, uses[i] == SLI_STREAM_COPIES ? FAKE_HIGHEST : 0);
        close_stream(&s);
    }
}

/* Copies of one batch each, none of which is done: the copier waits for no job of the stream's. */
static void a_copy_for_each_of_64_slots_is_under_way(void)
{
    enum { COPIES = 64 };
    const int64_t end_ns = sli_now_ns() + 20000000000;
    sli_queue_stats stats = {.copies = 0};
    fixture f;

    fake_cuda_start(&readable);
    fake_cuda_hold_copies_after(0);
    open_kernels(&f, "cuda:0", COPIES);
    for (uint64_t seq = 1; seq <= COPIES; seq++) {
        produce(&f, seq);
        while (stats.copies < seq && sli_now_ns() < end_ns) {
            sched_yield();
            sli_queue_stats_get(f.queue, &stats);
        }
        T_EQ(stats.copies, seq);
    }
    while (fake_cuda_count_of("cudaEventRecord") < COPIES && sli_now_ns() < end_ns) {
        sched_yield();
    }
    T_EQ(fake_cuda_count_of("cudaEventRecord"), COPIES);
    fake_cuda_hold_copies_after(-1);
    T_OK(sli_queue_wait(f.queue, COPIES, -1, false));
    close_queue(&f);
    nothing_is_live();
}

const t_test cuda_waits_tests[] = {
    T_TEST(a_wait_for_what_is_soon_done_wakes_no_thread),
    T_TEST(a_wait_that_blocks_takes_three_wakes_at_most),
    T_TEST(what_is_enqueued_wakes_no_thread),
    T_TEST(a_long_wait_blocks_behind_the_poll),
    T_TEST(a_wait_is_for_words_behind_the_work),
    T_TEST(a_query_that_fails_is_the_streams_error),
    T_TEST(a_poll_spoils_no_capture),
    T_TEST(the_thread_polls_before_it_blocks),
    T_TEST(a_poll_that_fails_is_the_copys_error),
    T_TEST(streams_of_copies_have_the_highest_priority),
    T_TEST(a_copy_for_each_of_64_slots_is_under_way),
    T_END,
};
