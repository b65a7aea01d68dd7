/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring protocol itself, ring_int.h as it is, under real threads: workers fill rows in no order,
 * a copier carries batches from ring to ring or there is none, a consumer checks each row.
 *
 * Compiled with -DBUG=n it makes one mistake, and the thread sanitizer or a check below must find
 * it: run.sh does that. The orders of the header's two words can be taken away, too.
 *
 *     stress_ring [BATCHES]
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    NO_BUG,
    BUG_WORD_FIRST,    /* the word says that the batch is there before it is */
    BUG_RELEASE_FIRST, /* a slot is given back before its last row is read */
    BUG_WINDOW,        /* the producer is allowed one slot more than there are */
    BUG_ROWS_RELAXED,  /* the row counter does not hand over the other workers' rows */
    BUG_ROWS_KEPT,     /* the row counter is not reset */
    BUG_FIRST_ROW,     /* the first row, not the last, publishes the batch */
    BUG_STAGING_FIRST, /* staging is given back before it is copied */
    BUG_STORE_RELAXED, /* the stores of both words lose their release order */
    BUG_LOAD_RELAXED   /* the loads of both words lose their acquire order */
};
#ifndef BUG
#define BUG NO_BUG
#endif

#if BUG == 8
#undef __ATOMIC_RELEASE
#define __ATOMIC_RELEASE __ATOMIC_RELAXED
#elif BUG == 9
#undef __ATOMIC_ACQUIRE
#define __ATOMIC_ACQUIRE __ATOMIC_RELAXED
#endif
#include "ring_int.h"

enum { SLOTS = 3, ROWS = 4, ROW_WORDS = 8, WORKERS = 2, TIME_LIMIT_S = 120 };

/* What lies in a slot; plain memory, so that the sanitizer sees each unordered access. */
typedef struct slot {
    uint64_t seq;
    uint64_t rows[ROWS][ROW_WORDS];
} slot;

typedef struct ring {
    sli_ring words;
    uint64_t ready[SLOTS];
    uint64_t consumed;
    slot slots[SLOTS];
} ring;

static ring staging;
static ring device;
static ring *back; /* the consumer's: &device, or &staging where nothing is copied */
static atomic_uint rows_done[SLOTS];
static atomic_uint_fast64_t next_row;
static uint64_t batches = 4000;

_Noreturn static void wrong(const char *what, uint64_t seq)
{
    printf("batch %llu: %s\n", (unsigned long long)seq, what);
    fflush(stdout);
    _exit(1);
}

static void time_is_up(int signal_number)
{
    static const char text[] = "nothing moves any more\n";

    (void)signal_number;
    _exit(write(1, text, sizeof(text) - 1) < 0 ? 2 : 1);
}

static void ring_init(ring *r)
{
    memset(r, 0, sizeof(*r));
    r->words = (sli_ring){r->ready, &r->consumed, SLOTS};
}

static slot *slot_of(ring *r, uint64_t seq)
{
    return &r->slots[sli_ring_slot(&r->words, seq)];
}

/* A short time that differs from call to call, so that every ring is full and empty in turn. */
static void dawdle(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    if (*state >> 62 == 0) {
        for (uint64_t i = *state >> 54; i > 0; i--) {
            __asm__ volatile("" ::: "memory");
        }
    } else if (*state >> 60 == 15) {
        sched_yield();
    }
}

static void await_room(const ring *r, uint64_t seq)
{
    const uint64_t ahead = BUG == BUG_WINDOW ? 1 : 0;

    while (seq > ahead && !sli_ring_may_fill(&r->words, seq - ahead)) {
        sched_yield();
    }
}

static sli_ring_kind await_batch(const ring *r, uint64_t seq)
{
    sli_ring_kind kind;

    while ((kind = sli_ring_peek(&r->words, seq)) == SLI_RING_EMPTY) {
        const uint64_t word = sli_ring_load_acquire(&r->ready[sli_ring_slot(&r->words, seq)]);

        if (sli_ring_seq(word) > seq) {
            wrong("overwritten before it was taken", seq);
        }
        sched_yield();
    }
    return kind;
}

/* Counts a row; true for whoever has to publish. */
static bool row_done(uint64_t seq)
{
    const memory_order order =
        BUG == BUG_ROWS_RELAXED ? memory_order_relaxed : memory_order_acq_rel;
    const unsigned done =
        atomic_fetch_add_explicit(&rows_done[sli_ring_slot(&staging.words, seq)], 1, order) + 1;

    if (done > ROWS) {
        wrong("more rows than there are", seq);
    }
    return done == (BUG == BUG_FIRST_ROW ? 1 : ROWS);
}

