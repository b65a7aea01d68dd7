/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batches through a ring of one slot, made with the library's own primitives, in the right order or
 * in the wrong one: a word that is announced too early must be found by whoever looks at content.
 */
#ifndef PUBLISH_ORDER_H
#define PUBLISH_ORDER_H

#include "ring_int.h"

typedef enum publish_order {
    PUBLISH_BEHIND, /* the batch, then the word that says it is there */
    PUBLISH_BEFORE  /* the mutant */
} publish_order;

/* Word i of batch seq; of no other batch at the same place. */
SLI_DEVICE_FN uint64_t publish_word(uint64_t seq, uint64_t i)
{
    return seq * UINT64_C(0x9E3779B97F4A7C15) + i;
}

static inline void publish_fill(uint64_t *words, uint64_t count, uint64_t seq)
{
    for (uint64_t i = 0; i < count; i++) {
        words[i] = publish_word(seq, i);
    }
}

/* Words first, first + step, ... of batch seq that are something else. */
SLI_DEVICE_FN uint64_t publish_stale(const volatile uint64_t *words, uint64_t count, uint64_t seq,
                                     uint64_t first, uint64_t step)
{
    uint64_t stale = 0;

    for (uint64_t i = first; i < count; i += step) {
        stale += words[i] != publish_word(seq, i);
    }
    return stale;
}

/* Fills the slot and announces it, by stores of the host; `between` is called between the two. */
static inline void publish_by_host(const sli_ring *ring, uint64_t *words, uint64_t count,
                                   uint64_t seq, publish_order order, void (*between)(void *arg),
                                   void *arg)
{
    if (order == PUBLISH_BEFORE) {
        sli_ring_publish(ring, seq, SLI_RING_BATCH);
        between(arg);
        publish_fill(words, count, seq);
        return;
    }
    publish_fill(words, count, seq);
    between(arg);
    sli_ring_publish(ring, seq, SLI_RING_BATCH);
}

#endif
