/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the stages that choose and order samples. */
#ifndef SLUICE_INDEX_STAGES_H
#define SLUICE_INDEX_STAGES_H

#include "stage.h"

typedef struct shuffle_args {
    uint64_t seed;   /* or SLUICE_SEED_OF_RUN */
    uint64_t buffer; /* samples, of a stream */
} shuffle_args;

/* Samples that a stream is mixed within where nobody says how many. */
enum { SHUFFLE_BUFFER = 1000 };

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

/*
 * A fraction in parts of a milliard, so that decimal fractions that are 1 together, as 0.7, 0.2 and
 * 0.1, leave no gap and share nothing.
 */
#define SPLIT_WHOLE 1000000000
uint64_t split_share(double fraction);

/* Is the sample of this name in the part of the hash's range that the split keeps? */
bool split_keeps(const split_args *args, const char *name);

/* take, skip, repeat */
typedef struct count_args {
    uint64_t n;
} count_args;

#endif
