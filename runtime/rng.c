/* SPDX-License-Identifier: Apache-2.0 */
#include "rng_int.h"

#include <math.h>

uint64_t sli_hash_text(const char *text)
{
    uint64_t hash = UINT64_C(0xCBF29CE484222325);

    for (; *text != '\0'; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001B3);
    }
    return sli_mix64(hash);
}

static const double LN2 = 0x1.62e42fefa39efp-1;

double sli_exp(double x)
{
    /* e^x = 2^n e^r with |r| <= ln 2 / 2; the 16th term of the series of e^r is below 2^-70. */
    int n = (int)(x / LN2 + (x < 0 ? -0.5 : 0.5));
    double r = x - n * LN2;
    double term = 1;
    double sum = 1;

    for (int i = 1; i <= 16; i++) {
        term *= r / i;
        sum += term;
    }
    return ldexp(sum, n);
}

double sli_log_e(double x)
{
    /* x = 2^n m with m in [1/sqrt 2, sqrt 2); ln m = 2 artanh((m - 1) / (m + 1)). */
    int n;
    double m = frexp(x, &n);
    double t;
    double power;
    double sum = 0;

    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        n--;
    }
    t = (m - 1) / (m + 1);
    power = t;
    for (int i = 1; i <= 41; i += 2) {
        sum += power / i;
        power *= t * t;
    }
    return 2 * sum + n * LN2;
}
