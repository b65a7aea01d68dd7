/* SPDX-License-Identifier: Apache-2.0 */
#include "permutation.h"

#include <math.h>

#include "rng_int.h"

/*
 * Number of rounds. For small n a round mixes little: with 8 rounds and n = 5, one element is at
 * one index 3 % too often.
 */
enum { FEW = 4096, ROUNDS_OF_FEW = 24, ROUNDS = 8 };

index_permutation permutation_of(uint64_t n)
{
    index_permutation p = {
        .n = n, .a = (uint64_t)sqrt((double)n), .rounds = n < FEW ? ROUNDS_OF_FEW : ROUNDS};

    while (p.a * p.a < n) {
        p.a++; /* sqrt() of a large n may be rounded down */
    }
    p.a = p.a > 0 ? p.a : 1;
    p.b = (n + p.a - 1) / p.a;
    p.b += p.b & 1; /* if both a and b were odd, only even permutations would result */
    return p;
}

/* Maps 64 random bits to a number below `range`, which is at most 2^32. */
static uint64_t reduce_to_range(uint64_t bits, uint64_t range)
{
    return ((bits >> 32) * range) >> 32;
}

static uint64_t one_walk(const index_permutation *p, uint64_t key, uint64_t i)
{
    uint64_t left = i / p->b;
    uint64_t right = i % p->b;

    for (uint64_t round = 0; round < p->rounds; round += 2) {
        left += reduce_to_range(sli_mix64(key + (round << 56) + right), p->a);
        left -= left >= p->a ? p->a : 0;
        right += reduce_to_range(sli_mix64(key + ((round + 1) << 56) + left), p->b);
        right -= right >= p->b ? p->b : 0;
    }
    return left * p->b + right;
}

uint64_t permutation_at(const index_permutation *p, uint64_t key, uint64_t i)
{
    do {
        i = one_walk(p, key, i);
    } while (i >= p->n);
    return i;
}
