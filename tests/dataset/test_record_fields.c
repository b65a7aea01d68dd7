/* SPDX-License-Identifier: Apache-2.0 */
/* fields= of record files: its syntax, and values of records as rows of columns. */
#include <stdlib.h>

#include "log_kit.h"
#include "record_columns.h"
#include "record_fields.h"
#include "record_numbers.h"
#include "testing.h"

static record_fields *parsed_fields(const char *text)
{
    record_fields *fields = calloc(1, sizeof(*fields));

    T_TRUE(fields != NULL);
    T_OK(record_fields_parse(text, "tfrecord", fields));
    return fields;
}

static void free_fields(record_fields *fields)
{
    list_columns_free(&fields->columns);
    free(fields);
}

static record_value numbers(sluice_dtype dtype, const void *data, uint64_t count)
{
    return (record_value){.kind = RECORD_NUMBERS,
                          .dtype = dtype,
                          .count = count,
                          .data = data,
                          .size = (size_t)count * sluice_dtype_size(dtype)};
}

static record_value bytes(const char *text)
{
    return (record_value){.kind = RECORD_BYTES, .count = 1, .data = text, .size = strlen(text)};
}

static void fields_declare_columns(void)
{
    record_fields *fields =
        parsed_fields("image:image/encoded@image,seg:m@mask,boxes:b@boxes[5],c:c@i32[5]@boxes,"
                      "label:image/class/label@i32,w:w@f32x2x3,r:r@f64[4]x2,t:t@text[8],"
                      "k:r@u8[4]@r,right:image2@image,h:h@bf16");
    const stage_schema *schema = &fields->columns.schema;

    T_EQ(schema->column_count, 14);
    T_EQ(schema->image, 0);
    T_EQ(schema->infos[1].role, ROLE_MASK);
    T_TRUE(schema->infos[2].role == ROLE_BOXES && schema->infos[2].length == 3);
    T_STR(schema->columns[3].name, "boxes_length");
    T_TRUE(schema->infos[4].role == ROLE_TIED && schema->infos[4].tied_to == 2);
    T_TRUE(schema->columns[5].rank == 0 && schema->columns[5].dtype == SLUICE_I32);
    T_TRUE(schema->columns[6].rank == 2 && schema->columns[6].shape[0] == 2 &&
           schema->columns[6].shape[1] == 3);
    T_TRUE(schema->columns[7].rank == 2 && schema->columns[7].shape[0] == 4 &&
           schema->columns[7].shape[1] == 2 && schema->infos[7].rows == 9);
    T_TRUE(schema->columns[9].dtype == SLUICE_U8 && schema->columns[9].shape[0] == 8);
    T_TRUE(schema->infos[11].role == ROLE_PLAIN && schema->infos[11].rows == 9);
    T_EQ(schema->infos[12].role, ROLE_IMAGE);
    T_EQ(schema->columns[13].dtype, SLUICE_BF16);
    T_EQ(fields->names.count, 10); /* r is of two columns */
    T_STR(fields->names.names[0], "image/encoded");
    T_EQ(record_fields_find(fields, 12), 9);
    T_EQ(fields->columns.fields[9].kind, LIST_IMAGE);
    free_fields(fields);
}

static void an_image_may_be_pixels(void)
{
    record_fields *fields = parsed_fields("image:x@u8x2x2x3,boxes:b@boxes[2]");

    T_TRUE(fields->columns.schema.image == 0 && fields->columns.fields[0].kind == LIST_PIXELS);
    free_fields(fields);
    fields = parsed_fields("left:l@imagex4x5x3,right:r@imagex4x5x1,m:m@maskx4x5,image:i@u8x2x2x3");
    T_TRUE(fields->columns.schema.image == 0);
    T_EQ(fields->columns.schema.infos[1].role, ROLE_IMAGE);
    T_EQ(fields->columns.schema.infos[2].role, ROLE_MASK);
    T_TRUE(fields->columns.schema.columns[2].rank == 2 &&
           fields->columns.schema.columns[2].dtype == SLUICE_U8);
    T_EQ(fields->columns.fields[3].kind, LIST_ARRAY); /* one is the image already */
    free_fields(fields);
}

