/* SPDX-License-Identifier: Apache-2.0 */
/*
 * letterbox: resizes the whole image to fit, keeping its aspect ratio, and pads it to the requested
 * size. Redmon et al., "You only look once" (2016), as in Ultralytics' LetterBox: the padding is
 * split evenly between both sides, and an odd pixel goes to the right or to the bottom.
 */
#include <string.h>

#include "crop.h"
#include "geometry_ops.h"

typedef struct letterbox_args {
    param_size size;
    uint64_t fill;
    uint64_t mask_fill;
    resize_filter filter;
} letterbox_args;

static sluice_status letterbox_check(void *args)
{
    return resize_filter_check("letterbox", &((const letterbox_args *)args)->filter);
}

static sluice_status letterbox_infer(const void *args, stage_schema *schema)
{
    return crop_infer(&((const letterbox_args *)args)->size, "letterbox", schema);
}

/* Returns length * to / from, rounded to nearest with halves up, and at least 1. */
static uint32_t scaled(uint32_t length, uint32_t to, uint32_t from)
{
    const uint64_t side = ((uint64_t)length * to * 2 + from) / ((uint64_t)from * 2);

    return side > 0 ? (uint32_t)side : 1;
}

static sluice_status letterbox_geometry(const void *opaque, const sli_draws *draws, uint32_t width,
                                        uint32_t height, stage_window *out)
{
    const letterbox_args *args = opaque;
    const uint32_t to_width = crop_width(&args->size);
    const uint32_t to_height = args->size.height;
    /* The side with the smaller scale factor fills the output. */
    const bool is_wide = (uint64_t)width * to_height > (uint64_t)height * to_width;

    (void)draws;
    out->resizes = true;
    out->filter = args->filter;
    out->new_width = is_wide ? to_width : scaled(width, to_height, height);
    out->new_height = is_wide ? scaled(height, to_width, width) : to_height;
    out->frames = true;
    out->window_x = -(int64_t)((to_width - out->new_width) / 2);
    out->window_y = -(int64_t)((to_height - out->new_height) / 2);
    out->window_width = to_width;
    out->window_height = to_height;
    return SLUICE_OK;
}

static bool letterbox_padding(const void *opaque, stage_padding *padding_out)
{
    const letterbox_args *args = opaque;

    memset(padding_out->fill, (int)args->fill, sizeof(padding_out->fill));
    padding_out->mask_fill = (uint8_t)args->mask_fill;
    return true;
}

static const stage_param letterbox_params[] = {
    PARAM_(letterbox_args, size, PARAM_SIZE, NULL, 1, 65535, NULL,
           "HEIGHT,WIDTH; one number is a square"),
    PARAM_(letterbox_args, fill, PARAM_COUNT, "114", 0, 255, NULL, "value of the padding"),
    PARAM_(letterbox_args, mask_fill, PARAM_COUNT, "0", 0, 255, NULL,
           "class of the padding in masks"),
    RESIZE_FILTER_PARAMS(letterbox_args, filter),
};

const stage_def stage_letterbox = {
    .name = "letterbox",
    .summary = "Resizes the whole image to fit, and pads it to HEIGHT,WIDTH.",
    .example = "letterbox 128",
    .gives = "image u8 (height, width, C)",
    .details = "Reference: LetterBox in ultralytics/data/augment.py.\n"
               "The new height and width are the old ones times r = min(height / old height, "
               "width / old width), rounded to nearest, halves up. The image is centred; if "
               "the padding is odd, the larger half is on the right and at the bottom. The "
               "filters are those of resize.",
    .kind = STAGE_GEOMETRY,
    STAGE_PARAMS(letterbox_params),
    .args_size = sizeof(letterbox_args),
    .check = letterbox_check,
    .infer = letterbox_infer,
    .geometry =
        &(const geometry_ops){
            .draw = letterbox_geometry,
            .resizes = true,
            .padding = letterbox_padding,
            .squares = true,
        },
};
