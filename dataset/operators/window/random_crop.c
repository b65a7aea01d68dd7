/* SPDX-License-Identifier: Apache-2.0 */
/* The random_crop stage: crops at a random position of the image, after padding it with zeros. */
#include "crop.h"
#include "status_int.h"

typedef struct random_crop_args {
    param_size size;
    uint64_t padding;
} random_crop_args;

static sluice_status check_fits(const random_crop_args *args, uint64_t width, uint64_t height)
{
    if (args->size.height > height + 2 * args->padding ||
        crop_width(&args->size) > width + 2 * args->padding) {
        return sli_fail(SLUICE_E_INVALID,
                        "random_crop: an image of %llux%llu with padding=%llu is smaller than the "
                        "crop of %ux%u; put resize before it or use more padding",
                        (unsigned long long)width, (unsigned long long)height,
                        (unsigned long long)args->padding, crop_width(&args->size),
                        args->size.height);
    }
    return SLUICE_OK;
}

static sluice_status random_crop_infer(const void *opaque, stage_schema *schema)
{
    const random_crop_args *args = opaque;
    const uint64_t *shape = schema->image >= 0 ? schema->columns[schema->image].shape : NULL;

    if (shape != NULL && shape[SCHEMA_H] != 0 && shape[SCHEMA_W] != 0) {
        sluice_status st = check_fits(args, shape[SCHEMA_W], shape[SCHEMA_H]);

        if (st != SLUICE_OK) {
            return st;
        }
    }
    return crop_infer(&args->size, "random_crop", schema);
}

static sluice_status random_crop_geometry(const void *opaque, const sli_draws *draws,
                                          uint32_t width, uint32_t height, stage_window *out)
{
    const random_crop_args *args = opaque;
    const uint32_t padding = (uint32_t)args->padding;
    sluice_status st = check_fits(args, width, height);
    uint32_t bits[4];

    if (st != SLUICE_OK) {
        return st;
    }
    sli_draw(draws, 0, bits);
    out->crops = true;
    out->width = crop_width(&args->size);
    out->height = args->size.height;
    out->x = (int64_t)sli_below(bits[0], width + 2 * padding - out->width + 1) - padding;
    out->y = (int64_t)sli_below(bits[1], height + 2 * padding - out->height + 1) - padding;
    return SLUICE_OK;
}

/* Zeros. */
static bool random_crop_padding(const void *args, stage_padding *padding_out)
{
    (void)padding_out;
    return ((const random_crop_args *)args)->padding > 0;
}

static const stage_param random_crop_params[] = {
    PARAM_(random_crop_args, size, PARAM_SIZE, NULL, 1, 65535, NULL,
           "HEIGHT,WIDTH; one number is a square"),
    PARAM_(random_crop_args, padding, PARAM_COUNT, "0", 0, 65535, NULL,
           "pixels of zeros on each side"),
};

const stage_def stage_random_crop = {
    .name = "random_crop",
    .summary = "Crops at a random position of the image, padded with zeros on each side.",
    .gives = "image u8 (height, width, C)",
    .details = "The position is uniform over all at which the crop lies within the padded image. "
               "An image that is smaller than the crop with its padding is an error.",
    .kind = STAGE_GEOMETRY,
    .draws = true,
    STAGE_PARAMS(random_crop_params),
    .args_size = sizeof(random_crop_args),
    .infer = random_crop_infer,
    .geometry = random_crop_geometry,
    .padding = random_crop_padding,
    .squares = true,
};
