/* SPDX-License-Identifier: Apache-2.0 */
#include "datum.h"
#include "testing.h"

static sluice_status parse(const char *bytes, size_t size, datum *to)
{
    return datum_parse((const uint8_t *)bytes, size, to);
}

#define PARSE(text, to) parse(text, sizeof(text) - 1, to)

static void check_fails(const char *bytes, size_t size, const char *words)
{
    datum to = {.label = 77};

    T_STATUS(parse(bytes, size, &to), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), words);
    T_EQ(to.label, 77);
}

#define FAILS(text, words) check_fails(text, sizeof(text) - 1, words)

/* channels 3, height 1, width 2, data, label -1 */
#define PICTURE                                                                                    \
    "\x08\x03\x10\x01\x18\x02\x22\x06"                                                             \
    "abcdef"                                                                                       \
    "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"

static void the_fields_of_a_picture_are_read(void)
{
    uint8_t pixels[6];
    datum to;

    T_OK(PARSE(PICTURE, &to));
    T_TRUE(to.channels == 3 && to.height == 1 && to.width == 2);
    T_TRUE(to.has_label && !to.encoded);
    T_EQ(to.label, -1);
    T_EQ(to.data_size, 6);
    T_OK(datum_check_pixels(&to));
    datum_pixels(&to, false, pixels);
    T_TRUE(memcmp(pixels, "acebdf", 6) == 0);
    datum_pixels(&to, true, pixels);
    T_TRUE(memcmp(pixels, "ecafdb", 6) == 0);
}

static void the_fourth_channel_and_a_single_one_stay(void)
{
    uint8_t pixels[4];
    datum to;

    T_OK(PARSE("\x08\x04\x10\x01\x18\x01\x22\x04"
               "bgra",
               &to));
    T_OK(datum_check_pixels(&to));
    datum_pixels(&to, true, pixels);
    T_TRUE(memcmp(pixels, "rgba", 4) == 0);
    T_OK(PARSE("\x08\x01\x10\x02\x18\x02\x22\x04"
               "abcd",
               &to));
    T_OK(datum_check_pixels(&to));
    datum_pixels(&to, true, pixels);
    T_TRUE(memcmp(pixels, "abcd", 4) == 0);
}

static void later_fields_count_and_unknown_ones_do_not(void)
{
    datum to;

    /* label 7, field 100 as each wire type, encoded, label 8 */
    T_OK(PARSE("\x28\x07\xa0\x06\x01\xa1\x06"
               "12345678\xa2\x06\x02"
               "ab\xa5\x06"
               "1234\x38\x01\x28\x08",
               &to));
    T_TRUE(to.encoded && to.data == NULL);
    T_EQ(to.label, 8);
    T_OK(parse("", 0, &to));
    T_TRUE(!to.has_label && to.float_count == 0);
}

static void floats_may_be_packed_or_not(void)
{
    /* 1, then packed 2 and -0.5 */
    static const char bytes[] = "\x35\x00\x00\x80\x3f\x32\x08\x00\x00\x00\x40\x00\x00\x00\xbf";
    float numbers[3];
    datum to;

    T_OK(PARSE(bytes, &to));
    T_EQ(to.float_count, 3);
    datum_floats((const uint8_t *)bytes, sizeof(bytes) - 1, (uint8_t *)numbers);
    T_TRUE(numbers[0] == 1 && numbers[1] == 2 && numbers[2] == -0.5F);
}

static void what_is_no_datum_is_refused(void)
{
    for (size_t size = 1; size < sizeof(PICTURE) - 1; size++) {
        if (size != 2 && size != 4 && size != 6 && size != 14) { /* ends of fields */
            check_fails(PICTURE, size, "it is not a Datum: no field begins or ends at its byte");
        }
    }
    FAILS("\xff\xd8\xff\xe0", "it is not a Datum");
    FAILS("\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01 ", "it is not a Datum");
    FAILS("\x2f\x01", "it is not a Datum");
    FAILS("\x2c", "it is not a Datum");
    FAILS("\x28\x80\x80\x80\x80\x08", "field 5 of the Datum must be a whole number of 32 bits");
    FAILS("\x0a\x01x", "field 1 of the Datum must be a whole number");
    FAILS("\x20\x01", "data of the Datum must be bytes");
    FAILS("\x32\x03"
          "abc",
          "float_data of the Datum must be floats");
    FAILS("\x30\x03", "float_data of the Datum must be floats");
    FAILS("\x3a\x01x", "encoded of the Datum must be 0 or 1");
}

static void pixels_must_fill_their_image(void)
{
    datum to;

    T_OK(PARSE(PICTURE, &to));
    to.width = 3;
    T_STATUS(datum_check_pixels(&to), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "has 6 bytes of data, which do not make an image of 3 x 1 with "
                                    "3 channels");
    to.width = -2;
    to.height = -1;
    T_STATUS(datum_check_pixels(&to), SLUICE_E_CORRUPT);
    to.channels = 2;
    T_STATUS(datum_check_pixels(&to), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "an image of 2 channels, which must be 1, 3 or 4");
}

const t_test datum_tests[] = {
    T_TEST(the_fields_of_a_picture_are_read),
    T_TEST(the_fourth_channel_and_a_single_one_stay),
    T_TEST(later_fields_count_and_unknown_ones_do_not),
    T_TEST(floats_may_be_packed_or_not),
    T_TEST(what_is_no_datum_is_refused),
    T_TEST(pixels_must_fill_their_image),
    T_END,
};
