/* SPDX-License-Identifier: Apache-2.0 */
/* The formats in which files give a box, and their conversion to corners. */
#ifndef SLUICE_BOX_FORM_H
#define SLUICE_BOX_FORM_H

typedef enum box_form {
    BOX_CORNERS, /* x0, y0, x1, y1 in pixels */
    BOX_COCO,    /* x0, y0, width, height in pixels */
    BOX_VOC,     /* x0, y0, x1, y1, pixel indices from 1, x1 and y1 inclusive */
    BOX_DARKNET  /* x, y of the centre, width, height, as fractions of the image's size */
} box_form;

/*
 * Converts a box to x0, y0, x1, y1; a darknet box remains in fractions, and its coordinates are
 * clamped to [0, 1] if rounding has moved them just outside.
 */
void box_to_corners(box_form form, float *box);

#endif
