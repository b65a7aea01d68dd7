/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds the memory of the stream samples that workers hold. Each worker keeps a buffer for small
 * samples. Large samples share one budget, so their memory does not grow with the number of
 * workers.
 */
#ifndef SLUICE_STREAM_HOLD_H
#define SLUICE_STREAM_HOLD_H

#include "event_int.h"
#include "source.h"
#include "stage.h"

/* Samples up to this size are small. */
#define STREAM_SMALL_BYTES (UINT64_C(8) << 20)

typedef struct stream_hold {
    uint64_t most; /* budget for large samples, in bytes; a single sample is always admitted */
    _Atomic uint64_t bytes;
    _Atomic bool stopped;
    _Atomic bool abandoned;
    sli_event changed;
} stream_hold;

/* most: size of the largest possible sample, in bytes. */
void stream_hold_init(stream_hold *hold, uint64_t most);

/*
 * Charges an item to the budget. Waits until there is room, or a stop is requested. False: large
 * samples are abandoned; the item is not charged. One thread at a time.
 */
bool stream_hold_take(stream_hold *hold, stream_item *item);

/*
 * Releases the charge of an item, and frees its buffer if that is large. Callable from any thread;
 * may be called twice.
 */
void stream_hold_give_back(stream_hold *hold, stream_item *item);

/* Ends the current wait, and makes large samples be refused until it is called with false. Callable
 * from any thread. */
void stream_hold_abandon(stream_hold *hold, bool abandoned);

/* Ends the current wait and all later ones. Callable from any thread. */
void stream_hold_stop(stream_hold *hold);

/*
 * An upper bound on memory, for samples of up to `most` bytes: those that this many workers hold,
 * and those being read.
 */
uint64_t stream_hold_memory(uint64_t most, uint32_t workers);

#endif
