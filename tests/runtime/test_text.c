/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "alloc_int.h"
#include "printable_int.h"
#include "tensor_int.h"
#include "testing.h"
#include "text_int.h"

static void a_text_grows_as_it_is_written(void)
{
    sli_text text = {0};
    char *taken = NULL;

    for (int i = 0; i < 100; i++) {
        sli_text_add(&text, "%d,", i);
    }
    T_OK(sli_text_take(&text, &taken));
    T_EQ(strlen(taken), 10 * 2 + 90 * 3);
    T_EQ(strncmp(taken, "0,1,2,", 6), 0);
    sluice_string_free(taken);
}

static void an_empty_text_is_a_text(void)
{
    sli_text text = {0};
    char *taken = NULL;

    T_OK(sli_text_take(&text, &taken));
    T_STR(taken, "");
    sluice_string_free(taken);
}

static void json_strings_are_escaped(void)
{
    sli_text text = {0};
    char *taken = NULL;

    sli_text_add_json(&text, "a\"b\\c\n\t\x01 \xc3\xa9 \xff \xc0\x80 \xed\xa0\x80 \x7f \xc2\x9b");
    T_OK(sli_text_take(&text, &taken));
    T_STR(taken, "\"a\\\"b\\\\c\\n\\u0009\\u0001 \xc3\xa9 \\ufffd \\ufffd\\ufffd "
                 "\\ufffd\\ufffd\\ufffd \\u007f \\u009b\"");
    sluice_string_free(taken);
}

/* ---- for terminals --------------------------------------------------------------------------- */

static void control_characters_of_a_name_are_escaped(void)
{
    sli_text text = {0};
    char *taken = NULL;

    sli_text_add(&text, "<");
    sli_text_add_printable(&text, "\x1b[31m \r\n\t \x7f \xc2\x9b \x9b \xe2\x82 \xc3\xa9 \\");
    sli_text_add(&text, ">");
    T_OK(sli_text_take(&text, &taken));
    T_STR(taken, "<\\x1b[31m \\r\\n\\t \\x7f \\u009b \\x9b \\xe2\\x82 \xc3\xa9 \\>");
    sluice_string_free(taken);
}

static void lines_are_broken_at_blanks_to_fit_a_terminal(void)
{
    static const char *const forty = "a123456789b123456789c123456789d123456789";
    sli_text text = {0};
    char *taken = NULL;
    char want[400];

    sli_text_add_line(&text, "%s %.39s", forty, forty); /* 80 columns */
    sli_text_add_line(&text, "%s %.40s", forty, forty); /* 81 */
    sli_text_add_line(&text, "  %s%s%s e", forty, forty, forty);
    sli_text_add_line(&text, "%s \xc3\xa9%.38s", forty, forty); /* characters count, not bytes */
    sli_text_add_line(&text, "%s", "");
    T_OK(sli_text_take(&text, &taken));
    snprintf(want, sizeof(want), "%s %.39s\n%s\n    %.40s\n  %s%s%s\n    e\n%s \xc3\xa9%.38s\n\n",
             forty, forty, forty, forty, forty, forty, forty, forty, forty);
    T_STR(taken, want);
    sluice_string_free(taken);
}

static void a_number_is_not_parted_from_its_unit(void)
{
    static const char *const seventy =
        "a123456789b123456789c123456789d123456789e123456789f123456789g123456789";
    sli_text text = {0};
    char *taken = NULL;
    char want[600];

    sli_text_add_line(&text, "%s 12 100.0 %%, x", seventy); /* 82 columns with the comma */
    sli_text_add_line(&text, "%s 123456.8 s", seventy);     /* 81 columns */
    sli_text_add_line(&text, "%s 1234.6 s", seventy);       /* 79 */
    sli_text_add_line(&text, "%s 1234567.9 steps", seventy);
    sli_text_add_line(&text, "%s abcdefghi %%", seventy); /* no number */
    T_OK(sli_text_take(&text, &taken));
    snprintf(want, sizeof(want),
             "%s 12\n    100.0 %%, x\n%s\n    123456.8 s\n%s 1234.6 s\n%s 1234567.9\n    steps\n"
             "%s abcdefghi\n    %%\n",
             seventy, seventy, seventy, seventy, seventy);
    T_STR(taken, want);
    sluice_string_free(taken);
}

