/* SPDX-License-Identifier: Apache-2.0 */
/* The statistics of `sluice compare`: against known values, and how often they find what is not
 * there or miss what is. */
#include "rank_sum.h"
#include "testing.h"

/* ---- random numbers -------------------------------------------------------------------------- */

static uint64_t state = 88172645463325252U;

static double uniform(void)
{
    state ^= state << 13; /* xorshift64 */
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* Shapes of noise: of CPU time on a calm machine; of rates, with neighbours that come and go; few
 * different values, as percentiles of a histogram have; all values equal in most runs. */
static double calm(void)
{
    return 800 * (1 + 0.023 * normal());
}

static double loud(void)
{
    return uniform() < 0.3 ? 500 + 300 * uniform() : 1000 * (1 + 0.05 * normal());
}

static double binned(void)
{
    return floor(exp(0.1 * normal()) * 14);
}

static double rare(void)
{
    return uniform() < 0.1 ? 2 : 1;
}

typedef double (*draw_noise)(void);

static double draw_p(draw_noise noise, size_t a_count, size_t b_count, double factor)
{
    double a[50];
    double b[50];

    for (size_t i = 0; i < a_count; i++) {
        a[i] = noise();
    }
    for (size_t i = 0; i < b_count; i++) {
        b[i] = factor * noise();
    }
    return rank_sum_test(a, a_count, b, b_count);
}

/* Share of `trials` comparisons with a difference that noise does not explain. */
static double found(draw_noise noise, size_t a_count, size_t b_count, double factor, int trials)
{
    int count = 0;

    for (int i = 0; i < trials; i++) {
        count += draw_p(noise, a_count, b_count, factor) < RANK_SUM_LEVEL;
    }
    return (double)count / trials;
}

/* ---- the tests ------------------------------------------------------------------------------- */

#define P_OF(a, b)        rank_sum_test(a, COUNT(a), b, COUNT(b))
#define NEAR(value, want) T_NEAR(value, want, 1e-12)

/* scipy 1.17.1: mannwhitneyu(a, b, method="exact").pvalue; with equal values
 * method=PermutationMethod(n_resamples=10**6), which then goes through all permutations. */
static void exact_values(void)
{
    static const double low[] = {1, 2, 3, 4, 5, 6};
    static const double high[] = {7, 8, 9, 10, 11, 12};
    static const double x[] = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
    static const double y[] = {1.15, 0.88, 0.90, 0.74, 1.21};
    static const double males[] = {19, 22, 16, 29, 24};
    static const double females[] = {20, 11, 17, 12};
    static const double outer[] = {1, 4, 5, 8};
    static const double inner[] = {2, 3, 6, 7};
    static const double tied_a[] = {1, 2, 2, 3, 5, 5};
    static const double tied_b[] = {2, 4, 5, 6, 6, 7};
    static const double equal[] = {3, 3, 3, 3};
    double a[20];
    double b[20];

    NEAR(P_OF(low, high), 0.0021645021645021645);
    NEAR(P_OF(high, low), 0.0021645021645021645);
    NEAR(P_OF(x, y), 0.2544122544122544);
    NEAR(P_OF(males, females), 0.1111111111111111);
    NEAR(P_OF(outer, inner), 1);
    NEAR(P_OF(tied_a, tied_b), 0.08008658008658008);
    NEAR(P_OF(equal, equal), 1);
    for (int i = 0; i < 20; i++) {
        a[i] = (i * 7919 % 1009) / 10.0;
        b[i] = ((i * 6007 + 311) % 1013) / 9.0;
    }
    NEAR(P_OF(a, b), 0.799407187161697);
}

/* The same, method="asymptotic". */
static void normal_values(void)
{
    double a[25];
    double b[30];

    for (int i = 0; i < 30; i++) {
        a[i < 25 ? i : 0] = i < 25 ? i * 37 % 25 : 0;
        b[i] = i * 41 % 30 + 3;
    }
    NEAR(P_OF(a, b), 0.025055364495827594);
    for (int i = 0; i < 30; i++) {
        a[i < 21 ? i : 0] = i < 21 ? i * 1.01 : 0;
        b[i] = i * 1.3 + 2;
    }
    NEAR(rank_sum_test(a, 21, b, 30), 0.0010647318922125967);
}

/* The two ways agree where one takes over from the other. */
static void exact_meets_normal(void)
{
    double a[21];
    double b[21];

    for (int i = 0; i < 21; i++) {
        a[i] = i;
        b[i] = i + 4.5;
    }
    T_TRUE(fabs(rank_sum_test(a, 20, b, 20) - rank_sum_test(a, 21, b, 20)) < 0.03);
    T_TRUE(fabs(rank_sum_test(a, 20, b, 20) - rank_sum_test(a, 20, b, 21)) < 0.03);
}

static void few_values(void)
{
    static const double one[] = {1};
    static const double two[] = {2};

    NEAR(P_OF(one, two), 1);
    NEAR(rank_sum_test(one, 1, two, 0), 1);
    NEAR(rank_sum_least(1, 1), 1);
    NEAR(rank_sum_least(3, 3), 0.1);
    NEAR(rank_sum_least(4, 4), 2.0 / 70);
    NEAR(rank_sum_least(6, 6), 2.0 / 924);
    NEAR(rank_sum_least(0, 5), 1);
    NEAR(rank_sum_least(1, 100), 2.0 / 101);
    T_TRUE(rank_sum_least(RANK_SUM_MOST, RANK_SUM_MOST) < 1e-6);
}

static void medians(void)
{
    double odd[] = {5, 1, 3};
    double even[] = {4, 1, 3, 2};
    double large[] = {1.7e308, 1.6e308};

    NEAR(rank_sum_median(odd, 3), 3);
    NEAR(rank_sum_median(even, 4), 2.5);
    T_TRUE(rank_sum_median(large, 2) > 1.64e308 && rank_sum_median(large, 2) < 1.66e308);
}

/* Two sides of one distribution: noise explains the difference in 95 of 100 or more. */
static void equal_sides(void)
{
    static const draw_noise noises[] = {calm, loud, binned, rare};
    static const size_t sizes[][2] = {{4, 4}, {6, 6}, {5, 9}, {10, 10}, {25, 25}};

    for (size_t i = 0; i < COUNT(noises); i++) {
        for (size_t j = 0; j < COUNT(sizes); j++) {
            const double share = found(noises[i], sizes[j][0], sizes[j][1], 1, 4000);

            T_TRUE(share <= 0.06); /* 0.05 and three deviations of 4000 trials */
        }
    }
    T_TRUE(found(calm, 6, 6, 1, 4000) > 0.02); /* and the test is not blind */
}

/* Five percent more CPU time, with the noise that CPU time has: found in 80 of 100 or more. */
static void slower_sides(void)
{
    T_TRUE(found(calm, 6, 6, 1.05, 4000) >= 0.8);
    T_TRUE(found(calm, 6, 6, 0.95, 4000) >= 0.8);
    T_TRUE(found(calm, 3, 3, 1.05, 4000) <= 0); /* three runs a side cannot tell */
}

/* Noise of 5 and of 3 percent: as many runs as are said to be needed find the change. */
static double five(void)
{
    return 1 + 0.05 * normal();
}

static double three(void)
{
    return 1 + 0.03 * normal();
}

static void needed_runs(void)
{
    static const double values[] = {9, 10, 11};

    NEAR(rank_sum_spread(values, 3), 0.1);
    T_TRUE(isnan(rank_sum_spread(values, 1)));
    T_EQ(rank_sum_needed(0.05, 0.05), 17);
    T_EQ(rank_sum_needed(0.001, 0.05), 6);
    T_EQ(rank_sum_needed(1e50, 0.05), RANK_SUM_MOST);
    T_NEAR(found(five, 17, 17, 1.05, 3000), 0.8, 0.05);
    T_NEAR(found(three, rank_sum_needed(0.03, 0.05), 6, 1.05, 3000), 0.75, 0.1);
    T_NEAR(found(five, rank_sum_needed(0.05, 0.04), 26, 1.04, 3000), 0.8, 0.05);
}

/* Of a table of 20 rows of equal sides, one is marked in 5 of 100 tables; all that changed are. */
static void rows_at_once(void)
{
    enum { ROWS = 20, TABLES = 4000 };
    double p[ROWS];
    bool changed[ROWS];
    int marked = 0;

    for (int table = 0; table < TABLES; table++) {
        bool any = false;

        for (int i = 0; i < ROWS; i++) {
            p[i] = draw_p(i % 2 == 0 ? calm : binned, 6, 6, 1);
        }
        rank_sum_changed(p, ROWS, changed);
        for (int i = 0; i < ROWS; i++) {
            any = any || changed[i];
        }
        marked += any;
    }
    T_TRUE(marked <= TABLES * 6 / 100);
    for (int i = 0; i < ROWS; i++) {
        p[i] = i < 12 ? 0.025 : 0.5;
    }
    rank_sum_changed(p, ROWS, changed);
    for (int i = 0; i < ROWS; i++) {
        T_EQ(changed[i], i < 12);
    }
    p[11] = 0.031; /* above 0.05 * 12 / 20: of the others 11 are left, and 0.025 < 0.05 * 11 / 20 */
    rank_sum_changed(p, ROWS, changed);
    T_TRUE(changed[10] && !changed[11]);
}

const t_test rank_sum_tests[] = {
    T_TEST(exact_values),
    T_TEST(normal_values),
    T_TEST(exact_meets_normal),
    T_TEST(few_values),
    T_TEST(medians),
    T_TEST(equal_sides),
    T_TEST(slower_sides),
    T_TEST(needed_runs),
    T_TEST(rows_at_once),
    T_END,
};
