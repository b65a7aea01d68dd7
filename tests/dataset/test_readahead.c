/* SPDX-License-Identifier: Apache-2.0 */
/* Readahead by itself: a source that only says where, and a page cache that a test plays. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "alloc_int.h"
#include "clock_int.h"
#include "readahead.h"
#include "testing.h"

enum { MOST_ROWS = 8192, ALL_CACHED = -1, SLOW_TICKS = 2000000000 };

/* Samples are 1000 + their row. */
static struct {
    pthread_mutex_t lock; /* guards what is not atomic */
    pthread_cond_t changed;
    uint64_t end;     /* rows of the run */
    uint64_t padding; /* every so many rows one has no sample; 0: none */
    bool waits;       /* rows must not be read now */
    bool blocks;      /* fetches do not return */
    uint64_t bytes;   /* of each sample */
    int64_t cold;     /* samples of this many rows are not cached, from row 0 on */
    uint64_t looked;  /* looks at rows */
    uint64_t looked_at[MOST_ROWS];
    uint64_t located;
    uint64_t rows[MOST_ROWS]; /* located, in this order */
    uint64_t fetched;
    uint64_t pending; /* threads that have located a row, and not looked for one since */
    uint64_t idle;    /* looks in turn without a row located, nor one pending */
    uint64_t most;    /* as the last fetch had it */
    bool beyond;      /* a row was fetched that is too far from the workers */
    _Atomic uint64_t claimed;
} play = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static _Thread_local bool is_pending;

static readahead_row play_row(void *arg, uint64_t row, uint64_t *sample_out)
{
    readahead_row what = READAHEAD_SAMPLE;

    (void)arg;
    pthread_mutex_lock(&play.lock);
    play.pending -= is_pending;
    is_pending = false;
    play.idle = play.pending == 0 ? play.idle + 1 : 0;
    play.looked++;
    play.looked_at[row % MOST_ROWS]++;
    if (row >= play.end) {
        what = READAHEAD_END;
    } else if (play.waits) {
        what = READAHEAD_WAIT;
    } else if (play.padding > 0 && row % play.padding == 0) {
        what = READAHEAD_NOTHING;
    }
    *sample_out = 1000 + row;
    pthread_cond_broadcast(&play.changed);
    pthread_mutex_unlock(&play.lock);
    return what;
}

static bool play_locate(const void *source, uint64_t index, sample_location *location_out)
{
    bool has_bytes;

    pthread_mutex_lock(&play.lock);
    play.rows[play.located++ % MOST_ROWS] = index - 1000;
    play.beyond |= index - 1000 >= atomic_load(&play.claimed) + READAHEAD_ROWS;
    has_bytes = play.bytes > 0;
    play.pending += has_bytes;
    is_pending = has_bytes;
    play.idle = 0;
    pthread_mutex_unlock(&play.lock);
    *location_out = (sample_location){.fd = source == &play ? -1 : 0, .offset = index};
    return has_bytes;
}

static page_answer play_fetch(const sample_location *location, uint64_t most, uint64_t *bytes_out)
{
    bool cold;

    pthread_mutex_lock(&play.lock);
    play.fetched++;
    play.most = most;
    cold = (int64_t)location->offset - 1000 < play.cold;
    *bytes_out = cold ? play.bytes : 0;
    pthread_cond_broadcast(&play.changed);
    while (play.blocks) {
        pthread_cond_wait(&play.changed, &play.lock);
    }
    pthread_mutex_unlock(&play.lock);
    return cold ? PAGES_ASKED : PAGES_CACHED;
}

static const source_ops play_ops = {.locate = play_locate};

static void reset(uint64_t end, uint64_t bytes, int64_t cold)
{
    play.end = end;
    play.padding = 0;
    play.waits = false;
    play.blocks = false;
    play.bytes = bytes;
    play.cold = cold;
    play.looked = 0;
    memset(play.looked_at, 0, sizeof(play.looked_at));
    play.located = 0;
    play.fetched = 0;
    play.pending = 0;
    play.idle = 0;
    play.beyond = false;
    atomic_store(&play.claimed, 0);
}

static sluice_status try_start(readahead **ahead_out)
{
    static sli_cpus cpus[2];
    static const sli_placement placement = {.worker_count = 2, .worker_cpus = cpus};
    const readahead_config config = {.ops = &play_ops,
                                     .row_samples = 1,
                                     .source = &play,
                                     .placement = &placement,
                                     .claimed = &play.claimed,
                                     .row = play_row,
                                     .fetch = play_fetch};

    return readahead_start(&config, ahead_out);
}

static readahead *start(void)
{
    readahead *ahead = NULL;

    T_OK(try_start(&ahead));
    return ahead;
}

