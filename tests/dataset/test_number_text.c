/* SPDX-License-Identifier: Apache-2.0 */
#include "number_text.h"
#include "testing.h"

enum { MOST = 20 };

static void check_indices(const char *text, uint64_t count, const uint32_t *want)
{
    uint32_t numbers[MOST];
    uint64_t line = 77;

    T_EQ(number_text_lines(text, strlen(text)), count);
    T_OK(number_text_indices(text, strlen(text), 1000, numbers, &line));
    T_EQ(line, 77);
    for (uint64_t i = 0; i < count; i++) {
        T_EQ(numbers[i], want[i]);
    }
}

static void numbers_are_read_line_by_line(void)
{
    check_indices("", 0, NULL);
    check_indices("7", 1, (const uint32_t[]){7});
    check_indices("7\n", 1, (const uint32_t[]){7});
    check_indices("7\r\n999\r\n", 2, (const uint32_t[]){7, 999});
    check_indices("\xEF\xBB\xBF"
                  "7\r\n8",
                  2, (const uint32_t[]){7, 8}); /* a byte order mark */
    check_indices("0\n00012\n5", 3, (const uint32_t[]){0, 12, 5});
}

static void check_bad_index(const char *text, size_t size, uint64_t want, const char *words)
{
    uint32_t numbers[MOST];
    uint64_t line = 0;

    T_STATUS(number_text_indices(text, size, 1000, numbers, &line), SLUICE_E_CORRUPT);
    T_EQ(line, want);
    T_CONTAINS(sluice_last_error(), words);
}

static void lines_that_are_no_numbers_are_named(void)
{
    static const char *const bad[] = {"1\n\n2",    "1\n 2",    "1\n2 ",    "1\n-2",
                                      "1\n1000",   "1\n2.0",   "1\n2,3",   "1\n0x2",
                                      "1\n2\r3\n", "1\n2e1\n", "1\nnone\n"};
    static const char *const huge =
        "1\n18446744073709551616\n1844674407370955161600000000000000000000000000000000000000000000";

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        check_bad_index(bad[i], strlen(bad[i]), 2, "must be a sample number from 0 to 999");
    }
    check_bad_index(huge, strlen(huge), 2, "'18446744073709551616' must be a sample number");
    check_bad_index(huge + 23, strlen(huge) - 23, 1, "must be a sample number");
    check_bad_index("1\n2\0\n", 5, 2, "must be a sample number");
}

/* Numbers are stored in 32 bits; the error says so, without a line. */
static void a_source_of_too_many_samples_is_refused(void)
{
    uint32_t numbers[MOST];
    uint64_t line = 77;

    T_OK(number_text_indices("4294967294", 10, UINT32_MAX, numbers, &line));
    T_EQ(numbers[0], 4294967294);
    T_STATUS(number_text_indices("1", 1, UINT64_C(1) << 32, numbers, &line), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "the source has 4294967296 samples");
    T_EQ(line, 77);
}

static void weights_are_finite_numbers_from_zero(void)
{
    static const char *const good = "0\n1e-3\r\n2.5\n1e300";
    static const char *const bad[] = {"1\n-1", "1\nnan", "1\ninf", "1\n1e999", "1\n\n1", "1\nx"};
    double weights[MOST];
    uint64_t line = 0;

    T_EQ(number_text_lines(good, strlen(good)), 4);
    T_OK(number_text_weights(good, strlen(good), weights, &line));
    T_TRUE(weights[0] == 0 && weights[1] == 1e-3 && weights[2] == 2.5 && weights[3] == 1e300);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        line = 0;
        T_STATUS(number_text_weights(bad[i], strlen(bad[i]), weights, &line), SLUICE_E_CORRUPT);
        T_EQ(line, 2);
        T_CONTAINS(sluice_last_error(), "must be a finite number of at least 0");
    }
}

const t_test number_text_tests[] = {
    T_TEST(numbers_are_read_line_by_line),
    T_TEST(lines_that_are_no_numbers_are_named),
    T_TEST(a_source_of_too_many_samples_is_refused),
    T_TEST(weights_are_finite_numbers_from_zero),
    T_END,
};
