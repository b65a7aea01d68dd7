/* SPDX-License-Identifier: Apache-2.0 */
/* Pixels of three bytes in reverse order: for flips, and for images whose Exif orientation is one.
 */
#ifndef SLUICE_FLIP_RGB_INT_H
#define SLUICE_FLIP_RGB_INT_H

#include <stdint.h>

/* Writes a line of (width, 3) bytes with its pixels in reverse order; `in` and `out` do not
 * overlap. One function for each instruction-set level (cpu_int.h). */
void sli_flip_rgb_portable(const uint8_t *in, uint8_t *out, uint32_t width);
void sli_flip_rgb_v3(const uint8_t *in, uint8_t *out, uint32_t width);
void sli_flip_rgb_v4(const uint8_t *in, uint8_t *out, uint32_t width);

#endif
