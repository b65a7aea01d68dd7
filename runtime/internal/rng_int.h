/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counter-based random numbers: a number is a function of a key and a counter. The draws of a
 * sample therefore depend on (seed, pass, sample, stage) only, and not on the worker or the time.
 * The generator is Philox4x32-10 of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3"
 * (SC 2011).
 */
#ifndef SLUICE_RNG_INT_H
#define SLUICE_RNG_INT_H

#include <stdint.h>

#include "device_fn_int.h"

enum { SLI_PHILOX_ROUNDS = 10 };

/* The four words of a counter, or four random numbers. */
typedef struct sli_philox_words {
    uint32_t x0;
    uint32_t x1;
    uint32_t x2;
    uint32_t x3;
} sli_philox_words;

/* One round of Philox. */
static inline sli_philox_words sli_philox_round(uint32_t key0, uint32_t key1, sli_philox_words in)
{
    const uint64_t p0 = UINT64_C(0xD2511F53) * in.x0;
    const uint64_t p1 = UINT64_C(0xCD9E8D57) * in.x2;
    sli_philox_words out;

    out.x0 = (uint32_t)(p1 >> 32) ^ in.x1 ^ key0;
    out.x1 = (uint32_t)p1;
    out.x2 = (uint32_t)(p0 >> 32) ^ in.x3 ^ key1;
    out.x3 = (uint32_t)p0;
    return out;
}

/* Advances the key to the next round. */
static inline void sli_philox_next_key(uint32_t *key0, uint32_t *key1)
{
    *key0 += UINT32_C(0x9E3779B9);
    *key1 += UINT32_C(0xBB67AE85);
}

/* Four independent uniform 32-bit numbers from a 64-bit key and a 128-bit counter. */
static inline void sli_philox(uint64_t key, uint64_t counter_low, uint64_t counter_high,
                              uint32_t out[4])
{
    sli_philox_words words = {(uint32_t)counter_low, (uint32_t)(counter_low >> 32),
                              (uint32_t)counter_high, (uint32_t)(counter_high >> 32)};
    uint32_t key0 = (uint32_t)key;
    uint32_t key1 = (uint32_t)(key >> 32);

    for (int round = 0; round < SLI_PHILOX_ROUNDS; round++) {
        words = sli_philox_round(key0, key1, words);
        sli_philox_next_key(&key0, &key1);
    }
    out[0] = words.x0;
    out[1] = words.x1;
    out[2] = words.x2;
    out[3] = words.x3;
}

/* The finaliser of splitmix64 (Steele, Lea and Flood 2014): a bijection that mixes every bit. */
SLI_DEVICE_FN uint64_t sli_mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= UINT64_C(0xBF58476D1CE4E5B9);
    x ^= x >> 27;
    x *= UINT64_C(0x94D049BB133111EB);
    x ^= x >> 31;
    return x;
}

/* Mixes a value into a hash. */
SLI_DEVICE_FN uint64_t sli_mix_in(uint64_t hash, uint64_t value)
{
    return sli_mix64(hash + UINT64_C(0x9E3779B97F4A7C15) + sli_mix64(value));
}

/* A hash of a zero-terminated text: FNV-1a, mixed. */
uint64_t sli_hash_text(const char *text);

/* The stream of random numbers of one stage for one sample. It has no state: copy it freely. */
typedef struct sli_draws {
    uint64_t key;
    uint64_t sample;
    uint64_t pass;
} sli_draws;

/* Four numbers of block `block` (0, 1, ...) of the stream; pass counts up to 2^40. */
static inline void sli_draw(const sli_draws *draws, uint32_t block, uint32_t out[4])
{
    sli_philox(draws->key, draws->sample, draws->pass << 24 | block, out);
}

/*
 * The pass that keys the random numbers of a further appearance of a sample in a pass. No run
 * reaches such a pass.
 */
static inline uint64_t sli_further_pass(uint64_t pass, uint64_t appearance)
{
    const uint64_t high = UINT64_C(1) << 39; /* sli_draw() uses 40 bits */

    return high | (sli_mix_in(appearance, pass) & (high - 1));
}

/* A number in [0, 1) from 32 random bits. */
static inline double sli_unit(uint32_t bits)
{
    return (double)bits * 0x1p-32;
}

/* A whole number in [0, range), range at least 1, biased by at most range / 2^32. */
static inline uint32_t sli_below(uint32_t bits, uint32_t range)
{
    return (uint32_t)((uint64_t)bits * range >> 32);
}

/*
 * e^x and ln x by additions and multiplications only, accurate to a few units in the last place.
 * Results of the C library differ between versions in their last bits; crops must not differ.
 */
double sli_exp(double x);
double sli_log_e(double x);

#endif
