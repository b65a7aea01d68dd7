/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers of the gamma, beta and Dirichlet distributions: their moments and limits. */
#include "beta_draw_int.h"
#include "testing.h"

enum { DRAWS = 20000 };

static void gamma_numbers_have_the_mean_and_variance_of_their_shape(void)
{
    static const double shapes[] = {0.2, 0.5, 1, 1.7, 8};

    for (uint32_t k = 0; k < sizeof(shapes) / sizeof(shapes[0]); k++) {
        const double shape = shapes[k];
        sli_draws draws = {.key = 11 + k};
        double sum = 0;
        double squares = 0;

        for (draws.sample = 0; draws.sample < DRAWS; draws.sample++) {
            uint32_t block = 5;
            const double value = sli_exp(sli_draw_log_gamma(&draws, &block, shape));

            T_TRUE(block > 5);
            sum += value;
            squares += value * value;
        }
        sum /= DRAWS;
        T_NEAR(sum, shape, 5 * sqrt(shape / DRAWS));
        /* The variance of the square's mean: fourth moments of a gamma distribution. */
        T_NEAR(squares / DRAWS - sum * sum, shape,
               6 * sqrt((6 * shape + 2 * shape * shape) / DRAWS) + 0.01);
    }
}

static void beta_numbers_have_the_variance_of_alpha(void)
{
    static const double alphas[] = {0.2, 1, 4};

    for (uint32_t k = 0; k < sizeof(alphas) / sizeof(alphas[0]); k++) {
        sli_draws draws = {.key = 3, .pass = k};
        double sum = 0;
        double squares = 0;
        double low = 0;

        for (draws.sample = 0; draws.sample < DRAWS; draws.sample++) {
            uint32_t block = 0;
            const double value = sli_draw_beta(&draws, &block, alphas[k]);

            T_TRUE(value >= 0 && value <= 1);
            sum += value;
            squares += (value - 0.5) * (value - 0.5);
            low += value < 0.1;
        }
        T_NEAR(sum / DRAWS, 0.5, 0.015);
        T_NEAR(squares / DRAWS, 1 / (4 * (2 * alphas[k] + 1)), 0.004);
        if (k == 1) { /* uniform */
            T_NEAR(low / DRAWS, 0.1, 0.01);
        }
    }
}

static void dirichlet_numbers_add_up_to_1(void)
{
    for (uint32_t count = 1; count <= 8; count++) {
        sli_draws draws = {.key = count};
        double first = 0;

        for (draws.sample = 0; draws.sample < DRAWS / 4; draws.sample++) {
            uint32_t block = 0;
            double values[8];
            double sum = 0;

            sli_draw_dirichlet(&draws, &block, 1, count, values);
            for (uint32_t i = 0; i < count; i++) {
                T_TRUE(values[i] >= 0);
                sum += values[i];
            }
            T_NEAR(sum, 1, 1e-14);
            first += values[0];
        }
        T_NEAR(first / (DRAWS / 4), 1.0 / count, 0.02);
    }
}

static void extreme_parameters_give_numbers(void)
{
    static const double alphas[] = {1e-6, 1e-3, 1e6};

    for (uint32_t k = 0; k < 3; k++) {
        sli_draws draws = {.key = 9};
        uint32_t ends[2] = {0, 0};

        for (draws.sample = 0; draws.sample < 200; draws.sample++) {
            uint32_t block = 0;
            const double value = sli_draw_beta(&draws, &block, alphas[k]);

            T_TRUE(value >= 0 && value <= 1);
            ends[0] += value < 0.01;
            ends[1] += value > 0.99;
            if (k == 2) {
                T_NEAR(value, 0.5, 0.01);
            }
        }
        T_TRUE(k == 2 || (ends[0] > 60 && ends[1] > 60));
    }
}

/* The bits are part of what a seed means. */
static void numbers_stay_the_same(void)
{
    const sli_draws draws = {1, 2, 3};
    uint32_t block = 0;

    T_TRUE(sli_draw_beta(&draws, &block, 0.2) == 0x1.ffe48abd6aac8p-1);
    T_TRUE(sli_draw_beta(&draws, &block, 3) == 0x1.fb624bb4e34c7p-3);
}

const t_test beta_draw_tests[] = {
    T_TEST(gamma_numbers_have_the_mean_and_variance_of_their_shape),
    T_TEST(beta_numbers_have_the_variance_of_alpha),
    T_TEST(dirichlet_numbers_add_up_to_1),
    T_TEST(extreme_parameters_give_numbers),
    T_TEST(numbers_stay_the_same),
    T_END,
};
