/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random numbers of the gamma, beta and Dirichlet distributions, by additions, multiplications and
 * square roots only, so that they are the same on every machine.
 */
#ifndef SLUICE_BETA_DRAW_INT_H
#define SLUICE_BETA_DRAW_INT_H

#include "rng_int.h"

/*
 * Draws ln x, where x has the gamma distribution with this shape, above 0, and scale 1. The
 * logarithm does not underflow for small shapes. `block` is the next block of the stream to draw;
 * it is advanced.
 *
 * Source: Marsaglia and Tsang, "A simple method for generating gamma variables" (ACM TOMS 26,
 * 2000), with normal variables by Marsaglia's polar method; for shapes below 1 x is g u^(1/shape),
 * where g has shape + 1.
 */
double sli_draw_log_gamma(const sli_draws *draws, uint32_t *block, double shape);

/*
 * Draws `count` numbers, at least 1, of the Dirichlet distribution with all parameters `alpha`,
 * above 0. They are 0 to 1, and their sum is 1 but for rounding.
 */
void sli_draw_dirichlet(const sli_draws *draws, uint32_t *block, double alpha, uint32_t count,
                        double *values_out);

/* Draws a number in [0, 1] of the beta distribution with both parameters `alpha`, above 0. */
double sli_draw_beta(const sli_draws *draws, uint32_t *block, double alpha);

#endif
