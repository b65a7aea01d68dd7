/* SPDX-License-Identifier: Apache-2.0 */
/* A bitmap font: letters, digits and what file names have, 5 x 7 pixels each. */
#ifndef SLUICE_TINY_FONT_H
#define SLUICE_TINY_FONT_H

#include <stdbool.h>

enum { FONT_WIDTH = 5, FONT_HEIGHT = 7, FONT_ADVANCE = 6 };

/* Is a pixel of the character set? Characters that the font lacks are a box. */
bool font_pixel(char character, int x, int y);

#endif
