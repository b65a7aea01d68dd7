/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "permutation.h"
#include "rng_int.h"
#include "testing.h"

/* Keys as order.c makes them: one for each pass. */
static uint64_t pass_key(uint64_t pass)
{
    return sli_mix_in(UINT64_C(0x5EED), pass);
}

/* The chi-square of counts that should be equal. */
static double chi_square(const uint32_t *counts, size_t cells, double expected)
{
    double sum = 0;

    for (size_t i = 0; i < cells; i++) {
        sum += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    return sum;
}

/* Beyond this a chi-square of so many degrees of freedom is no chance: five standard deviations,
 * and some more for the skewness of few degrees. */
static double chi_limit(double freedom)
{
    return freedom + 5 * sqrt(2 * freedom) + 12;
}

static void check_bijection(uint64_t n, uint64_t key)
{
    const index_permutation p = permutation_of(n);
    uint8_t *seen = calloc(n, 1);

    T_TRUE(seen != NULL);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t to = permutation_at(&p, key, i);

        if (to >= n || seen[to]) {
            T_FAIL_("n %llu: place %llu goes to %llu, which is %s", (unsigned long long)n,
                    (unsigned long long)i, (unsigned long long)to, to >= n ? "outside" : "taken");
        }
        seen[to] = 1;
    }
    free(seen);
}

static void every_place_is_taken_once(void)
{
    for (uint64_t n = 1; n <= 3000; n++) {
        check_bijection(n, pass_key(n));
    }
    check_bijection(1 << 20, 0);
    check_bijection((1 << 20) + 7, 1);
    check_bijection(999983, UINT64_MAX);
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static void large_orders_have_no_place_twice(void)
{
    enum { SAMPLES = 50000 };
    static const uint64_t sizes[] = {
        UINT64_C(4294967295),    UINT64_C(4294967296),       UINT64_C(4294967297),
        UINT64_C(1000000000000), UINT64_C(1) << 40,          (UINT64_C(1) << 40) - 87,
        (UINT64_C(1) << 40) + 1, (UINT64_C(1) << 62) - 1234, UINT64_C(1) << 62,
    };
    uint64_t *to = malloc(SAMPLES * sizeof(*to));

    T_TRUE(to != NULL);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        const uint64_t n = sizes[s];
        const index_permutation p = permutation_of(n);
        uint64_t quarters[4] = {0};

        T_TRUE(p.a <= UINT64_C(1) << 32 && p.b <= UINT64_C(1) << 32);
        for (uint64_t i = 0; i < SAMPLES; i++) {
            /* The first places, the last, and some all over. */
            uint64_t at = i % 3 == 0   ? i / 3
                          : i % 3 == 1 ? n - 1 - i / 3
                                       : SAMPLES + i / 3 * ((n - 2 * SAMPLES) / SAMPLES);

            to[i] = permutation_at(&p, pass_key(s), at);
            T_TRUE(to[i] < n);
            quarters[to[i] / (n / 4 + 1)]++;
        }
        qsort(to, SAMPLES, sizeof(*to), compare_numbers);
        for (int i = 1; i < SAMPLES; i++) {
            T_TRUE(to[i - 1] != to[i]);
        }
        for (int i = 0; i < 4; i++) {
            T_NEAR(quarters[i], SAMPLES / 4.0, 600);
        }
    }
    free(to);
}

/* The number of an order among all of n things. */
static uint32_t rank_of_order(const uint64_t *order, uint32_t n)
{
    uint32_t rank = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t smaller = 0;

        for (uint32_t k = i + 1; k < n; k++) {
            smaller += order[k] < order[i];
        }
        rank = rank * (n - i) + smaller;
    }
    return rank;
}

static void all_orders_of_few_are_equally_likely(void)
{
    enum { KEYS = 48000 };
    static const uint32_t orders[] = {0, 1, 2, 6, 24};

    for (uint32_t n = 2; n <= 4; n++) {
        const index_permutation p = permutation_of(n);
        uint32_t counts[24] = {0};

        for (uint64_t key = 0; key < KEYS; key++) {
            uint64_t order[4];

            for (uint32_t i = 0; i < n; i++) {
                order[i] = permutation_at(&p, pass_key(key), i);
            }
            counts[rank_of_order(order, n)]++;
        }
        T_TRUE(chi_square(counts, orders[n], KEYS / (double)orders[n]) <
               chi_limit(orders[n] - 1.0));
    }
}

