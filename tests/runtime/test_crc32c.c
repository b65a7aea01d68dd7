/* SPDX-License-Identifier: Apache-2.0 */
#include "crc32c_int.h"
#include "testing.h"

/* Bit by bit, as the standard has it. */
static uint32_t plain(uint32_t crc, const uint8_t *bytes, size_t size)
{
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78 : 0);
        }
    }
    return ~crc;
}

/* Of RFC 3720, B.4, and the check value of the catalogue of CRCs. */
static void known_answers_come_out(void)
{
    uint8_t bytes[32];

    T_EQ(sli_crc32c(0, "", 0), 0);
    T_EQ(sli_crc32c(0, "123456789", 9), 0xE3069283);
    memset(bytes, 0, sizeof(bytes));
    T_EQ(sli_crc32c(0, bytes, sizeof(bytes)), 0x8A9136AA);
    memset(bytes, 0xFF, sizeof(bytes));
    T_EQ(sli_crc32c(0, bytes, sizeof(bytes)), 0x62A8AB43);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)i;
    }
    T_EQ(sli_crc32c(0, bytes, sizeof(bytes)), 0x46DD794E);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(31 - i);
    }
    T_EQ(sli_crc32c(0, bytes, sizeof(bytes)), 0x113FDB5C);
}

static void every_length_and_alignment_is_as_bit_by_bit(void)
{
    uint8_t bytes[96];

    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(i * 167 + 13);
    }
    for (size_t start = 0; start < 9; start++) {
        for (size_t size = 0; start + size <= sizeof(bytes); size++) {
            T_EQ(sli_crc32c(0, bytes + start, size), plain(0, bytes + start, size));
            T_EQ(sli_crc32c(0xDEADBEEF, bytes + start, size),
                 plain(0xDEADBEEF, bytes + start, size));
        }
    }
}

/* Where long texts go several bytes at a time. */
static void long_ones_are_as_bit_by_bit(void)
{
    static uint8_t bytes[10000];
    uint32_t state = 1;

    for (size_t i = 0; i < sizeof(bytes); i++) {
        state = state * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(state >> 24);
    }
    for (size_t size = 3060; size <= sizeof(bytes) - 3; size += size < 3090 ? 1 : 509) {
        T_EQ(sli_crc32c(0, bytes + size % 3, size), plain(0, bytes + size % 3, size));
        T_EQ(sli_crc32c(0xDEADBEEF, bytes, size), plain(0xDEADBEEF, bytes, size));
    }
}

static void parts_make_the_whole(void)
{
    static const char text[] = "the same bytes in two parts, wherever they are cut";
    const size_t size = sizeof(text) - 1;
    const uint32_t whole = sli_crc32c(0, text, size);

    for (size_t cut = 0; cut <= size; cut++) {
        T_EQ(sli_crc32c(sli_crc32c(0, text, cut), text + cut, size - cut), whole);
    }
}

const t_test crc32c_tests[] = {
    T_TEST(known_answers_come_out),
    T_TEST(every_length_and_alignment_is_as_bit_by_bit),
    T_TEST(long_ones_are_as_bit_by_bit),
    T_TEST(parts_make_the_whole),
    T_END,
};
