/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of MindRecord rows: packed integers, and maps of MessagePack. */
#include <stdlib.h>

#include "bytes_int.h"
#include "mindrecord_ints.h"
#include "mindrecord_map.h"
#include "testing.h"

/* ---- integers -------------------------------------------------------------------------------- */

static const int64_t edges[] = {0,         1,         -1,        127,       128,
                                -128,      -129,      32767,     32768,     -32768,
                                -32769,    INT32_MAX, INT32_MIN, 1LL << 31, -(1LL << 31) - 1,
                                INT64_MAX, INT64_MIN};

static void integers_are_packed_and_unpacked(void)
{
    for (uint32_t width = 4; width <= 8; width += 4) {
        for (size_t count = 0; count <= (width == 4 ? 13 : COUNT(edges)); count++) {
            uint8_t from[8 * COUNT(edges)];
            uint8_t to[8 * COUNT(edges)];
            uint8_t *packed = malloc((size_t)mindrecord_ints_most(count));
            uint64_t found = 0;
            size_t size;

            for (size_t i = 0; i < count; i++) {
                sli_put_u64(from + i * width, (uint64_t)edges[i]); /* the low half for 4 bytes */
            }
            size = mindrecord_ints_pack(from, count, width, packed);
            T_TRUE(size <= mindrecord_ints_most(count));
            T_OK(mindrecord_ints_count(packed, size, &found));
            T_EQ(found, count);
            T_OK(mindrecord_ints_unpack(packed, width, to));
            T_TRUE(count == 0 || memcmp(from, to, count * width) == 0);
            free(packed);
        }
    }
}

/* As MindSpore packs [1, -2, 300, 70000, 5]. */
static void packed_integers_have_their_layout(void)
{
    static const uint8_t want[] = {0,    0,    0,    5,    0x06, 0, 1, 0xFE,
                                   0x2C, 0x01, 0x70, 0x11, 0x01, 0, 5};
    static const int32_t from[] = {1, -2, 300, 70000, 5};
    uint8_t packed[64];

    T_EQ(mindrecord_ints_pack((const uint8_t *)from, 5, 4, packed), sizeof(want));
    T_EQ(memcmp(packed, want, sizeof(want)), 0);
}

static void wrong_integers_are_refused(void)
{
    static const uint8_t good[] = {0, 0, 0, 2, 0x10, 1, 2, 3};
    static const uint8_t wide[] = {0, 0, 0, 1, 0xC0, 0, 0, 0, 0, 1, 0, 0, 0};
    static const uint8_t huge[] = {255, 255, 255, 255, 0, 0, 0, 0};
    uint8_t to[16];
    uint64_t count = 0;

    for (size_t size = 0; size < sizeof(good); size++) {
        T_STATUS(mindrecord_ints_count(good, size, &count), SLUICE_E_CORRUPT);
    }
    T_OK(mindrecord_ints_count(good, sizeof(good), &count));
    T_EQ(count, 2);
    T_STATUS(mindrecord_ints_count(huge, sizeof(huge), &count), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "4294967295 elements");
    T_OK(mindrecord_ints_count(wide, sizeof(wide), &count));
    T_OK(mindrecord_ints_unpack(wide, 8, to));
    T_EQ((int64_t)sli_get_u64(to), 1LL << 32);
    T_STATUS(mindrecord_ints_unpack(wide, 4, to), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "4294967296");
}

/* ---- maps ------------------------------------------------------------------------------------ */

/* Reads the value of {"a": VALUE}, given in MessagePack; checks that every shorter one fails. */
static mindrecord_scalar value_of(const char *bytes, size_t size)
{
    static uint8_t row[64] = {0x81, 0xA1, 'a'}; /* the value points into it */
    mindrecord_scalar value = {0};
    mindrecord_map map;
    const char *key = NULL;
    size_t length = 0;

    memcpy(row + 3, bytes, size);
    for (size_t cut = 0; cut < size + 3; cut++) {
        sluice_status st = mindrecord_map_begin(row, cut, &map);

        st = st == SLUICE_OK ? mindrecord_map_next(&map, &key, &length, &value) : st;
        T_STATUS(st, SLUICE_E_CORRUPT);
    }
    T_OK(mindrecord_map_begin(row, size + 3, &map));
    T_OK(mindrecord_map_next(&map, &key, &length, &value));
    T_EQ(length, 1);
    T_EQ(key[0], 'a');
    T_STATUS(mindrecord_map_next(&map, &key, &length, &value), SLUICE_END_OF_DATA);
    return value;
}

#define VALUE(bytes) value_of(bytes, sizeof(bytes) - 1)

static void numbers_of_each_size_are_read(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        int64_t want;
    } integers[] = {
        {"\x00", 1, 0},
        {"\x7F", 1, 127},
        {"\xE0", 1, -32},
        {"\xFF", 1, -1},
        {"\xCC\xFF", 2, 255},
        {"\xCD\xFF\xFE", 3, 65534},
        {"\xCE\xFF\xFF\xFF\xFF", 5, UINT32_MAX},
        {"\xCF\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 9, INT64_MAX},
        {"\xD0\x80", 2, -128},
        {"\xD1\x80\x00", 3, -32768},
        {"\xD2\x80\x00\x00\x00", 5, INT32_MIN},
        {"\xD3\x80\x00\x00\x00\x00\x00\x00\x00", 9, INT64_MIN},
    };
    mindrecord_scalar value;

    for (size_t i = 0; i < COUNT(integers); i++) {
        value = value_of(integers[i].bytes, integers[i].size);
        T_EQ(value.kind, MINDRECORD_INTEGER);
        T_EQ(value.integer, integers[i].want);
    }
    value = VALUE("\xCA\xBF\x80\x00\x00");
    T_EQ(value.kind, MINDRECORD_REAL);
    T_NEAR(value.real, -1, 0);
    value = VALUE("\xCB\x3F\xB9\x99\x99\x99\x99\x99\x9A");
    T_NEAR(value.real, 0.1, 0);
}

