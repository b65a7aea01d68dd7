/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The samples of a stream by the index stages of a dataset: what order.h is for samples that have
 * numbers. Each stage takes its samples from the one before, the first from the source.
 */
#ifndef SLUICE_STREAM_ORDER_H
#define SLUICE_STREAM_ORDER_H

#include "dataset_state.h"

typedef struct stream_order stream_order;

/* E_UNSUPPORTED for an index stage that a stream cannot have, with what to write in its place. */
sluice_status stream_order_check(const sluice_dataset *dataset);

/* The dataset is open, and checked; it lives as long. seed is the run's. E_NO_MEMORY. */
sluice_status stream_order_create(const sluice_dataset *dataset, uint64_t seed,
                                  stream_order **order_out);
void stream_order_destroy(stream_order *order);

/* Begins a pass; none is open. E_UNSUPPORTED a second one of a source that has but one. */
sluice_status stream_order_begin(stream_order *order, uint64_t pass, int stop_fd);

/* Ends the pass, if one is open. */
void stream_order_end(stream_order *order);
bool stream_order_in_pass(const stream_order *order);

/*
 * Puts the next sample of the pass into the item; END_OF_DATA after the last. What is wrong with
 * the source comes behind the samples before it, those too that are held. CLOSED at once.
 */
sluice_status stream_order_next(stream_order *order, stream_item *item);

/* Bytes of samples that are held. */
uint64_t stream_order_memory(const stream_order *order);

/* Adds in words what becomes of the order: "taken as they come", ... */
void stream_order_explain(const sluice_dataset *dataset, sli_text *text);

#endif