/* Only lines that four blanks begin: no name can begin a line that looks like a message. */
static void messages_keep_their_further_lines(void)
{
    char text[100];

    sli_printable("what\n    here\n    \t^\nforged\x1b", SLI_CONTINUED, text, sizeof(text));
    T_STR(text, "what\n    here\n    \t^\\nforged\\x1b");
}

static void printable_text_is_cut_between_characters(void)
{
    static const char *const raw = "a\xc3\xa9\x1b.";
    static const char *const cut[] = {"",
                                      "",
                                      "a",
                                      "a",
                                      "a\xc3\xa9",
                                      "a\xc3\xa9",
                                      "a\xc3\xa9",
                                      "a\xc3\xa9",
                                      "a\xc3\xa9\\x1b",
                                      "a\xc3\xa9\\x1b."};
    char text[sizeof(cut) / sizeof(cut[0])];

    for (size_t size = 1; size < sizeof(text); size++) {
        sli_printable(raw, SLI_ONE_LINE, text, size);
        T_STR(text, cut[size]);
    }
}

static void json_has_no_infinity(void)
{
    sli_text text = {0};
    char *taken = NULL;

    sli_text_add_number(&text, 0.5);
    sli_text_add_number(&text, (double)INFINITY);
    T_OK(sli_text_take(&text, &taken));
    T_STR(taken, "0.5null");
    sluice_string_free(taken);
}

static void running_out_of_memory_is_told_at_the_end(void)
{
    sli_text text = {0};
    char *taken = NULL;

    sli_alloc_fail_after(0);
    sli_text_add(&text, "x");
    sli_alloc_fail_after(-1);
    sli_text_add(&text, "y");
    T_STATUS(sli_text_take(&text, &taken), SLUICE_E_NO_MEMORY);
    CU_ASSERT_PTR_NULL(taken);
}

static void element_types_have_names_and_sizes(void)
{
    sluice_dtype dtype = SLUICE_ENCODED;

    T_TRUE(sli_dtype_parse("bf16", &dtype));
    T_EQ(dtype, SLUICE_BF16);
    T_EQ(sluice_dtype_size(dtype), 2);
    T_STR(sluice_dtype_name(SLUICE_I64), "i64");
    T_TRUE(!sli_dtype_parse("encoded", &dtype));
    T_EQ(sluice_dtype_size((sluice_dtype)77), 0);
}

static void a_column_of_no_fixed_size_has_no_bytes(void)
{
    sluice_column column = {.dtype = SLUICE_F32, .rank = 2, .shape = {3, 5}};
    size_t bytes = 0;

    T_TRUE(sli_column_bytes(&column, &bytes));
    T_EQ(bytes, 60);
    column.shape[1] = 0;
    T_TRUE(!sli_column_bytes(&column, &bytes));
    column.shape[0] = UINT64_MAX / 2;
    column.shape[1] = 9;
    T_TRUE(!sli_column_bytes(&column, &bytes));
}

const t_test text_tests[] = {
    T_TEST(a_text_grows_as_it_is_written),
    T_TEST(an_empty_text_is_a_text),
    T_TEST(json_strings_are_escaped),
    T_TEST(control_characters_of_a_name_are_escaped),
    T_TEST(lines_are_broken_at_blanks_to_fit_a_terminal),
    T_TEST(a_number_is_not_parted_from_its_unit),
    T_TEST(messages_keep_their_further_lines),
    T_TEST(printable_text_is_cut_between_characters),
    T_TEST(json_has_no_infinity),
    T_TEST(running_out_of_memory_is_told_at_the_end),
    T_TEST(element_types_have_names_and_sizes),
    T_TEST(a_column_of_no_fixed_size_has_no_bytes),
    T_END,
};
