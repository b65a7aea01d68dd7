/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random_resized_crop stage: crops a part of random area and aspect ratio, and resizes it. From
 * Szegedy et al., "Going deeper with convolutions" (2015), with the random draws of torchvision's
 * RandomResizedCrop: up to ten tries; if all fail, the largest centred part with an allowed aspect
 * ratio.
 */
#include <math.h>

#include "crop.h"
#include "geometry_ops.h"

enum { TRIES = 10 };

typedef struct rrc_args {
    param_size size;
    param_reals scale;
    param_reals ratio;
    resize_filter filter;
} rrc_args;

static sluice_status rrc_check(void *opaque)
{
    const rrc_args *args = opaque;
    const double *scale = args->scale.values;
    const double *ratio = args->ratio.values;

    if (args->scale.count != 2 || !(scale[0] > 0) || scale[1] < scale[0] || scale[1] > 1) {
        return stage_wrong_range("random_resized_crop", "scale", &args->scale,
                                 "0 < LOW <= HIGH <= 1");
    }
    if (args->ratio.count != 2 || !(ratio[0] > 1e-4) || ratio[1] < ratio[0] || ratio[1] > 1e4) {
        return stage_wrong_range("random_resized_crop", "ratio", &args->ratio,
                                 "0.0001 < LOW <= HIGH <= 10000");
    }
    return resize_filter_check("random_resized_crop", &args->filter);
}

static sluice_status rrc_infer(const void *args, stage_schema *schema)
{
    return crop_infer(&((const rrc_args *)args)->size, "random_resized_crop", schema);
}

/* Rounds to a whole number, half to even, independently of the thread's rounding mode. */
static double round_to_whole(double value)
{
    double down = floor(value);
    double rest = value - down;

    if (rest > 0.5 || (rest == 0.5 && fmod(down, 2) != 0)) {
        down += 1;
    }
    return down;
}

/* Makes one try at drawing a part. False: the part is larger than the image. */
static bool draw_part(const rrc_args *args, const sli_draws *draws, uint32_t try, uint32_t width,
                      uint32_t height, stage_window *out)
{
    const double *scale = args->scale.values;
    const double low = sli_log_e(args->ratio.values[0]);
    const double high = sli_log_e(args->ratio.values[1]);
    uint32_t bits[4];
    double area;
    double ratio;
    double w;
    double h;

    sli_draw(draws, try, bits);
    area = (double)width * height * (scale[0] + sli_unit(bits[0]) * (scale[1] - scale[0]));
    ratio = sli_exp(low + sli_unit(bits[1]) * (high - low));
    w = round_to_whole(sqrt(area * ratio));
    h = round_to_whole(sqrt(area / ratio));
    if (w < 1 || h < 1 || w > width || h > height) {
        return false;
    }
    out->width = (uint32_t)w;
    out->height = (uint32_t)h;
    out->x = sli_below(bits[2], width - out->width + 1);
    out->y = sli_below(bits[3], height - out->height + 1);
    return true;
}

/* Computes the largest centred part of the image that has an allowed aspect ratio. */
static void middle_part(const rrc_args *args, uint32_t width, uint32_t height, stage_window *out)
{
    double ratio = (double)width / height;

    out->width = width;
    out->height = height;
    if (ratio < args->ratio.values[0]) {
        out->height = (uint32_t)round_to_whole(width / args->ratio.values[0]);
    } else if (ratio > args->ratio.values[1]) {
        out->width = (uint32_t)round_to_whole(height * args->ratio.values[1]);
    }
    out->width = out->width > 0 ? out->width : 1;
    out->height = out->height > 0 ? out->height : 1;
    out->x = (width - out->width) / 2;
    out->y = (height - out->height) / 2;
}

static sluice_status rrc_geometry(const void *opaque, const sli_draws *draws, uint32_t width,
                                  uint32_t height, stage_window *out)
{
    const rrc_args *args = opaque;
    uint32_t try = 0;

    out->crops = true;
    out->resizes = true;
    out->filter = args->filter;
    out->new_width = crop_width(&args->size);
    out->new_height = args->size.height;
    while (try < TRIES && !draw_part(args, draws, try, width, height, out)) {
        try++;
    }
    if (try == TRIES) {
        middle_part(args, width, height, out);
    }
    return SLUICE_OK;
}

static const stage_param rrc_params[] = {
    PARAM_(rrc_args, size, PARAM_SIZE, NULL, 1, 65535, NULL,
           "HEIGHT,WIDTH; one number is a square"),
    PARAM_(rrc_args, scale, PARAM_REALS, "0.08,1", 0, 0, NULL,
           "LOW,HIGH fraction of the area, above 0, at most 1"),
    PARAM_(rrc_args, ratio, PARAM_REALS, "0.75,1.3333333333333333", 0, 0, NULL,
           "LOW,HIGH width / height, above 0.0001, at most 10000"),
    RESIZE_FILTER_PARAMS(rrc_args, filter),
};

const stage_def stage_random_resized_crop = {
    .name = "random_resized_crop",
    .summary = "Crops a random part of the image and resizes it.",
    .elsewhere = "RandomResizedCrop RandomSizedCrop",
    .example = "random_resized_crop 96,128",
    .gives = "image u8 (height, width, C)",
    .details = "References: Szegedy et al., \"Going deeper with convolutions\" (2015); the draws "
               "are those of torchvision.transforms.v2.RandomResizedCrop.\n"
               "The fraction of the area is uniform in scale. The ratio is uniform in the "
               "logarithm. The filters are those of resize.",
    .kind = STAGE_GEOMETRY,
    .draws = true,
    STAGE_PARAMS(rrc_params),
    .args_size = sizeof(rrc_args),
    .check = rrc_check,
    .infer = rrc_infer,
    .geometry =
        &(const geometry_ops){
            .draw = rrc_geometry,
            .crops = true,
            .resizes = true,
            .squares = true,
        },
};
