/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The scale_jitter stage: torchvision's ScaleJitter, the large scale jittering of Ghiasi et al.,
 * "Simple copy-paste is a strong data augmentation method for instance segmentation" (2021).
 */
#include "crop.h"
#include "resize_sides.h"

#define LEAST_SCALE 0.001
#define MOST_SCALE  1000.0

typedef struct scale_jitter_args {
    param_size size;
    param_reals scale; /* LOW,HIGH */
    resize_filter filter;
} scale_jitter_args;

static sluice_status scale_jitter_check(void *opaque)
{
    const scale_jitter_args *args = opaque;
    const sluice_status st =
        stage_check_range("scale_jitter", "scale", &args->scale, LEAST_SCALE, MOST_SCALE);

    return st == SLUICE_OK ? resize_filter_check("scale_jitter", &args->filter) : st;
}

static sluice_status scale_jitter_geometry(const void *opaque, const sli_draws *draws,
                                           uint32_t width, uint32_t height, stage_window *out)
{
    const scale_jitter_args *args = opaque;
    const double *ends = args->scale.values;
    const double by_height = (double)args->size.height / height;
    const double by_width = (double)crop_width(&args->size) / width;
    uint32_t bits[4];
    double scale;

    sli_draw(draws, 0, bits);
    scale = ends[0] + sli_unit(bits[0]) * (ends[1] - ends[0]);
    out->filter = args->filter;
    resize_by((by_height < by_width ? by_height : by_width) * scale, width, height, out);
    return SLUICE_OK;
}

static sluice_status scale_jitter_infer(const void *opaque, stage_schema *schema)
{
    const scale_jitter_args *args = opaque;

    return resize_infer_sides("scale_jitter", scale_jitter_geometry, args,
                              args->scale.values[0] != args->scale.values[1], schema);
}

static const stage_param scale_jitter_params[] = {
    PARAM_(scale_jitter_args, size, PARAM_SIZE, NULL, 1, 65535, NULL,
           "HEIGHT,WIDTH in pixels; one number is a square"),
    PARAM_(scale_jitter_args, scale, PARAM_REALS, "0.1,2", 0, 0, NULL,
           "LOW,HIGH of the random factor, from 0.001 to 1000"),
    RESIZE_FILTER_PARAMS(scale_jitter_args, filter),
};

const stage_def stage_scale_jitter = {
    .name = "scale_jitter",
    .summary = "Resizes to fit into HEIGHT,WIDTH, times a random factor.",
    .elsewhere = "ScaleJitter",
    .example = "scale_jitter 96,128 scale=0.3,1.5 | center_crop 96,128",
    .gives = "image u8 (height, width, C), of a random size",
    .details = "References: torchvision.transforms.v2.ScaleJitter, whose target_size is "
               "(width, height); Ghiasi et al., \"Simple copy-paste is a strong data "
               "augmentation method for instance segmentation\" (2021).\n"
               "Both sides are multiplied by s * min(HEIGHT / old height, WIDTH / old width), "
               "and rounded down. The minimum is the factor by which the image just fits into "
               "HEIGHT,WIDTH with its aspect ratio kept. s is drawn for each image, uniform from "
               "LOW to HIGH; above 1 the result no longer fits. `random_crop HEIGHT,WIDTH "
               "pad_if_needed=true` after it gives every image that size. The filters are those "
               "of resize. torchvision multiplies in single precision, so there "
               "one side in 150 is a pixel longer or shorter.\n"
               "An image that would have a side of 0 or of more than 65535 pixels is a bad "
               "sample.",
    .kind = STAGE_GEOMETRY,
    .draws = true,
    STAGE_PARAMS(scale_jitter_params),
    .args_size = sizeof(scale_jitter_args),
    .check = scale_jitter_check,
    .infer = scale_jitter_infer,
    .geometry =
        &(const geometry_ops){
            .draw = scale_jitter_geometry,
            .resizes = true,
            .squares = true,
        },
};
