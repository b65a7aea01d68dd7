/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The held batches of a loop: get_next has returned them, and they are not released yet. Each has a
 * set of tensors. Batches are released in any order, but their slots are freed in sequence order: a
 * released batch keeps its slot until all earlier batches are released.
 */
#ifndef SLUICE_HELD_BATCHES_H
#define SLUICE_HELD_BATCHES_H

#include <sluice/channel.h>

/* One batch that get_next has returned. */
typedef struct held_batch {
    sluice_batch batch; /* lent to the loop; the address is reused `slots` batches later */
    uint64_t seq;
    uint32_t set; /* index of the batch's set of tensors */
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

/* shape: has the struct_size, input_count and rows of every batch. Returns E_NO_MEMORY if an
 * allocation fails. */
sluice_status held_batches_init(held_batches *held, uint32_t slots, uint32_t most,
                                const sluice_batch *shape);
void held_batches_fini(held_batches *held);

/* Checks whether batch seq may be lent. Returns E_INVALID if `most` batches are held, or if batch
 * seq - slots is still held and occupies the slot. */
sluice_status held_batches_check(const held_batches *held, uint64_t seq);

/* The set of tensors that the next batch will get. If most is 1 and a batch is held, this is the
 * held batch's set, since get_next releases that batch first. */
uint32_t held_batches_next_set(const held_batches *held);

/* Marks batch seq as held. Call only after held_batches_check() has returned OK for it. */
held_batch *held_batches_add(held_batches *held, uint64_t seq);

/* Finds the entry of a held batch. Returns E_INVALID if the batch belongs to another channel or was
 * released. */
sluice_status held_batches_find(const held_batches *held, const sluice_batch *batch,
                                held_batch **entry_out);

/* The entry of batch seq. */
held_batch *held_batches_at(const held_batches *held, uint64_t seq);

/* Releases a batch and frees its set. Its slot is freed by held_batches_next_slot(). */
void held_batches_remove(held_batches *held, held_batch *entry);

/* Records that batch seq was discarded and its slot freed. No batch may be held. */
void held_batches_discard(held_batches *held, uint64_t seq);

/* Returns the sequence number of the next batch before seq whose slot can be freed, in order, or 0
 * if there is no such batch. Returns each batch once. */
uint64_t held_batches_next_slot(held_batches *held, uint64_t seq);

#endif
