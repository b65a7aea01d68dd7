/* SPDX-License-Identifier: Apache-2.0 */
/* The text of lists, and the fields of their columns. */
#include <stdlib.h>

#include "list_columns.h"
#include "list_lines.h"
#include "testing.h"

/* All fields of a text: "a|b/c|d" for two records of two. */
static const char *fields_of(const char *text, char separator)
{
    static char out[400];
    list_cursor cursor = {text, text + strlen(text), separator};

    out[0] = '\0';
    while (list_begin_record(&cursor)) {
        bool last = false;

        while (!last) {
            char word[100];
            list_field field;

            if (list_next_field(&cursor, &field, &last) != SLUICE_OK ||
                list_copy_field(&field, word, sizeof(word)) != SLUICE_OK) {
                return sluice_last_error();
            }
            snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%c", word, last ? '/' : '|');
        }
    }
    return out;
}

static void records_are_taken_apart(void)
{
    T_STR(fields_of("a\tb\nc\td\n", '\t'), "a|b/c|d/");
    T_STR(fields_of("a,b\r\nc,d", ','), "a|b/c|d/");
    T_STR(fields_of("\n\r\n a b \n\n", '\t'), " a b /");
    T_STR(fields_of("a,,\n,\n", ','), "a||/|/");
    T_STR(fields_of("\"a,\"\"b\"\"\n\",\"\"\r\n", ','), "a,\"b\"\n|/");
    T_STR(fields_of("a\"b,c", ','), "a\"b|c/");
    T_STR(fields_of("a\rb,c", ','), "a\rb|c/");
    T_STR(fields_of("", ','), "");
    T_CONTAINS(fields_of("\"a", ','), "a quote has no end");
    T_CONTAINS(fields_of("\"a\" ,b", ','), "after a closing quote");
}

static void check_place(const list_lines *lines, size_t at, uint64_t line, uint64_t column)
{
    uint64_t found_line;
    uint64_t found_column;

    list_lines_find(lines, lines->text + at, &found_line, &found_column);
    T_EQ(found_line, line);
    T_EQ(found_column, column);
}

static void places_are_lines_and_columns(void)
{
    list_lines lines;

    T_OK(list_lines_init(&lines, "ab\n\ncd,ef\n", 10));
    check_place(&lines, 0, 1, 1);
    check_place(&lines, 2, 1, 3);
    check_place(&lines, 3, 2, 1);
    check_place(&lines, 7, 3, 4);
    check_place(&lines, 10, 4, 1);
    list_lines_free(&lines);
    T_OK(list_lines_init(&lines, "", 0));
    check_place(&lines, 0, 1, 1);
    list_lines_free(&lines);
}

/* Lines of 7 bytes, then one of 20000. */
static void places_are_found_anywhere_in_a_long_text(void)
{
    enum { LINES = 6000, SIZE = 7 * LINES + 20000 };
    char *text = malloc(SIZE);
    list_lines lines;

    memset(text, 'x', SIZE);
    for (int i = 1; i <= LINES; i++) {
        text[7 * i - 1] = '\n';
    }
    T_OK(list_lines_init(&lines, text, SIZE));
    for (size_t at = 0; at <= SIZE; at++) {
        const size_t line = at / 7 < LINES ? at / 7 : LINES;

        check_place(&lines, at, line + 1, at - 7 * line + 1);
    }
    list_lines_free(&lines);
    free(text);
}

static void headers_name_columns(void)
{
    static const char *const good[] = {
        "image", "label",           "mask:mask",    "boxes:boxes[4]", "c:i32[4] @ boxes",
        "w:f32", " tags : i64[3] ", "text:text[9]", "right :image"};
    static const char *const bad[] = {"",
                                      "weight",
                                      "x:",
                                      "x:f33",
                                      "x:f16",
                                      "x:f32[",
                                      "x:f32[0]",
                                      "x:f32[9999999]",
                                      "x:f32[3]y",
                                      "x:mask[3]",
                                      "x:boxes",
                                      "x:text",
                                      "x:f32[2]@",
                                      "x:i32[3]@boxes",
                                      "x:i32[4]@nothing",
                                      "x:image[3]",
                                      "x:boxes[2]@boxes",
                                      "a_name_that_is_longer_than_names_of_columns:f32",
                                      "a_name_of_twenty_nine_letters:text[3]"};
    list_columns columns = {.schema = {.image = -1}};

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        T_OK(list_add_column(&columns, good[i]));
    }
    T_TRUE(columns.count == 9 && columns.schema.column_count == 12);
    T_STR(columns.schema.columns[4].name, "boxes_length");
    T_TRUE(columns.schema.image == 0 && columns.schema.infos[11].role == ROLE_IMAGE);
    T_TRUE(columns.schema.infos[5].role == ROLE_TIED && columns.schema.infos[5].tied_to == 3);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        list_columns before = columns;

        if (strcmp(bad[i], "x:f32[2]@") != 0) { /* nothing behind the @ is as without it */
            T_TRUE(list_add_column(&before, bad[i]) < 0);
        }
    }
    for (uint32_t i = 12; i < SLUICE_MAX_COLUMNS; i++) {
        char text[40];

        snprintf(text, sizeof(text), "n%u:f32", i);
        T_OK(list_add_column(&columns, text));
    }
    T_STATUS(list_add_column(&columns, "more:f32"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "more than 16 columns");
}

