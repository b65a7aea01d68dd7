/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers for many pixels: their distributions, and the bits of all levels. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_int.h"
#include "noise_kernels.h"
#include "testing.h"

static void uniform_numbers_are_from_the_draws(void)
{
    enum { GROUPS = 40, COUNT = GROUPS * NOISE_UNIFORMS };
    static float noise[COUNT];
    const sli_draws draws = {77, 5, 3};
    double sum = 0;
    double squares = 0;

    sli_noise_kernels_portable.uniform(&draws, 100, GROUPS, noise);
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint32_t k = i % NOISE_UNIFORMS / NOISE_BLOCKS;
        uint32_t bits[4];

        sli_draw(&draws, 100 + i / NOISE_UNIFORMS * NOISE_BLOCKS + i % NOISE_BLOCKS, bits);
        T_TRUE(noise[i] * 65536 ==
               (float)(int32_t)(2 * (bits[k / 2] >> 16 * (k % 2) & 0xFFFF)) - 65535);
        sum += (double)noise[i];
        squares += (double)(noise[i] * noise[i]);
    }
    T_TRUE(fabs(sum / COUNT) < 0.02);
    T_TRUE(fabs(squares / COUNT - 1.0 / 3) < 0.02);
}

/* The same transform in double precision. */
static void normal_numbers_are_those_of_the_box_muller_transform(void)
{
    static float noise[NOISE_NORMALS];
    const double turn = 3.14159265358979323846;

    for (uint32_t group = 0; group < 30; group++) {
        const sli_draws draws = {9, group, 1};

        sli_noise_kernels_portable.normal(&draws, 7, noise);
        for (uint32_t i = 0; i < NOISE_NORMALS / 2; i++) {
            const uint32_t pair = i / NOISE_BLOCKS;
            const uint32_t at = 2 * pair * NOISE_BLOCKS + i % NOISE_BLOCKS;
            uint32_t bits[4];
            double size;
            double angle;

            sli_draw(&draws, 7 + i % NOISE_BLOCKS, bits);
            size = sqrt(-2 * log(((bits[2 * pair] >> 8) + 0.5) / 16777216));
            angle = turn * (int32_t)bits[2 * pair + 1] / 2147483648;
            T_TRUE(fabs((double)noise[at] - size * cos(angle)) < 2e-5);
            T_TRUE(fabs((double)noise[at + NOISE_BLOCKS] - size * sin(angle)) < 2e-5);
        }
    }
}

/* The share of numbers below some quantiles. */
static void normal_numbers_have_the_normal_distribution(void)
{
    enum { GROUPS = 400, COUNT = GROUPS * NOISE_NORMALS };
    static const struct {
        float quantile;
        double share;
    } shares[] = {{-3, 0.00135}, {-1.2816F, 0.1}, {0, 0.5}, {0.6745F, 0.75}, {2.3263F, 0.99}};
    static float noise[COUNT];
    const sli_draws draws = {1, 2, 3};
    double sum = 0;
    double squares = 0;

    for (uint32_t group = 0; group < GROUPS; group++) {
        sli_noise_kernels_portable.normal(&draws, group * NOISE_BLOCKS,
                                          noise + group * NOISE_NORMALS);
    }
    for (size_t s = 0; s < sizeof(shares) / sizeof(shares[0]); s++) {
        uint32_t below = 0;

        for (uint32_t i = 0; i < COUNT; i++) {
            below += noise[i] < shares[s].quantile;
        }
        T_TRUE(fabs((double)below / COUNT - shares[s].share) < 0.005);
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        T_TRUE(fabsf(noise[i]) <= 5.9F);
        sum += (double)noise[i];
        squares += (double)noise[i] * (double)noise[i];
    }
    T_TRUE(fabs(sum / COUNT) < 0.01 && fabs(squares / COUNT - 1) < 0.01);
}

static void kernels_of_all_levels_give_the_same_bits(void)
{
#if defined(__x86_64__)
    static const noise_kernels *const levels[] = {&sli_noise_kernels_v3, &sli_noise_kernels_v4};
    static float want[2 * NOISE_UNIFORMS];
    static float got[2 * NOISE_UNIFORMS];

    for (int level = SLI_CPU_V3; level <= (int)sli_cpu_best(); level++) {
        const noise_kernels *kernels = levels[level - SLI_CPU_V3];

        for (uint64_t k = 0; k < 50; k++) {
            const sli_draws draws = {UINT64_C(0x123456789ABCDEF) * k, k << 33 | 9, 1 << 20};

            sli_noise_kernels_portable.uniform(&draws, 3, 2, want);
            kernels->uniform(&draws, 3, 2, got);
            T_TRUE(memcmp(got, want, sizeof(want)) == 0);
            sli_noise_kernels_portable.normal(&draws, 3, want);
            kernels->normal(&draws, 3, got);
            T_TRUE(memcmp(got, want, NOISE_NORMALS * sizeof(*want)) == 0);
        }
    }
#endif
}

const t_test noise_tests[] = {
    T_TEST(uniform_numbers_are_from_the_draws),
    T_TEST(normal_numbers_are_those_of_the_box_muller_transform),
    T_TEST(normal_numbers_have_the_normal_distribution),
    T_TEST(kernels_of_all_levels_give_the_same_bits),
    T_END,
};
