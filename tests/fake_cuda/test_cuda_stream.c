/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of the CUDA device on the fake of CUDA: order, waiting, errors, and the queue's copier.
 */
#include <unistd.h>

#include <sluice/log.h>

#include "alloc_int.h"
#include "kernel_kit.h"
#include "testing.h"

enum { JOBS = SLI_STREAM_JOBS, BYTES = 4096 };

typedef struct one_stream {
    sluice_device *device;
    sli_stream stream;
    void *block; /* (BYTES) on the device */
} one_stream;

static const fake_cuda_machine two_devices = {.devices = 2, .driver = CUDART_VERSION};

static void open_stream(one_stream *s, const char *uri)
{
    memset(s, 0, sizeof(*s));
    T_OK(sluice_device_open(uri, &s->device));
    T_OK(sli_device_alloc(s->device, BYTES, &s->block));
    T_OK(sli_stream_open(s->device, "test", SLI_STREAM_COPIES, NULL, 0, &s->stream));
}

static void close_stream(one_stream *s)
{
    sli_stream_close(&s->stream);
    sli_stream_close(&s->stream);
    sli_device_free(s->device, s->block, BYTES);
    sluice_device_close(s->device);
}

static uint64_t load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static bool is_one(void *word)
{
    return load(word) == 1;
}

static bool holds(const one_stream *s, const char *text)
{
    char there[BYTES];

    fake_cuda_read(there, s->block, sizeof(there));
    return strcmp(there, text) == 0;
}

/* ---- order ----------------------------------------------------------------------------------- */

static void a_word_is_stored_behind_the_copies_before_it(void)
{
    uint64_t word = 0;
    one_stream s;

    fake_cuda_start(&two_devices);
    open_stream(&s, "cuda:0");
    fake_cuda_hold_copies_after(0);
    T_OK(sli_stream_copy(&s.stream, s.block, "abc", 4));
    T_OK(sli_stream_write(&s.stream, &word, 7, NULL));
    T_STATUS(sli_stream_wait(&s.stream, 0), SLUICE_TIMEOUT);
    T_STATUS(sli_stream_wait(&s.stream, 1000000), SLUICE_TIMEOUT);
    T_EQ(load(&word), 0);
    fake_cuda_hold_copies_after(-1);
    T_OK(sli_stream_wait(&s.stream, -1));
    T_EQ(load(&word), 7);
    T_TRUE(holds(&s, "abc"));
    close_stream(&s);
    nothing_is_live();
}

/* What the copier lives on: staging is free when its copy is done, not when the next one is. */
static void a_word_does_not_wait_for_later_copies(void)
{
    sli_event wake = {0};
    uint64_t words[2] = {0, 0};
    one_stream s;

    fake_cuda_start(&two_devices);
    open_stream(&s, "cuda:0");
    fake_cuda_hold_copies_after(1);
    T_OK(sli_stream_copy(&s.stream, s.block, "abc", 4));
    T_OK(sli_stream_write(&s.stream, &words[0], 1, &wake));
    T_OK(sli_stream_copy(&s.stream, s.block, "xyz", 4));
    T_OK(sli_stream_write(&s.stream, &words[1], 1, &wake));
    T_TRUE(sli_event_await(&wake, is_one, &words[0], -1));
    T_EQ(load(&words[1]), 0);
    T_TRUE(holds(&s, "abc"));
    T_STATUS(sli_stream_wait(&s.stream, 0), SLUICE_TIMEOUT);
    fake_cuda_hold_copies_after(-1);
    T_OK(sli_stream_wait(&s.stream, -1));
    T_EQ(load(&words[1]), 1);
    T_TRUE(holds(&s, "xyz"));
    close_stream(&s);
}

