/* SPDX-License-Identifier: Apache-2.0 */
/* IDX files for tests. */
#ifndef SLUICE_IDX_KIT_H
#define SLUICE_IDX_KIT_H

#include <stddef.h>
#include <stdint.h>

/* Writes a header of that type and these dimensions; returns its size. */
size_t idx_head(uint8_t type, uint32_t rank, const uint32_t *shape, uint8_t *bytes);

/* Writes folder/name: a header with these dimensions, of bytes, and `size` elements. */
void idx_write(const char *folder, const char *name, uint32_t rank, const uint32_t *shape,
               const uint8_t *data, size_t size);

/*
 * Writes a pair, `stem`images-idx3-ubyte and `stem`labels-idx1-ubyte, of `count` images of 5 x 4:
 * pixel i of image n is idx_pixel(seed, n, i), its label (seed + n) % 10.
 */
void idx_write_pair(const char *folder, const char *stem, uint32_t count, uint32_t seed);
uint8_t idx_pixel(uint32_t seed, uint32_t image, uint32_t i);

#endif
