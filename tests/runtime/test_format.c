/* SPDX-License-Identifier: Apache-2.0 */
/* Text that does not depend on the locale. */
#include <errno.h>

#include "comma_locale.h"
#include "format_int.h"
#include "log_int.h"
#include "log_kit.h"
#include "status_int.h"
#include "testing.h"
#include "text_int.h"

static void numbers_have_a_decimal_point_in_every_locale(void)
{
    sli_text text = {0};
    char number[40];
    char *end;
    FILE *file;

    T_NEEDS(kit_comma_begin(), "this C library has locales of another form");
    snprintf(number, sizeof(number), "%g", 0.5);
    T_STR(number, "0,5");
    sli_print(number, sizeof(number), "%g", 0.5);
    T_STR(number, "0.5");
    file = fmemopen(number, sizeof(number), "w");
    T_EQ(sli_print_file(file, "%s %.2f", "x", 1.25), 6);
    fclose(file);
    T_STR(number, "x 1.25");
    T_TRUE(sli_strtod("2.5", &end) == 2.5 && *end == '\0');
    sli_fail(SLUICE_E_INVALID, "p=%g", 1.5);
    T_CONTAINS(sluice_last_error(), "p=1.5");
    sli_fail_errno(SLUICE_E_IO, EIO, "after %.1f s", 2.5);
    T_CONTAINS(sluice_last_error(), "after 2.5 s");
    kit_log_start(NULL, NULL);
    sli_log(SLUICE_LOG_WARN, "%.1f MB", 3.5);
    T_STR(kit_log_stop(), "3.5 MB\n");
    sli_text_add(&text, "%g ", 4.5);
    sli_text_add_line(&text, "%g", 5.5);
    sli_text_add_real(&text, 6.5);
    sli_text_add_number(&text, -7.5);
    T_STR(text.data, "4.5 5.5\n6.5-7.5");
    sli_text_free(&text);
    snprintf(number, sizeof(number), "%g", 0.5);
    T_STR(number, "0,5"); /* the locale of the program is as before */
    kit_comma_end();
}

/* The text of a number, valid until the next call. */
static const char *real_text(double value)
{
    static char kept[64];
    sli_text text = {0};

    sli_text_add_real(&text, value);
    snprintf(kept, sizeof(kept), "%s", text.data);
    sli_text_free(&text);
    return kept;
}

static void numbers_have_their_shortest_text(void)
{
    static const double values[] = {5e-324,  1.7976931348623157e308, 1.0 / 3, 123456.7,
                                    -2.5e-7, 9007199254740993.0,     65535,   1e22};
    double back;

    T_STR(real_text(10), "10");
    T_STR(real_text(-100), "-100");
    T_STR(real_text(20.5), "20.5");
    T_STR(real_text(0.1), "0.1");
    T_STR(real_text(0), "0");
    T_STR(real_text(10000), "10000"); /* 1e+04 is as long */
    T_STR(real_text(1e5), "1e+05");
    T_STR(real_text(1e-5), "1e-05");
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        T_TRUE(sli_parse_real(real_text(values[i]), &back) && back == values[i]);
    }
}

static void words_are_compared_in_ascii(void)
{
    T_TRUE(sli_same_word("IMAGE.png", "image.PNG"));
    T_TRUE(!sli_same_word("image", "images") && !sli_same_word("images", "image"));
    T_TRUE(!sli_same_word("\xC4", "\xE4")); /* a letter of Latin-1 in either case */
    T_TRUE(sli_same_word("", "") && !sli_same_word("@", "`"));
    T_TRUE(sli_same_begin("Image,Label", "image,", 6) && !sli_same_begin("imag", "image,", 6));
    T_TRUE(sli_same_begin("PU", "pu", 9));
}

static void words_are_found_in_lists(void)
{
    T_EQ(sli_word_rank("PNG", "jpg,png,ppm"), 1);
    T_EQ(sli_word_rank("jpg", "jpg"), 0);
    T_EQ(sli_word_rank("pn", "jpg,png"), UINT32_MAX);
    T_EQ(sli_word_rank("jpg,png", "jpg,png"), UINT32_MAX);
    T_EQ(sli_word_rank("", "jpg"), UINT32_MAX);
    T_EQ(sli_word_rank("jpg", ""), UINT32_MAX);
}

const t_test format_tests[] = {
    T_TEST(numbers_have_a_decimal_point_in_every_locale),
    T_TEST(numbers_have_their_shortest_text),
    T_TEST(words_are_compared_in_ascii),
    T_TEST(words_are_found_in_lists),
    T_END,
};
