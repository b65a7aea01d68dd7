/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of torchvision's TrivialAugmentWide, RandAugment, AutoAugment and AugMix, and
 * their ranges. */
#ifndef SLUICE_AUGMENT_TABLE_H
#define SLUICE_AUGMENT_TABLE_H

#include "warp_stage.h"

/* In torchvision's order. */
typedef enum augment_kind {
    AUGMENT_NOTHING,
    AUGMENT_SHEAR_X,
    AUGMENT_SHEAR_Y,
    AUGMENT_TRANSLATE_X,
    AUGMENT_TRANSLATE_Y,
    AUGMENT_ROTATE,
    AUGMENT_BRIGHTNESS,
    AUGMENT_SATURATION,
    AUGMENT_CONTRAST,
    AUGMENT_SHARPNESS,
    AUGMENT_POSTERIZE,
    AUGMENT_SOLARIZE,
    AUGMENT_AUTOCONTRAST,
    AUGMENT_EQUALIZE,
    AUGMENTS,                 /* number of those before */
    AUGMENT_INVERT = AUGMENTS /* AutoAugment only */
} augment_kind;

/* The ranges of the operations: values at magnitude 1, except for `bits`. */
typedef struct augment_table {
    double shear;   /* shift of x per pixel of y, or of y per pixel of x */
    double degrees; /* of rotation */
    double factor;  /* of brightness, saturation, contrast and sharpness: difference from 1 */
    uint32_t bits;  /* posterize: at magnitude 0 */
    double lost_bits;
    double pixels; /* translation; 0: `part` of the width or height */
    double part;
} augment_table;

/*
 * Checks that all images are uint8 with 1 or 3 channels and as many as the fill has, and adds
 * `operations`, the most that the stage has for one image.
 */
sluice_status augment_infer(const char *stage, const warp_options *options, uint32_t operations,
                            stage_schema *schema);

/* Adds an operation with a magnitude from 0 to 1. */
void augment_add(const augment_table *table, augment_kind kind, double magnitude, bool negative,
                 const warp_options *options, color_chain *chain);

#endif