static void points_and_boxes_have_all_forms(void)
{
    static const float far[34] = {[33] = 2e6F};
    record_fields *fields =
        parsed_fields("i:i@image,b:b@fraction_boxes[4],k:k@points[4]x17@b,v:v@u8[4]x17@k,"
                      "n:n@mask_numbers[4]@b,f:f@pointsx3,p:p@fraction_points[2]");
    const stage_schema *schema = &fields->columns.schema;
    record_value values[] = {bytes("x"),
                             numbers(SLUICE_F32, far, 4),
                             numbers(SLUICE_F32, far, 34),
                             numbers(SLUICE_F32, far, 17),
                             numbers(SLUICE_F32, far, 1),
                             numbers(SLUICE_F32, far, 6),
                             {.kind = RECORD_MISSING}};
    float points[4][17][2];
    float fixed[3][2];
    void *row[SLUICE_MAX_COLUMNS] = {[3] = points, [6] = fixed};

    T_TRUE(schema->infos[1].role == ROLE_BOXES && schema->infos[1].in_parts);
    T_TRUE(schema->infos[3].role == ROLE_POINTS && schema->infos[3].is_tied &&
           schema->infos[3].tied_to == 1 && schema->infos[3].length == 2);
    T_TRUE(schema->columns[3].rank == 3 && schema->columns[3].shape[0] == 4 &&
           schema->columns[3].shape[1] == 17 && schema->columns[3].shape[2] == 2);
    T_TRUE(schema->infos[4].role == ROLE_TIED && schema->infos[4].tied_to == 3 &&
           schema->columns[4].shape[1] == 17);
    T_TRUE(schema->infos[5].numbers_mask && schema->columns[5].dtype == SLUICE_I32);
    T_TRUE(schema->infos[6].role == ROLE_POINTS && schema->infos[6].length == SCHEMA_NO_LENGTH &&
           schema->columns[6].rank == 2 && schema->columns[6].shape[0] == 3);
    T_TRUE(schema->infos[7].in_parts && schema->column_count == 9);
    T_STATUS(record_fields_write(fields, values, row), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "k (column k): point 17, 0,2e+06, must be");
    row[3] = NULL;
    T_OK(record_fields_write(fields, values, row));
    values[5].count = 4;
    values[5].size = 16;
    T_STATUS(record_fields_write(fields, values, row), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "it has 2 points, and must have 3");
    free_fields(fields);
}

/* As the detection API of TensorFlow writes boxes. */
static void numbers_of_a_row_may_be_values_of_their_own(void)
{
    static const float x0[] = {1, 2};
    static const double y0[] = {3, 4};
    static const int64_t x1[] = {5, 6};
    static const float y1[] = {7, 8};
    record_fields *fields = parsed_fields("i:i@image,b:x0+y0+x1+y1@boxes[3],p:x0+y0@f32[2]x2,"
                                          "one:a+b@f32[2]");
    record_value values[] = {bytes("x"),
                             numbers(SLUICE_F32, x0, 2),
                             numbers(SLUICE_F64, y0, 2),
                             numbers(SLUICE_I64, x1, 2),
                             numbers(SLUICE_F32, y1, 2),
                             numbers(SLUICE_F32, x0, 1)};
    float boxes[3][4];
    float pairs[2][2];
    int32_t length = 0;
    void *row[SLUICE_MAX_COLUMNS] = {[1] = boxes, [2] = &length, [3] = pairs};

    T_EQ(fields->names.count, 6);
    T_STR(fields->names.names[4], "y1");
    T_STR(fields->names.names[5], "a+b"); /* a row has one number, so it is a name */
    T_OK(record_fields_write(fields, values, row));
    T_TRUE(length == 2 && boxes[0][0] == 1 && boxes[0][1] == 3 && boxes[0][2] == 5 &&
           boxes[0][3] == 7 && boxes[1][3] == 8 && boxes[2][0] == 0);
    T_TRUE(pairs[1][0] == 2 && pairs[1][1] == 4);
    values[3].count = 1;
    T_STATUS(record_fields_write(fields, values, row), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(),
               "x0 (column b): it has 2 numbers, and value 3 of the row has 1");
    free_fields(fields);
}

