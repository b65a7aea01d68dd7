/* SPDX-License-Identifier: Apache-2.0 */
#include "mindrecord_ints.h"

#include <inttypes.h>
#include <string.h>

#include "bytes_int.h"
#include "status_int.h"

enum { COUNT_BYTES = 4 };

static uint64_t code_bytes(uint64_t count)
{
    return (count + 3) / 4;
}

static uint32_t code_of(const uint8_t *codes, uint64_t element)
{
    return codes[element / 4] >> (6 - 2 * (element % 4)) & 3;
}

/* Number of elements as the bytes announce it. */
static uint64_t announced(const uint8_t *bytes)
{
    return (uint64_t)bytes[0] << 24 | (uint64_t)bytes[1] << 16 | (uint64_t)bytes[2] << 8 | bytes[3];
}

sluice_status mindrecord_ints_count(const uint8_t *bytes, size_t size, uint64_t *count_out)
{
    uint64_t count;
    uint64_t need;

    if (size < COUNT_BYTES) {
        return sli_fail(SLUICE_E_CORRUPT, "an integer array of %zu bytes lacks its length", size);
    }
    count = announced(bytes);
    need = COUNT_BYTES + code_bytes(count);
    if (need > size || count > size - need) { /* an element has at least a byte */
        return sli_fail(SLUICE_E_CORRUPT,
                        "an integer array of %zu bytes announces %" PRIu64 " elements", size,
                        count);
    }
    for (uint64_t i = 0; i < count; i++) {
        need += (uint64_t)1 << code_of(bytes + COUNT_BYTES, i);
    }
    if (need != size) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "an integer array of %" PRIu64 " elements has %zu bytes, and must have "
                        "%" PRIu64,
                        count, size, need);
    }
    *count_out = count;
    return SLUICE_OK;
}

/* Gets a signed integer of 2^code bytes. */
static int64_t get_signed(const uint8_t *from, uint32_t code)
{
    switch (code) {
    case 0:
        return (int8_t)from[0];
    case 1:
        return (int16_t)sli_get_u16(from);
    case 2:
        return (int32_t)sli_get_u32(from);
    default:
        return (int64_t)sli_get_u64(from);
    }
}

sluice_status mindrecord_ints_unpack(const uint8_t *bytes, uint32_t width, uint8_t *to)
{
    const uint8_t *codes = bytes + COUNT_BYTES;
    const uint64_t count = announced(bytes);
    const uint8_t *from = codes + code_bytes(count);

    for (uint64_t i = 0; i < count; i++) {
        const uint32_t code = code_of(codes, i);
        const int64_t element = get_signed(from, code);

        if (width == 8) {
            sli_put_u64(to, (uint64_t)element);
        } else if (element >= INT32_MIN && element <= INT32_MAX) {
            sli_put_u32(to, (uint32_t)element);
        } else {
            return sli_fail(SLUICE_E_CORRUPT,
                            "element %" PRIu64 " of an array of int32 is %" PRId64, i, element);
        }
        from += (size_t)1 << code;
        to += width;
    }
    return SLUICE_OK;
}

/* The smallest code of an integer. */
static uint32_t smallest_code(int64_t element)
{
    return element >= INT8_MIN && element <= INT8_MAX     ? 0
           : element >= INT16_MIN && element <= INT16_MAX ? 1
           : element >= INT32_MIN && element <= INT32_MAX ? 2
                                                          : 3;
}

size_t mindrecord_ints_pack(const uint8_t *from, uint64_t count, uint32_t width, uint8_t *to)
{
    uint8_t *codes = to + COUNT_BYTES;
    uint8_t *at = codes + code_bytes(count);

    for (int i = 0; i < COUNT_BYTES; i++) {
        to[i] = (uint8_t)(count >> (24 - 8 * i));
    }
    memset(codes, 0, (size_t)code_bytes(count));
    for (uint64_t i = 0; i < count; i++, from += width) {
        const int64_t element =
            width == 8 ? (int64_t)sli_get_u64(from) : (int32_t)sli_get_u32(from);
        const uint32_t code = smallest_code(element);

        codes[i / 4] |= (uint8_t)(code << (6 - 2 * (i % 4)));
        for (uint32_t k = 0; k < (uint32_t)1 << code; k++) {
            *at++ = (uint8_t)((uint64_t)element >> 8 * k);
        }
    }
    return (size_t)(at - to);
}
