/* SPDX-License-Identifier: Apache-2.0 */
/* tf.train.Example and SequenceExample in memory: what is written is read; no byte is trusted. */
#include <stdlib.h>

#include "example_values.h"
#include "example_writer.h"
#include "testing.h"

static const record_names abc = {3, {"a", "b", "c"}};

/* Parses bytes that end with their allocation, for names a, b, c. */
static sluice_status parse(const void *bytes, size_t size, image_buffer *scratch,
                           record_value *values)
{
    uint8_t *copy = malloc(size + 1);
    sluice_status st;

    T_TRUE(copy != NULL);
    memcpy(copy, bytes, size);
    st = example_parse(copy, size, &abc, scratch, values);
    for (uint32_t i = 0; st == SLUICE_OK && i < abc.count; i++) {
        static uint8_t kept[3][64];

        if (values[i].size <= sizeof(kept[i]) && values[i].size > 0) {
            memcpy(kept[i], values[i].data, values[i].size);
            values[i].data = kept[i];
        }
    }
    free(copy);
    return st;
}

#define PARSE(text, scratch, values) parse(text, sizeof(text) - 1, scratch, values)

static int64_t int_at(const record_value *value, uint32_t i)
{
    int64_t number;

    memcpy(&number, (const uint8_t *)value->data + i * sizeof(number), sizeof(number));
    return number;
}

static float float_at(const record_value *value, uint32_t i)
{
    float number;

    memcpy(&number, (const uint8_t *)value->data + i * sizeof(number), sizeof(number));
    return number;
}

static void what_is_written_is_read(void)
{
    static const int64_t ints[] = {0, -1, 127, 128, INT64_MAX, INT64_MIN};
    static const float floats[] = {0.5F, -2};
    static const double wide[] = {0.1, 1e300};
    const record_names names = {4, {"a", "left out", "b", "c"}};
    const record_value values[] = {
        {.kind = RECORD_NUMBERS, .dtype = SLUICE_I64, .count = 6, .data = ints, .size = 48},
        {.kind = RECORD_MISSING},
        {.kind = RECORD_NUMBERS, .dtype = SLUICE_F32, .count = 2, .data = floats, .size = 8},
        {.kind = RECORD_NUMBERS, .dtype = SLUICE_F64, .count = 2, .data = wide, .size = 16},
    };
    record_bytes bytes = {NULL, 0, 0};
    image_buffer scratch = {NULL, 0};
    record_value got[3];

    T_OK(example_append(&names, values, &bytes));
    T_OK(parse(bytes.data, bytes.size, &scratch, got));
    T_TRUE(got[0].kind == RECORD_NUMBERS && got[0].dtype == SLUICE_I64 && got[0].count == 6);
    T_EQ(memcmp(got[0].data, ints, sizeof(ints)), 0);
    T_TRUE(got[1].dtype == SLUICE_F32 && got[1].count == 2);
    T_EQ(memcmp(got[1].data, floats, sizeof(floats)), 0);
    T_TRUE(got[2].kind == RECORD_BYTES && got[2].count == 1 && got[2].size == sizeof(wide));
    T_EQ(memcmp(got[2].data, wide, sizeof(wide)), 0);
    record_bytes_free(&bytes);
    image_buffer_free(&scratch);
}

/* These bytes are what TensorFlow writes for such an Example. */
static void the_bytes_are_those_of_protobuf(void)
{
    static const uint8_t want[] = "\x0a\x1f"
                                  "\x0a\x0c\x0a\x01"
                                  "a\x12\x07\x1a\x05\x0a\x03\x03\xac\x02"
                                  "\x0a\x0f\x0a\x01"
                                  "b\x12\x0a\x0a\x08\x0a\x06string";
    static const int32_t ints[] = {3, 300};
    const record_names names = {2, {"a", "b"}};
    const record_value values[] = {
        {.kind = RECORD_NUMBERS, .dtype = SLUICE_I32, .count = 2, .data = ints, .size = 8},
        {.kind = RECORD_TEXT, .count = 1, .data = "string", .size = 6},
    };
    const record_value several = {.kind = RECORD_BYTES, .count = 2, .data = "x", .size = 1};
    record_bytes bytes = {NULL, 0, 0};

    T_OK(example_append(&names, values, &bytes));
    T_EQ(bytes.size, sizeof(want) - 1);
    T_EQ(memcmp(bytes.data, want, bytes.size), 0);
    T_STATUS(example_append(&(record_names){1, {"a"}}, &several, &bytes), SLUICE_E_INVALID);
    T_EQ(bytes.size, sizeof(want) - 1);
    record_bytes_free(&bytes);
}

