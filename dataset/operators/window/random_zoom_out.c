/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random_zoom_out stage: torchvision's RandomZoomOut. Liu et al., "SSD: Single Shot MultiBox
 * Detector" (2016).
 */
#include <math.h>

#include "fill_args.h"

#define LEAST_SIDE 1.0
#define MOST_SIDE  16.0

typedef struct zoom_args {
    fill_args outside;
    param_reals side_range; /* LOW,HIGH */
    double p;
} zoom_args;

static sluice_status zoom_check(void *opaque)
{
    const zoom_args *args = opaque;
    const sluice_status st = stage_check_range("random_zoom_out", "side_range", &args->side_range,
                                               LEAST_SIDE, MOST_SIDE);

    return st == SLUICE_OK ? fill_check("random_zoom_out", &args->outside) : st;
}

static sluice_status zoom_infer(const void *opaque, stage_schema *schema)
{
    const zoom_args *args = opaque;
    sluice_status st = schema_check_pixels(schema, "random_zoom_out");

    if (st == SLUICE_OK) {
        st = fill_infer("random_zoom_out", &args->outside, schema);
    }
    if (st == SLUICE_OK && args->p > 0) {
        schema_unset_size(schema, "random_zoom_out");
    }
    return st;
}

static bool zoom_padding(const void *args, stage_padding *padding_out)
{
    fill_set(&((const zoom_args *)args)->outside, padding_out);
    return true;
}

/* Places `length` at a random position of a side of `length * r`. */
static void draw_side(uint32_t length, double r, uint32_t bits, int64_t *start, uint32_t *side)
{
    *side = (uint32_t)floor(length * r);
    *start = -(int64_t)floor((double)(*side - length) * sli_unit(bits));
}

static sluice_status zoom_geometry(const void *opaque, const sli_draws *draws, uint32_t width,
                                   uint32_t height, stage_window *out)
{
    const zoom_args *args = opaque;
    const double *ends = args->side_range.values;
    uint32_t bits[4];
    double r;

    sli_draw(draws, 0, bits);
    if (!(sli_unit(bits[0]) < args->p)) {
        return SLUICE_OK;
    }
    r = ends[0] + sli_unit(bits[1]) * (ends[1] - ends[0]);
    out->crops = true;
    draw_side(width, r, bits[2], &out->x, &out->width);
    draw_side(height, r, bits[3], &out->y, &out->height);
    return SLUICE_OK;
}

static const stage_param zoom_params[] = {
    FILL_PARAM(zoom_args, outside),
    PARAM_(zoom_args, side_range, PARAM_REALS, "1,4", 0, 0, NULL,
           "LOW,HIGH: new width and height, as multiples of the old ones, from 1 to 16"),
    PARAM_(zoom_args, p, PARAM_REAL, "0.5", 0, 1, NULL, "probability"),
    MASK_FILL_PARAM(zoom_args, outside),
};

const stage_def stage_random_zoom_out = {
    .name = "random_zoom_out",
    .summary = "Places the image at a random position of a larger one, with probability p.",
    .elsewhere = "RandomZoomOut",
    .example = "random_zoom_out p=1 | resize 96,128",
    .gives = "image u8, larger or the same shape",
    .details = "References: torchvision.transforms.v2.RandomZoomOut; Liu et al., \"SSD: Single "
               "Shot MultiBox Detector\" (2016).\n"
               "With r uniform in side_range, the new width and height are r times the old "
               "ones, rounded down. The padding on the left is u times the padding of both "
               "sides, and that above v times, rounded down, with u and v uniform in [0, 1).\n"
               "Masks, boxes, points and further images follow. A box is moved and clipped; "
               "boxes without remaining area are dropped.",
    .kind = STAGE_GEOMETRY,
    .draws = true,
    STAGE_PARAMS(zoom_params),
    .args_size = sizeof(zoom_args),
    .check = zoom_check,
    .infer = zoom_infer,
    .geometry =
        &(const geometry_ops){
            .draw = zoom_geometry,
            .padding = zoom_padding,
        },
};
