/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sample at a position of a pass: the index stages of a dataset, composed into one pure
 * function of (pass, position). Only the members of splits are stored.
 */
#ifndef SLUICE_ORDER_H
#define SLUICE_ORDER_H

#include "dataset_state.h"
#include "permutation.h"

/* One index stage: maps positions after it to positions before it. */
typedef struct order_step {
    index_kind kind;
    uint64_t n;    /* of take, skip, repeat; of the source's own order: 1, of all ranks */
    uint64_t key;  /* of shuffle */
    uint32_t rank; /* of shard */
    uint32_t world;
    uint64_t before;               /* positions before it, on this rank */
    index_permutation permutation; /* of shuffle, over `before` positions */
    const uint64_t *members;       /* of split */
    source_order *own;             /* of the order of the source's own */
} order_step;

typedef struct sample_order {
    uint32_t count;
    order_step steps[DATASET_MAX_STAGES + 2];
    uint64_t length;   /* positions of a pass, on this rank */
    uint64_t longest;  /* on the rank with most, */
    uint64_t shortest; /* and on the rank with fewest */
} sample_order;

/* Inputs of an order besides the dataset. */
typedef struct order_settings {
    uint64_t seed;
    uint32_t rank;
    uint32_t world; /* with more than 1 and no shard stage, a shard step is added at the end */
    bool all_ranks; /* the samples of all ranks together, not of one rank */
    uint64_t done;  /* samples of a pass to skip, over all ranks: a multiple of world where the
                       dataset has a shard stage */
} order_settings;

/* Has the dataset a shard stage? If not, order_make() adds a shard step. */
bool dataset_has_shard(const sluice_dataset *dataset);

/*
 * The key of the permutations of stage i, a shuffle, which also depend on the pass. seed is the
 * run's.
 */
uint64_t order_shuffle_key(const sluice_dataset *dataset, uint32_t i, uint64_t seed);

/*
 * The dataset must be open. Index stages of a stream are ignored (stream_order.h). E_INVALID: rank
 * not below world.
 */
sluice_status order_make(const sluice_dataset *dataset, const order_settings *settings,
                         sample_order *order_out);

/*
 * The order of the source's own, which is of the settings' rank, in place of order_make(). `done`
 * is a multiple of world.
 */
void order_make_own(source_order *own, const order_settings *settings, sample_order *order_out);

/* The sample at a position below length, and the pass that keys its random numbers. */
void order_at(const sample_order *order, uint64_t pass, uint64_t position, uint64_t *sample_out,
              uint64_t *pass_out);

#endif
