/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass of a stream, taken by several threads: who asks for sample i gets it when those before
 * it are taken.
 */
#ifndef SLUICE_STREAM_TURNS_H
#define SLUICE_STREAM_TURNS_H

#include "dataset_state.h"

typedef struct stream_turns stream_turns;

/*
 * The pass from sample `first` on; those before it are read and forgotten, but must have the names
 * that stream_turns_add_name() has made `names` of, from 0. Index stages of the dataset, which is
 * open, count; seed is the run's. E_UNSUPPORTED a stage that a stream cannot have; E_IO;
 * E_NO_MEMORY.
 */
sluice_status stream_turns_create(const sluice_dataset *dataset, uint64_t seed, uint64_t first,
                                  uint64_t names, stream_turns **turns_out);
void stream_turns_destroy(stream_turns *turns);

uint64_t stream_turns_add_name(uint64_t names, const char *name);

/*
 * Waits until it is the sample's turn, and puts it into the item. END_OF_DATA it has no such
 * sample; CLOSED it was stopped; E_INVALID it has less than `first`, or others; errors of the
 * source. After an error any later sample is CLOSED.
 * Any thread; each sample once, all of them in the end.
 */
sluice_status stream_turns_take(stream_turns *turns, uint64_t sample, stream_item *item);

/* Everybody who waits, or asks later, gets CLOSED. Any thread. */
void stream_turns_stop(stream_turns *turns);

#endif