/* tf.io.FixedLenFeature([], tf.string) needs a byte string, also of numbers that are none. */
static void no_numbers_as_bytes_are_one_byte_string(void)
{
    static const uint8_t want[] = "\x0a\x14"
                                  "\x0a\x09\x0a\x01"
                                  "a\x12\x04\x0a\x02\x0a\x00"
                                  "\x0a\x07\x0a\x01"
                                  "b\x12\x02\x12\x00";
    static const sluice_dtype as_bytes[] = {SLUICE_F16, SLUICE_BF16, SLUICE_F64, SLUICE_U64};
    const record_names names = {2, {"a", "b"}};
    image_buffer scratch = {NULL, 0};
    record_value got[3];

    for (size_t i = 0; i < COUNT(as_bytes); i++) {
        const record_value values[] = {record_value_numbers(as_bytes[i], 0, NULL),
                                       record_value_numbers(SLUICE_F32, 0, NULL)};
        record_bytes bytes = {NULL, 0, 0};

        T_OK(example_append(&names, values, &bytes));
        T_EQ(bytes.size, sizeof(want) - 1);
        T_EQ(memcmp(bytes.data, want, sizeof(want) - 1), 0);
        T_OK(parse(bytes.data, bytes.size, &scratch, got));
        T_TRUE(got[0].kind == RECORD_BYTES && got[0].count == 1 && got[0].size == 0);
        T_TRUE(got[1].kind == RECORD_NUMBERS && got[1].dtype == SLUICE_F32 && got[1].count == 0);
        record_bytes_free(&bytes);
    }
    image_buffer_free(&scratch);
}

static void lists_may_be_packed_or_not(void)
{
    image_buffer scratch = {NULL, 0};
    record_value got[3];

    /* a: ints 1, then packed 2, 300; b: floats 0.5, then packed -2; c: two byte strings */
    T_OK(PARSE("\x0a\x39"
               "\x0a\x10\x0a\x01"
               "a\x12\x0b\x1a\x09\x08\x01\x0a\x03\x02\xac\x02\x08\x05"
               "\x0a\x14\x0a\x01"
               "b\x12\x0f\x12\x0d\x0d\x00\x00\x00\x3f\x0a\x04\x00\x00\x00\xc0\x0a\x00"
               "\x0a\x0f\x0a\x01"
               "c\x12\x0a\x0a\x08\x0a\x02hi\x0a\x02yo",
               &scratch, got));
    T_EQ(got[0].count, 4);
    T_TRUE(int_at(&got[0], 0) == 1 && int_at(&got[0], 1) == 2 && int_at(&got[0], 2) == 300 &&
           int_at(&got[0], 3) == 5);
    T_EQ(got[1].count, 2);
    T_TRUE(float_at(&got[1], 0) == 0.5F && float_at(&got[1], 1) == -2);
    T_TRUE(got[2].count == 2 && got[2].size == 2 && memcmp(got[2].data, "hi", 2) == 0);
    image_buffer_free(&scratch);
}

static void the_last_of_equal_names_counts(void)
{
    image_buffer scratch = {NULL, 0};
    record_value got[3];

    /* a: 1, then a: 2; b: a list of ints, then one of bytes in one Feature; c: no list at all */
    T_OK(PARSE("\x0a\x2c"
               "\x0a\x0a\x0a\x01"
               "a\x12\x05\x1a\x03\x0a\x01\x01"
               "\x0a\x0a\x0a\x01"
               "a\x12\x05\x1a\x03\x0a\x01\x02"
               "\x0a\x0d\x0a\x01"
               "b\x12\x08\x1a\x02\x08\x07\x0a\x02\x0a\x00"
               "\x0a\x03\x0a\x01"
               "c",
               &scratch, got));
    T_TRUE(got[0].count == 1 && int_at(&got[0], 0) == 2);
    T_TRUE(got[1].kind == RECORD_BYTES && got[1].count == 1 && got[1].size == 0);
    T_EQ(got[2].kind, RECORD_MISSING);
    image_buffer_free(&scratch);
}

static void steps_of_a_feature_list_follow_one_another(void)
{
    image_buffer scratch = {NULL, 0};
    record_value got[3];

    /* context a: 1; lists b: [1, 2], [], [3] */
    T_OK(PARSE("\x0a\x0c"
               "\x0a\x0a\x0a\x01"
               "a\x12\x05\x1a\x03\x0a\x01\x01"
               "\x12\x18"
               "\x0a\x16\x0a\x01"
               "b\x12\x11"
               "\x0a\x06\x1a\x04\x0a\x02\x01\x02"
               "\x0a\x00"
               "\x0a\x05\x1a\x03\x0a\x01\x03"
               "\x1a\x01x",
               &scratch, got));
    T_TRUE(got[0].count == 1 && int_at(&got[0], 0) == 1);
    T_TRUE(got[1].count == 3 && int_at(&got[1], 1) == 2 && int_at(&got[1], 2) == 3);
    T_STATUS(PARSE("\x12\x17"
                   "\x0a\x15\x0a\x01"
                   "b\x12\x10"
                   "\x0a\x05\x1a\x03\x0a\x01\x01"
                   "\x0a\x07\x12\x05\x0d\x00\x00\x00\x00",
                   &scratch, got),
             SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "of several types");
    image_buffer_free(&scratch);
}

