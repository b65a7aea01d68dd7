/* SPDX-License-Identifier: Apache-2.0 */
#include "exif.h"

#include <string.h>

enum { HEADER = 8, ENTRY = 12, TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3 };

static uint32_t read_16(const uint8_t *at, bool big_endian)
{
    return big_endian ? (uint32_t)at[0] << 8 | at[1] : (uint32_t)at[1] << 8 | at[0];
}

static uint32_t read_32(const uint8_t *at, bool big_endian)
{
    return big_endian ? read_16(at, true) << 16 | read_16(at + 2, true)
                      : read_16(at + 2, false) << 16 | read_16(at, false);
}

uint32_t exif_orientation(const uint8_t *tiff, size_t size)
{
    const bool big_endian = size >= HEADER && memcmp(tiff, "MM\0\x2A", 4) == 0;
    uint32_t directory;
    uint32_t entries;

    if (size < HEADER || (!big_endian && memcmp(tiff, "II\x2A\0", 4) != 0)) {
        return EXIF_UPRIGHT;
    }
    directory = read_32(tiff + 4, big_endian);
    if (directory > size - 2) {
        return EXIF_UPRIGHT;
    }
    entries = read_16(tiff + directory, big_endian);
    for (uint32_t i = 0; i < entries && directory + 2 + (i + 1) * (size_t)ENTRY <= size; i++) {
        const uint8_t *entry = tiff + directory + 2 + i * (size_t)ENTRY;

        if (read_16(entry, big_endian) == TAG_ORIENTATION) {
            const uint32_t value = read_16(entry + 8, big_endian);

            return read_16(entry + 2, big_endian) == TYPE_SHORT && value >= 1 && value <= 8
                       ? value
                       : EXIF_UPRIGHT;
        }
    }
    return EXIF_UPRIGHT;
}

void exif_write(uint32_t orientation, uint8_t bytes[EXIF_SEGMENT])
{
    static const uint8_t segment[EXIF_SEGMENT] = {
        'E', 'x', 'i',  'f', 0, 0, 'I', 'I', 42, 0, 8,
        0,   0,   0, /* the directory is at 8 */
        1,   0,   0x12, 1,   3, 0, 1,   0,   0,  0, EXIF_UPRIGHT,
        0,   0,   0, /* one entry, a SHORT */
        0,   0,   0,    0};

    memcpy(bytes, segment, sizeof(segment));
    bytes[24] = (uint8_t)orientation;
}
