/* SPDX-License-Identifier: Apache-2.0 */
#include "readahead.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "alloc_int.h"
#include "clock_int.h"
#include "event_int.h"
#include "status_int.h"
#include "worker_pool_int.h"

/*
 * Number of consecutive cached rows after which the threads sleep: initially CACHED_AT_FIRST;
 * CACHED_AGAIN after a needless wake-up; CACHED_IN_TURN after a useful one.
 */
enum { CACHED_AT_FIRST = 8, CACHED_AGAIN = 4, CACHED_IN_TURN = 32 };

/*
 * Upper limit of the back-off. The threads wake after `backoff` slow reads by workers. `backoff` is
 * initially 1 and doubles with each needless wake-up.
 */
enum { MAX_BACKOFF = 1024 };

/*
 * A read counts as slow if it takes longer than SLOW_NS, plus SLOW_NS per SLOW_BYTES; a read from
 * the page cache is faster than that. If a worker was only preempted, the threads wake needlessly,
 * which costs a few residency checks.
 */
enum { SLOW_NS = 50000, SLOW_BYTES = 1 << 18 };

struct readahead {
    readahead_config config;
    sli_worker_pool *pool;
    uint64_t start_ticks;
    int64_t start_ns;
    _Atomic bool stopped;
    sli_event woken; /* notified when any input of choose_row() changes */

    pthread_mutex_t lock;           /* guards the fields below, up to `backoff` */
    uint64_t next;                  /* number of the next sample to check; with one sample in a row,
                                       the number of its row, as for all numbers below */
    uint64_t behind;                /* number of the first sample that no worker has claimed */
    uint64_t bytes;                 /* bytes requested for rows [behind, next) */
    uint64_t sizes[READAHEAD_ROWS]; /* bytes requested for each row, indexed by row modulo
                                       READAHEAD_ROWS */
    uint32_t cached;                /* number of consecutive cached rows */
    bool useful; /* at least one row was not cached since the threads last woke */
    bool asleep;
    int32_t backoff;

    _Atomic uint64_t samples;
    _Atomic uint64_t total_bytes;

    _Alignas(64) _Atomic uint64_t wake_row; /* the worker that claims this row wakes the threads;
                                               UINT64_MAX: no claim wakes them */
    _Atomic uint64_t slow_ticks;            /* SLOW_NS in ticks; UINT64_MAX while the threads are
                                               awake */
    _Atomic int32_t slow_left;              /* slow reads by workers until the threads wake */
};

/* ---- sleeping and waking --------------------------------------------------------------------- */

/*
 * Puts the threads to sleep: they check no more rows until workers have slow reads. The caller
 * holds the lock.
 */
static void fall_asleep(readahead *ahead)
{
    const double ns = (double)(sli_now_ns() - ahead->start_ns);
    const double ticks = (double)(sli_ticks() - ahead->start_ticks);

    ahead->backoff = ahead->useful ? 1 : 2 * ahead->backoff;
    ahead->backoff = ahead->backoff < MAX_BACKOFF ? ahead->backoff : MAX_BACKOFF;
    ahead->asleep = true;
    atomic_store_explicit(&ahead->slow_left, ahead->backoff, memory_order_relaxed);
    atomic_store_explicit(&ahead->slow_ticks, (uint64_t)(SLOW_NS * ticks / (ns > 1 ? ns : 1)) + 1,
                          memory_order_relaxed);
}

/* Resumes or continues checking rows. The caller holds the lock. */
static void stay_awake(readahead *ahead, bool useful)
{
    ahead->asleep = false;
    ahead->useful = useful;
    ahead->cached = 0;
    atomic_store_explicit(&ahead->slow_ticks, UINT64_MAX, memory_order_relaxed);
}

void readahead_wake(readahead *ahead)
{
    if (ahead != NULL) {
        sli_event_notify(&ahead->woken);
    }
}

void readahead_claimed(readahead *ahead, uint64_t row)
{
    uint64_t wake_row;

    if (ahead == NULL) {
        return;
    }
    wake_row = atomic_load_explicit(&ahead->wake_row, memory_order_relaxed);
    if (row >= wake_row &&
        atomic_compare_exchange_strong_explicit(&ahead->wake_row, &wake_row, UINT64_MAX,
                                                memory_order_relaxed, memory_order_relaxed)) {
        sli_event_notify(&ahead->woken);
    }
}

