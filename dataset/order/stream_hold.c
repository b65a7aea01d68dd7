/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_hold.h"

/* Buffers other than those of the workers: one of the source, one for samples of other ranks. */
enum { OTHER_BUFFERS = 2 };

/* The argument of has_room(). */
typedef struct hold_wait {
    stream_hold *hold;
    size_t bytes;
} hold_wait;

void stream_hold_init(stream_hold *hold, uint64_t most)
{
    *hold = (stream_hold){.most = most};
}

static bool has_room(void *arg)
{
    const hold_wait *wait = arg;
    stream_hold *hold = wait->hold;
    const uint64_t bytes = atomic_load_explicit(&hold->bytes, memory_order_relaxed);

    return wait->bytes == 0 || bytes == 0 || bytes + wait->bytes <= hold->most ||
           atomic_load_explicit(&hold->stopped, memory_order_relaxed) ||
           atomic_load_explicit(&hold->abandoned, memory_order_relaxed);
}

bool stream_hold_take(stream_hold *hold, stream_item *item)
{
    hold_wait wait = {hold, item->held > STREAM_SMALL_BYTES ? item->held : 0};

    sli_event_await(&hold->changed, has_room, &wait, -1);
    if (wait.bytes > 0 && atomic_load_explicit(&hold->abandoned, memory_order_relaxed)) {
        return false;
    }
    atomic_fetch_add_explicit(&hold->bytes, wait.bytes, memory_order_relaxed);
    item->charged = wait.bytes;
    return true;
}

void stream_hold_give_back(stream_hold *hold, stream_item *item)
{
    /* Buffers for small samples are kept; a reservation may have spare capacity on top. */
    if (item->bytes.capacity > STREAM_SMALL_BYTES + IMAGE_MOST_SPARE) {
        image_buffer_free(&item->bytes);
    }
    if (item->charged > 0) {
        atomic_fetch_sub_explicit(&hold->bytes, item->charged, memory_order_relaxed);
        item->charged = 0;
        sli_event_notify(&hold->changed);
    }
}

void stream_hold_abandon(stream_hold *hold, bool abandoned)
{
    atomic_store_explicit(&hold->abandoned, abandoned, memory_order_relaxed);
    sli_event_notify(&hold->changed);
}

void stream_hold_stop(stream_hold *hold)
{
    atomic_store_explicit(&hold->stopped, true, memory_order_relaxed);
    sli_event_notify(&hold->changed);
}

uint64_t stream_hold_memory(uint64_t most, uint32_t workers)
{
    const uint64_t small = most < STREAM_SMALL_BYTES ? most : STREAM_SMALL_BYTES;

    /* Two large samples' bytes: the budget of the workers, and one being read; plus the small
     * samples. */
    return 2 * most + (workers + OTHER_BUFFERS) * small;
}