static void publish(uint64_t seq)
{
    if (BUG != BUG_ROWS_KEPT) {
        atomic_store_explicit(&rows_done[sli_ring_slot(&staging.words, seq)], 0,
                              memory_order_relaxed);
    }
    slot_of(&staging, seq)->seq = seq;
    sli_ring_publish(&staging.words, seq, SLI_RING_BATCH);
}

static void *worker_main(void *arg)
{
    uint64_t state = (uint64_t)(uintptr_t)arg;

    for (;;) {
        const uint64_t claim = atomic_fetch_add_explicit(&next_row, 1, memory_order_relaxed);
        const uint64_t seq = claim / ROWS + 1;
        const uint64_t row = claim % ROWS;

        if (seq > batches) {
            if (seq == batches + 1 && row == 0) {
                await_room(&staging, seq);
                sli_ring_publish(&staging.words, seq, SLI_RING_END);
            }
            return NULL;
        }
        await_room(&staging, seq);
        for (size_t i = 0; i < ROW_WORDS; i++) {
            slot_of(&staging, seq)->rows[row][i] = seq * ROWS + row;
        }
        dawdle(&state);
        if (row_done(seq)) {
            publish(seq);
        }
    }
}

static void *copier_main(void *arg)
{
    uint64_t state = 99;

    (void)arg;
    for (uint64_t seq = 1;; seq++) {
        const sli_ring_kind kind = await_batch(&staging, seq);

        await_room(&device, seq);
        if (kind == SLI_RING_END) {
            sli_ring_publish(&device.words, seq, kind);
            return NULL;
        }
        /* Copied, staging given back, handed over: in this order, or a wrong one. */
        if (BUG == BUG_STAGING_FIRST) {
            sli_ring_release(&staging.words, seq);
        }
        if (BUG == BUG_WORD_FIRST) {
            sli_ring_publish(&device.words, seq, kind);
        }
        dawdle(&state);
        memcpy(slot_of(&device, seq), slot_of(&staging, seq), sizeof(slot));
        if (BUG != BUG_STAGING_FIRST) {
            sli_ring_release(&staging.words, seq);
        }
        if (BUG != BUG_WORD_FIRST) {
            sli_ring_publish(&device.words, seq, kind);
        }
    }
}

static void check_row(uint64_t seq, uint64_t row)
{
    for (size_t i = 0; i < ROW_WORDS; i++) {
        if (slot_of(back, seq)->rows[row][i] != seq * ROWS + row) {
            wrong("a row of another batch", seq);
        }
    }
}

static void consume(void)
{
    uint64_t state = 7;
    uint64_t seq = 1;

    for (; await_batch(back, seq) == SLI_RING_BATCH; seq++) {
        if (slot_of(back, seq)->seq != seq) {
            wrong("the slot holds another batch", seq);
        }
        for (uint64_t row = 0; row < ROWS; row++) {
            if (BUG == BUG_RELEASE_FIRST && row == ROWS - 1) {
                sli_ring_release(&back->words, seq);
            }
            dawdle(&state);
            check_row(seq, row);
        }
        if (BUG != BUG_RELEASE_FIRST) {
            sli_ring_release(&back->words, seq);
        }
    }
    if (seq != batches + 1) {
        wrong("the end comes too early", seq);
    }
}

static void run(bool copies)
{
    pthread_t workers[WORKERS];
    pthread_t copier;

    ring_init(&staging);
    ring_init(&device);
    back = copies ? &device : &staging;
    atomic_store(&next_row, 0);
    for (size_t i = 0; i < SLOTS; i++) {
        atomic_store(&rows_done[i], 0);
    }
    for (size_t i = 0; i < WORKERS; i++) {
        pthread_create(&workers[i], NULL, worker_main, (void *)(uintptr_t)(i + 1));
    }
    if (copies) {
        pthread_create(&copier, NULL, copier_main, NULL);
    }
    consume();
    for (size_t i = 0; i < WORKERS; i++) {
        pthread_join(workers[i], NULL);
    }
    if (copies) {
        pthread_join(copier, NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        batches = strtoull(argv[1], NULL, 10);
    }
    signal(SIGALRM, time_is_up);
    alarm(TIME_LIMIT_S);
    run(true);
    run(false);
    printf("%llu batches with a copier and without\n", (unsigned long long)batches);
    return 0;
}
