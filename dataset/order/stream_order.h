/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Applies the index stages of a dataset to the samples of a stream: the counterpart of order.h for
 * samples that cannot be accessed by number. Each stage pulls its samples from the previous one,
 * the first stage from the source.
 */
#ifndef SLUICE_STREAM_ORDER_H
#define SLUICE_STREAM_ORDER_H

#include "dataset_state.h"

typedef struct stream_order stream_order;

/*
 * Checks the index stages of a dataset. E_UNSUPPORTED: streams do not support one of them; the
 * message has an alternative.
 */
sluice_status stream_order_check(const sluice_dataset *dataset);

/*
 * Creates the order of a dataset, which must be open, have passed stream_order_check(), and outlive
 * the order. `seed` is the run's seed. Returns E_NO_MEMORY on failure.
 */
sluice_status stream_order_create(const sluice_dataset *dataset, uint64_t seed,
                                  stream_order **order_out);
void stream_order_destroy(stream_order *order);

/*
 * Begins a pass; no pass may be open. The order itself sets the keys in `start`. E_UNSUPPORTED: a
 * second pass, of a source that can be read only once.
 */
sluice_status stream_order_begin(stream_order *order, const stream_start *start);

/* Ends the pass, if one is open. */
void stream_order_end(stream_order *order);
bool stream_order_in_pass(const stream_order *order);

/*
 * Moves the next sample of the pass into the item. END_OF_DATA after the last one. An error of the
 * source is returned after all samples before it, including buffered ones; CLOSED is returned at
 * once.
 */
sluice_status stream_order_next(stream_order *order, stream_item *item);

/* Bytes of memory of the buffered samples. */
uint64_t stream_order_memory(const stream_order *order);

/*
 * An upper bound on the memory for samples of a stream: those of this many workers, and the buffers
 * of stages.
 */
uint64_t stream_order_most_memory(const sluice_dataset *dataset, uint32_t workers);

/* Adds a description of the order, for example "as the stream gives them". */
void stream_order_explain(const sluice_dataset *dataset, sli_text *text);

#endif
