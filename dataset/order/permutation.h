/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A random order of n things, one place at a time, without an array: a keyed bijection on
 * [0, n). It is a generalised Feistel network on pairs (l, r) with l < a and r < b, a * b just
 * above n (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002), walked until it lands
 * in [0, n).
 */
#ifndef SLUICE_PERMUTATION_H
#define SLUICE_PERMUTATION_H

#include <stdint.h>

typedef struct index_permutation {
    uint64_t n;
    uint64_t a; /* about the root of n, and so is b */
    uint64_t b;
    uint32_t rounds;
} index_permutation;

/* n is 1 to 2^62. */
index_permutation permutation_of(uint64_t n);

/* Where place i (below n) goes under the key. */
uint64_t permutation_at(const index_permutation *p, uint64_t key, uint64_t i);

#endif
