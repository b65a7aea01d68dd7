/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of repeated runs: medians, the Mann-Whitney test, and which of several rows changed.
 */
#ifndef RANK_SUM_H
#define RANK_SUM_H

#include <stdbool.h>
#include <stddef.h>

/* A difference with a smaller p-value is not explained by noise. */
#define RANK_SUM_LEVEL 0.05

enum {
    RANK_SUM_EXACT = 20,   /* up to this many values a side the distribution is exact */
    RANK_SUM_MOST = 100000 /* values a side at most */
};

/* Sorts the values; returns the middle one, or the mean of the two in the middle. count > 0. */
double rank_sum_median(double *values, size_t count);

/*
 * Two-sided p-value of the Mann-Whitney test: the probability that two samples from one
 * distribution differ in their ranks as much as these do. Exact up to RANK_SUM_EXACT values a side,
 * also where values are equal; beyond that a normal distribution, corrected for equal values and
 * continuity. 1 if a side has no values; NaN if memory is short. The values must be finite.
 */
double rank_sum_test(const double *a, size_t a_count, const double *b, size_t b_count);

/* The smallest p-value that samples of these sizes can have: 2 / C(a + b, a). 1 if a side has no
 * values. Above RANK_SUM_LEVEL, the test cannot tell a difference from noise. */
double rank_sum_least(size_t a_count, size_t b_count);

/* Standard deviation as a share of the mean; NaN with fewer than two values, or a mean of 0. */
double rank_sum_spread(const double *values, size_t count);

/* Number of values a side with which the test finds a change by this share in 8 of 10 comparisons,
 * where values have this spread. 6 or more; RANK_SUM_MOST at most. */
size_t rank_sum_needed(double spread, double change);

/*
 * Benjamini-Hochberg: sets changed[i] for the rows whose p-values noise does not explain, given
 * that `count` rows are tested at once. Where no row has changed, one is set in 5 of 100 tables at
 * most.
 */
void rank_sum_changed(const double *p, size_t count, bool *changed);

#endif
