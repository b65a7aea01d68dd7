/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pseudorandom permutation of n indices that is evaluated at single indices, without an array: a
 * keyed bijection on [0, n). It is a generalised Feistel network on pairs (l, r) with l < a and r <
 * b, where a * b is just above n (Black and Rogaway, "Ciphers with arbitrary finite domains",
 * 2002), iterated until the result is in [0, n) (cycle walking).
 */
#ifndef SLUICE_PERMUTATION_H
#define SLUICE_PERMUTATION_H

#include <stdint.h>

typedef struct index_permutation {
    uint64_t n;
    uint64_t a; /* a and b are near the square root of n */
    uint64_t b;
    uint32_t rounds;
} index_permutation;

/* Prepares a permutation of n indices, 1 to 2^62. */
index_permutation permutation_of(uint64_t n);

/* Returns the image of index i, which must be below n, under the key. */
uint64_t permutation_at(const index_permutation *p, uint64_t key, uint64_t i);

#endif
