/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of elastic displacements of one instruction set level. This file is compiled once for
 * each level (SLI_LEVEL); the compiler vectorizes the loops over a block.
 */
#include "elastic_kernels.h"

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

static void noise(const sli_draws *draws, uint32_t first_block, uint32_t groups, float *to)
{
    for (uint32_t group = 0; group < groups; group++, to += NOISE_GROUP) {
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

static void smooth(const float *const *lines, const float *weights, uint32_t taps, float *to,
                   uint32_t count)
{
    const uint32_t half = taps / 2;

    for (uint32_t first = 0; first < count; first += SMOOTH_BLOCK) {
        const float *middle = lines[half] + first;
        float sums[SMOOTH_BLOCK];

        for (int i = 0; i < SMOOTH_BLOCK; i++) {
            sums[i] = weights[half] * middle[i];
        }
        for (uint32_t j = 0; j < half; j++) {
            const float *one = lines[j] + first;
            const float *other = lines[taps - 1 - j] + first;
            const float weight = weights[j];

            for (int i = 0; i < SMOOTH_BLOCK; i++) {
                sums[i] += weight * (one[i] + other[i]);
            }
        }
        for (int i = 0; i < SMOOTH_BLOCK; i++) {
            to[first + (uint32_t)i] = sums[i];
        }
    }
}

const elastic_kernels SLI_AT_LEVEL(sli_elastic_kernels) = {
    .noise = noise,
    .smooth = smooth,
};
