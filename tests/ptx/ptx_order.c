/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 8, HOST = 0 }; /* thread 0 is the host; thread t of a grid is t + 1 */

/* The last accesses to a byte. A read is kept for each thread. */
typedef struct byte_state {
    uint32_t writer;
    uint64_t written; /* the writer's time; 0: never */
    bool write_is_weak;
    bool of_grid;   /* written by the grid that runs */
    uint64_t *read; /* times of all threads; NULL: never */
    uint64_t weak;  /* bits of the threads whose last read was weak, modulo 64 */
} byte_state;

/* What a release has left at a word. */
typedef struct word_state {
    uint64_t *clock; /* NULL: no release */
    uint32_t thread;
    uint8_t scope;
} word_state;

struct ptx_order {
    uint32_t threads; /* with the host */
    uint32_t block_threads;
    uint64_t *clocks; /* (threads, threads) */
    const uint8_t *base;
    size_t bytes;
    byte_state *states; /* (bytes) */
    word_state *words;  /* (bytes / WORD) */
    ptx_races races;
};

static void *zeros(size_t count, size_t size)
{
    void *memory = calloc(count, size);

    if (memory == NULL) {
        abort();
    }
    return memory;
}

ptx_order *ptx_order_create(uint32_t threads, const void *base, size_t bytes)
{
    ptx_order *order = zeros(1, sizeof(*order));

    order->threads = threads + 1;
    order->base = base;
    order->bytes = bytes;
    order->clocks = zeros((size_t)order->threads * order->threads, sizeof(uint64_t));
    order->states = zeros(bytes, sizeof(*order->states));
    order->words = zeros(bytes / WORD + 1, sizeof(*order->words));
    for (uint32_t t = 0; t < order->threads; t++) {
        order->clocks[(size_t)t * order->threads + t] = 1;
    }
    return order;
}

void ptx_order_destroy(ptx_order *order)
{
    for (size_t i = 0; i < order->bytes; i++) {
        free(order->states[i].read);
    }
    for (size_t i = 0; i < order->bytes / WORD + 1; i++) {
        free(order->words[i].clock);
    }
    free(order->states);
    free(order->words);
    free(order->clocks);
    free(order);
}

const ptx_races *ptx_order_races(const ptx_order *order)
{
    return &order->races;
}

/* ---- clocks ---------------------------------------------------------------------------------- */

static uint64_t *clock_of(ptx_order *order, uint32_t thread)
{
    return order->clocks + (size_t)thread * order->threads;
}

static void join(const ptx_order *order, uint64_t *to, const uint64_t *from)
{
    for (uint32_t t = 0; t < order->threads; t++) {
        to[t] = to[t] > from[t] ? to[t] : from[t];
    }
}

static void advance(ptx_order *order, uint32_t thread)
{
    clock_of(order, thread)[thread]++;
}

/* True if what `other` did at `time` happens before what `thread` does now. */
static bool is_before(ptx_order *order, uint32_t other, uint64_t time, uint32_t thread)
{
    return time <= clock_of(order, thread)[other];
}

/* True if an access of `a` at this scope and one of `b` synchronize. */
static bool scope_includes(const ptx_order *order, uint8_t scope, uint32_t a, uint32_t b)
{
    if (a == HOST || b == HOST) {
        return scope == PTX_SYS;
    }
    return scope >= PTX_GPU || (a - 1) / order->block_threads == (b - 1) / order->block_threads;
}

/* ---- races ----------------------------------------------------------------------------------- */

static void race(ptx_order *order, size_t at, uint32_t thread, uint32_t other, const char *what)
{
    if (order->races.count++ == 0) {
        snprintf(order->races.first, sizeof(order->races.first),
                 "byte %zu: %s by thread %ld is not ordered after thread %ld", at, what,
                 (long)thread - 1, (long)other - 1);
    }
}

static void check_read(ptx_order *order, size_t at, uint32_t thread, const ptx_access *access)
{
    byte_state *state = &order->states[at];
    const uint64_t bit = UINT64_C(1) << thread % 64;
    const bool weak = access->semantics == PTX_WEAK;

    if (state->written != 0 && state->writer != thread && (weak || state->write_is_weak) &&
        !is_before(order, state->writer, state->written, thread)) {
        race(order, at, thread, state->writer, "a load");
    }
    if (access->non_coherent && state->of_grid) {
        race(order, at, thread, state->writer, "a non-coherent load of what the grid writes");
    }
    if (state->read == NULL) {
        state->read = zeros(order->threads, sizeof(uint64_t));
    }
    state->read[thread] = clock_of(order, thread)[thread];
    state->weak = weak ? state->weak | bit : state->weak & ~bit;
}

static void check_write(ptx_order *order, size_t at, uint32_t thread, const ptx_access *access)
{
    byte_state *state = &order->states[at];
    const bool weak = access->semantics == PTX_WEAK;

    if (state->written != 0 && state->writer != thread && (weak || state->write_is_weak) &&
        !is_before(order, state->writer, state->written, thread)) {
        race(order, at, thread, state->writer, "a store");
    }
    for (uint32_t t = 0; state->read != NULL && t < order->threads; t++) {
        if (t != thread && state->read[t] != 0 && (weak || (state->weak >> t % 64 & 1) != 0) &&
            !is_before(order, t, state->read[t], thread)) {
            race(order, at, thread, t, "a store over what was loaded");
        }
    }
    state->writer = thread;
    state->written = clock_of(order, thread)[thread];
    state->write_is_weak = weak;
    state->of_grid = thread != HOST;
}

