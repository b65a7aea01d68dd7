/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the stages that choose and order samples. */
#ifndef SLUICE_INDEX_STAGES_H
#define SLUICE_INDEX_STAGES_H

#include "stage.h"

typedef struct shuffle_args {
    uint64_t seed; /* or SLUICE_SEED_OF_RUN */
} shuffle_args;

typedef struct shard_args {
    uint32_t rank;  /* or SLUICE_OF_RUN, or PARAM_RANK_NONE */
    uint32_t world; /* or SLUICE_OF_RUN */
} shard_args;

typedef struct split_args {
    uint32_t part; /* 0 train, 1 val, 2 test */
    double fraction;
    uint64_t seed;
    double test;
} split_args;

/* take, skip, repeat */
typedef struct count_args {
    uint64_t n;
} count_args;

#endif
