/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps a position of a pass to a sample: the index stages of a dataset are composed into one pure
 * function of (pass, position). Only members, weights and classes are stored; they are computed
 * when the dataset is opened.
 */
#ifndef SLUICE_ORDER_H
#define SLUICE_ORDER_H

#include "dataset_state.h"
#include "permutation.h"

/* The order of the samples of a group, as its source gives them (group_order.h). */
typedef struct parts_order {
    uint64_t length; /* number of positions in a pass */

    /* Like order_at(): returns the sample at a position, and the pass that keys its draws. */
    void (*at)(const struct parts_order *order, uint64_t pass, uint64_t position,
               uint64_t *sample_out, uint64_t *pass_out);
} parts_order;

/* One index stage: maps a position after it to a position before it. */
typedef struct order_step {
    index_kind kind;
    uint64_t n;   /* take, skip, repeat: the argument; subset, weights, balance: number of positions
                     after the step; INDEX_OF_SOURCE: 1 if the order covers all ranks, else 0 */
    uint64_t key; /* shuffle, weights, balance: key of their random numbers */
    uint32_t rank; /* shard: rank and world */
    uint32_t world;
    uint64_t before;               /* number of positions before this step, on this rank */
    index_permutation permutation; /* shuffle: permutes `before` positions */
    const uint64_t *members;       /* split: indices of the samples it keeps */
    source_order *own;             /* INDEX_OF_SOURCE: the source's own order */
    const void *table;             /* subset, weights, balance: their table */
    const parts_order *parts;      /* INDEX_OF_PARTS: the order of the group */
} order_step;

typedef struct sample_order {
    uint32_t count;
    order_step steps[DATASET_MAX_STAGES + 2];
    uint64_t length;   /* number of positions in a pass, on this rank */
    uint64_t longest;  /* largest `length` of any rank */
    uint64_t shortest; /* smallest `length` of any rank */
} sample_order;

/* The inputs of an order, in addition to the dataset. */
typedef struct order_settings {
    uint64_t seed;
    uint32_t rank;
    uint32_t world; /* number of ranks; if more than 1 and the dataset has no shard stage, a shard
                       step is added at the end */
    bool all_ranks; /* true: the order covers the samples of all ranks, not of one rank */
    uint64_t done;  /* samples of the pass to skip, over all ranks; must be a multiple of world if
                       the dataset has a shard stage */
    const parts_order
        *parts; /* order of the group that is the dataset's source (parts_order_make());
                   NULL: there is none. The made order borrows it. */
} order_settings;

/* True if the dataset has a shard stage. If it has none, order_make() adds a shard step. */
bool dataset_has_shard(const sluice_dataset *dataset);

/*
 * The key of stage i, a shuffle. Its permutation of a pass depends on this key and the pass. `seed`
 * is the run's seed.
 */
uint64_t order_shuffle_key(const sluice_dataset *dataset, uint32_t i, uint64_t seed);

/* The key of the random draws of the source. */
uint64_t order_source_key(const sluice_dataset *dataset, uint64_t seed);

/*
 * Makes the order of an open dataset. Index stages of a stream are ignored (see stream_order.h).
 * E_INVALID: rank is not below world; more samples than can be counted.
 */
sluice_status order_make(const sluice_dataset *dataset, const order_settings *settings,
                         sample_order *order_out);

/*
 * Makes an order from the source's own order, which must be for the rank in settings; used instead
 * of order_make(). `done` must be a multiple of world.
 */
void order_make_own(source_order *own, const order_settings *settings, sample_order *order_out);

/*
 * Returns the sample at a position below length, and the pass that keys its random numbers. If a
 * pass contains a sample several times, this is a different number each time.
 */
void order_at(const sample_order *order, uint64_t pass, uint64_t position, uint64_t *sample_out,
              uint64_t *pass_out);

#endif