/* What kernels live on: the device's word is stored behind the copy, and waited for like it. */
static void a_published_word_is_stored_behind_the_copies_before_it(void)
{
    enum { WORDS = 300 };
    uint64_t values[WORDS];
    uint64_t there[WORDS];
    uint64_t word = 0;
    one_stream s;

    fake_cuda_start(&two_devices);
    open_stream(&s, "cuda:0");
    T_OK(sli_device_clear(s.device, s.block, BYTES));
    fake_cuda_read(there, s.block, sizeof(there));
    for (uint64_t i = 0; i < WORDS; i++) {
        T_EQ(there[i], 0);
        values[i] = i + 1;
    }
    fake_cuda_hold_copies_after(0);
    T_OK(sli_stream_copy(&s.stream, s.block, "abc", 4));
    T_OK(sli_stream_publish(&s.stream, s.block, values, WORDS));
    T_OK(sli_stream_write(&s.stream, &word, 1, NULL));
    memset(values, 0, sizeof(values)); /* they were read */
    T_STATUS(sli_stream_wait(&s.stream, 1000000), SLUICE_TIMEOUT);
    fake_cuda_read(there, s.block, sizeof(there));
    T_EQ(there[0] + there[WORDS - 1], 0);
    T_EQ(load(&word), 0);
    fake_cuda_hold_copies_after(-1);
    T_OK(sli_stream_wait(&s.stream, -1));
    T_EQ(load(&word), 1);
    fake_cuda_read(there, s.block, sizeof(there));
    for (uint64_t i = 0; i < WORDS; i++) {
        T_EQ(there[i], i + 1);
    }
    close_stream(&s);
    nothing_is_live();
}

/* The host hears of nothing that the device cannot see yet, be there a copy before it or not. */
static void a_word_waits_for_published_words_too(void)
{
    uint64_t value = 1;
    uint64_t word = 0;
    one_stream s;

    fake_cuda_start(&two_devices);
    open_stream(&s, "cuda:0");
    T_OK(sli_stream_publish(&s.stream, s.block, &value, 1));
    fake_cuda_fail_records(1, cudaErrorIllegalAddress); /* so there is one behind it */
    T_STATUS(sli_stream_write(&s.stream, &word, 1, NULL), SLUICE_E_DEVICE);
    close_stream(&s);
    nothing_is_live();
}

/* Left out without a word, they would be taken for published. */
static void words_behind_an_error_answer_with_it(void)
{
    static char no_device_memory[8];
    uint64_t value = 1;
    one_stream s;

    fake_cuda_start(&two_devices);
    open_stream(&s, "cuda:0");
    T_STATUS(sli_stream_copy(&s.stream, no_device_memory, "abc", 4), SLUICE_E_DEVICE);
    T_OK(sli_stream_copy(&s.stream, s.block, "abc", 4));
    T_STATUS(sli_stream_publish(&s.stream, s.block, &value, 1), SLUICE_E_DEVICE);
    T_CONTAINS(sluice_last_error(), "cudaErrorInvalidValue");
    close_stream(&s);
    nothing_is_live();
}

/* A thread inside the device pushes its context, and leaves captures alone, once. */
static void entering_a_device_saves_calls(void)
{
    uint64_t word = 0;
    int64_t before;
    one_stream s;

    fake_cuda_start(&two_devices);
    open_stream(&s, "cuda:0");
    T_OK(sli_stream_write(&s.stream, &word, 1, NULL));
    T_OK(sli_stream_wait(&s.stream, -1)); /* the stream's thread has made its first calls */
    before = fake_cuda_calls();
    T_OK(sli_device_enter(s.device));
    T_OK(sli_device_enter(s.device));
    for (int i = 0; i < 10; i++) {
        T_OK(sli_stream_copy(&s.stream, s.block, "abc", 4));
    }
    sli_device_leave(s.device);
    T_EQ(fake_cuda_count().pushed, 2); /* this one and the stream's thread */
    T_EQ(fake_cuda_calls() - before, 2 + 10);
    sli_device_leave(s.device);
    CU_ASSERT_PTR_NULL(fake_cuda_current());
    close_stream(&s);
    nothing_is_live();
}

