/* SPDX-License-Identifier: Apache-2.0 */
/* Writes pictures as PNG by libpng, if the tool is built with SLUICE_TOOL_PNG. */
#ifndef SLUICE_PNG_WRITER_H
#define SLUICE_PNG_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

bool png_is_built(void);

/* Writes pixels (height, width, 3). Returns false on a file error or out of memory, with errno set.
 */
bool png_write(FILE *file, const uint8_t *pixels, uint32_t width, uint32_t height);

#endif
