/* SPDX-License-Identifier: Apache-2.0 */
#include "crc32c_int.h"

#include <pthread.h>
#include <string.h>

#include "cpu_int.h"

enum { SLICES = 8 };

/* tables[k][b]: what byte b does to the checksum with k bytes behind it. */
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
/* The instruction for it is in SSE4.2, which x86-64-v3 has. */
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *bytes,
                                                                 size_t size)
{
    uint64_t wide = crc;

    for (; size >= sizeof(wide); size -= sizeof(wide), bytes += sizeof(wide)) {
        uint64_t word;

        memcpy(&word, bytes, sizeof(word));
        wide = __builtin_ia32_crc32di(wide, word);
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
