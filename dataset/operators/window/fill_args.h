/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters fill and mask_fill of stages: the value of what is outside the image. */
#ifndef SLUICE_FILL_ARGS_H
#define SLUICE_FILL_ARGS_H

#include "geometry_ops.h"
#include "stage.h"

typedef struct fill_args {
    param_reals fill; /* one value, or one for each channel */
    uint64_t mask_fill;
} fill_args;

/* The parameter fill of an argument struct with fill_args in `field`, by default `text`. */
#define FILL_PARAM_OF(struct_type, field, text)                                                    \
    {                                                                                              \
        .name = "fill", .type = PARAM_REALS,                                                       \
        .offset = PARAM_OFFSET_(struct_type, field.fill, PARAM_REALS), .default_text = (text),     \
        .help = "value outside the image, 0 to 255, or one for each channel"                       \
    }

#define FILL_PARAM(struct_type, field) FILL_PARAM_OF(struct_type, field, "0")

#define MASK_FILL_PARAM(struct_type, field)                                                        \
    {                                                                                              \
        .name = "mask_fill", .type = PARAM_COUNT,                                                  \
        .offset = PARAM_OFFSET_(struct_type, field.mask_fill, PARAM_COUNT), .default_text = "0",   \
        .low = 0, .high = 255, .help = "class outside the image, in masks"                         \
    }

sluice_status fill_check(const char *stage, const fill_args *args);

/* The same with values that have a fraction, such as 127.5. */
sluice_status fill_check_parts(const char *stage, const fill_args *args);

/* Checks that the fill has one value, or as many as all images of a sample have channels. */
sluice_status fill_infer(const char *stage, const fill_args *args, const stage_schema *schema);

void fill_set(const fill_args *args, stage_padding *padding_out);

#endif