static void wrong_fields_are_refused(void)
{
    static const struct {
        const char *text;
        const char *words;
    } bad[] = {
        {"", "must be NAME:FEATURE@KIND"},
        {"a", "must be NAME:FEATURE@KIND"},
        {"a:b", "must be NAME:FEATURE@KIND"},
        {"a:@i32", "must be NAME:FEATURE@KIND"},
        {":b@i32", "must be NAME:FEATURE@KIND"},
        {"a:b@i32,", "must be NAME:FEATURE@KIND"},
        {"a:b@i33", "'a:i33' must be NAME:KIND"},
        {"a:b@class", "must be NAME:KIND"},
        {"a:b@f32x", "must be NAME:KIND"},
        {"a:b@f32x0", "must be NAME:KIND"},
        {"a:b@f32x2y", "must be NAME:KIND"},
        {"a:b@f32x99999999999", "must be NAME:KIND"},
        {"a:b@f64x8388609", "a row of the batch has at most 67108864 bytes"},
        {"a:b@f32[4194304]x5", "a row of the batch has at most"},
        {"a:b@u8x1x1x1x1x1x1x1", "must be NAME:KIND"},
        {"a:b@f32[2]x1x1x1x1x1x1", "must be NAME:KIND"},
        {"a:b@image[2]", "must be NAME:KIND"},
        {"i:i@image,a:b@boxes[2]x3", "must be NAME:KIND"},
        {"a:b@text[2]x3", "must be NAME:KIND"},
        {"a:b@f32x2@c", "must be NAME:KIND"},
        {"i:i@image,b:x++y+z@boxes[2]", "b has an empty FEATURE"},
        {"i:i@image,b:a+b+c+d@boxes[2],c:e+f+g+h@boxes[2],d:j+k+l+m@boxes[2],e:n+o+p+q@boxes[2]",
         "more than 16 values"},
        {"i:i@imagex2x2", "must be NAME:KIND"},
        {"i:i@imagex2x2x5", "must be NAME:KIND"},
        {"i:i@imagex70000x1x1", "must be NAME:KIND"},
        {"i:i@image,a:b@maskx2x2x1", "must be NAME:KIND"},
        {"i:i@image,a:b@points", "must be NAME:KIND"},
        {"i:i@image,a:b@points[2]x2x2", "must be NAME:KIND"},
        {"i:i@image,b:b@boxes[2],a:b@points[2]@b", "must be NAME:KIND"},
        {"i:i@image,p:p@points[2],a:b@points[2]x3@p", "no column p of boxes before it"},
        {"i:i@image,b:b@boxes[2],a:b@mask_numbers[2]", "must be NAME:KIND"},
        {"i:i@image,a:b@fraction_coco[2]", "must be NAME:KIND"},
        {"a:b@f32[3]@c", "no column c of boxes or points before it"},
        {"c:c@f32[2],a:b@f32[3]@c", "a must have [2], as many as c"},
        {"a:b@mask", "a is a mask, which needs an image"},
        {"a:b@boxes[3]", "a is a column of boxes, which needs an image"},
        {"a:b@i32,a:c@i32", "two columns have the name a"},
        {"a-b:c@i32", "must be letters"},
    };
    record_fields *fields = calloc(1, sizeof(*fields));
    char text[600] = "a:";

    T_TRUE(fields != NULL);
    for (size_t i = 0; i < COUNT(bad); i++) {
        T_STATUS(record_fields_parse(bad[i].text, "tfrecord", fields), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), bad[i].words);
        T_CONTAINS(sluice_last_error(), "tfrecord: ");
        list_columns_free(&fields->columns);
    }
    memset(text + 2, 'x', 200);
    strcpy(text + 202, "@i32");
    T_STATUS(record_fields_parse(text, "tfrecord", fields), SLUICE_E_INVALID);
    strcpy(text + 161, "@i32"); /* the longest name */
    T_OK(record_fields_parse(text, "tfrecord", fields));
    list_columns_free(&fields->columns);
    memset(text + 2, 'x', 500);
    T_STATUS(record_fields_parse(text, "tfrecord", fields), SLUICE_E_INVALID);
    free(fields);
}