/* Until *count has come to so many. */
static void await(const uint64_t *count, uint64_t want)
{
    pthread_mutex_lock(&play.lock);
    while (*count < want) {
        pthread_cond_wait(&play.changed, &play.lock);
    }
    pthread_mutex_unlock(&play.lock);
}

static uint64_t now(const uint64_t *count)
{
    uint64_t value;

    pthread_mutex_lock(&play.lock);
    value = *count;
    pthread_mutex_unlock(&play.lock);
    return value;
}

/* Until all threads have looked at this row and gone to sleep over it. */
static void await_rest_at(uint64_t row)
{
    await(&play.looked_at[row % MOST_ROWS], READAHEAD_THREADS);
}

/* Workers claim the rows before `rows`. */
static void claim(readahead *ahead, uint64_t rows)
{
    for (uint64_t row = atomic_load(&play.claimed); row < rows; row++) {
        atomic_fetch_add(&play.claimed, 1);
        readahead_claimed(ahead, row);
    }
}

static void check_rows(uint64_t first, uint64_t count)
{
    T_EQ(play.located, count);
    for (uint64_t i = 0; i < count; i++) {
        T_EQ(play.rows[i], first + i);
    }
}

/* ---- what is asked for ----------------------------------------------------------------------- */

static void rows_are_asked_for_in_order_up_to_the_bound(void)
{
    readahead *ahead;
    uint64_t samples;
    uint64_t bytes;

    reset(UINT64_MAX, 1000, INT64_MAX);
    ahead = start();
    await(&play.fetched, READAHEAD_ROWS);
    await_rest_at(READAHEAD_ROWS);
    T_EQ(play.most, READAHEAD_BYTES);
    readahead_stop(ahead);
    check_rows(0, READAHEAD_ROWS);
    readahead_counts(ahead, &samples, &bytes);
    T_EQ(samples, READAHEAD_ROWS);
    T_EQ(bytes, READAHEAD_ROWS * 1000);
    readahead_destroy(ahead);
}

static void it_goes_on_as_workers_do(void)
{
    readahead *ahead;

    reset(UINT64_MAX, 1000, INT64_MAX);
    ahead = start();
    for (uint64_t rows = 0; rows < 5000; rows += READAHEAD_ROWS / 2) {
        claim(ahead, rows);
        /* They may have gone to sleep while rows were claimed: until half of theirs are. */
        await(&play.fetched, rows + READAHEAD_ROWS / 2);
    }
    readahead_stop(ahead);
    T_TRUE(!play.beyond);
    check_rows(0, play.located);
    readahead_destroy(ahead);
}

static void large_samples_are_asked_for_up_to_the_bound_of_bytes(void)
{
    const uint64_t rows = READAHEAD_BYTES >> 20;
    readahead *ahead;

    reset(UINT64_MAX, 1 << 20, INT64_MAX);
    ahead = start();
    await(&play.fetched, rows);
    readahead_claimed(ahead, 0); /* nobody has claimed: it changes nothing */
    readahead_wake(ahead);
    pthread_mutex_lock(&play.lock);
    play.looked = 0;
    pthread_mutex_unlock(&play.lock);
    readahead_wake(ahead);
    await(&play.looked, READAHEAD_THREADS);
    /* Each thread knows the size of its own only afterwards. */
    T_TRUE(now(&play.fetched) < rows + READAHEAD_THREADS);
    claim(ahead, rows);
    await(&play.fetched, rows + rows / 2);
    readahead_destroy(ahead);
    T_TRUE(play.fetched < 2 * (rows + READAHEAD_THREADS));
    check_rows(0, play.located);
}

/* The bound lets one through that is larger than it. */
static void a_sample_as_large_as_the_bound_is_asked_for(void)
{
    readahead *ahead;

    reset(UINT64_MAX, READAHEAD_BYTES, INT64_MAX);
    ahead = start();
    for (uint64_t rows = 1; rows < 100; rows++) {
        await(&play.fetched, rows);
        claim(ahead, rows);
    }
    readahead_destroy(ahead);
    T_TRUE(play.fetched >= 99 && play.fetched < 100 + READAHEAD_THREADS);
}

static void rows_that_workers_have_claimed_are_left_to_them(void)
{
    readahead *ahead;

    reset(UINT64_MAX, 1000, INT64_MAX);
    atomic_store(&play.claimed, 4000);
    ahead = start();
    await(&play.fetched, READAHEAD_ROWS);
    await_rest_at(4000 + READAHEAD_ROWS);
    claim(ahead, 6000); /* at once beyond all that it knows */
    await(&play.looked_at[6000 + READAHEAD_ROWS / 2 - 1], 1);
    readahead_stop(ahead);
    T_TRUE(!play.beyond);
    for (uint64_t i = 0; i < play.located; i++) {
        T_TRUE(play.rows[i] >= 4000 && (i == 0 || play.rows[i] > play.rows[i - 1]));
    }
    readahead_destroy(ahead);
}

