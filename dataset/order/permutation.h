/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A random permutation of n indices, evaluated at one index, without an array: a keyed bijection on
 * [0, n). It is a generalised Feistel network on pairs (l, r) with l < a and r < b, a * b just
 * above n (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002), iterated until the
 * result is in [0, n) (cycle walking).
 */
#ifndef SLUICE_PERMUTATION_H
#define SLUICE_PERMUTATION_H

#include <stdint.h>

typedef struct index_permutation {
    uint64_t n;
    uint64_t a; /* about the square root of n, as is b */
    uint64_t b;
    uint32_t rounds;
} index_permutation;

/* n is 1 to 2^62. */
index_permutation permutation_of(uint64_t n);

/* The image of index i (below n) under the key. */
uint64_t permutation_at(const index_permutation *p, uint64_t key, uint64_t i);

#endif
