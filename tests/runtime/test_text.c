/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "alloc_int.h"
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

    sli_text_add_json(&text, "a\"b\\c\n\t\x01 \xc3\xa9 \xff \xc0\x80 \xed\xa0\x80");
    T_OK(sli_text_take(&text, &taken));
    T_STR(taken, "\"a\\\"b\\\\c\\n\\u0009\\u0001 \xc3\xa9 \\ufffd \\ufffd\\ufffd "
                 "\\ufffd\\ufffd\\ufffd\"");
    sluice_string_free(taken);
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
    T_TEST(json_has_no_infinity),
    T_TEST(running_out_of_memory_is_told_at_the_end),
    T_TEST(element_types_have_names_and_sizes),
    T_TEST(a_column_of_no_fixed_size_has_no_bytes),
    T_END,
};
