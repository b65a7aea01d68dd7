/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of samples, and random pipelines of index stages. */
#ifndef SLUICE_ORDER_KIT_H
#define SLUICE_ORDER_KIT_H

#include "dataset_state.h"
#include "index_stages.h"
#include "order.h"

/* What random pipelines are drawn from; a test sets it first, not to 0. */
extern uint32_t random_state;

/* In [0, range). */
uint32_t below(uint32_t range);

/* Index stages after a source of at most 60 samples, without a batch. */
void random_pipeline(char *text, size_t size, bool shards);

/* A dataset of the text, opened; fails the test when that cannot be had. */
sluice_dataset *opened(const char *text);

sample_order order_of(const sluice_dataset *dataset, const order_settings *settings);
uint64_t sample_at(const sample_order *order, uint64_t pass, uint64_t position);

/* Does the split at stage i keep this position of what comes before it? */
bool expect_kept(const sluice_dataset *dataset, uint32_t i, uint64_t position);

#endif
