/* SPDX-License-Identifier: Apache-2.0 */
/* Copies that alternate between two CUDA streams, on the fake of CUDA: words advance in order. */
#include <sched.h>

#include <sluice/log.h>

#include "clock_int.h"
#include "gpu/gpu_copies.h"
#include "kernel_kit.h"
#include "testing.h"

enum { GROUPS = 10, GROUP = 4096 };

/* A stream for copies; group i goes to block + i * GROUP, its word to words[i]. */
typedef struct copies {
    sluice_device *device;
    sli_stream stream;
    uint8_t *block;  /* (GROUPS, GROUP) on the device, then the words */
    uint64_t *words; /* (GROUPS) on the device */
    uint64_t host;   /* groups that the host knows of */
} copies;

static void open_copies(copies *c, const char *uri)
{
    fake_cuda_start(&readable);
    memset(c, 0, sizeof(*c));
    T_OK(sluice_device_open(uri, &c->device));
    T_OK(sli_device_alloc(c->device, (GROUPS + 1) * GROUP, (void **)&c->block));
    T_OK(sli_device_clear(c->device, c->block, (GROUPS + 1) * GROUP));
    c->words = (uint64_t *)(void *)(c->block + GROUPS * GROUP);
    T_OK(sli_stream_open(c->device, "test", SLI_STREAM_COPIES, NULL, 0, &c->stream));
}

static void close_copies(copies *c)
{
    sli_stream_close(&c->stream);
    sli_device_free(c->device, c->block, (GROUPS + 1) * GROUP);
    sluice_device_close(c->device);
    nothing_is_live();
}

static sluice_status give_copy(copies *c, uint64_t i)
{
    static char pattern[GROUPS][GROUP];

    memset(pattern[i], (int)i + 1, GROUP);
    return sli_stream_copy(&c->stream, c->block + i * GROUP, pattern[i], GROUP);
}

/* As the copier does: a copy, the device's word, the host's. */
static void give_group(copies *c, uint64_t i)
{
    const uint64_t value = i + 1;

    T_OK(give_copy(c, i));
    T_OK(sli_stream_publish(&c->stream, &c->words[i], &value, 1));
    T_OK(sli_stream_write(&c->stream, &c->host, value, NULL));
}

static bool has_arrived(const copies *c, uint64_t i)
{
    uint8_t there[GROUP];

    fake_cuda_read(there, c->block + i * GROUP, GROUP);
    return there[0] == i + 1 && there[GROUP - 1] == i + 1;
}

static uint64_t word(const copies *c, uint64_t i)
{
    return __atomic_load_n(&c->words[i], __ATOMIC_ACQUIRE);
}

/* Until it holds, or 20 s have passed. */
static bool becomes_true(bool (*holds)(const copies *c), const copies *c)
{
    const int64_t end_ns = sli_now_ns() + 20000000000;

    while (!holds(c) && sli_now_ns() < end_ns) {
        sched_yield();
    }
    return holds(c);
}

static bool second_has_arrived(const copies *c)
{
    return has_arrived(c, 1);
}

static bool second_is_decided(const copies *c)
{
    return fake_cuda_waits() > 0 || word(c, 1) != 0;
}

static void a_copy_runs_beside_the_one_before_and_its_word_comes_behind(void)
{
    copies c;

    open_copies(&c, "cuda:0");
    fake_cuda_hold_copy(0);
    give_group(&c, 0);
    give_group(&c, 1);
    T_TRUE(becomes_true(second_has_arrived, &c));
    T_TRUE(becomes_true(second_is_decided, &c));
    T_EQ(word(&c, 0) + word(&c, 1), 0);
    T_EQ(__atomic_load_n(&c.host, __ATOMIC_ACQUIRE), 0);
    T_TRUE(!has_arrived(&c, 0));
    fake_cuda_hold_copy(-1);
    T_OK(sli_stream_wait(&c.stream, -1));
    T_TRUE(has_arrived(&c, 0));
    T_EQ(word(&c, 0), 1);
    T_EQ(word(&c, 1), 2);
    T_EQ(c.host, 2);
    close_copies(&c);
}

static void one_copy_stream_runs_one_copy_at_a_time(void)
{
    copies c;

    open_copies(&c, "cuda:0,copy_streams=1");
    T_EQ(fake_cuda_count().streams, 1);
    fake_cuda_hold_copy(0);
    give_group(&c, 0);
    give_group(&c, 1);
    T_STATUS(sli_stream_wait(&c.stream, 5000000), SLUICE_TIMEOUT);
    T_TRUE(!has_arrived(&c, 1));
    fake_cuda_hold_copy(-1);
    T_OK(sli_stream_wait(&c.stream, -1));
    T_TRUE(has_arrived(&c, 1));
    T_EQ(word(&c, 1), 2);
    T_EQ(fake_cuda_count_of("cudaStreamWaitEvent"), 0);
    close_copies(&c);
}