static void padding_and_samples_without_bytes_are_passed_over(void)
{
    readahead *ahead;

    reset(UINT64_MAX, 1000, INT64_MAX);
    play.padding = 2;
    ahead = start();
    await(&play.fetched, READAHEAD_ROWS / 2);
    await_rest_at(READAHEAD_ROWS);
    readahead_destroy(ahead);
    T_EQ(play.located, READAHEAD_ROWS / 2);

    reset(UINT64_MAX, 0, INT64_MAX);
    ahead = start();
    await_rest_at(READAHEAD_ROWS);
    readahead_destroy(ahead);
    check_rows(0, READAHEAD_ROWS);
    T_EQ(play.fetched, 0);
}

static void nothing_is_asked_for_beyond_the_end(void)
{
    readahead *ahead;

    reset(100, 1000, INT64_MAX);
    ahead = start();
    await_rest_at(100);
    readahead_claimed(ahead, 0);
    readahead_destroy(ahead);
    check_rows(0, 100);
}

/* ---- waiting and stopping -------------------------------------------------------------------- */

static void it_waits_where_nothing_is_to_be_read(void)
{
    readahead *ahead;

    reset(UINT64_MAX, 1000, INT64_MAX);
    play.waits = true;
    ahead = start();
    await_rest_at(0);
    T_EQ(now(&play.fetched), 0);
    pthread_mutex_lock(&play.lock);
    play.waits = false;
    pthread_mutex_unlock(&play.lock);
    readahead_wake(ahead);
    await(&play.fetched, READAHEAD_ROWS);
    readahead_destroy(ahead);
    check_rows(0, READAHEAD_ROWS);
}

/* It is the row that says so, also while the threads sleep for another reason. */
static void the_end_of_a_run_ends_it_wherever_it_is(void)
{
    for (int64_t cold = 0; cold <= 1000; cold += 1000) {
        readahead *ahead;

        reset(UINT64_MAX, 1000, cold);
        ahead = start();
        await(&play.fetched, 8);
        pthread_mutex_lock(&play.lock);
        play.end = 0;
        play.looked = 0;
        pthread_mutex_unlock(&play.lock);
        readahead_wake(ahead);
        await(&play.looked, READAHEAD_THREADS);
        readahead_destroy(ahead);
    }
}

static void it_can_be_stopped_at_any_moment(void)
{
    for (uint32_t i = 0; i < 300; i++) {
        int64_t until;
        readahead *ahead;

        reset(i % 3 == 0 ? 40 : UINT64_MAX, 1000, i % 2 == 0 ? INT64_MAX : 20);
        ahead = start();
        claim(ahead, i % 50);
        until = sli_now_ns() + i * 370 % 100000;
        while (sli_now_ns() < until) {
        }
        readahead_stop(ahead);
        readahead_stop(ahead);
        readahead_destroy(ahead);
        T_TRUE(!play.beyond);
    }
    readahead_stop(NULL);
    readahead_destroy(NULL);
}

static void no_readahead_takes_what_workers_tell(void)
{
    uint64_t samples = 1;
    uint64_t bytes = 1;

    readahead_claimed(NULL, 1);
    readahead_was_read(NULL, SLOW_TICKS, 1);
    readahead_wake(NULL);
    readahead_counts(NULL, &samples, &bytes);
    T_EQ(samples, 0);
    T_EQ(bytes, 0);
}

/* One fetch that takes long holds one thread, and workers that overtake it are no harm. */
static void fetches_that_take_long_hold_their_threads_only(void)
{
    uint64_t samples;
    uint64_t bytes;
    readahead *ahead;

    reset(UINT64_MAX, READAHEAD_BYTES, INT64_MAX);
    play.blocks = true;
    ahead = start();
    await(&play.fetched, READAHEAD_THREADS);
    claim(ahead, 3000);
    pthread_mutex_lock(&play.lock);
    T_EQ(play.fetched, READAHEAD_THREADS);
    play.blocks = false;
    pthread_cond_broadcast(&play.changed);
    pthread_mutex_unlock(&play.lock);
    /* Their bytes count no more: the bound has room for another. */
    await(&play.fetched, READAHEAD_THREADS + 1);
    readahead_stop(ahead);
    readahead_counts(ahead, &samples, &bytes);
    T_EQ(samples, play.fetched);
    T_EQ(bytes, play.fetched * READAHEAD_BYTES);
    readahead_destroy(ahead);
}

