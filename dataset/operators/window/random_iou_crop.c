/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random_iou_crop stage: torchvision's RandomIoUCrop. Liu et al., "SSD: Single Shot MultiBox
 * Detector" (2016).
 */
#include <math.h>

#include "box_crop.h"
#include "geometry_ops.h"
#include "stage.h"
#include "status_int.h"

#define LEAST_SCALE 0.001
#define LEAST_RATIO 0.001
#define MOST_RATIO  1000.0

enum {
    MOST_TRIALS = 1000,
    MOST_ROUNDS = 100 /* options that are drawn; torchvision has no limit */
};

typedef struct iou_args {
    double min_scale;
    double max_scale;
    double min_aspect_ratio;
    double max_aspect_ratio;
    param_reals sampler_options;
    uint64_t trials;
} iou_args;

static sluice_status iou_check(void *opaque)
{
    const iou_args *args = opaque;

    if (!(args->min_scale <= args->max_scale)) {
        return sli_fail(SLUICE_E_INVALID,
                        "random_iou_crop: min_scale=%g must be at most max_scale=%g",
                        args->min_scale, args->max_scale);
    }
    if (!(args->min_aspect_ratio <= args->max_aspect_ratio)) {
        return sli_fail(SLUICE_E_INVALID,
                        "random_iou_crop: min_aspect_ratio=%g must be at most max_aspect_ratio=%g",
                        args->min_aspect_ratio, args->max_aspect_ratio);
    }
    return box_crop_check("random_iou_crop", "sampler_options", &args->sampler_options);
}

static sluice_status iou_infer(const void *args, stage_schema *schema)
{
    (void)args;
    return box_crop_infer("random_iou_crop", schema);
}

/* torchvision's rule: a centre on an edge is outside. */
static bool has_centre_of(const double crop[4], const double box[4])
{
    const double x = 0.5 * (box[0] + box[2]);
    const double y = 0.5 * (box[1] + box[3]);

    return crop[0] < x && x < crop[2] && crop[1] < y && y < crop[3];
}

/* The largest intersection over union of the crop and a box whose centre is in it. */
static double largest_overlap(const void *args, const double crop[4], const stage_boxes *boxes)
{
    double largest = -1;

    (void)args;
    for (uint32_t i = 0; i < boxes->count; i++) {
        const double *box = boxes->corners[i];

        if (boxes->dropped[i] == 0 && has_centre_of(crop, box)) {
            const double overlap = box_crop_shared(crop, box) / box_crop_joined(crop, box);

            largest = overlap > largest ? overlap : largest;
        }
    }
    return largest;
}

/* Draws a crop. False: it has no area, or its aspect ratio is not allowed. */
static bool draw_crop(const void *opaque, const uint32_t bits[4], uint32_t width, uint32_t height,
                      double crop[4])
{
    const iou_args *args = opaque;
    const double range = args->max_scale - args->min_scale;
    const double w = floor(width * (args->min_scale + range * sli_unit(bits[0])));
    const double h = floor(height * (args->min_scale + range * sli_unit(bits[1])));

    if (w < 1 || h < 1 || !(w / h >= args->min_aspect_ratio && w / h <= args->max_aspect_ratio)) {
        return false;
    }
    crop[0] = floor((width - w) * sli_unit(bits[2]));
    crop[1] = floor((height - h) * sli_unit(bits[3]));
    crop[2] = crop[0] + w;
    crop[3] = crop[1] + h;
    return true;
}

static sluice_status iou_geometry(const void *opaque, const sli_draws *draws,
                                  const stage_boxes *boxes, uint32_t width, uint32_t height,
                                  stage_window *out)
{
    const iou_args *args = opaque;
    box_crop_search search = {
        .args = args,
        .draw = draw_crop,
        .keeps = has_centre_of,
        .measure = largest_overlap,
        .option_count = args->sampler_options.count,
        .trials = (uint32_t)args->trials,
        .most_trials = MOST_ROUNDS * (uint32_t)args->trials,
    };

    for (uint32_t i = 0; i < search.option_count; i++) {
        const double option = args->sampler_options.values[i];

        search.options[i] = option >= 1 ? BOX_CROP_NONE : option;
    }
    box_crop_find(&search, draws, boxes, width, height, out);
    return SLUICE_OK;
}

static const stage_param iou_params[] = {
    PARAM_(iou_args, min_scale, PARAM_REAL, "0.3", LEAST_SCALE, 1, NULL,
           "minimum fraction of width and height"),
    PARAM_(iou_args, max_scale, PARAM_REAL, "1", LEAST_SCALE, 1, NULL,
           "maximum fraction of width and height"),
    PARAM_(iou_args, min_aspect_ratio, PARAM_REAL, "0.5", LEAST_RATIO, MOST_RATIO, NULL,
           "minimum width / height"),
    PARAM_(iou_args, max_aspect_ratio, PARAM_REAL, "2", LEAST_RATIO, MOST_RATIO, NULL,
           "maximum width / height"),
    {.name = "sampler_options",
     .type = PARAM_REALS,
     .offset = PARAM_OFFSET_(iou_args, sampler_options, PARAM_REALS),
     .default_text = "0,0.1,0.3,0.5,0.7,0.9,1",
     .most = PARAM_MAX_REALS,
     .help = "minimum values of the IoU with a box, of which one is drawn; at most 8, 0 to 1; 1: "
             "no crop"},
    PARAM_(iou_args, trials, PARAM_COUNT, "40", 1, MOST_TRIALS, NULL,
           "crops that are tried before another option is drawn"),
};

const stage_def stage_random_iou_crop = {
    .name = "random_iou_crop",
    .summary = "Crops a random part of the image that overlaps a box, and drops boxes whose centre "
               "is outside.",
    .elsewhere = "RandomIoUCrop",
    .example = "random_iou_crop | resize 96,128",
    .gives = "image u8, of random size",
    .details = "References: torchvision.transforms.v2.RandomIoUCrop; Liu et al., \"SSD: Single "
               "Shot MultiBox Detector\" (2016).\n"
               "Boxes whose centre is not inside the crop are dropped, with the elements of "
               "the columns that belong to them; the others are clipped. There must be "
               "exactly one column of boxes. After a warp, a box is the bounding box of its "
               "warped corners, clipped to the image.\n"
               "A minimum IoU is drawn from the options. If it is 1, the image does not change. "
               "Else up to "
               "`trials` crops are drawn: width and height are the image's times numbers "
               "uniform in the range of scales, rounded down, and the position is uniform. A "
               "crop is taken if its aspect ratio (width / height) is in the range, and if of "
               "the boxes whose centre is inside it the largest intersection over union with "
               "the crop is at least this minimum. If no crop is taken, another one is "
               "drawn, up to 100 times; then the image does not change, nor does an image "
               "without boxes.\n"
               "torchvision has no limit. It drops boxes in SanitizeBoundingBoxes, which must "
               "follow there, and with its defaults also boxes of less than a pixel.",
    .kind = STAGE_GEOMETRY,
    .draws = true,
    STAGE_PARAMS(iou_params),
    .args_size = sizeof(iou_args),
    .check = iou_check,
    .infer = iou_infer,
    .geometry =
        &(const geometry_ops){
            .draw_of_boxes = iou_geometry,
            .crops = true,
        },
};
