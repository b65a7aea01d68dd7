/* SPDX-License-Identifier: Apache-2.0 */
/* Exif data for tests, and files with them. */
#ifndef SLUICE_EXIF_MAKER_H
#define SLUICE_EXIF_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXIF_MADE = 38 }; /* bytes of exif_make() */

/* A TIFF header and a directory of two tags, the second one the orientation. */
void exif_make(uint32_t orientation, bool big_endian, uint8_t bytes[EXIF_MADE]);

/* Copies a JPEG file, with a segment APP1 of these Exif data after its first marker, from malloc().
 */
uint8_t *exif_in_jpeg(const uint8_t *jpeg, size_t size, const uint8_t *exif, size_t exif_size,
                      size_t *size_out);

#endif