static void unknown_fields_are_skipped(void)
{
    image_buffer scratch = {NULL, 0};
    record_value got[3];

    /* at the top: a varint, 8 bytes, 4 bytes, and a group within a group */
    T_OK(PARSE("\x38\x96\x01"
               "\x39zzzzzzzz"
               "\x3dzzzz"
               "\x3b\x43\x08\x01\x44\x3c"
               "\x0a\x0c"
               "\x0a\x0a\x0a\x01"
               "a\x12\x05\x1a\x03\x0a\x01\x09",
               &scratch, got));
    T_TRUE(got[0].count == 1 && int_at(&got[0], 0) == 9);
    image_buffer_free(&scratch);
}

static void hostile_messages_are_corrupt(void)
{
    static const struct {
        const char *bytes;
        size_t size;
    } bad[] = {
#define BAD(text) {text, sizeof(text) - 1}
        BAD("\x0a\x7f"),                                         /* a length beyond the end */
        BAD("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),     /* of 2^64 - 1 */
        BAD("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), /* of 11 bytes */
        BAD("\x0a"),
        BAD("\x0e"),         /* wire type 6 */
        BAD("\x0f\x01"),     /* wire type 7 */
        BAD("\x02\x01x"),    /* field 0 */
        BAD("\x3c"),         /* the end of a group that has not begun */
        BAD("\x3b\x44\x3c"), /* of another one */
        BAD("\x3b"),         /* a group without an end */
        BAD("\x3d\x01"),     /* 4 bytes that are 1 */
        BAD("\x0a\x0c\x0a\x0a\x0a\x01"
            "a\x12\x05\x1a\x03\x0a\x01\x80"), /* a packed number without an end */
        BAD("\x0a\x0e\x0a\x0c\x0a\x01"
            "b\x12\x07\x12\x05\x0a\x03zzz"), /* 3 bytes of floats */
        BAD("\x0a\x0b\x0a\x09\x0a\x01"
            "a\x12\x04\x1a\x02\x0a\x05"), /* a packed length beyond its list */
#undef BAD
    };
    image_buffer scratch = {NULL, 0};
    record_value got[3];
    char deep[200];

    for (size_t i = 0; i < COUNT(bad); i++) {
        T_STATUS(parse(bad[i].bytes, bad[i].size, &scratch, got), SLUICE_E_CORRUPT);
    }
    memset(deep, '\x3b', sizeof(deep)); /* groups in groups */
    T_STATUS(parse(deep, sizeof(deep), &scratch, got), SLUICE_E_CORRUPT);
    image_buffer_free(&scratch);
}

/* Every prefix, and every byte changed: an error or values, never a crash. */
static void no_byte_is_trusted(void)
{
    static const int64_t ints[] = {1, 200, -3};
    const record_names names = {2, {"a", "b"}};
    const record_value values[] = {
        {.kind = RECORD_NUMBERS, .dtype = SLUICE_I64, .count = 3, .data = ints, .size = 24},
        {.kind = RECORD_TEXT, .count = 1, .data = "bytes", .size = 5},
    };
    record_bytes bytes = {NULL, 0, 0};
    image_buffer scratch = {NULL, 0};
    record_value got[3];

    T_OK(example_append(&names, values, &bytes));
    for (size_t i = 0; i < bytes.size; i++) {
        const uint8_t own = bytes.data[i];

        (void)parse(bytes.data, i, &scratch, got);
        for (unsigned byte = 0; byte < 256; byte++) {
            bytes.data[i] = (uint8_t)byte;
            (void)parse(bytes.data, bytes.size, &scratch, got);
        }
        bytes.data[i] = own;
    }
    T_OK(parse(bytes.data, bytes.size, &scratch, got));
    record_bytes_free(&bytes);
    image_buffer_free(&scratch);
}

const t_test example_values_tests[] = {
    T_TEST(what_is_written_is_read),
    T_TEST(the_bytes_are_those_of_protobuf),
    T_TEST(no_numbers_as_bytes_are_one_byte_string),
    T_TEST(lists_may_be_packed_or_not),
    T_TEST(the_last_of_equal_names_counts),
    T_TEST(steps_of_a_feature_list_follow_one_another),
    T_TEST(unknown_fields_are_skipped),
    T_TEST(hostile_messages_are_corrupt),
    T_TEST(no_byte_is_trusted),
    T_END,
};
