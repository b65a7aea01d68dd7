/* SPDX-License-Identifier: Apache-2.0 */
#include "rank_sum.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* A value, and the side that it is of. */
typedef struct ranked {
    double value;
    uint32_t twice_rank; /* twice the mean rank of all equal values, which is a whole number */
    bool of_a;
} ranked;

static int compare_numbers(double x, double y)
{
    return (x > y) - (x < y);
}

static int compare_values(const void *x, const void *y)
{
    return compare_numbers(*(const double *)x, *(const double *)y);
}

static int compare_ranked(const void *x, const void *y)
{
    return compare_numbers(((const ranked *)x)->value, ((const ranked *)y)->value);
}

double rank_sum_median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare_values);
    return count % 2 == 1 ? values[count / 2] : values[count / 2 - 1] / 2 + values[count / 2] / 2;
}

/* Ranks all values. Returns the sum of t^3 - t over the groups of t equal ones. */
static double rank_all(ranked *all, size_t count)
{
    double ties = 0;

    qsort(all, count, sizeof(*all), compare_ranked);
    for (size_t first = 0; first < count;) {
        size_t end = first + 1;

        while (end < count && all[end].value <= all[first].value) {
            end++;
        }
        for (size_t i = first; i < end; i++) {
            all[i].twice_rank = (uint32_t)(first + 1 + end);
        }
        ties += pow((double)(end - first), 3) - (double)(end - first);
        first = end;
    }
    return ties;
}

enum { MOST_SUM = 2 * RANK_SUM_EXACT * (2 * RANK_SUM_EXACT + 1) }; /* of twice the ranks */

/*
 * The exact p-value: counts the choices of a_count of the ranks by their sum, which are all equally
 * likely. ways[k][s]: of the ranks so far, the choices of k with the sum s. A count is at most
 * C(40, 20), which a double holds exactly.
 */
static double exact_p(const ranked *all, size_t count, size_t a_count, uint32_t sum)
{
    double(*ways)[MOST_SUM + 1] = calloc(a_count + 1, sizeof(*ways));
    const size_t most = count * (count + 1); /* the sum of all */
    double below = 0;
    double above = 0;
    double total = 0;

    if (ways == NULL) {
        return (double)NAN;
    }
    ways[0][0] = 1;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1 < a_count ? i + 1 : a_count; k > 0; k--) {
            for (size_t s = all[i].twice_rank; s <= most; s++) {
                ways[k][s] += ways[k - 1][s - all[i].twice_rank];
            }
        }
    }
    for (size_t s = 0; s <= most; s++) {
        total += ways[a_count][s];
        below += s <= sum ? ways[a_count][s] : 0;
        above += s >= sum ? ways[a_count][s] : 0;
    }
    free(ways);
    return fmin(1, 2 * fmin(below, above) / total);
}

/* The p-value by a normal distribution. `ties` is of rank_all(). */
static double normal_p(double a, double b, double rank_sum, double ties)
{
    const double n = a + b;
    const double u = rank_sum - a * (a + 1) / 2;
    const double variance = a * b / 12 * (n + 1 - ties / (n * (n - 1)));
    const double distance = fabs(u - a * b / 2) - 0.5;

    if (!(variance > 0)) { /* all values are equal */
        return 1;
    }
    return distance > 0 ? erfc(distance / sqrt(2 * variance)) : 1;
}

double rank_sum_test(const double *a, size_t a_count, const double *b, size_t b_count)
{
    const size_t count = a_count + b_count;
    ranked *all;
    double ties;
    double sum = 0; /* of twice the ranks of a */
    double p;

    if (a_count == 0 || b_count == 0) {
        return 1;
    }
    all =
        a_count <= RANK_SUM_MOST && b_count <= RANK_SUM_MOST ? malloc(count * sizeof(*all)) : NULL;
    if (all == NULL) {
        return (double)NAN;
    }
    for (size_t i = 0; i < count; i++) {
        all[i].of_a = i < a_count;
        all[i].value = i < a_count ? a[i] : b[i - a_count];
    }
    ties = rank_all(all, count);
    for (size_t i = 0; i < count; i++) {
        sum += all[i].of_a ? all[i].twice_rank : 0;
    }
    p = a_count <= RANK_SUM_EXACT && b_count <= RANK_SUM_EXACT
            ? exact_p(all, count, a_count, (uint32_t)sum)
            : normal_p((double)a_count, (double)b_count, sum / 2, ties);
    free(all);
    return p;
}

double rank_sum_least(size_t a_count, size_t b_count)
{
    double p = 2;

    for (size_t i = 1; i <= a_count && p > 1e-9; i++) {
        p *= (double)i / (double)(b_count + i);
    }
    return fmin(1, p);
}

double rank_sum_spread(const double *values, size_t count)
{
    double mean = 0;
    double squares = 0;

    for (size_t i = 0; i < count; i++) {
        mean += values[i] / (double)count;
    }
    for (size_t i = 0; i < count && mean > 0; i++) {
        squares += pow(values[i] / mean - 1, 2);
    }
    return count > 1 && mean > 0 ? sqrt(squares / (double)(count - 1)) : (double)NAN;
}

size_t rank_sum_needed(double spread, double change)
{
    /* Of Student's test with this power: 2 (1.960 + 0.842)^2 (spread / change)^2. On normal values
     * the test by ranks needs pi / 3 times as many. */
    const double count = ceil(16.44 * pow(spread / change, 2));

    return count > RANK_SUM_MOST ? RANK_SUM_MOST : count > 6 ? (size_t)count : 6;
}

void rank_sum_changed(const double *p, size_t count, bool *changed)
{
    double limit = -1; /* the largest p-value that counts */

    for (size_t i = 0; i < count; i++) {
        size_t rank = 0; /* of p[i] */

        for (size_t j = 0; j < count; j++) {
            rank += p[j] <= p[i];
        }
        if (p[i] <= RANK_SUM_LEVEL * (double)rank / (double)count) {
            limit = fmax(limit, p[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        changed[i] = p[i] <= limit;
    }
}