void readahead_was_read(readahead *ahead, uint64_t ticks, uint64_t bytes)
{
    uint64_t slow;

    if (ahead == NULL) {
        return;
    }
    slow = atomic_load_explicit(&ahead->slow_ticks, memory_order_relaxed);
    if (ticks > slow && ticks > slow + bytes * slow / SLOW_BYTES &&
        atomic_fetch_sub_explicit(&ahead->slow_left, 1, memory_order_relaxed) == 1) {
        sli_event_notify(&ahead->woken);
    }
}

/* ---- the rows ahead of the workers ----------------------------------------------------------- */

/* Number of samples in the rows that workers have claimed. */
static uint64_t claimed_samples(const readahead *ahead, memory_order order)
{
    return atomic_load_explicit(ahead->config.claimed, order) * ahead->config.row_samples;
}

/*
 * Removes the rows that workers have claimed from the window [behind, next). The caller holds the
 * lock.
 */
static void follow_workers(readahead *ahead)
{
    const uint64_t claimed = claimed_samples(ahead, memory_order_relaxed);

    for (; ahead->behind < claimed && ahead->behind < ahead->next; ahead->behind++) {
        ahead->bytes -= ahead->sizes[ahead->behind % READAHEAD_ROWS];
        ahead->sizes[ahead->behind % READAHEAD_ROWS] = 0;
    }
    if (ahead->next < claimed) {
        ahead->next = claimed;
        ahead->behind = claimed;
    }
}

/*
 * True if the threads should check rows now; wakes them after enough slow reads. The caller holds
 * the lock.
 */
static bool is_awake(readahead *ahead)
{
    if (ahead->asleep && atomic_load_explicit(&ahead->slow_left, memory_order_relaxed) <= 0) {
        stay_awake(ahead, false);
    }
    return !ahead->asleep;
}

/*
 * True if one more row can be added to the window. Otherwise the worker whose claim leaves the
 * window half empty wakes the threads. The caller holds the lock.
 */
static bool has_room(readahead *ahead)
{
    for (;;) {
        const uint64_t rows = ahead->next - ahead->behind;
        const uint64_t middle = ahead->behind + (rows - 1) / 2;

        if (rows < READAHEAD_ROWS && ahead->bytes < READAHEAD_BYTES) {
            return true;
        }
        /*
         * A worker that claims a row at the same time may still read the old wake_row; the worker
         * that claims the next row reads the new one.
         */
        atomic_store_explicit(&ahead->wake_row, middle / ahead->config.row_samples,
                              memory_order_seq_cst);
        if (claimed_samples(ahead, memory_order_seq_cst) <= middle) {
            return false;
        }
        follow_workers(ahead);
    }
}

/*
 * Finds the next row with bytes to fetch. Returns READAHEAD_WAIT if config.row() returned it, the
 * threads sleep or the window is full; READAHEAD_END if config.row() returned it or readahead was
 * stopped. The caller holds the lock.
 */
static readahead_row choose_row(readahead *ahead, uint64_t *row_out, sample_location *location_out)
{
    const readahead_config *config = &ahead->config;

    for (;;) {
        readahead_row what;
        uint64_t sample;

        follow_workers(ahead);
        what = atomic_load_explicit(&ahead->stopped, memory_order_relaxed)
                   ? READAHEAD_END
                   : config->row(config->arg, ahead->next, &sample);
        if (what == READAHEAD_WAIT || what == READAHEAD_END) {
            return what;
        }
        if (!is_awake(ahead) || !has_room(ahead)) {
            return READAHEAD_WAIT;
        }
        *row_out = ahead->next++;
        if (what == READAHEAD_SAMPLE && config->ops->locate(config->source, sample, location_out) &&
            !location_out->in_parts) {
            return what;
        }
    }
}

/*
 * Returns the number of consecutive cached rows after which the threads sleep. The caller holds the
 * lock.
 */
static uint32_t cached_enough(const readahead *ahead)
{
    if (ahead->useful) {
        return CACHED_IN_TURN;
    }
    return ahead->backoff > 1 ? CACHED_AGAIN : CACHED_AT_FIRST;
}

/* Records the result of a fetch. The caller holds the lock. */
static void note_answer(readahead *ahead, uint64_t row, page_answer answer, uint64_t bytes)
{
    if (answer == PAGES_ASKED) {
        stay_awake(ahead, true);
        if (row >= ahead->behind) {
            ahead->sizes[row % READAHEAD_ROWS] = bytes;
            ahead->bytes += bytes;
        }
        atomic_fetch_add_explicit(&ahead->samples, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&ahead->total_bytes, bytes, memory_order_relaxed);
    } else if (!ahead->asleep && ++ahead->cached >= cached_enough(ahead)) {
        fall_asleep(ahead);
    }
}