static void texts_are_read_and_the_rest_is_passed(void)
{
    static const char *const texts[] = {"\xA3"
                                        "abc",
                                        "\xD9\x03"
                                        "abc",
                                        "\xDA\x00\x03"
                                        "abc",
                                        "\xDB\x00\x00\x00\x03"
                                        "abc"};
    static const char *const others[] = {"\xC3",
                                         "\xC4\x02zz",
                                         "\xC5\x01\x01",
                                         "\xD4\x01z",
                                         "\xC7\x01\x05z",
                                         "\x93\x01\x02\x03",
                                         "\x82\xA1x\x91\xA1y\xA1z\xC3",
                                         "\xDC\x01\x01"};

    for (size_t i = 0; i < COUNT(texts); i++) {
        const mindrecord_scalar value = value_of(texts[i], i == 0 ? 4 : 4 + ((size_t)1 << (i - 1)));

        T_EQ(value.kind, MINDRECORD_CHARACTERS);
        T_EQ(value.size, 3);
        T_EQ(memcmp(value.text, "abc", 3), 0);
    }
    for (size_t i = 0; i < COUNT(others); i++) {
        if (i != 2 && i != 7) { /* those announce more than they have */
            T_EQ(value_of(others[i], strlen(others[i])).kind, MINDRECORD_OTHER);
        }
    }
    T_EQ(VALUE("\xC0").kind, MINDRECORD_OTHER);
    T_EQ(VALUE("\xDD\x00\x00\x00\x00").kind, MINDRECORD_OTHER);
}

/* Reads a whole row. */
static sluice_status read_row(const char *bytes, size_t size)
{
    mindrecord_map map;
    sluice_status st = mindrecord_map_begin((const uint8_t *)bytes, size, &map);

    while (st == SLUICE_OK) {
        mindrecord_scalar value;
        const char *key;
        size_t length;

        st = mindrecord_map_next(&map, &key, &length, &value);
    }
    return st;
}

static void hostile_maps_are_refused(void)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *words;
    } rows[] = {
        {"", 0, "no map begins at byte 0"},
        {"\x91\x01", 2, "no map"},
        {"\x81\x01\x01", 3, "a name that must be a text"},
        {"\x81\xA1"
         "a\xC1",
         4, "0xc1"},
        {"\x80\x00", 2, "bytes follow the last entry at byte 1"},
        {"\xDF\xFF\xFF\xFF\xFF\xA1"
         "a\x01",
         8, "the row ends"},
        {"\x81\xA1"
         "a\xDF\xFF\xFF\xFF\xFF",
         8, "the row ends"},
        {"\x81\xA1"
         "a\xDB\xFF\xFF\xFF\xFF",
         8, "the row ends"},
        {"\x81\xA1"
         "a\xCF\x80\x00\x00\x00\x00\x00\x00\x00",
         12, "an integer above"},
    };
    char deep[2000] = "\x81\xA1"
                      "a";

    for (size_t i = 0; i < COUNT(rows); i++) {
        T_STATUS(read_row(rows[i].bytes, rows[i].size), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), rows[i].words);
    }
    memset(deep + 3, 0x91, sizeof(deep) - 3);
    T_STATUS(read_row(deep, sizeof(deep)), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "nested");
    memset(deep + 3, 0x91, 16);
    deep[19] = 1;
    T_STATUS(read_row(deep, 20), SLUICE_END_OF_DATA);
    memset(deep + 3, 0x91, 17);
    deep[20] = 1;
    T_STATUS(read_row(deep, 21), SLUICE_E_CORRUPT);
}

static void what_is_written_is_read(void)
{
    uint8_t bytes[MINDRECORD_PUT_MOST + 1];
    size_t size;

    for (size_t i = 0; i < COUNT(edges); i++) {
        const mindrecord_scalar value =
            value_of((const char *)bytes, mindrecord_put_integer(bytes, edges[i]));

        T_EQ(value.integer, edges[i]);
    }
    size = mindrecord_put_float(bytes, 0.25F);
    T_NEAR(value_of((const char *)bytes, size).real, 0.25, 0);
    size = mindrecord_put_double(bytes, 0.1);
    T_NEAR(value_of((const char *)bytes, size).real, 0.1, 0);
    T_EQ(mindrecord_put_map(bytes, 15), 1);
    T_EQ(mindrecord_put_map(bytes, 16), 5);
    T_EQ(mindrecord_put_length(bytes, 31), 1);
    T_EQ(mindrecord_put_length(bytes, 32), 3);
    T_EQ(mindrecord_put_length(bytes, 65536), 5);
}

static void nans_keep_their_bits(void)
{
    static const uint32_t bits[] = {0x7F800001, 0xFFC12345, 0x7FC00000, 0xFF800001,
                                    0xFF800000, 0x80000000, 0x00000001, 0x7F7FFFFF};

    for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
        T_EQ(mindrecord_narrow(mindrecord_widen(bits[i])), bits[i]);
    }
}

const t_test mindrecord_rows_tests[] = {
    T_TEST(integers_are_packed_and_unpacked),
    T_TEST(packed_integers_have_their_layout),
    T_TEST(wrong_integers_are_refused),
    T_TEST(numbers_of_each_size_are_read),
    T_TEST(texts_are_read_and_the_rest_is_passed),
    T_TEST(hostile_maps_are_refused),
    T_TEST(what_is_written_is_read),
    T_TEST(nans_keep_their_bits),
    T_END,
};