static void waiting_is_for_copies_without_a_word_too(void)
{
    one_stream s;

    fake_cuda_start(&two_devices);
    open_stream(&s, "cuda:0");
    T_OK(sli_stream_wait(&s.stream, 0));
    fake_cuda_hold_copies_after(0);
    T_OK(sli_stream_copy(&s.stream, s.block, "abc", 4));
    T_STATUS(sli_stream_wait(&s.stream, 1000), SLUICE_TIMEOUT);
    fake_cuda_hold_copies_after(-1);
    T_OK(sli_stream_wait(&s.stream, -1));
    T_TRUE(holds(&s, "abc"));
    close_stream(&s);
}

static void add_one(void *arg)
{
    ++*(int *)arg;
}

static void calls_come_in_order_behind_copies(void)
{
    int calls = 0;
    one_stream s;

    fake_cuda_start(&two_devices);
    open_stream(&s, "cuda:0");
    fake_cuda_hold_copies_after(0);
    T_OK(sli_stream_copy(&s.stream, s.block, "abc", 4));
    T_OK(sli_stream_call(&s.stream, add_one, &calls));
    T_STATUS(sli_stream_wait(&s.stream, 0), SLUICE_TIMEOUT);
    fake_cuda_hold_copies_after(-1);
    for (int i = 1; i < 1000; i++) {
        T_OK(sli_stream_call(&s.stream, add_one, &calls));
    }
    T_OK(sli_stream_wait(&s.stream, -1));
    T_EQ(calls, 1000);
    close_stream(&s);
}

typedef struct late_text {
    char text[8];
    int64_t driver_calls; /* made when the call ended */
} late_text;

static void write_late(void *arg)
{
    late_text *late = arg;

    usleep(10000); /* time for a copy that does not wait to be seen */
    late->driver_calls = fake_cuda_calls();
    memcpy(late->text, "late", 5);
}

static void a_copy_waits_for_the_call_before_it(void)
{
    late_text late = {"early", 0};
    int64_t before;
    int calls = 0;
    one_stream s;

    fake_cuda_start(&two_devices);
    open_stream(&s, "cuda:0");
    T_OK(sli_stream_call(&s.stream, add_one, &calls));
    T_OK(sli_stream_wait(&s.stream, -1)); /* the stream's thread has made its first calls */
    before = fake_cuda_calls();
    T_OK(sli_stream_call(&s.stream, write_late, &late));
    T_OK(sli_stream_copy(&s.stream, s.block, late.text, sizeof(late.text)));
    T_OK(sli_stream_wait(&s.stream, -1));
    T_EQ(late.driver_calls, before);
    T_TRUE(holds(&s, "late"));
    close_stream(&s);
}

