/* SPDX-License-Identifier: Apache-2.0 */
/* The orientation in Exif data: how an image is to be turned for display. */
#ifndef SLUICE_EXIF_H
#define SLUICE_EXIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EXIF_UPRIGHT = 1, /* also of files without the tag: pixels are stored as they are to be seen */
    EXIF_SEGMENT = 32 /* bytes of exif_write() */
};

/*
 * Returns the orientation in Exif data, which begin with a TIFF header (TIFF 6.0; Exif 3.0, 4.5.2
 * and 4.6.5): 1 to 8, and 1 if there is no such tag, or the data are corrupt. Reads the first
 * directory only.
 */
uint32_t exif_orientation(const uint8_t *tiff, size_t size);

/* Writes the contents of a segment APP1 of a JPEG file, with this tag alone. */
void exif_write(uint32_t orientation, uint8_t bytes[EXIF_SEGMENT]);

/* True if an image with this orientation is shown with its width and height exchanged. */
static inline bool exif_exchanges_sides(uint32_t orientation)
{
    return orientation >= 5 && orientation <= 8;
}

#endif
