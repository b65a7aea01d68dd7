/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "rng_int.h"
#include "testing.h"

/* Known answers of the authors' own test file (Random123, kat_vectors, philox4x32 10). */
static void philox_gives_the_published_numbers(void)
{
    static const struct {
        uint64_t key, low, high;
        uint32_t want[4];
    } cases[] = {
        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {UINT64_C(0x299f31d0a4093822),
         UINT64_C(0x85a308d3243f6a88),
         UINT64_C(0x0370734413198a2e),
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint32_t out[4];

        sli_philox(cases[i].key, cases[i].low, cases[i].high, out);
        for (int j = 0; j < 4; j++) {
            T_EQ(out[j], cases[i].want[j]);
        }
    }
}

static void every_part_of_the_counter_matters(void)
{
    sli_draws base = {1, 2, 3};
    sli_draws others[] = {{2, 2, 3}, {1, 3, 3}, {1, 2, 4}};
    uint32_t a[4];
    uint32_t b[4];

    sli_draw(&base, 0, a);
    for (int i = 0; i < 3; i++) {
        sli_draw(&others[i], 0, b);
        T_TRUE(memcmp(a, b, sizeof(a)) != 0);
    }
    sli_draw(&base, 1, b);
    T_TRUE(memcmp(a, b, sizeof(a)) != 0);
}

static void draws_are_uniform(void)
{
    sli_draws draws = {.key = 5};
    double sum = 0;
    int counts[10] = {0};

    for (uint64_t i = 0; i < 25000; i++) {
        uint32_t out[4];

        draws.sample = i;
        sli_draw(&draws, 0, out);
        for (int j = 0; j < 4; j++) {
            sum += sli_unit(out[j]);
            counts[sli_below(out[j], 10)]++;
        }
    }
    T_NEAR(sum / 100000, 0.5, 0.005);
    for (int i = 0; i < 10; i++) {
        T_NEAR(counts[i], 10000, 400);
    }
}

static void exp_and_log_are_those_of_mathematics(void)
{
    for (double x = -20; x <= 20; x += 0.37) {
        T_NEAR(sli_exp(x) / exp(x), 1, 1e-14);
    }
    for (double x = 1e-6; x < 1e6; x *= 1.7) {
        T_NEAR(sli_log_e(x), log(x), 1e-14 * (1 + fabs(log(x))));
    }
}

const t_test rng_tests[] = {
    T_TEST(philox_gives_the_published_numbers),
    T_TEST(every_part_of_the_counter_matters),
    T_TEST(draws_are_uniform),
    T_TEST(exp_and_log_are_those_of_mathematics),
    T_END,
};