/* Writes one value into "a:a@KIND". */
static sluice_status write(const char *kind, const record_value *value, void *to, int32_t *length)
{
    char text[64];
    record_fields *fields;
    void *row[SLUICE_MAX_COLUMNS] = {to, length};
    sluice_status st;

    snprintf(text, sizeof(text), "a:a@%s", kind);
    fields = parsed_fields(text);
    st = record_fields_write(fields, value, row);
    free_fields(fields);
    return st;
}

static void check_bad(const char *kind, record_value value, const char *words)
{
    uint8_t row[256];
    int32_t length;

    T_STATUS(write(kind, &value, row, &length), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "a (column a): ");
    T_CONTAINS(sluice_last_error(), words);
}

static void numbers_never_wrap(void)
{
    static const int64_t big[] = {1, 2147483648, -1, 300};
    static const float reals[] = {7, 7.5F, 1e20F, NAN};
    static const double wide[] = {1e300, 0.1};
    static const uint64_t most[] = {UINT64_MAX, 5};
    int32_t i32 = 0;
    uint64_t u64 = 0;
    float f32[2] = {0, 0};
    uint8_t u8 = 0;
    record_value value = numbers(SLUICE_I64, big, 1);

    T_OK(write("i32", &value, &i32, NULL));
    T_EQ(i32, 1);
    value = numbers(SLUICE_F32, reals, 1);
    T_OK(write("u8", &value, &u8, NULL));
    T_EQ(u8, 7);
    value = numbers(SLUICE_F64, &wide[1], 1);
    T_OK(write("f32", &value, f32, NULL));
    T_TRUE(f32[0] == 0.1F);
    value = numbers(SLUICE_U64, most, 1);
    T_OK(write("u64", &value, &u64, NULL));
    T_TRUE(u64 == UINT64_MAX);
    value = numbers(SLUICE_U64, &most[1], 1);
    T_OK(write("i32", &value, &i32, NULL));
    T_EQ(i32, 5);
    check_bad("i32", numbers(SLUICE_I64, &big[1], 1), "number 1, 2147483648, must be one of type");
    check_bad("u32", numbers(SLUICE_I64, &big[2], 1), "number 1, -1, must be");
    check_bad("u64", numbers(SLUICE_I64, &big[2], 1), "number 1, -1, must be");
    check_bad("u8[4]", numbers(SLUICE_I64, big, 4), "number 2, 2147483648, must be one of type u8");
    check_bad("i8", numbers(SLUICE_I64, &big[3], 1), "300");
    check_bad("i64", numbers(SLUICE_U64, most, 1), "18446744073709551615");
    check_bad("i32", numbers(SLUICE_F32, &reals[1], 1), "7.5");
    check_bad("i64", numbers(SLUICE_F32, &reals[2], 1), "must be one of type i64");
    check_bad("i64", numbers(SLUICE_F32, &reals[3], 1), "nan, must be one of type i64");
    check_bad("f32", numbers(SLUICE_F64, wide, 1), "must be one of type f32");
    check_bad("f16", numbers(SLUICE_F32, reals, 1), "by the stage cast");
}

