/* SPDX-License-Identifier: Apache-2.0 */
/* The center_crop stage: crops the middle of an image; smaller images are padded with zeros. */
#include "crop.h"

typedef struct center_crop_args {
    param_size size;
} center_crop_args;

sluice_status crop_infer(const param_size *size, const char *stage, stage_schema *schema)
{
    sluice_status st = schema_check_pixels(schema, stage);

    if (st == SLUICE_OK) {
        schema->columns[schema->image].shape[SCHEMA_H] = size->height;
        schema->columns[schema->image].shape[SCHEMA_W] = crop_width(size);
    }
    return st;
}

static sluice_status center_crop_infer(const void *args, stage_schema *schema)
{
    return crop_infer(&((const center_crop_args *)args)->size, "center_crop", schema);
}

int64_t centred_start(uint32_t have, uint32_t want)
{
    int64_t difference = (int64_t)have - want;
    int64_t half = difference / 2;

    return difference > 0 && difference % 2 != 0 && half % 2 != 0 ? half + 1 : half;
}

static sluice_status center_crop_geometry(const void *opaque, const sli_draws *draws,
                                          uint32_t width, uint32_t height, stage_window *out)
{
    const center_crop_args *args = opaque;

    (void)draws;
    out->crops = true;
    out->width = crop_width(&args->size);
    out->height = args->size.height;
    out->x = centred_start(width, out->width);
    out->y = centred_start(height, out->height);
    return SLUICE_OK;
}

bool crop_padding(const void *args, stage_padding *padding_out)
{
    (void)args;
    (void)padding_out;
    return true;
}

static const stage_param center_crop_params[] = {
    PARAM_(center_crop_args, size, PARAM_SIZE, NULL, 1, 65535, NULL,
           "HEIGHT,WIDTH; one number is a square"),
};

const stage_def stage_center_crop = {
    .name = "center_crop",
    .summary = "Crops the centre; pixels outside of a smaller image are zero.",
    .elsewhere = "CenterCrop",
    .example = "center_crop 64,80",
    .gives = "image u8 (height, width, C)",
    .details = "Positions outside of a smaller image are zero.",
    .kind = STAGE_GEOMETRY,
    STAGE_PARAMS(center_crop_params),
    .args_size = sizeof(center_crop_args),
    .infer = center_crop_infer,
    .geometry =
        &(const geometry_ops){
            .draw = center_crop_geometry,
            .crops = true,
            .padding = crop_padding,
            .squares = true,
        },
};