static void closing_finishes_what_was_given(void)
{
    static char memory[BYTES] = "abc";
    uint64_t word = 0;
    one_stream s;

    fake_cuda_start(&two_devices);
    open_stream(&s, "cuda:0");
    T_OK(sli_device_register(s.device, memory, sizeof(memory)));
    fake_cuda_slow_copies(500);
    for (uint64_t i = 1; i <= 10; i++) {
        T_OK(sli_stream_copy(&s.stream, s.block, memory, sizeof(memory)));
        T_OK(sli_stream_write(&s.stream, &word, i, NULL));
    }
    T_OK(sli_stream_copy(&s.stream, s.block, memory, sizeof(memory)));
    sli_stream_close(&s.stream);
    T_EQ(word, 10);
    sli_device_unregister(s.device, memory, sizeof(memory)); /* no copy may be under way */
    T_EQ(fake_cuda_pageable_copies(), 0);
    close_stream(&s);
    nothing_is_live();
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void hold(void *arg)
{
    while (!atomic_load((_Atomic bool *)arg)) {
        usleep(100);
    }
}

static void a_wait_ends_in_time_also_when_the_stream_takes_no_more(void)
{
    _Atomic bool go_on = false;
    uint64_t word = 0;
    one_stream s;

    fake_cuda_start(&two_devices);
    open_stream(&s, "cuda:0");
    T_OK(sli_stream_call(&s.stream, hold, &go_on));
    T_STATUS(sli_stream_wait(&s.stream, 0), SLUICE_TIMEOUT);
    for (uint64_t i = 1; i < JOBS; i++) {
        T_OK(sli_stream_write(&s.stream, &word, i, NULL));
    }
    T_STATUS(sli_stream_wait(&s.stream, 0), SLUICE_TIMEOUT);
    T_STATUS(sli_stream_wait(&s.stream, 1000000), SLUICE_TIMEOUT);
    atomic_store(&go_on, true);
    T_OK(sli_stream_wait(&s.stream, INT64_MAX));
    T_EQ(word, JOBS - 1);
    close_stream(&s);
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* What follows a failed copy must not look as if it had arrived; what went before it has. */
static void a_copy_that_fails_stops_the_stream(void)
{
    sli_event wake = {0};
    uint64_t word = 0;
    one_stream s;

    sluice_log_set_level(SLUICE_LOG_OFF); /* what is given back after it warns */
    fake_cuda_start(&two_devices);
    open_stream(&s, "cuda:0");
    fake_cuda_hold_copies_after(0);
    fake_cuda_fail_copy_after(1, cudaErrorIllegalAddress);
    for (uint64_t i = 1; i <= 3; i++) {
        T_OK(sli_stream_copy(&s.stream, s.block, i == 1 ? "ab" : "cd", 3));
        T_OK(sli_stream_write(&s.stream, &word, i, &wake));
        if (i == 1) {
            fake_cuda_hold_copies_after(1); /* its word is stored before the context breaks */
            T_TRUE(sli_event_await(&wake, is_one, &word, -1));
        }
    }
    fake_cuda_hold_copies_after(-1);
    T_STATUS(sli_stream_wait(&s.stream, -1), SLUICE_E_DEVICE);
    T_CONTAINS(sluice_last_error(), "device cuda:0: a copy to the device: cudaErrorIllegalAddress");
    T_STATUS(sli_stream_status(&s.stream), SLUICE_E_DEVICE);
    T_OK(sli_stream_copy(&s.stream, s.block, "ef", 3));
    T_OK(sli_stream_write(&s.stream, &word, 4, &wake));
    T_STATUS(sli_stream_wait(&s.stream, -1), SLUICE_E_DEVICE);
    T_EQ(word, 1);
    T_TRUE(holds(&s, "ab"));
    T_EQ(atomic_load(&wake.epoch), 4);
    close_stream(&s);
    nothing_is_live();
    sluice_log_set_level(SLUICE_LOG_WARN);
}

/* An error that the caller meets takes nothing away from what was given before. */
static void a_copy_that_is_refused_counts_from_its_place_on(void)
{
    static char no_device_memory[8];
    sli_event wake = {0};
    uint64_t words[2] = {0, 0};
    one_stream s;

    fake_cuda_start(&two_devices);
    open_stream(&s, "cuda:0");
    fake_cuda_hold_copies_after(0);
    T_OK(sli_stream_copy(&s.stream, s.block, "abc", 4));
    T_OK(sli_stream_write(&s.stream, &words[0], 1, &wake));
    T_STATUS(sli_stream_copy(&s.stream, no_device_memory, "abc", 4), SLUICE_E_DEVICE);
    T_CONTAINS(sluice_last_error(), "copy of 4 bytes to the device: cudaErrorInvalidValue");
    T_EQ(cudaGetLastError(), cudaSuccess);
    T_OK(sli_stream_write(&s.stream, &words[1], 1, &wake));
    fake_cuda_hold_copies_after(-1);
    T_STATUS(sli_stream_wait(&s.stream, -1), SLUICE_E_DEVICE);
    T_CONTAINS(sluice_last_error(), "cudaErrorInvalidValue");
    T_EQ(words[0], 1);
    T_EQ(words[1], 0);
    T_EQ(atomic_load(&wake.epoch), 2);
    close_stream(&s);
    nothing_is_live();
}

/* Whatever CUDA refuses, memory is the caller's again only when no copy reads it any more. */
static void a_wait_is_for_copies_behind_which_no_event_could_be(void)
{
    uint64_t word = 0;
    one_stream s;

    fake_cuda_start(&two_devices);
    open_stream(&s, "cuda:0");
    fake_cuda_hold_copies_after(0);
    T_OK(sli_stream_copy(&s.stream, s.block, "abc", 4));
    fake_cuda_fail_records(1, cudaErrorIllegalAddress);
    T_STATUS(sli_stream_write(&s.stream, &word, 1, NULL), SLUICE_E_DEVICE);
    T_CONTAINS(sluice_last_error(), "cudaEventRecord: cudaErrorIllegalAddress");
    T_STATUS(sli_stream_wait(&s.stream, 0), SLUICE_TIMEOUT);
    fake_cuda_hold_copies_after(-1);
    T_STATUS(sli_stream_wait(&s.stream, -1), SLUICE_E_DEVICE);
    T_EQ(word, 0);
    T_TRUE(holds(&s, "abc"));
    close_stream(&s);

    open_stream(&s, "cuda:0");
    fake_cuda_slow_copies(20000);
    T_OK(sli_stream_copy(&s.stream, s.block, "abc", 4));
    fake_cuda_fail_records(1, cudaErrorIllegalAddress);
    close_stream(&s); /* the fake ends the test where a copy is still under way */
    nothing_is_live();
}

static void opening_survives_running_out_of_memory(void)
{
    sluice_device *device = NULL;
    sli_stream stream = {0};
    int64_t passes = 0;

    fake_cuda_start(&two_devices);
    T_OK(sluice_device_open("cuda:0", &device));
    for (;; passes++) {
        sluice_status st;

        sli_alloc_fail_after(passes);
        st = sli_stream_open(device, "test", SLI_STREAM_COPIES, NULL, 0, &stream);
        sli_alloc_fail_after(-1);
        if (st == SLUICE_OK) {
            break;
        }
        T_EQ(st, SLUICE_E_NO_MEMORY);
        T_EQ(fake_cuda_count().streams + fake_cuda_count().events, 0);
    }
    T_TRUE(passes > 0);
    sli_stream_close(&stream);
    sluice_device_close(device);
    nothing_is_live();
}

/* ---- threads --------------------------------------------------------------------------------- */

typedef struct giver {
    sli_thread thread;
    one_stream own;
    sli_stream *shared;
    uint64_t word;
    char text[BYTES];
    bool right;
} giver;

/* Copies numbers one after another; each must be there when its word is. */
static void copy_numbers(void *arg)
{
    giver *g = arg;
    sli_event wake = {0};

    g->right = true;
    for (uint64_t i = 1; i <= 100; i++) {
        snprintf(g->text, sizeof(g->text), "%llu", (unsigned long long)i);
        g->right = g->right &&
                   sli_stream_copy(&g->own.stream, g->own.block, g->text, BYTES) == SLUICE_OK &&
                   sli_stream_write(&g->own.stream, &g->word, i, &wake) == SLUICE_OK &&
                   sli_stream_wait(&g->own.stream, -1) == SLUICE_OK && load(&g->word) == i &&
                   holds(&g->own, g->text);
    }
}

static void streams_of_two_devices_run_beside_each_other(void)
{
    static giver givers[4];

    fake_cuda_start(&two_devices);
    for (int i = 0; i < 4; i++) {
        open_stream(&givers[i].own, i % 2 == 0 ? "cuda:0" : "cuda:1");
        T_EQ(fake_cuda_device_of(givers[i].own.block), i % 2);
        T_OK(sli_thread_start(&givers[i].thread, "test", NULL, copy_numbers, &givers[i]));
    }
    for (int i = 0; i < 4; i++) {
        sli_thread_join(&givers[i].thread);
        T_TRUE(givers[i].right);
        close_stream(&givers[i].own);
    }
    nothing_is_live();
}

static void give_words(void *arg)
{
    giver *g = arg;

    g->right = true;
    for (uint64_t i = 1; i <= 500; i++) {
        g->right = g->right && sli_stream_write(g->shared, &g->word, i, NULL) == SLUICE_OK;
    }
}

static void threads_share_a_stream(void)
{
    static giver givers[3];
    one_stream s;

    fake_cuda_start(&two_devices);
    open_stream(&s, "cuda:1");
    for (int i = 0; i < 3; i++) {
        givers[i].shared = &s.stream;
        T_OK(sli_thread_start(&givers[i].thread, "test", NULL, give_words, &givers[i]));
    }
    for (int i = 0; i < 20; i++) {
        T_OK(sli_stream_copy(&s.stream, s.block, "abc", 4));
        T_OK(sli_stream_wait(&s.stream, -1));
    }
    for (int i = 0; i < 3; i++) {
        sli_thread_join(&givers[i].thread);
        T_TRUE(givers[i].right);
    }
    T_OK(sli_stream_wait(&s.stream, -1));
    for (int i = 0; i < 3; i++) {
        T_EQ(givers[i].word, 500);
    }
    close_stream(&s);
}

/* ---- the queue ------------------------------------------------------------------------------- */

static void a_queue_copies_from_page_locked_memory_only(void)
{
    fixture f;

    fake_cuda_start(&readable);
    open_queue(&f, "cuda:0", true);
    T_EQ(fake_cuda_count().locked, 1);
    for (uint64_t seq = 1; seq <= 5 * SLOTS; seq++) {
        produce(&f, seq);
        consume(&f, seq);
    }
    T_EQ(fake_cuda_pageable_copies(), 0);
    close_queue(&f);
    nothing_is_live();
}

/* Copies are under way together, and one that fails takes its device with it: what had arrived is
 * good. */
static void a_copy_that_fails_ends_a_queue_in_its_place(void)
{
    fixture f;

    sluice_log_set_level(SLUICE_LOG_OFF);
    fake_cuda_start(&readable);
    fake_cuda_fail_copy_after(2, cudaErrorIllegalAddress);
    open_queue(&f, "cuda:0", false);
    for (uint64_t seq = 1; seq <= 2; seq++) {
        produce(&f, seq);
        consume(&f, seq);
    }
    produce(&f, 3);
    T_STATUS(sli_queue_wait(f.queue, 3, -1, false), SLUICE_E_DEVICE);
    T_CONTAINS(sluice_last_error(), "cudaErrorIllegalAddress");
    close_queue(&f);
    nothing_is_live();
    sluice_log_set_level(SLUICE_LOG_WARN);
}

const t_test cuda_stream_tests[] = {
    T_TEST(a_word_is_stored_behind_the_copies_before_it),
    T_TEST(a_word_does_not_wait_for_later_copies),
    T_TEST(a_published_word_is_stored_behind_the_copies_before_it),
    T_TEST(a_word_waits_for_published_words_too),
    T_TEST(words_behind_an_error_answer_with_it),
    T_TEST(entering_a_device_saves_calls),
    T_TEST(waiting_is_for_copies_without_a_word_too),
    T_TEST(calls_come_in_order_behind_copies),
    T_TEST(a_copy_waits_for_the_call_before_it),
    T_TEST(closing_finishes_what_was_given),
    T_TEST(a_wait_ends_in_time_also_when_the_stream_takes_no_more),
    T_TEST(a_copy_that_fails_stops_the_stream),
    T_TEST(a_copy_that_is_refused_counts_from_its_place_on),
    T_TEST(a_wait_is_for_copies_behind_which_no_event_could_be),
    T_TEST(opening_survives_running_out_of_memory),
    T_TEST(streams_of_two_devices_run_beside_each_other),
    T_TEST(threads_share_a_stream),
    T_TEST(a_queue_copies_from_page_locked_memory_only),
    T_TEST(a_copy_that_fails_ends_a_queue_in_its_place),
    T_END,
};