static void only_streams_for_copies_have_two(void)
{
    sli_stream steps = {0};
    copies c;

    open_copies(&c, "cuda:0");
    T_EQ(fake_cuda_count().streams, 2);
    T_OK(sli_stream_open(c.device, "test", SLI_STREAM_STEPS, NULL, 0, &steps));
    T_EQ(fake_cuda_count().streams, 3);
    sli_stream_close(&steps);
    close_copies(&c);
}

/* Copy, words, event, wait for it; and where copies are under way, the order of the words. */
static void order_costs_a_call_only_where_copies_are_under_way(void)
{
    int64_t before;
    copies c;

    open_copies(&c, "cuda:0,poll_us=0");
    T_OK(sli_device_enter(c.device));
    give_group(&c, 0);
    T_OK(sli_stream_wait(&c.stream, -1)); /* the stream's thread has made its first calls */
    before = fake_cuda_calls();
    for (uint64_t i = 1; i < GROUPS; i++) {
        give_group(&c, i);
        T_OK(sli_stream_wait(&c.stream, -1));
    }
    T_EQ(fake_cuda_calls() - before, 4 * (GROUPS - 1));
    fake_cuda_hold_copies_after(0);
    before = fake_cuda_calls();
    for (uint64_t i = 0; i < GROUPS; i++) {
        give_group(&c, i);
    }
    fake_cuda_hold_copies_after(-1);
    T_OK(sli_stream_wait(&c.stream, -1));
    T_EQ(fake_cuda_count_of("cudaStreamWaitEvent"), GROUPS - 1);
    T_EQ(fake_cuda_calls() - before, 5 * GROUPS - 1);
    sli_device_leave(c.device);
    close_copies(&c);
}

/* Where no words end a group, copies may be of the same memory. */
static void copies_without_words_run_one_at_a_time(void)
{
    copies c;

    open_copies(&c, "cuda:0");
    fake_cuda_hold_copy(0);
    T_OK(give_copy(&c, 0));
    T_OK(sli_stream_write(&c.stream, &c.host, 1, NULL));
    T_OK(give_copy(&c, 1));
    T_STATUS(sli_stream_wait(&c.stream, 5000000), SLUICE_TIMEOUT);
    T_TRUE(!has_arrived(&c, 1));
    fake_cuda_hold_copy(-1);
    T_OK(sli_stream_wait(&c.stream, -1));
    T_TRUE(has_arrived(&c, 1));
    close_copies(&c);
}

/* Without an event behind the words, later words would have nothing to wait for. */
static void copies_alternate_only_behind_an_event(void)
{
    const uint64_t value = 2;
    copies c;

    open_copies(&c, "cuda:0");
    fake_cuda_hold_copies_after(0);
    give_group(&c, 0);
    T_OK(give_copy(&c, 1));
    T_OK(sli_stream_publish(&c.stream, &c.words[1], &value, 1));
    give_group(&c, 2);
    fake_cuda_hold_copy(1);
    fake_cuda_hold_copies_after(-1);
    T_STATUS(sli_stream_wait(&c.stream, 5000000), SLUICE_TIMEOUT);
    T_TRUE(!has_arrived(&c, 2));
    T_EQ(word(&c, 2), 0);
    fake_cuda_hold_copy(-1);
    T_OK(sli_stream_wait(&c.stream, -1));
    T_EQ(word(&c, 1), 2);
    T_EQ(word(&c, 2), 3);
    close_copies(&c);
}

static bool thread_waits(const copies *c)
{
    (void)c;
    return fake_cuda_count_of("cudaEventSynchronize") == 1;
}

static void words_that_cannot_be_ordered_are_not_stored(void)
{
    const uint64_t value = 2;
    copies c;

    open_copies(&c, "cuda:0");
    T_OK(sli_device_enter(c.device));
    fake_cuda_hold_copy(0);
    give_group(&c, 0);
    T_TRUE(becomes_true(thread_waits, &c)); /* and makes no other call */
    fake_cuda_fail_after(1, cudaErrorIllegalAddress);
    T_OK(give_copy(&c, 1));
    T_STATUS(sli_stream_publish(&c.stream, &c.words[1], &value, 1), SLUICE_E_DEVICE);
    T_CONTAINS(sluice_last_error(), "cudaStreamWaitEvent: cudaErrorIllegalAddress");
    T_OK(sli_stream_write(&c.stream, &c.host, value, NULL));
    fake_cuda_hold_copy(-1);
    T_STATUS(sli_stream_wait(&c.stream, -1), SLUICE_E_DEVICE);
    T_EQ(word(&c, 0), 1);
    T_EQ(word(&c, 1), 0);
    T_EQ(c.host, 1);
    sli_device_leave(c.device);
    close_copies(&c);
}