static void it_starts_or_says_that_memory_ran_out(void)
{
    sluice_status st = SLUICE_E_NO_MEMORY;

    for (int64_t passes = 0; st != SLUICE_OK; passes++) {
        readahead *ahead = NULL;

        reset(UINT64_MAX, 1000, INT64_MAX);
        sli_alloc_fail_after(passes);
        st = try_start(&ahead);
        sli_alloc_fail_after(-1);
        T_TRUE(st == SLUICE_OK || st == SLUICE_E_NO_MEMORY);
        T_TRUE((st == SLUICE_OK) == (ahead != NULL));
        readahead_destroy(ahead);
    }
}

/* ---- only while it is of use ----------------------------------------------------------------- */

/* Until the threads have asked about all rows that they want to, and sleep: a slow read would have
 * nothing to say to those who are awake. Looks come one at a time, so of two with no row between
 * them the first found nothing to do; and while no thread has a row, nothing changes that. */
static void await_sleep(readahead *ahead, uint64_t fetched)
{
    await(&play.fetched, fetched);
    pthread_mutex_lock(&play.lock);
    play.idle = 0;
    pthread_mutex_unlock(&play.lock);
    while (now(&play.idle) < 2) {
        const uint64_t looked = now(&play.looked);

        readahead_wake(ahead);
        await(&play.looked, looked + 1);
    }
}

static void cached_rows_send_it_to_sleep_and_slow_reads_wake_it(void)
{
    uint64_t fetched = 0;
    uint64_t enough = 8;
    readahead *ahead;

    reset(UINT64_MAX, 1000, ALL_CACHED);
    ahead = start();
    /* For nothing: it takes ever more slow reads to wake them, and then fewer rows are opened. */
    for (uint32_t patience = 2; patience <= 64; patience *= 2) {
        await_sleep(ahead, fetched + enough);
        T_TRUE(now(&play.fetched) < fetched + enough + READAHEAD_THREADS);
        enough = 4;
        fetched = now(&play.fetched);
        for (uint32_t i = 0; i + 1 < patience; i++) {
            readahead_was_read(ahead, SLOW_TICKS, 1000);
        }
        for (uint32_t i = 0; i < 1000; i++) {
            readahead_was_read(ahead, 1, 1000);                       /* quick */
            readahead_was_read(ahead, SLOW_TICKS, UINT64_C(1) << 36); /* much */
        }
        await_sleep(ahead, fetched);
        T_EQ(now(&play.fetched), fetched);
        readahead_was_read(ahead, SLOW_TICKS, 1000);
    }
    readahead_destroy(ahead);
}

static void after_rows_that_were_not_cached_it_looks_for_longer(void)
{
    readahead *ahead;
    uint64_t fetched;

    reset(UINT64_MAX, 1000, 5);
    ahead = start();
    await_sleep(ahead, 5 + 32);
    /* A cold row whose thread was slow makes it look at as many again. */
    T_TRUE(now(&play.fetched) < 5 + (1 + READAHEAD_THREADS) * (32 + READAHEAD_THREADS));
    fetched = now(&play.fetched);
    /* It was of use: the next slow read wakes it, at the row that the workers are at. */
    pthread_mutex_lock(&play.lock);
    play.cold = INT64_MAX;
    pthread_mutex_unlock(&play.lock);
    claim(ahead, 1000);
    await_sleep(ahead, 0);
    T_EQ(now(&play.fetched), fetched);
    pthread_mutex_lock(&play.lock);
    play.located = 0;
    pthread_mutex_unlock(&play.lock);
    readahead_was_read(ahead, SLOW_TICKS, 1000);
    await(&play.located, READAHEAD_ROWS);
    readahead_destroy(ahead);
    check_rows(1000, READAHEAD_ROWS);
}

const t_test readahead_tests[] = {
    T_TEST(rows_are_asked_for_in_order_up_to_the_bound),
    T_TEST(it_goes_on_as_workers_do),
    T_TEST(large_samples_are_asked_for_up_to_the_bound_of_bytes),
    T_TEST(a_sample_as_large_as_the_bound_is_asked_for),
    T_TEST(rows_that_workers_have_claimed_are_left_to_them),
    T_TEST(padding_and_samples_without_bytes_are_passed_over),
    T_TEST(nothing_is_asked_for_beyond_the_end),
    T_TEST(it_waits_where_nothing_is_to_be_read),
    T_TEST(the_end_of_a_run_ends_it_wherever_it_is),
    T_TEST(it_can_be_stopped_at_any_moment),
    T_TEST(no_readahead_takes_what_workers_tell),
    T_TEST(fetches_that_take_long_hold_their_threads_only),
    T_TEST(it_starts_or_says_that_memory_ran_out),
    T_TEST(cached_rows_send_it_to_sleep_and_slow_reads_wake_it),
    T_TEST(after_rows_that_were_not_cached_it_looks_for_longer),
    T_END,
};
