/* SPDX-License-Identifier: Apache-2.0 */
#include "held_batches.h"

#include "alloc_int.h"
#include "status_int.h"

sluice_status held_batches_init(held_batches *held, uint32_t slots, uint32_t most,
                                const sluice_batch *shape)
{
    *held = (held_batches){.slots = slots, .most = most};
    held->entries = sli_calloc(slots, sizeof(*held->entries));
    held->free_sets = sli_calloc(most, sizeof(*held->free_sets));
    if (held->entries == NULL || held->free_sets == NULL) {
        held_batches_fini(held);
        return sli_fail(SLUICE_E_NO_MEMORY, "a channel of %u slots", slots);
    }
    for (uint32_t i = 0; i < slots; i++) {
        held->entries[i].batch = *shape;
    }
    for (uint32_t i = 0; i < most; i++) {
        held->free_sets[i] = i;
    }
    return SLUICE_OK;
}

void held_batches_fini(held_batches *held)
{
    sli_free(held->entries);
    sli_free(held->free_sets);
    held->entries = NULL;
    held->free_sets = NULL;
}

/* Maps an index below 2 * most to an index into the ring free_sets. */
static uint32_t wrap(const held_batches *held, uint32_t index)
{
    return index < held->most ? index : index - held->most;
}

held_batch *held_batches_at(const held_batches *held, uint64_t seq)
{
    return &held->entries[(seq - 1) % held->slots];
}

sluice_status held_batches_check(const held_batches *held, uint64_t seq)
{
    const held_batch *entry = held_batches_at(held, seq);

    if (held->count == held->most) {
        return sli_fail(SLUICE_E_INVALID,
                        "sluice_channel_get_next: %u batches are held, as many as config.held "
                        "allows; call sluice_channel_release() first",
                        held->count);
    }
    if (entry->held) {
        return sli_fail(SLUICE_E_INVALID,
                        "sluice_channel_get_next: batch %llu is held while %u others came after "
                        "it, and there are %u slots; release it first, or set config.slots higher",
                        (unsigned long long)entry->batch.number, held->slots - 1, held->slots);
    }
    return SLUICE_OK;
}

uint32_t held_batches_next_set(const held_batches *held)
{
    return held->free_sets[held->first_free];
}

held_batch *held_batches_add(held_batches *held, uint64_t seq)
{
    held_batch *entry = held_batches_at(held, seq);

    entry->seq = seq;
    entry->set = held->free_sets[held->first_free];
    entry->held = true;
    held->first_free = wrap(held, held->first_free + 1);
    held->count++;
    return entry;
}

sluice_status held_batches_find(const held_batches *held, const sluice_batch *batch,
                                held_batch **entry_out)
{
    /* Compares addresses as integers because the caller's pointer may be invalid. `batch` is the
     * first member of its entry. */
    const uintptr_t offset = (uintptr_t)batch - (uintptr_t)held->entries;
    held_batch *entry;

    if (offset / sizeof(*entry) >= held->slots || offset % sizeof(*entry) != 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "sluice_channel_release: the batch is not one of this channel; it must be "
                        "a pointer that sluice_channel_get_next() of this channel has set");
    }
    entry = &held->entries[offset / sizeof(*entry)];
    *entry_out = entry;
    return entry->held ? SLUICE_OK
                       : sli_fail(SLUICE_E_INVALID,
                                  "sluice_channel_release: the batch is not held; it has been "
                                  "released before");
}

void held_batches_remove(held_batches *held, held_batch *entry)
{
    entry->held = false;
    held->free_sets[wrap(held, held->first_free + held->most - held->count)] = entry->set;
    held->count--;
}

void held_batches_discard(held_batches *held, uint64_t seq)
{
    held->freed = seq;
}

uint64_t held_batches_next_slot(held_batches *held, uint64_t seq)
{
    const uint64_t next = held->freed + 1;

    if (next >= seq || held_batches_at(held, next)->held) {
        return 0;
    }
    held->freed = next;
    return next;
}