static sluice_status write(const char *column, const char *text, void *to, int32_t *length)
{
    list_columns columns = {.schema = {.image = -1}};
    const list_field field = {text, strlen(text), false};
    void *row[SLUICE_MAX_COLUMNS] = {to, length};
    uint32_t count;

    T_OK(list_add_column(&columns, column));
    return list_write_field(&columns, 0, &field, row, &count);
}

static void numbers_are_exact(void)
{
    int64_t big = 0;
    uint8_t byte = 0;
    float real = 0;
    double wide = 0;
    int16_t two = 0;
    int32_t three[3] = {9, 9, 9};
    int32_t length = -1;

    T_OK(write("x:i64", "-9223372036854775808", &big, NULL));
    T_TRUE(big == INT64_MIN);
    T_OK(write("x:i64", "9223372036854775807", &big, NULL));
    T_TRUE(big == INT64_MAX);
    T_OK(write("x:u8", "255", &byte, NULL));
    T_EQ(byte, 255);
    T_OK(write("x:f32", "-1.5e-3", &real, NULL));
    T_TRUE(real == -1.5e-3F);
    T_OK(write("x:f64", "1.0000000001e300", &wide, NULL));
    T_TRUE(wide == 1.0000000001e300);
    T_OK(write("x:i16", "-32768", &two, NULL));
    T_EQ(two, INT16_MIN);
    T_OK(write("x:u8", " 7.0 ", &byte, NULL));
    T_EQ(byte, 7);
    T_OK(write("x:i32[3]", "5.00, -6.0 ,\t7", three, &length));
    T_TRUE(length == 3 && three[0] == 5 && three[1] == -6 && three[2] == 7);
    T_OK(write("x:i32[3]", "7,-8", three, &length));
    T_TRUE(length == 2 && three[0] == 7 && three[1] == -8 && three[2] == 0);
    T_OK(write("x:i32[3]", "", three, &length));
    T_TRUE(length == 0 && three[0] == 0);
    T_OK(write("x:text[12]", "h\"i", three, &length));
    T_TRUE(length == 3 && memcmp(three, "h\"i\0", 4) == 0);
}

static void bad_fields_are_refused(void)
{
    static const struct {
        const char *column;
        const char *text;
        const char *words;
    } bad[] = {
        {"x:i64", "9223372036854775808", "must be a number of type i64"},
        {"x:i64", "-9223372036854775809", "must be a number of type i64"},
        {"x:i16", "32768", "must be a number of type i16"},
        {"x:f64", "1e400", "must be a number of type f64"},
        {"x:f64", "inf", "must be a number of type f64"},
        {"x:u8", "256", "must be a number of type u8"},
        {"x:u8", "-1", "must be a number of type u8"},
        {"x:i32", "", "must be a number of type i32"},
        {"x:i32", "1 2", "'1 2' must be a number of type i32"},
        {"x:i32", "cat", "'cat' must be a number of type i32"},
        {"x:i32", "1.", "must be a number of type i32"},
        {"x:i32", ".0", "must be a number of type i32"},
        {"x:i32", "1.00000001", "must be a number of type i32"},
        {"x:i32", "1.0.0", "must be a number of type i32"},
        {"x:u8", "256.0", "must be a number of type u8"},
        {"x:i32[2]", "1,x", "element 2 of '1,x' must be a number of type i32"},
        {"x:i32", "1.5", "must be a number of type i32"},
        {"x:f32", "nan", "must be a number of type f32"},
        {"x:f32", "1e39", "must be a number of type f32"},
        {"x:i32[2]", "1,2,3", "more than 2 numbers"},
        {"x:i32[2]", "1,", "element 2"},
        {"x:text[2]", "abc", "more than 2 bytes"},
        {"x:boxes[1]", "0,0,1,1;0,0,1,1", "more than 1 boxes"},
        {"x:boxes[2]", "0,0,1,1;", "box 2, '', must be"},
        {"x:boxes[2]", "0,0,1", "box 1, '0,0,1', must be"},
        {"x:boxes[2]", "0,0,1,1,1", "box 1, '0,0,1,1,1', must be"},
        {"x:boxes[2]", "0,0,nan,1", "box 1, '0,0,nan,1', must be"},
        {"x:boxes[2]", "-1,0,0,1", "wholly outside its image"},
        {"x:boxes[2]", "1,0,0,1", "x0 <= x1 and y0 <= y1"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        uint8_t room[64];
        int32_t length;

        T_STATUS(write(bad[i].column, bad[i].text, room, &length), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), bad[i].words);
    }
}

const t_test list_text_tests[] = {
    T_TEST(records_are_taken_apart),
    T_TEST(places_are_lines_and_columns),
    T_TEST(places_are_found_anywhere_in_a_long_text),
    T_TEST(headers_name_columns),
    T_TEST(numbers_are_exact),
    T_TEST(bad_fields_are_refused),
    T_END,
};
