/* SPDX-License-Identifier: Apache-2.0 */
#include "crc32c_int.h"

#include <pthread.h>
#include <string.h>

#include "cpu_int.h"

enum { SLICES = 8 };

/* tables[k][b]: the effect of byte b on the checksum when k bytes follow it. */
static uint32_t tables[SLICES][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_tables(void)
{
    static const uint32_t polynomial = 0x82F63B78; /* 0x1EDC6F41, bits reversed */

    for (uint32_t b = 0; b < 256; b++) {
        uint32_t crc = b;

        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
        }
        tables[0][b] = crc;
    }
    for (uint32_t b = 0; b < 256; b++) {
        for (int k = 1; k < SLICES; k++) {
            tables[k][b] = tables[k - 1][b] >> 8 ^ tables[0][tables[k - 1][b] & 0xFF];
        }
    }
}

static uint32_t by_tables(uint32_t crc, const uint8_t *bytes, size_t size)
{
    pthread_once(&once, make_tables);
    for (; size >= SLICES; size -= SLICES, bytes += SLICES) {
        uint32_t next = 0;

        for (int k = 0; k < SLICES; k++) {
            uint8_t mixed = bytes[k];

            if (k < 4) {
                mixed ^= (uint8_t)(crc >> 8 * k);
            }
            next ^= tables[SLICES - 1 - k][mixed];
        }
        crc = next;
    }
    for (; size > 0; size--, bytes++) {
        crc = crc >> 8 ^ tables[0][(crc ^ *bytes) & 0xFF];
    }
    return crc;
}

#if defined(__x86_64__)
/*
 * The CRC32 instruction has a latency of three cycles and a throughput of one per cycle, so three
 * blocks are processed in parallel.
 */
enum { BLOCK = 1024, WORD = sizeof(uint64_t) };

/* over_block[k][b]: the checksum after a block of zeros, starting from a checksum with byte k equal
 * to b and the other bytes 0. For any starting checksum, XOR the entries of its four bytes. */
static uint32_t over_block[4][256];
static pthread_once_t once_over = PTHREAD_ONCE_INIT;

static void make_over_block(void)
{
    static const uint8_t zeros[BLOCK];

    for (uint32_t bit = 0; bit < 32; bit++) {
        const uint32_t becomes = by_tables(UINT32_C(1) << bit, zeros, BLOCK);

        for (uint32_t b = 0; b < 256; b++) {
            if ((b >> bit % 8 & 1) != 0) {
                over_block[bit / 8][b] ^= becomes;
            }
        }
    }
}

static uint32_t behind_block(uint32_t crc)
{
    return over_block[0][crc & 0xFF] ^ over_block[1][crc >> 8 & 0xFF] ^
           over_block[2][crc >> 16 & 0xFF] ^ over_block[3][crc >> 24];
}

__attribute__((target("sse4.2"))) static uint64_t with_word(uint64_t crc, const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, WORD);
    return __builtin_ia32_crc32di(crc, word);
}

__attribute__((target("sse4.2"))) static uint32_t by_three_blocks(uint32_t crc,
                                                                  const uint8_t *bytes)
{
    uint64_t first = crc;
    uint64_t second = 0;
    uint64_t third = 0;

    for (size_t i = 0; i < BLOCK; i += WORD) {
        first = with_word(first, bytes + i);
        second = with_word(second, bytes + BLOCK + i);
        third = with_word(third, bytes + 2 * (size_t)BLOCK + i);
    }
    return behind_block(behind_block((uint32_t)first) ^ (uint32_t)second) ^ (uint32_t)third;
}

/* The CRC32 instruction is in SSE4.2, which x86-64-v3 includes. */
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *bytes,
                                                                 size_t size)
{
    uint64_t wide;

    pthread_once(&once_over, make_over_block);
    for (; size >= 3 * (size_t)BLOCK; size -= 3 * (size_t)BLOCK, bytes += 3 * (size_t)BLOCK) {
        crc = by_three_blocks(crc, bytes);
    }
    wide = crc;
    for (; size >= WORD; size -= WORD, bytes += WORD) {
        wide = with_word(wide, bytes);
    }
    crc = (uint32_t)wide;
    for (; size > 0; size--, bytes++) {
        crc = __builtin_ia32_crc32qi(crc, *bytes);
    }
    return crc;
}
#endif

uint32_t sli_crc32c(uint32_t crc, const void *bytes, size_t size)
{
#if defined(__x86_64__)
    if (sli_cpu_current() >= SLI_CPU_V3) {
        return ~by_instruction(~crc, bytes, size);
    }
#endif
    return ~by_tables(~crc, bytes, size);
}
