/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The noise kernels of one instruction set level. This file is compiled once for each level
 * (SLI_LEVEL); the compiler vectorizes the loops over blocks of random numbers.
 */
#include "noise_kernels.h"

#include <math.h>
#include <string.h>

#include "cpu_int.h"

/* The words of NOISE_BLOCKS blocks of random numbers, which are computed side by side. */
typedef struct noise_words {
    uint32_t x[4][NOISE_BLOCKS];
} noise_words;

/* sli_draw() for blocks first to first + NOISE_BLOCKS - 1. */
static inline void draw_words(const sli_draws *draws, uint32_t first, noise_words *words)
{
    const uint64_t high = draws->pass << 24;
    uint32_t key0 = (uint32_t)draws->key;
    uint32_t key1 = (uint32_t)(draws->key >> 32);

    for (uint32_t i = 0; i < NOISE_BLOCKS; i++) {
        words->x[0][i] = (uint32_t)draws->sample;
        words->x[1][i] = (uint32_t)(draws->sample >> 32);
        words->x[2][i] = (uint32_t)high | (first + i);
        words->x[3][i] = (uint32_t)(high >> 32);
    }
    for (int round = 0; round < SLI_PHILOX_ROUNDS; round++) {
        for (uint32_t i = 0; i < NOISE_BLOCKS; i++) {
            const sli_philox_words in = {words->x[0][i], words->x[1][i], words->x[2][i],
                                         words->x[3][i]};
            const sli_philox_words out = sli_philox_round(key0, key1, in);

            words->x[0][i] = out.x0;
            words->x[1][i] = out.x1;
            words->x[2][i] = out.x2;
            words->x[3][i] = out.x3;
        }
        sli_philox_next_key(&key0, &key1);
    }
}

/* 16 bits as an odd multiple of 2^-16. */
static inline float unit_of(uint32_t bits)
{
    return (float)((int32_t)(2 * (bits & 0xFFFF)) - 65535) * 0x1p-16F;
}

static void uniform(const sli_draws *draws, uint32_t first_block, uint32_t groups, float *to)
{
    for (uint32_t group = 0; group < groups; group++, to += NOISE_UNIFORMS) {
        noise_words words;

        draw_words(draws, first_block + group * NOISE_BLOCKS, &words);
        for (uint32_t k = 0; k < 4; k++) {
            for (uint32_t i = 0; i < NOISE_BLOCKS; i++) {
                to[2 * k * NOISE_BLOCKS + i] = unit_of(words.x[k][i]);
                to[(2 * k + 1) * NOISE_BLOCKS + i] = unit_of(words.x[k][i] >> 16);
            }
        }
    }
}

/* ---- the normal distribution -------------------------------------------------------------------
 */

/* 1.5 * 2^23: (value + ROUND) - ROUND is the nearest integer, halves to even, of a small float. */
#define ROUND 12582912.0F

/* ln x for x above 0; the polynomial is that of Cephes' logf (S. Moshier). */
static inline float log_of(float x)
{
    int32_t bits;
    int32_t exponent;
    float z;
    float power;
    float sum;

    memcpy(&bits, &x, sizeof(bits));
    exponent = (bits - 0x3F3504F3) >> 23; /* so that the rest is from sqrt(1/2) to sqrt(2) */
    bits -= exponent * (1 << 23);
    memcpy(&z, &bits, sizeof(z));
    z -= 1;
    sum = 7.0376836292e-2F;
    sum = sum * z - 1.1514610310e-1F;
    sum = sum * z + 1.1676998740e-1F;
    sum = sum * z - 1.2420140846e-1F;
    sum = sum * z + 1.4249322787e-1F;
    sum = sum * z - 1.6668057665e-1F;
    sum = sum * z + 2.0000714765e-1F;
    sum = sum * z - 2.4999993993e-1F;
    sum = sum * z + 3.3333331174e-1F;
    power = z * z;
    return sum * z * power - 0.5F * power + z + (float)exponent * 0.69314718F;
}

/* Sine and cosine of pi x, for x from -1 to 1; the polynomials are those of Cephes' sinf. */
static inline void turn_of(float x, float *sine, float *cosine)
{
    const float quarters = 2 * x + ROUND - ROUND;
    const int32_t quarter = (int32_t)quarters;
    const float swapped = (float)(quarter & 1);
    const float y = (x - 0.5F * quarters) * 3.14159265F;
    const float y2 = y * y;
    const float s =
        ((-1.9515295891e-4F * y2 + 8.3321608736e-3F) * y2 - 1.6666654611e-1F) * y2 * y + y;
    const float c =
        ((2.443315711809948e-5F * y2 - 1.388731625493765e-3F) * y2 + 4.166664568298827e-2F) * y2 *
            y2 -
        0.5F * y2 + 1;

    /* The signs of the four quarters. */
    *sine = (s + swapped * (c - s)) * (float)(1 - (quarter & 2));
    *cosine = (c + swapped * (s - c)) * (float)(1 - ((quarter + 1) & 2));
}

static void normal(const sli_draws *draws, uint32_t first_block, float *to)
{
    noise_words words;

    draw_words(draws, first_block, &words);
    for (uint32_t k = 0; k < 2; k++) {
        float *first = to + 2 * k * NOISE_BLOCKS;
        float *second = first + NOISE_BLOCKS;

        for (uint32_t i = 0; i < NOISE_BLOCKS; i++) {
            const float part =
                ((float)(int32_t)(words.x[2 * k][i] >> 8) + 0.5F) * 0x1p-24F; /* below 1 */
            const float angle = (float)(int32_t)words.x[2 * k + 1][i] * 0x1p-31F;
            const float size = sqrtf(-2 * log_of(part));
            float sine;
            float cosine;

            turn_of(angle, &sine, &cosine);
            first[i] = size * cosine;
            second[i] = size * sine;
        }
    }
}

const noise_kernels SLI_AT_LEVEL(sli_noise_kernels) = {
    .uniform = uniform,
    .normal = normal,
};
