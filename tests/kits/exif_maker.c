/* SPDX-License-Identifier: Apache-2.0 */
#include "exif_maker.h"

#include <stdlib.h>
#include <string.h>

static uint8_t *put(uint8_t *to, uint32_t value, uint32_t bytes, bool big_endian)
{
    for (uint32_t i = 0; i < bytes; i++) {
        to[big_endian ? bytes - 1 - i : i] = (uint8_t)(value >> 8 * i);
    }
    return to + bytes;
}

/* An entry of a directory: a SHORT. */
static uint8_t *put_tag(uint8_t *to, uint32_t tag, uint32_t value, bool big_endian)
{
    to = put(to, tag, 2, big_endian);
    to = put(to, 3, 2, big_endian);
    to = put(to, 1, 4, big_endian);
    to = put(to, value, 2, big_endian);
    return put(to, 0, 2, big_endian);
}

void exif_make(uint32_t orientation, bool big_endian, uint8_t bytes[EXIF_MADE])
{
    uint8_t *to = bytes;

    memcpy(to, big_endian ? "MM" : "II", 2);
    to = put(to + 2, 42, 2, big_endian);
    to = put(to, 8, 4, big_endian);
    to = put(to, 2, 2, big_endian);
    to = put_tag(to, 0x0103, 6, big_endian);
    to = put_tag(to, 0x0112, orientation, big_endian);
    put(to, 0, 4, big_endian);
}

uint8_t *exif_in_jpeg(const uint8_t *jpeg, size_t size, const uint8_t *exif, size_t exif_size,
                      size_t *size_out)
{
    uint8_t *bytes = malloc(size + exif_size + 10);

    memcpy(bytes, jpeg, 2);
    memcpy(bytes + 2, "\xFF\xE1", 2);
    put(bytes + 4, (uint32_t)exif_size + 8, 2, true);
    memcpy(bytes + 6, "Exif\0\0", 6);
    memcpy(bytes + 12, exif, exif_size);
    memcpy(bytes + 12 + exif_size, jpeg + 2, size - 2);
    *size_out = size + exif_size + 10;
    return bytes;
}
