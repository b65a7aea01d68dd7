/* SPDX-License-Identifier: Apache-2.0 */
#include "box_form.h"

/* Clamps a coordinate, a fraction of the image, to [0, 1] if rounding put it just outside. */
static double part_of_image(double part)
{
    static const double ROUNDED = 1e-4;

    return part < 0 && part >= -ROUNDED ? 0 : part > 1 && part <= 1 + ROUNDED ? 1 : part;
}

void box_to_corners(box_form form, float *box)
{
    const double size[2] = {(double)box[2], (double)box[3]};

    for (int i = 0; i < 2; i++) {
        const double at = (double)box[i];

        switch (form) {
        case BOX_CORNERS:
            break;
        case BOX_VOC:
            box[i] = (float)(at - 1);
            break;
        case BOX_COCO:
            box[i + 2] = (float)(at + size[i]);
            break;
        case BOX_DARKNET:
            box[i] = (float)part_of_image(at - size[i] / 2);
            box[i + 2] = (float)part_of_image(at + size[i] / 2);
            break;
        }
    }
}