/* ---- the queue ------------------------------------------------------------------------------- */

/* The consumer counts a word as wrong that is there before the one before it. */
static void batches_arrive_in_order_whichever_copy_is_done_first(void)
{
    enum { LAST = 150 };
    static const uint32_t slots[] = {2, 3, 4, 9};
    static const char *const uris[] = {"cuda:0", "cuda:0,copy_streams=1"};

    for (uint32_t i = 0; i < 16; i++) {
        sli_queue_stats stats;
        fixture f;
        kernel k;

        fake_cuda_start(&readable);
        fake_cuda_least_concurrency(i / 8 == 1);
        fake_cuda_jitter(200);
        open_kernels(&f, uris[i % 2], slots[i / 2 % 4]);
        start_kernel(&k, &f, 0);
        for (uint64_t seq = 1; seq <= LAST; seq++) {
            produce(&f, seq);
        }
        produce_end(&f, LAST + 1);
        pthread_join(k.thread, NULL);
        T_EQ(k.kind, SLI_RING_END);
        T_EQ(k.batches, LAST);
        T_EQ(k.wrong, 0);
        T_STATUS(sli_queue_wait(f.queue, LAST + 1, -1, false), SLUICE_END_OF_DATA);
        sli_queue_stop(f.queue);
        sli_queue_stats_get(f.queue, &stats);
        T_EQ(stats.consumed, LAST);
        T_EQ(stats.bytes_copied, LAST * f.layout.slot_bytes);
        T_TRUE(i % 2 == 0 || fake_cuda_count_of("cudaStreamWaitEvent") == 0);
        close_queue(&f);
        nothing_is_live();
    }
}

/* ---- the benchmark of copies ----------------------------------------------------------------- */

static void the_benchmark_gives_copies_and_words(void)
{
    for (int64_t streams = 1; streams <= 2; streams++) {
        gpu_copies run = {.device = streams == 1 ? "cuda:0,copy_streams=1" : "cuda:0",
                          .batch_bytes = 4096,
                          .group = 5,
                          .copies = 20};
        int64_t count;

        fake_cuda_start(&readable);
        T_TRUE(gpu_copies_run(&run));
        T_TRUE(run.gb_per_s > 0);
        T_TRUE(run.first_us > 0);
        count = fake_cuda_count_of("cudaMemcpyAsync");
        T_TRUE(count > 20);
        T_EQ(fake_cuda_count_of("cuStreamBatchMemOp"), count);
        T_EQ(fake_cuda_count_of("cudaStreamCreateWithPriority"), streams);
        T_EQ(fake_cuda_pageable_copies(), 0);
        nothing_is_live();
    }
}

static void the_benchmark_of_copies_tells_of_errors(void)
{
    int64_t good = 0;
    int64_t failed = 0;
    bool ended = false;

    sluice_log_set_level(SLUICE_LOG_OFF);
    for (; !ended; good++) {
        gpu_copies run = {.device = "cuda:0", .batch_bytes = 4096, .group = 1, .copies = 1};

        fake_cuda_start(&readable);
        fake_cuda_fail_after(good, cudaErrorIllegalAddress);
        if (!gpu_copies_run(&run)) {
            T_CONTAINS(run.error, "cudaErrorIllegalAddress");
            failed++;
        }
        ended = fake_cuda_calls() <= good;
        nothing_is_live();
    }
    T_TRUE(failed > 80);
    sluice_log_set_level(SLUICE_LOG_WARN);
}

const t_test copy_streams_tests[] = {
    T_TEST(a_copy_runs_beside_the_one_before_and_its_word_comes_behind),
    T_TEST(one_copy_stream_runs_one_copy_at_a_time),
    T_TEST(only_streams_for_copies_have_two),
    T_TEST(order_costs_a_call_only_where_copies_are_under_way),
    T_TEST(copies_without_words_run_one_at_a_time),
    T_TEST(copies_alternate_only_behind_an_event),
    T_TEST(words_that_cannot_be_ordered_are_not_stored),
    T_TEST(batches_arrive_in_order_whichever_copy_is_done_first),
    T_TEST(the_benchmark_gives_copies_and_words),
    T_TEST(the_benchmark_of_copies_tells_of_errors),
    T_END,
};
