/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batches that a loop holds: which of those that get_next has lent are not released yet, and
 * which set of tensors each of them has. Batches are released in any order; their slots are freed
 * in the order of the batches, so a slot behind one that is held waits for it.
 */
#ifndef SLUICE_HELD_BATCHES_H
#define SLUICE_HELD_BATCHES_H

#include <sluice/channel.h>

/* A batch as it was lent. */
typedef struct held_batch {
    sluice_batch batch; /* what the loop sees; stays where it is until `slots` batches later */
    uint64_t seq;
    uint32_t set; /* of tensors */
    bool held;
} held_batch;

/* All fields are of the consumer's thread. */
typedef struct held_batches {
    held_batch *entries; /* (slots); batch seq is in entry (seq - 1) % slots */
    uint32_t *free_sets; /* (most), a ring: the set that is free for longest comes first */
    uint32_t slots;
    uint32_t most; /* batches held at once, and sets of tensors */
    uint32_t count;
    uint32_t first_free; /* index into free_sets */
    uint64_t freed;      /* last batch whose slot may be freed, as those before it */
} held_batches;

/* Of batches of so many inputs and rows. E_NO_MEMORY. */
sluice_status held_batches_init(held_batches *held, uint32_t slots, uint32_t most,
                                const sluice_batch *shape);
void held_batches_fini(held_batches *held);

/* May batch seq be lent beside those that are held? E_INVALID: as many as may be are held, or the
 * oldest of them is as many batches old as there are slots. */
sluice_status held_batches_check(const held_batches *held, uint64_t seq);

/* The set that the next batch will have; that of the last one where all are taken. */
uint32_t held_batches_next_set(const held_batches *held);

/* Lends batch seq, after OK of the check. */
held_batch *held_batches_add(held_batches *held, uint64_t seq);

/* The entry of a batch that is held. E_INVALID: it is none of this channel, or released. */
sluice_status held_batches_find(const held_batches *held, const sluice_batch *batch,
                                held_batch **entry_out);

/* The entry of batch seq. */
held_batch *held_batches_at(const held_batches *held, uint64_t seq);

/* Releases a batch; its set is free. */
void held_batches_remove(held_batches *held, held_batch *entry);

/* Batch seq is passed over, where none is held. */
void held_batches_skip(held_batches *held, uint64_t seq);

/* The next slot to free, in order, of batches before seq; 0: none. Each is returned once. */
uint64_t held_batches_next_slot(held_batches *held, uint64_t seq);

#endif
