/* SPDX-License-Identifier: Apache-2.0 */
/* The random_crop stage: torchvision's RandomCrop. Pads the image, then crops at a random position.
 */
#include "crop.h"
#include "fill_args.h"
#include "margin_args.h"
#include "status_int.h"

typedef struct random_crop_args {
    param_size size;
    param_reals padding; /* after check(): left, top, right, bottom */
    bool pad_if_needed;
    fill_args outside;
} random_crop_args;

static sluice_status random_crop_check(void *opaque)
{
    random_crop_args *args = opaque;
    const sluice_status st = margins_check("random_crop", &args->padding);

    if (st != SLUICE_OK) {
        return st;
    }
    margins_shorten(&args->padding);
    return fill_check("random_crop", &args->outside);
}

static sluice_status check_fits(const random_crop_args *args, uint64_t width, uint64_t height)
{
    const image_margins m = margins_of(&args->padding);

    if (!args->pad_if_needed && (args->size.height > height + m.top + m.bottom ||
                                 crop_width(&args->size) > width + m.left + m.right)) {
        return sli_fail(SLUICE_E_INVALID,
                        "random_crop: an image of %llux%llu with padding=%u,%u,%u,%u is smaller "
                        "than the crop of %ux%u; put resize before it, use more padding, or "
                        "pad_if_needed=true",
                        (unsigned long long)width, (unsigned long long)height, m.left, m.top,
                        m.right, m.bottom, crop_width(&args->size), args->size.height);
    }
    return SLUICE_OK;
}

static sluice_status random_crop_infer(const void *opaque, stage_schema *schema)
{
    const random_crop_args *args = opaque;
    sluice_status st = schema_check_pixels(schema, "random_crop");
    const uint64_t *shape;

    if (st == SLUICE_OK) {
        st = fill_infer("random_crop", &args->outside, schema);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    shape = schema->columns[schema->image].shape;
    if (shape[SCHEMA_H] != 0 && shape[SCHEMA_W] != 0) {
        st = check_fits(args, shape[SCHEMA_W], shape[SCHEMA_H]);
    }
    return st == SLUICE_OK ? crop_infer(&args->size, "random_crop", schema) : st;
}

/*
 * Draws where the crop begins in a side of the image that is padded by `before` and `after` pixels.
 * If that is shorter than the crop, the missing pixels are added at both ends, as in torchvision.
 */
static int64_t draw_start(uint32_t bits, uint32_t side, uint32_t before, uint32_t after,
                          uint32_t crop)
{
    uint32_t padded = side + before + after;

    if (padded < crop) {
        const uint32_t missing = crop - padded;

        before += missing;
        padded += 2 * missing;
    }
    return (int64_t)sli_below(bits, padded - crop + 1) - before;
}

static sluice_status random_crop_geometry(const void *opaque, const sli_draws *draws,
                                          uint32_t width, uint32_t height, stage_window *out)
{
    const random_crop_args *args = opaque;
    const image_margins m = margins_of(&args->padding);
    sluice_status st = check_fits(args, width, height);
    uint32_t bits[4];

    if (st != SLUICE_OK) {
        return st;
    }
    sli_draw(draws, 0, bits);
    out->crops = true;
    out->width = crop_width(&args->size);
    out->height = args->size.height;
    out->x = draw_start(bits[0], width, m.left, m.right, out->width);
    out->y = draw_start(bits[1], height, m.top, m.bottom, out->height);
    return SLUICE_OK;
}

static bool random_crop_padding(const void *opaque, stage_padding *padding_out)
{
    const random_crop_args *args = opaque;
    const image_margins m = margins_of(&args->padding);

    if (margins_are_none(&m) && !args->pad_if_needed) {
        return false;
    }
    fill_set(&args->outside, padding_out);
    return true;
}

static const stage_param random_crop_params[] = {
    PARAM_(random_crop_args, size, PARAM_SIZE, NULL, 1, 65535, NULL,
           "HEIGHT,WIDTH; one number is a square"),
    PARAM_(random_crop_args, padding, PARAM_REALS, "0", 0, 0, NULL, MARGIN_HELP),
    PARAM_(random_crop_args, pad_if_needed, PARAM_BOOL, "false", 0, 0, NULL,
           "true: pad an image that is smaller than the crop; false: it is an error"),
    FILL_PARAM(random_crop_args, outside),
    MASK_FILL_PARAM(random_crop_args, outside),
};

const stage_def stage_random_crop = {
    .name = "random_crop",
    .summary = "Crops at a random position of the image, after padding it.",
    .elsewhere = "RandomCrop",
    .example = "random_crop 64,80",
    .gives = "image u8 (height, width, C)",
    .details =
        "Reference: torchvision.transforms.v2.RandomCrop; its padding_mode is pad_image mode=.\n"
        "The position is uniform over all at which the crop lies within the padded image. An "
        "image that is smaller than the crop with its padding is an error. With pad_if_needed "
        "it is padded further: if a side has n pixels with its padding and the crop m > n, "
        "then m - n pixels are added at both ends of it, so that the side has 2 * m - n.\n"
        "Masks, boxes, points and further images follow. A box is moved and clipped; boxes "
        "without remaining area are dropped.",
    .kind = STAGE_GEOMETRY,
    .draws = true,
    STAGE_PARAMS(random_crop_params),
    .args_size = sizeof(random_crop_args),
    .check = random_crop_check,
    .infer = random_crop_infer,
    .geometry =
        &(const geometry_ops){
            .draw = random_crop_geometry,
            .crops = true,
            .padding = random_crop_padding,
            .squares = true,
        },
};
