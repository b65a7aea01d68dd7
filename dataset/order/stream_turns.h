/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass of a stream that several threads share. A request for sample i waits until all samples
 * before it were taken.
 */
#ifndef SLUICE_STREAM_TURNS_H
#define SLUICE_STREAM_TURNS_H

#include "dataset_state.h"

typedef struct stream_turns stream_turns;

/*
 * Prepares a pass from sample `first` on. Samples before it are read and dropped, and the hash of
 * their names (stream_turns_add_name(), starting with 0) must equal `names`. The dataset must be
 * open; its index stages are applied; `seed` is the run's seed. E_UNSUPPORTED: a stage that streams
 * do not support; E_IO; E_NO_MEMORY.
 */
sluice_status stream_turns_create(const sluice_dataset *dataset, uint64_t seed, uint64_t first,
                                  uint64_t names, stream_turns **turns_out);
void stream_turns_destroy(stream_turns *turns);

uint64_t stream_turns_add_name(uint64_t names, const char *name);

/*
 * Waits until it is the turn of the sample, and moves it into the item. END_OF_DATA: no such
 * sample; CLOSED: stopped; E_INVALID: the stream has fewer than `first` samples, or other names;
 * errors of the source. After an error all later requests return CLOSED. Callable from any thread;
 * every sample must be requested exactly once.
 */
sluice_status stream_turns_take(stream_turns *turns, uint64_t sample, stream_item *item);

/* Releases the bytes of the item's sample. Callable from any thread. */
void stream_turns_done(stream_turns *turns, stream_item *item);

/* Cancels all pending and later requests: they return CLOSED. Callable from any thread. */
void stream_turns_stop(stream_turns *turns);

#endif
