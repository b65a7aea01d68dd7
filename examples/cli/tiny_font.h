/* SPDX-License-Identifier: Apache-2.0 */
/* A bitmap font of 5 x 7 pixels: letters, digits and the punctuation of file names. */
#ifndef SLUICE_TINY_FONT_H
#define SLUICE_TINY_FONT_H

#include <stdbool.h>

enum { FONT_WIDTH = 5, FONT_HEIGHT = 7, FONT_ADVANCE = 6 };

/* True if this pixel of the character is set. Characters that the font lacks are drawn as a box. */
bool font_pixel(char character, int x, int y);

#endif