static void counts_and_kinds_must_fit(void)
{
    static const int32_t ints[] = {1, 2, 3, 4, 5, 6};
    const record_value missing = {.kind = RECORD_MISSING};
    record_value several = bytes("ab");
    record_value shaped = numbers(SLUICE_I32, ints, 6);

    several.count = 2;
    shaped.rank = 2;
    shaped.shape[0] = 3;
    shaped.shape[1] = 2;
    check_bad("i32", missing, "no such value");
    check_bad("i32x2", missing, "no such value");
    check_bad("i32", numbers(SLUICE_I32, ints, 2), "it has 2 numbers, and must have 1");
    check_bad("i32", numbers(SLUICE_I32, ints, 0), "it has 0 numbers, and must have 1");
    check_bad("i32x2x2", numbers(SLUICE_I32, ints, 3), "it has 3 numbers, and must have 4");
    check_bad("i32x2x3", shaped, "its dimension 1 has length 3, and must be i32 (2, 3)");
    check_bad("i32[2]", numbers(SLUICE_I32, ints, 3), "it has 3 rows, and must have at most 2");
    check_bad("i32[4]x2", numbers(SLUICE_I32, ints, 3), "must have 2 for each row");
    check_bad("i32", bytes("abcd"), "it is a byte string, and must be a number");
    check_bad("i32[2]", bytes("abcde"),
              "its 5 bytes must be a whole number of i32 values of 4 bytes each");
    check_bad("i32[2]", several, "2 byte strings");
    check_bad("text[2]", bytes("abc"), "it has 3 bytes, and must have at most 2");
    check_bad("text[9]", several, "2 byte strings");
    check_bad("text[9]", numbers(SLUICE_I32, ints, 3), "3 numbers of type i32, not bytes");
}

static void rows_are_padded_with_zeros(void)
{
    static const int32_t ints[] = {1, 2, 3, 4};
    static const uint8_t element[] = {1, 0, 2, 0};
    const record_value missing = {.kind = RECORD_MISSING};
    record_value value = numbers(SLUICE_I32, ints, 4);
    int64_t wide[6];
    uint16_t raw[3];
    char text[8];
    int32_t length = -1;

    memset(wide, 0xee, sizeof(wide));
    T_OK(write("i64[3]x2", &value, wide, &length));
    T_TRUE(length == 2 && wide[0] == 1 && wide[3] == 4 && wide[4] == 0 && wide[5] == 0);
    T_OK(write("i64[3]x2", &missing, wide, &length));
    T_TRUE(length == 0 && wide[0] == 0);
    memset(text, 'z', sizeof(text));
    value = bytes("abc");
    T_OK(write("bytes[8]", &value, text, &length));
    T_TRUE(length == 3 && memcmp(text, "abc\0\0\0\0\0", 8) == 0);
    value = (record_value){.kind = RECORD_BYTES, .count = 1, .data = element, .size = 4};
    memset(raw, 0xee, sizeof(raw));
    T_OK(write("u16[3]", &value, raw, &length)); /* the bytes of elements */
    T_TRUE(length == 2 && raw[0] == 1 && raw[1] == 2 && raw[2] == 0);
    T_OK(write("u16[3]", &value, NULL, &length)); /* only the length is needed */
    T_EQ(length, 2);
}

