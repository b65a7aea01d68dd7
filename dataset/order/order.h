/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which sample stands at a position of a pass: the index stages of a dataset, composed into one
 * pure function of (pass, position). Nothing is stored but the members of splits.
 */
#ifndef SLUICE_ORDER_H
#define SLUICE_ORDER_H

#include "dataset_state.h"
#include "permutation.h"

/* One index stage, from positions after it to positions before it. */
typedef struct order_step {
    index_kind kind;
    uint64_t n;    /* of take, skip, repeat */
    uint64_t key;  /* of shuffle */
    uint32_t rank; /* of shard */
    uint32_t world;
    uint64_t before;               /* positions before it, on this rank */
    index_permutation permutation; /* of shuffle, over `before` positions */
    const uint64_t *members;       /* of split */
} order_step;

typedef struct sample_order {
    uint32_t count;
    order_step steps[DATASET_MAX_STAGES + 2];
    uint64_t length;   /* positions of a pass, on this rank */
    uint64_t longest;  /* on the rank that has most, */
    uint64_t shortest; /* and on the one that has least */
} sample_order;

/* What an order depends on besides the dataset. */
typedef struct order_settings {
    uint64_t seed;
    uint32_t rank;
    uint32_t world; /* with more than 1 and no shard stage, one is added at the end */
    bool all_ranks; /* the samples of all ranks together instead of those of one */
    uint64_t done;  /* so many of a pass are left out, over all ranks: a multiple of world where the
                       dataset has a shard stage */
} order_settings;

/* Does a stage of its own deal samples to ranks? Else order_make() adds one. */
bool dataset_has_shard(const sluice_dataset *dataset);

/* What the orders of stage i, a shuffle, are keyed by, beside the pass. seed is the run's. */
uint64_t order_shuffle_key(const sluice_dataset *dataset, uint32_t i, uint64_t seed);

/* The dataset is open; a stream's index stages count for nothing (stream_order.h). E_INVALID for a
 * rank beyond the world. */
sluice_status order_make(const sluice_dataset *dataset, const order_settings *settings,
                         sample_order *order_out);

/* The sample at a position below length, and the pass that its random numbers belong to. */
void order_at(const sample_order *order, uint64_t pass, uint64_t position, uint64_t *sample_out,
              uint64_t *pass_out);

#endif
