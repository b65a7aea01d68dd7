/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Integer arrays of MindRecord: u32 big-endian number of elements; a code of 2 bits for each, the
 * first one in the highest bits of a byte; the elements. Code c stands for a signed little-endian
 * integer of 2^c bytes.
 */
#ifndef SLUICE_MINDRECORD_INTS_H
#define SLUICE_MINDRECORD_INTS_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* Gets the number of elements. E_CORRUPT: the bytes are not the elements that they announce. */
sluice_status mindrecord_ints_count(const uint8_t *bytes, size_t size, uint64_t *count_out);

/*
 * Unpacks elements of `width` bytes, 4 or 8, little-endian; mindrecord_ints_count() has accepted
 * the bytes. E_CORRUPT: an element does not fit its type.
 */
sluice_status mindrecord_ints_unpack(const uint8_t *bytes, uint32_t width, uint8_t *to);

/* Upper bound on the bytes that mindrecord_ints_pack() writes for `count` elements. */
static inline uint64_t mindrecord_ints_most(uint64_t count)
{
    return 4 + (count + 3) / 4 + count * 8;
}

/*
 * Packs `count` elements, at most 2^32 - 1, of `width` bytes, 4 or 8, little-endian. Returns the
 * number of bytes written.
 */
size_t mindrecord_ints_pack(const uint8_t *from, uint64_t count, uint32_t width, uint8_t *to);

#endif
