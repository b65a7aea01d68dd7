/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of weights and classes by themselves. */
#include <stdlib.h>

#include "alloc_int.h"
#include "class_table.h"
#include "random_kit.h"
#include "testing.h"
#include "weight_table.h"

/* The probability of each entry, as the table has it. */
static void probabilities(const weight_table *table, double *p)
{
    const double one = 1.0 / (double)table->n;

    for (uint64_t i = 0; i < table->n; i++) {
        p[i] = 0;
    }
    for (uint64_t i = 0; i < table->n; i++) {
        const double own =
            table->entries[i].alias == i ? 1 : (double)table->entries[i].threshold / 4294967296.0;

        p[i] += own * one;
        p[table->entries[i].alias] += (1 - own) * one;
    }
}

static void check_weights(const double *weights, uint64_t n)
{
    weight_table *table = NULL;
    double *p = calloc(n, sizeof(*p));
    double total = 0;

    T_TRUE(p != NULL);
    T_OK(weight_table_make(weights, n, &table));
    probabilities(table, p);
    for (uint64_t i = 0; i < n; i++) {
        total += weights[i];
    }
    for (uint64_t i = 0; i < n; i++) {
        T_NEAR(p[i], weights[i] / total, 1e-9);
        T_TRUE(weights[i] > 0 || p[i] == 0);
        T_TRUE(weights[i] == 0 || p[i] > 0);
    }
    sli_free(table);
    free(p);
}

static void probabilities_are_the_shares_of_the_weights(void)
{
    uint32_t state = 5;
    double weights[500];

    check_weights((const double[]){3}, 1);
    check_weights((const double[]){0, 3}, 2);
    check_weights((const double[]){1, 1, 1}, 3);
    check_weights((const double[]){1e-300, 1, 0, 2, 1e-5}, 5);
    check_weights((const double[]){1e300, 1e300, 0, 1e299}, 4);
    for (int trial = 0; trial < 50; trial++) {
        const uint64_t n = 1 + test_below(&state, 500);

        for (uint64_t i = 0; i < n; i++) {
            weights[i] = test_below(&state, 4) == 0 ? 0 : (double)test_below(&state, 1000000);
        }
        weights[test_below(&state, (uint32_t)n)] = 17;
        check_weights(weights, n);
    }
}

static void weights_of_zero_alone_are_refused(void)
{
    weight_table *table = NULL;

    T_STATUS(weight_table_make((const double[]){0, 0}, 2, &table), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "all weights are 0");
    CU_ASSERT_PTR_NULL(table);
}

static void draws_have_the_probabilities_of_the_table(void)
{
    enum { DRAWS = 200000 };
    const double weights[] = {0, 1, 2, 0.5, 6.5};
    uint64_t counts[5] = {0};
    weight_table *table = NULL;

    T_OK(weight_table_make(weights, 5, &table));
    for (uint64_t i = 0; i < DRAWS; i++) {
        counts[weight_table_draw(table, 99, i / 1000, i % 1000)]++;
    }
    T_EQ(counts[0], 0);
    for (int i = 1; i < 5; i++) {
        /* Five standard deviations of a count are below 1200. */
        T_NEAR(counts[i], weights[i] / 10 * DRAWS, 1200);
    }
    T_EQ(weight_table_draw(table, 1, 2, 3), weight_table_draw(table, 1, 2, 3));
    sli_free(table);
}

/* The same draws on every machine and in every version: resumed runs rely on them. */
static void draws_stay_as_they_are(void)
{
    const double weights[] = {1, 2, 3, 4, 5, 6, 7};
    weight_table *table = NULL;
    char text[41] = "";

    T_OK(weight_table_make(weights, 7, &table));
    for (uint64_t i = 0; i < 40; i++) {
        text[i] = (char)('0' + weight_table_draw(table, 12345, 2, i));
    }
    T_STR(text, "4104621233564366646532345345345666652343");
    sli_free(table);
}

static void classes_are_sorted_by_label(void)
{
    const int64_t labels[] = {5, -1, 5, INT64_MAX, -1, 5, INT64_MIN};
    const uint32_t want[] = {6, 1, 4, 0, 2, 5, 3};
    class_table *table = NULL;

    T_OK(class_table_make(labels, 7, &table));
    T_EQ(table->classes, 4);
    T_EQ(memcmp(table->members, want, sizeof(want)), 0);
    T_TRUE(table->ranges[1].first == 1 && table->ranges[1].permutation.n == 2);
    sli_free(table);
}

const t_test choice_tables_tests[] = {
    T_TEST(probabilities_are_the_shares_of_the_weights),
    T_TEST(weights_of_zero_alone_are_refused),
    T_TEST(draws_have_the_probabilities_of_the_table),
    T_TEST(draws_stay_as_they_are),
    T_TEST(classes_are_sorted_by_label),
    T_END,
};