/* ---- synchronization ------------------------------------------------------------------------- */

static void acquire(ptx_order *order, uint32_t thread, const word_state *word, uint8_t scope)
{
    if (word->clock != NULL && scope_includes(order, scope, thread, word->thread) &&
        scope_includes(order, word->scope, thread, word->thread)) {
        join(order, clock_of(order, thread), word->clock);
    }
}

/* `keeps`: an atomic operation goes on with the release before it. */
static void release(ptx_order *order, uint32_t thread, word_state *word, uint8_t scope, bool keeps)
{
    if (word->clock == NULL) {
        word->clock = zeros(order->threads, sizeof(uint64_t));
    } else if (!keeps) {
        memset(word->clock, 0, order->threads * sizeof(uint64_t));
    }
    join(order, word->clock, clock_of(order, thread));
    word->thread = thread;
    word->scope = scope;
    advance(order, thread);
}

static void access_word(ptx_order *order, uint32_t thread, size_t at, const ptx_access *access,
                        bool reads, bool writes)
{
    word_state *word = &order->words[at / WORD];
    const uint8_t how = access->semantics;

    if (reads && (how == PTX_ACQUIRE || how == PTX_ACQ_REL)) {
        acquire(order, thread, word, access->scope);
    }
    if (writes && (how == PTX_RELEASE || how == PTX_ACQ_REL)) {
        release(order, thread, word, access->scope, reads);
    } else if (writes && !reads) { /* ends what a release before it gave */
        free(word->clock);
        word->clock = NULL;
    }
}

static void access_bytes(ptx_order *order, uint32_t thread, const void *at,
                         const ptx_access *access, bool reads, bool writes)
{
    const size_t count = (size_t)access->bytes * access->lanes;
    const size_t first = (size_t)((const uint8_t *)at - order->base);

    if ((const uint8_t *)at < order->base || first + count > order->bytes) {
        return;
    }
    access_word(order, thread, first, access, reads, false);
    for (size_t i = first; i < first + count; i++) {
        if (reads) {
            check_read(order, i, thread, access);
        }
        if (writes) {
            check_write(order, i, thread, access);
        }
    }
    access_word(order, thread, first, access, reads && writes, writes);
}

void ptx_order_access(ptx_order *order, uint32_t thread, const void *at, const ptx_access *access,
                      bool reads, bool writes)
{
    access_bytes(order, thread + 1, at, access, reads, writes);
}

void ptx_order_host_write(ptx_order *order, const void *to, size_t bytes)
{
    const ptx_access access = {.bytes = 1, .lanes = 1, .semantics = PTX_WEAK};

    for (size_t i = 0; i < bytes; i++) {
        access_bytes(order, HOST, (const uint8_t *)to + i, &access, false, true);
    }
}

void ptx_order_host_release(ptx_order *order, const void *word)
{
    const ptx_access access = {
        .bytes = WORD, .lanes = 1, .semantics = PTX_RELEASE, .scope = PTX_SYS};

    access_bytes(order, HOST, word, &access, false, true);
}

void ptx_order_host_acquire(ptx_order *order, const void *word)
{
    const ptx_access access = {
        .bytes = WORD, .lanes = 1, .semantics = PTX_ACQUIRE, .scope = PTX_SYS};

    access_bytes(order, HOST, word, &access, true, false);
}

/* ---- grids ----------------------------------------------------------------------------------- */

/* A grid runs on the stream, after the grids before it, and not after what the host does meanwhile:
 * the host is ordered by the words of memory only. */
void ptx_order_begin(ptx_order *order, uint32_t block_threads)
{
    order->block_threads = block_threads;
    for (uint32_t t = 2; t < order->threads; t++) {
        join(order, clock_of(order, 1), clock_of(order, t));
    }
    for (uint32_t t = 1; t < order->threads; t++) {
        memcpy(clock_of(order, t), clock_of(order, 1), order->threads * sizeof(uint64_t));
    }
    for (uint32_t t = 1; t < order->threads; t++) {
        advance(order, t);
    }
    for (size_t i = 0; i < order->bytes; i++) {
        order->states[i].of_grid = false;
    }
}

void ptx_order_end(ptx_order *order)
{
    (void)order; /* what the next grid or a word of memory orders */
}

void ptx_order_barrier(ptx_order *order, uint32_t block, uint32_t block_threads)
{
    const uint32_t first = block * block_threads + 1;

    for (uint32_t t = first + 1; t < first + block_threads; t++) {
        join(order, clock_of(order, first), clock_of(order, t));
    }
    for (uint32_t t = first + 1; t < first + block_threads; t++) {
        memcpy(clock_of(order, t), clock_of(order, first), order->threads * sizeof(uint64_t));
    }
    for (uint32_t t = first; t < first + block_threads; t++) {
        advance(order, t);
    }
}
