/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the stages that select and order samples. */
#ifndef SLUICE_INDEX_STAGES_H
#define SLUICE_INDEX_STAGES_H

#include "stage.h"

typedef struct shuffle_args {
    uint64_t seed;   /* or PARAM_SEED_RUN */
    uint64_t buffer; /* for a stream: size of the shuffle buffer in samples */
} shuffle_args;

typedef struct shard_args {
    uint32_t rank;  /* a rank; PARAM_RANK_RUN: the run's; PARAM_RANK_NONE: `none` */
    uint32_t world; /* number of ranks; PARAM_RANK_RUN: the run's */
} shard_args;

typedef struct split_args {
    uint32_t part; /* 0 train, 1 val, 2 test */
    double fraction;
    uint64_t seed;
    double test;
} split_args;

/*
 * Fractions of a split are in parts per billion. So decimal fractions that sum to 1, such as 0.7,
 * 0.2 and 0.1, neither overlap nor leave a gap.
 */
#define SPLIT_WHOLE 1000000000
uint64_t split_share(double fraction);

/*
 * True if the split keeps the sample with this name: the hash of the name is in the split's range.
 */
bool split_keeps(const split_args *args, const char *name);

typedef struct subset_args {
    const char *file;
} subset_args;

typedef struct weights_args {
    const char *by;   /* name of a column, or path of a file */
    uint64_t samples; /* samples in a pass; 0: as many as before the stage */
    uint64_t seed;    /* or PARAM_SEED_RUN */
} weights_args;

typedef struct balance_args {
    const char *column;
    uint64_t samples;
    uint64_t seed;
} balance_args;

/* arguments of take, skip and repeat */
typedef struct count_args {
    uint64_t n;
} count_args;

#endif
