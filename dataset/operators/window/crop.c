/* SPDX-License-Identifier: Apache-2.0 */
/* The crop stage: torchvision's functional.crop, a fixed box. */
#include "crop.h"

typedef struct fixed_crop_args {
    param_size size;
    int64_t top;
    int64_t left;
} fixed_crop_args;

static sluice_status fixed_crop_infer(const void *args, stage_schema *schema)
{
    return crop_infer(&((const fixed_crop_args *)args)->size, "crop", schema);
}

static sluice_status fixed_crop_geometry(const void *opaque, const sli_draws *draws, uint32_t width,
                                         uint32_t height, stage_window *out)
{
    const fixed_crop_args *args = opaque;

    (void)draws;
    (void)width;
    (void)height;
    out->crops = true;
    out->width = crop_width(&args->size);
    out->height = args->size.height;
    out->x = args->left;
    out->y = args->top;
    return SLUICE_OK;
}

static const stage_param fixed_crop_params[] = {
    PARAM_(fixed_crop_args, size, PARAM_SIZE, NULL, 1, 65535, NULL,
           "HEIGHT,WIDTH; one number is a square"),
    PARAM_(fixed_crop_args, top, PARAM_INT, "0", -65535, 65535, NULL,
           "first line of the image, in pixels; may be negative"),
    PARAM_(fixed_crop_args, left, PARAM_INT, "0", -65535, 65535, NULL,
           "first column of the image, in pixels; may be negative"),
};

const stage_def stage_crop = {
    .name = "crop",
    .summary = "Crops a fixed box; pixels outside of the image are zero.",
    .example = "crop 64,80 top=20 left=10",
    .gives = "image u8 (height, width, C)",
    .details = "Reference: torchvision.transforms.v2.functional.crop.\n"
               "The result is lines top to top + height - 1 and columns left to left + width - 1. "
               "Positions outside of the image are zero, also where the box misses it.\n"
               "Masks, boxes, points and further images follow. A box is moved and clipped; boxes "
               "without remaining area are dropped.",
    .kind = STAGE_GEOMETRY,
    STAGE_PARAMS(fixed_crop_params),
    .args_size = sizeof(fixed_crop_args),
    .infer = fixed_crop_infer,
    .geometry =
        &(const geometry_ops){
            .draw = fixed_crop_geometry,
            .crops = true,
            .padding = crop_padding,
            .squares = true,
        },
};
