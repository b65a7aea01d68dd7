/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring protocol: how batches are passed from one producer to one consumer through a fixed
 * number of slots. The same source serves C, CUDA and the thread sanitizer; tests/model/ring.pml is
 * the corresponding model for the model checker.
 *
 * Batches are numbered 1, 2, 3, ... Batch `seq` is stored in slot (seq - 1) % slots.
 *
 *   ready[slot]  producer -> consumer: seq, once the slot holds that batch; with a flag when the
 *                slot holds no batch but the end of the data or an error
 *   consumed     consumer -> producer: the last seq whose slot may be written again
 *
 * The producer may fill the slot of `seq` when seq <= consumed + slots. It writes the slot, then
 * publishes; the consumer sees the word, reads the slot, then releases. Both words are accessed by
 * plain 8-byte loads and stores, with one writer each, never by a read-modify-write: over PCIe
 * nothing else is atomic.
 *
 * If batches have to be copied to the device, there are two rings: the workers fill staging memory
 * (the workers together are the producer, the copier is the consumer), and the copier fills device
 * memory for GetNext. Otherwise one ring suffices.
 */
#ifndef SLUICE_RING_INT_H
#define SLUICE_RING_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "device_fn_int.h"

/* Content of a slot of the ring. */
typedef enum sli_ring_kind {
    SLI_RING_EMPTY = 0, /* not filled yet */
    SLI_RING_BATCH = 1,
    SLI_RING_END = 2,  /* the end of the data: no batch follows */
    SLI_RING_ERROR = 3 /* the pipeline failed here; all earlier batches are valid */
} sli_ring_kind;

#define SLI_RING_END_BIT   (UINT64_C(1) << 63)
#define SLI_RING_ERROR_BIT (UINT64_C(1) << 62)

typedef struct sli_ring {
    uint64_t *ready;    /* (slots) words */
    uint64_t *consumed; /* one word */
    uint64_t slots;
} sli_ring;

/* Every access has an explicit memory order. */

SLI_DEVICE_FN uint64_t sli_ring_load_acquire(const uint64_t *word)
{
#if defined(__CUDA_ARCH__)
    uint64_t value;
    asm volatile("ld.acquire.sys.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
    return value;
#else
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
#endif
}

SLI_DEVICE_FN void sli_ring_store_release(uint64_t *word, uint64_t value)
{
#if defined(__CUDA_ARCH__)
    asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
#else
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
#endif
}

/* Relaxed, for counters: an ordered store from a device to host memory takes microseconds. */
SLI_DEVICE_FN void sli_ring_store_relaxed(uint64_t *word, uint64_t value)
{
#if defined(__CUDA_ARCH__)
    asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
#else
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
#endif
}

/*
 * Casts one of `voters` votes. Returns true to the last voter, which resets the counter to 0.
 * Acquire-release: each voter's operations before its vote happen before the last voter's
 * operations after its vote, since each vote reads from the previous one.
 *
 * On a GPU the voters are threads of one grid, so device scope suffices. Device and system scope
 * compose: a system-scope release to the host after the last vote is ordered after all operations
 * of the voters, without an additional fence.
 */
SLI_DEVICE_FN bool sli_ring_vote(uint32_t *votes, uint32_t voters)
{
#if defined(__CUDA_ARCH__)
    uint32_t before;
    asm volatile("atom.acq_rel.gpu.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(votes), "r"(voters - 1)
                 : "memory");
    return before == voters - 1;
#else
    const bool last = __atomic_add_fetch(votes, 1, __ATOMIC_ACQ_REL) == voters;

    if (last) {
        __atomic_store_n(votes, 0, __ATOMIC_RELAXED);
    }
    return last;
#endif
}

SLI_DEVICE_FN uint64_t sli_ring_slot(const sli_ring *ring, uint64_t seq)
{
    return (seq - 1) % ring->slots;
}

/* Producer: the last seq whose slot may be written. */
SLI_DEVICE_FN uint64_t sli_ring_room(const sli_ring *ring)
{
    /* Pairs with the release store in sli_ring_release(): the consumer has read the old batch. */
    return sli_ring_load_acquire(ring->consumed) + ring->slots;
}

/* Producer: true if the slot of seq may be written. The result then remains true until seq is
 * published. */
SLI_DEVICE_FN bool sli_ring_may_fill(const sli_ring *ring, uint64_t seq)
{
    return seq <= sli_ring_room(ring);
}

/* The ready word of seq. */
SLI_DEVICE_FN uint64_t sli_ring_word(uint64_t seq, sli_ring_kind kind)
{
    return kind == SLI_RING_END     ? seq | SLI_RING_END_BIT
           : kind == SLI_RING_ERROR ? seq | SLI_RING_ERROR_BIT
                                    : seq;
}

/* The seq of a ready word. */
SLI_DEVICE_FN uint64_t sli_ring_seq(uint64_t word)
{
    return word & ~(SLI_RING_END_BIT | SLI_RING_ERROR_BIT);
}

/* Producer: publishes seq, whose slot is complete. */
SLI_DEVICE_FN void sli_ring_publish(const sli_ring *ring, uint64_t seq, sli_ring_kind kind)
{
    /* Pairs with the acquire load in sli_ring_peek(): a reader that sees the word sees the slot. */
    sli_ring_store_release(&ring->ready[sli_ring_slot(ring, seq)], sli_ring_word(seq, kind));
}

/* Consumer: what the slot of seq holds. The caller must not have released seq yet. */
SLI_DEVICE_FN sli_ring_kind sli_ring_peek(const sli_ring *ring, uint64_t seq)
{
    /* Pairs with the release store in sli_ring_publish(). */
    uint64_t word = sli_ring_load_acquire(&ring->ready[sli_ring_slot(ring, seq)]);

    if (sli_ring_seq(word) != seq) {
        return SLI_RING_EMPTY;
    }
    return (word & SLI_RING_END_BIT) != 0     ? SLI_RING_END
           : (word & SLI_RING_ERROR_BIT) != 0 ? SLI_RING_ERROR
                                              : SLI_RING_BATCH;
}

/* Consumer: releases seq; its slot may be written again. */
SLI_DEVICE_FN void sli_ring_release(const sli_ring *ring, uint64_t seq)
{
    /* Pairs with the acquire load in sli_ring_room(). */
    sli_ring_store_release(ring->consumed, seq);
}

#endif