static void rows_beside_others_are_as_many(void)
{
    static const float boxes[] = {1, 2, 3, 4, 5, 6, 2, 3};
    static const int32_t ints[] = {7, 8, 9};
    record_fields *fields =
        parsed_fields("image:i@image,boxes:b@coco[3],c:c@i32[3]@boxes,p:p@points[2]");
    record_value values[] = {bytes("x"),
                             numbers(SLUICE_F32, boxes, 8),
                             numbers(SLUICE_I32, ints, 2),
                             {.kind = RECORD_MISSING}};
    float corners[12];
    int32_t classes[3];
    int32_t length = 0;
    float points[4];
    void *row[SLUICE_MAX_COLUMNS] = {NULL, corners, &length, classes, points};
    const uint8_t *image = NULL;
    size_t size = 0;
    static const float far[] = {1, 2e6F};

    T_OK(record_fields_write(fields, values, row));
    T_TRUE(length == 2 && corners[4] == 5 && corners[6] == 7 && corners[7] == 9);
    T_TRUE(corners[8] == 0 && classes[1] == 8 && classes[2] == 0);
    T_OK(record_fields_encoded(fields, 0, values, &image, &size));
    T_TRUE(size == 1 && *image == 'x');
    values[2].count = 3;
    values[2].size = 12;
    T_STATUS(record_fields_write(fields, values, row), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "c (column c): it has 3 rows, and must have 2, as boxes has");
    values[2] = numbers(SLUICE_I32, ints, 2);
    values[3] = numbers(SLUICE_F32, far, 2);
    T_STATUS(record_fields_write(fields, values, row), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "point 1, 1,2e+06, must be x,y");
    values[0].kind = RECORD_MISSING;
    T_STATUS(record_fields_encoded(fields, 0, values, &image, &size), SLUICE_E_CORRUPT);
    free_fields(fields);
}

/* 20 numbers, and behind them what must not be left out. */
static void an_image_and_a_label_come_before_other_columns(void)
{
    static const char pixels[] = "P5 1 1 255\nx";
    static const int64_t number = 3;
    const record_value one = record_value_numbers(SLUICE_I64, 1, &number);
    const record_value image = record_value_bytes(pixels, sizeof(pixels) - 1);
    const record_value empty = {.kind = RECORD_NUMBERS, .dtype = SLUICE_I64};
    record_columns *columns;
    sli_text fields = {0};
    const char *log;

    T_OK(record_columns_create("tfrecord", &columns));
    record_columns_begin(columns);
    for (int i = 0; i < 20; i++) {
        char name[8];

        snprintf(name, sizeof(name), "a%02d", i);
        record_columns_note(columns, name, strlen(name), &one, false);
    }
    record_columns_note(columns, "none", 4, &empty, false);
    record_columns_note(columns, "x/label", 7, &one, false);
    record_columns_note(columns, "x/file", 6, &image, false);
    record_columns_note(columns, "x/more", 6, &image, false);
    kit_log_start(NULL, NULL);
    T_OK(record_columns_print(columns, &fields));
    log = kit_log_stop();
    T_CONTAINS(fields.data, "a00:a00@i64,");
    T_CONTAINS(fields.data, ",a13:a13@i64,label:x/label@i32,image:x/file@image");
    T_TRUE(strstr(fields.data, "a14") == NULL && strstr(fields.data, "more") == NULL);
    T_CONTAINS(log, "tfrecord: 7 features are left out, since a sample has at most 16 columns: "
                    "a14, a15, a16, a17, a18, a19, x/more; choose columns with fields=");
    T_CONTAINS(log, "1 features are left out, since they have several byte strings, mixed types "
                    "or no values, or are too large: none; choose columns with fields=");
    sli_text_free(&fields);
    record_columns_free(columns);
}

const t_test record_fields_tests[] = {
    T_TEST(fields_declare_columns),
    T_TEST(an_image_and_a_label_come_before_other_columns),
    T_TEST(an_image_may_be_pixels),
    T_TEST(numbers_of_a_row_may_be_values_of_their_own),
    T_TEST(points_and_boxes_have_all_forms),
    T_TEST(wrong_fields_are_refused),
    T_TEST(numbers_never_wrap),
    T_TEST(counts_and_kinds_must_fit),
    T_TEST(rows_are_padded_with_zeros),
    T_TEST(rows_beside_others_are_as_many),
    T_END,
};
