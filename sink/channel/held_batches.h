/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The batches that a loop holds: returned by get_next, not released yet. Each has a set of tensors.
 * Batches are released in any order, but slots are freed in the order of the batches: a released
 * batch keeps its slot until all earlier batches are released.
 */
#ifndef SLUICE_HELD_BATCHES_H
#define SLUICE_HELD_BATCHES_H

#include <sluice/channel.h>

/* One batch that get_next has returned. */
typedef struct held_batch {
    sluice_batch batch; /* lent to the loop; the address is reused `slots` batches later */
    uint64_t seq;
    uint32_t set; /* number of its set of tensors */
    bool held;
} held_batch;

/* Used by the consumer's thread only. */
typedef struct held_batches {
    held_batch *entries; /* (slots); batch seq is in entry (seq - 1) % slots */
    uint32_t *free_sets; /* (most) a ring of free sets, in the order in which they were freed */
    uint32_t slots;
    uint32_t most; /* maximum number of held batches; also the number of sets */
    uint32_t count;
    uint32_t first_free; /* index into free_sets */
    uint64_t freed;      /* last batch whose slot was freed; earlier slots are free, too */
} held_batches;

/* shape: struct_size, input_count and rows of every batch. E_NO_MEMORY. */
sluice_status held_batches_init(held_batches *held, uint32_t slots, uint32_t most,
                                const sluice_batch *shape);
void held_batches_fini(held_batches *held);

/* May batch seq be lent? E_INVALID: `most` batches are held, or the batch `slots` before seq is
 * still held and occupies the slot of seq. */
sluice_status held_batches_check(const held_batches *held, uint64_t seq);

/* The set that the next batch will have. If most is 1 and a batch is held, the set of that batch,
 * which get_next releases first. */
uint32_t held_batches_next_set(const held_batches *held);

/* Marks batch seq as held. Call only after held_batches_check() has returned OK for it. */
held_batch *held_batches_add(held_batches *held, uint64_t seq);

/* Finds the entry of a held batch. E_INVALID: the batch is of another channel, or was released. */
sluice_status held_batches_find(const held_batches *held, const sluice_batch *batch,
                                held_batch **entry_out);

/* The entry of batch seq. */
held_batch *held_batches_at(const held_batches *held, uint64_t seq);

/* Releases a batch and frees its set. Its slot is freed by held_batches_next_slot(). */
void held_batches_remove(held_batches *held, held_batch *entry);

/* Records that batch seq was discarded and its slot freed. No batch may be held. */
void held_batches_discard(held_batches *held, uint64_t seq);

/* Returns the next batch before seq whose slot can be freed, in order; 0: none. Returns each batch
 * once. */
uint64_t held_batches_next_slot(held_batches *held, uint64_t seq);

#endif
