/* SPDX-License-Identifier: Apache-2.0 */
/* Little-endian integers in files, on every machine. */
#ifndef SLUICE_BYTES_INT_H
#define SLUICE_BYTES_INT_H

#include <stdint.h>

static inline void sli_put_u16(uint8_t *to, uint16_t number)
{
    to[0] = (uint8_t)number;
    to[1] = (uint8_t)(number >> 8);
}

static inline void sli_put_u32(uint8_t *to, uint32_t number)
{
    sli_put_u16(to, (uint16_t)number);
    sli_put_u16(to + 2, (uint16_t)(number >> 16));
}

static inline void sli_put_u64(uint8_t *to, uint64_t number)
{
    sli_put_u32(to, (uint32_t)number);
    sli_put_u32(to + 4, (uint32_t)(number >> 32));
}

static inline uint16_t sli_get_u16(const uint8_t *from)
{
    return (uint16_t)(from[0] | from[1] << 8);
}

static inline uint32_t sli_get_u32(const uint8_t *from)
{
    return sli_get_u16(from) | (uint32_t)sli_get_u16(from + 2) << 16;
}

static inline uint64_t sli_get_u64(const uint8_t *from)
{
    return sli_get_u32(from) | (uint64_t)sli_get_u32(from + 4) << 32;
}

#endif
