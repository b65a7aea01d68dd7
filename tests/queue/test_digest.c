/* SPDX-License-Identifier: Apache-2.0 */
#include "conversion_kernels.h"
#include "cpu_int.h"
#include "digest_int.h"
#include "testing.h"

enum { MOST = 1000 };

/* Bytes that repeat nowhere soon. */
static void fill(uint8_t *data, size_t bytes)
{
    uint32_t state = 1;

    for (size_t i = 0; i < bytes; i++) {
        state = state * 1664525 + 1013904223;
        data[i] = (uint8_t)(state >> 24);
    }
}

/* The definition in digest_int.h, a byte at a time. */
static uint64_t reference(const uint8_t *data, size_t bytes)
{
    uint64_t sum = 0;

    for (size_t i = 0; i * 8 < bytes; i++) {
        uint64_t x = 0;

        for (size_t b = 0; b < 8 && i * 8 + b < bytes; b++) {
            x |= (uint64_t)data[i * 8 + b] << 8 * b;
        }
        x += i * UINT64_C(0x9E3779B97F4A7C15);
        x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
        sum += x ^ x >> 31;
    }
    return sum;
}

/* Changing this changes every digest that anybody has noted down. */
static void a_known_digest_is_what_it_always_was(void)
{
    uint8_t data[27];

    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (uint8_t)(i * 37 + 11);
    }
    T_EQ(sli_digest_bytes(data, sizeof(data)), (int64_t)UINT64_C(0xB319773B2CF6E48E));
    T_EQ(sli_digest_bytes(data, 0), 0);
}

static void digests_follow_the_definition(void)
{
    static uint8_t data[MOST + 8];

    fill(data, sizeof(data));
    for (size_t bytes = 0; bytes <= MOST; bytes++) {
        const uint8_t *start = data + bytes % 8; /* no alignment is asked for */

        T_EQ(sli_digest_bytes(start, bytes), reference(start, bytes));
    }
}

static void the_order_of_the_words_counts(void)
{
    uint64_t words[] = {1, 2, 3, 4};
    const uint64_t before = sli_digest_bytes(words, sizeof(words));

    words[1] = 3;
    words[2] = 2;
    T_TRUE(sli_digest_bytes(words, sizeof(words)) != before);
}

static void every_bit_of_every_byte_counts(void)
{
    uint8_t data[21];
    uint64_t before;

    fill(data, sizeof(data));
    before = sli_digest_bytes(data, sizeof(data));
    for (size_t bit = 0; bit < 8 * sizeof(data); bit++) {
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
        T_TRUE(sli_digest_bytes(data, sizeof(data)) != before);
        data[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

static void every_level_of_instructions_gives_the_same_digest(void)
{
    const conversion_kernels *const levels[] = {
        &sli_conversion_kernels_portable,
#if defined(__x86_64__)
        &sli_conversion_kernels_v3,
        &sli_conversion_kernels_v4,
#endif
    };
    static uint8_t data[MOST];

    fill(data, sizeof(data));
    for (size_t level = 0; level < sizeof(levels) / sizeof(levels[0]); level++) {
        if (level > (size_t)sli_cpu_best()) {
            continue; /* the processor cannot run it */
        }
        for (size_t words = 0; words <= MOST / 8; words++) {
            T_EQ(levels[level]->digest(data, words), reference(data, words * 8));
        }
    }
}

const t_test digest_tests[] = {
    T_TEST(a_known_digest_is_what_it_always_was),
    T_TEST(digests_follow_the_definition),
    T_TEST(the_order_of_the_words_counts),
    T_TEST(every_bit_of_every_byte_counts),
    T_TEST(every_level_of_instructions_gives_the_same_digest),
    T_END,
};
