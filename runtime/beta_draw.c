/* SPDX-License-Identifier: Apache-2.0 */
#include "beta_draw_int.h"

#include <math.h>
#include <stdbool.h>

/* Attempts until a value is accepted: each is accepted with a probability above 0.7, so that the
 * bound is reached with a probability below 2^-200. */
enum { MOST_ATTEMPTS = 128 };

/* A number in (0, 1), whose logarithm is finite. */
static double open_unit(uint32_t bits)
{
    return ((double)bits + 0.5) * 0x1p-32;
}

/* Draws ln g, where g has this shape, at least 1. *spare: random bits that are independent of g. */
static double log_gamma_above_1(const sli_draws *draws, uint32_t *block, double shape,
                                uint32_t *spare)
{
    const double d = shape - 1.0 / 3;
    const double c = 1 / sqrt(9 * d);

    for (uint32_t i = 0; i < MOST_ATTEMPTS; i++) {
        uint32_t bits[4];
        double u;
        double square;
        double normal;
        double v;

        sli_draw(draws, (*block)++, bits);
        *spare = bits[3];
        u = 2 * open_unit(bits[0]) - 1;
        v = 2 * open_unit(bits[1]) - 1;
        square = u * u + v * v;
        if (square >= 1) {
            continue;
        }
        normal = u * sqrt(-2 * sli_log_e(square) / square);
        v = 1 + c * normal;
        if (v <= 0) {
            continue;
        }
        v = v * v * v;
        if (sli_log_e(open_unit(bits[2])) < normal * normal / 2 + d * (1 - v + sli_log_e(v))) {
            return sli_log_e(d * v);
        }
    }
    return sli_log_e(d);
}

double sli_draw_log_gamma(const sli_draws *draws, uint32_t *block, double shape)
{
    const bool raised = shape < 1;
    uint32_t spare;
    const double log_gamma = log_gamma_above_1(draws, block, raised ? shape + 1 : shape, &spare);

    return raised ? log_gamma + sli_log_e(open_unit(spare)) / shape : log_gamma;
}

void sli_draw_dirichlet(const sli_draws *draws, uint32_t *block, double alpha, uint32_t count,
                        double *values_out)
{
    const double least = -700; /* e^-700 is a normal double; smaller values are 0 compared with 1 */
    double most = 0;
    double sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        values_out[i] = sli_draw_log_gamma(draws, block, alpha);
        most = i == 0 || values_out[i] > most ? values_out[i] : most;
    }
    for (uint32_t i = 0; i < count; i++) {
        const double below = values_out[i] - most;

        values_out[i] = below < least ? 0 : sli_exp(below);
        sum += values_out[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        values_out[i] /= sum;
    }
}

double sli_draw_beta(const sli_draws *draws, uint32_t *block, double alpha)
{
    double values[2];

    sli_draw_dirichlet(draws, block, alpha, 2, values);
    return values[0];
}