static void ahead_main(void *arg, uint32_t thread)
{
    readahead *ahead = arg;
    readahead_row what = READAHEAD_WAIT;

    (void)thread;
    while (what != READAHEAD_END) {
        const uint32_t ticket = sli_event_prepare(&ahead->woken);
        sample_location location;
        page_answer answer;
        uint64_t bytes = 0;
        uint64_t row = 0;

        pthread_mutex_lock(&ahead->lock);
        what = choose_row(ahead, &row, &location);
        pthread_mutex_unlock(&ahead->lock);
        if (what == READAHEAD_WAIT) {
            sli_event_wait(&ahead->woken, ticket, -1);
            continue;
        }
        sli_event_cancel(&ahead->woken);
        if (what == READAHEAD_SAMPLE) {
            answer = ahead->config.fetch(&location, READAHEAD_BYTES, &bytes);
            pthread_mutex_lock(&ahead->lock);
            note_answer(ahead, row, answer, bytes);
            pthread_mutex_unlock(&ahead->lock);
        }
    }
}

/* ---- starting and stopping ------------------------------------------------------------------- */

/*
 * Starts the threads on the CPUs of all workers, since the kernel places pages on the NUMA node of
 * the thread that requests them.
 */
static sluice_status start_threads(readahead *ahead)
{
    const sli_placement *workers = ahead->config.placement;
    sli_cpus *cpus = sli_calloc(READAHEAD_THREADS, sizeof(*cpus));
    const sli_placement threads = {.worker_count = READAHEAD_THREADS, .worker_cpus = cpus};
    sluice_status st;

    if (cpus == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%d threads for readahead", READAHEAD_THREADS);
    }
    for (uint32_t i = 0; i < READAHEAD_THREADS; i++) {
        for (uint32_t w = 0; w < workers->worker_count; w++) {
            for (size_t word = 0; word < SLI_MAX_CPUS / 64; word++) {
                cpus[i].bits[word] |= workers->worker_cpus[w].bits[word];
            }
        }
    }
    st = sli_worker_pool_start(&threads, "sluice/ra", ahead_main, ahead, &ahead->pool);
    sli_free(cpus);
    return st;
}

sluice_status readahead_start(const readahead_config *config, readahead **ahead_out)
{
    readahead *ahead = sli_aligned_alloc(64, sizeof(*ahead));
    sluice_status st;

    if (ahead == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "readahead");
    }
    memset((void *)ahead, 0, sizeof(*ahead));
    ahead->config = *config;
    ahead->start_ticks = sli_ticks();
    ahead->start_ns = sli_now_ns();
    ahead->backoff = 1;
    pthread_mutex_init(&ahead->lock, NULL);
    atomic_store_explicit(&ahead->wake_row, UINT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&ahead->slow_ticks, UINT64_MAX, memory_order_relaxed);
    st = start_threads(ahead);
    if (st != SLUICE_OK) {
        readahead_destroy(ahead);
        return st;
    }
    *ahead_out = ahead;
    return SLUICE_OK;
}

void readahead_stop(readahead *ahead)
{
    if (ahead != NULL && ahead->pool != NULL) {
        atomic_store_explicit(&ahead->stopped, true, memory_order_relaxed);
        sli_event_notify(&ahead->woken);
        sli_worker_pool_wait(ahead->pool);
    }
}

const sli_thread *readahead_thread(const readahead *ahead, uint32_t i)
{
    return ahead != NULL && ahead->pool != NULL && i < sli_worker_pool_count(ahead->pool)
               ? sli_worker_pool_thread(ahead->pool, i)
               : NULL;
}

void readahead_destroy(readahead *ahead)
{
    if (ahead != NULL) {
        readahead_stop(ahead);
        sli_worker_pool_join(ahead->pool);
        pthread_mutex_destroy(&ahead->lock);
        sli_free(ahead);
    }
}

void readahead_counts(const readahead *ahead, uint64_t *samples_out, uint64_t *bytes_out)
{
    *samples_out = ahead != NULL ? atomic_load_explicit(&ahead->samples, memory_order_relaxed) : 0;
    *bytes_out =
        ahead != NULL ? atomic_load_explicit(&ahead->total_bytes, memory_order_relaxed) : 0;
}