/* 9 are 3 by 3, where rotating lines and columns alone would give even permutations only. */
static void odd_permutations_come_as_often_as_even_ones(void)
{
    enum { KEYS = 2000 };
    static const uint32_t sizes[] = {5, 8, 9, 25, 49};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        const index_permutation p = permutation_of(sizes[s]);
        uint32_t odd = 0;

        for (uint64_t key = 0; key < KEYS; key++) {
            uint64_t order[49];
            uint32_t inversions = 0;

            for (uint32_t i = 0; i < sizes[s]; i++) {
                order[i] = permutation_at(&p, pass_key(key), i);
                for (uint32_t k = 0; k < i; k++) {
                    inversions += order[k] > order[i];
                }
            }
            odd += inversions % 2;
        }
        T_NEAR(odd, KEYS / 2, 5 * sqrt(KEYS / 4.0));
    }
}

static void every_place_goes_everywhere_equally_often(void)
{
    enum { KEYS = 40000, MOST = 20 };

    for (uint32_t n = 5; n <= MOST; n++) {
        const index_permutation p = permutation_of(n);
        uint32_t counts[MOST * MOST] = {0};

        for (uint64_t key = 0; key < KEYS; key++) {
            for (uint32_t i = 0; i < n; i++) {
                counts[i * n + permutation_at(&p, pass_key(key), i)]++;
            }
        }
        T_TRUE(chi_square(counts, (size_t)n * n, KEYS / (double)n) <
               chi_limit((n - 1.0) * (n - 1.0)));
    }
}

/* Neighbours go to unrelated places: of all pairs of places each is equally likely. */
static void neighbours_are_torn_apart(void)
{
    enum { KEYS = 30000, N = 10 };
    const index_permutation p = permutation_of(N);
    uint32_t counts[N * (N - 1)] = {0};

    for (uint64_t key = 0; key < KEYS; key++) {
        uint64_t first = permutation_at(&p, pass_key(key), 3);
        uint64_t second = permutation_at(&p, pass_key(key), 4);

        counts[first * (N - 1) + second - (second > first)]++;
    }
    T_TRUE(chi_square(counts, N * (N - 1), KEYS / (double)(N * (N - 1))) <
           chi_limit(N * (N - 1) - 1));
}

static void one_pass_tells_nothing_of_the_next(void)
{
    enum { N = 1009, PASSES = 300 };
    const index_permutation p = permutation_of(N);
    uint32_t same = 0;
    uint32_t successors = 0;
    double sum = 0;

    for (uint64_t pass = 0; pass < PASSES; pass++) {
        double products = 0;
        uint64_t before = N;

        for (uint64_t i = 0; i < N; i++) {
            uint64_t a = permutation_at(&p, pass_key(pass), i);
            uint64_t b = permutation_at(&p, pass_key(pass + 1), i);

            same += a == b;
            successors += a == before + 1;
            before = a;
            products += ((double)a - (N - 1) / 2.0) * ((double)b - (N - 1) / 2.0);
        }
        sum += products / ((double)N * ((double)N * N - 1) / 12);
    }
    /* In each pass one place is as before on average, and one number follows its predecessor. */
    T_NEAR(same, PASSES, 6 * sqrt(PASSES));
    T_NEAR(successors, PASSES, 6 * sqrt(PASSES));
    /* Spearman's correlation of two random orders is 0 with a variance of 1 / (n - 1). */
    T_NEAR(sum / PASSES, 0, 5 / sqrt((N - 1.0) * PASSES));
}

static void an_order_is_a_pure_function(void)
{
    enum { N = 777 };
    const index_permutation p = permutation_of(N);
    const index_permutation q = permutation_of(N);
    uint64_t forward[N];

    for (uint64_t i = 0; i < N; i++) {
        forward[i] = permutation_at(&p, 5, i);
    }
    for (uint64_t i = N; i-- > 0;) {
        permutation_at(&q, 6, i);
        T_EQ(permutation_at(&q, 5, i), forward[i]);
    }
}

const t_test permutation_tests[] = {
    T_TEST(every_place_is_taken_once),
    T_TEST(large_orders_have_no_place_twice),
    T_TEST(all_orders_of_few_are_equally_likely),
    T_TEST(odd_permutations_come_as_often_as_even_ones),
    T_TEST(every_place_goes_everywhere_equally_often),
    T_TEST(neighbours_are_torn_apart),
    T_TEST(one_pass_tells_nothing_of_the_next),
    T_TEST(an_order_is_a_pure_function),
    T_END,
};
