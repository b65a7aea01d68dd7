/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random_iou_crop stage: torchvision's RandomIoUCrop. Liu et al., "SSD: Single Shot MultiBox
 * Detector" (2016).
 */
#include <math.h>

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
    const param_reals *options = &args->sampler_options;

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
    for (uint32_t i = 0; i < options->count; i++) {
        if (!(options->values[i] >= 0 && options->values[i] <= 1)) {
            return sli_fail(SLUICE_E_INVALID,
                            "random_iou_crop: sampler_options=%g must be from 0 to 1",
                            options->values[i]);
        }
    }
    return options->count > 0 && options->name[0] == '\0'
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "random_iou_crop: sampler_options must be 1 to %d numbers from 0 to 1",
                          PARAM_MAX_REALS);
}

static sluice_status iou_infer(const void *args, stage_schema *schema)
{
    const int boxes = schema_find_boxes(schema);
    sluice_status st = schema_check_pixels(schema, "random_iou_crop");

    (void)args;
    if (st == SLUICE_OK && boxes < 0) {
        st = sli_fail(SLUICE_E_INVALID, "random_iou_crop: %s",
                      boxes == -1 ? "there is no column of boxes, as coco and image_list have"
                                  : "there are several columns of boxes; drop all but one");
    }
    if (st == SLUICE_OK) {
        schema_unset_size(schema, "random_iou_crop");
    }
    return st;
}

static double least(double a, double b)
{
    return a < b ? a : b;
}

static double most(double a, double b)
{
    return a > b ? a : b;
}

static bool has_centre_of(const double crop[4], const double box[4])
{
    const double x = 0.5 * (box[0] + box[2]);
    const double y = 0.5 * (box[1] + box[3]);

    return crop[0] < x && x < crop[2] && crop[1] < y && y < crop[3];
}

/* Intersection over union. */
static double overlap(const double a[4], const double b[4])
{
    const double width = most(least(a[2], b[2]) - most(a[0], b[0]), 0);
    const double height = most(least(a[3], b[3]) - most(a[1], b[1]), 0);
    const double shared = width * height;

    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared);
}

/* The largest overlap of the crop with a box whose centre is in it; below 0: there is no such box.
 */
static double largest_overlap(const double crop[4], const stage_boxes *boxes)
{
    double largest = -1;

    for (uint32_t i = 0; i < boxes->count; i++) {
        if (boxes->dropped[i] == 0 && has_centre_of(crop, boxes->corners[i])) {
            largest = most(largest, overlap(crop, boxes->corners[i]));
        }
    }
    return largest;
}

/* Draws a crop. False: it has no area, or its aspect ratio is not allowed. */
static bool draw_crop(const iou_args *args, const uint32_t bits[4], uint32_t width, uint32_t height,
                      double crop[4])
{
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

/* Draws crops until one has the overlap. False: none of the trials has. */
static bool find_crop(const iou_args *args, const sli_draws *draws, uint32_t block, double option,
                      const stage_boxes *boxes, uint32_t width, uint32_t height, double crop[4])
{
    for (uint32_t i = 0; i < args->trials; i++) {
        uint32_t bits[4];

        sli_draw(draws, block + i, bits);
        if (draw_crop(args, bits, width, height, crop)) {
            const double largest = largest_overlap(crop, boxes);

            if (largest >= 0 && largest >= option) {
                return true;
            }
        }
    }
    return false;
}

static uint32_t count_boxes(const stage_boxes *boxes)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < boxes->count; i++) {
        count += boxes->dropped[i] == 0;
    }
    return count;
}

static sluice_status iou_geometry(const void *opaque, const sli_draws *draws,
                                  const stage_boxes *boxes, uint32_t width, uint32_t height,
                                  stage_window *out)
{
    const iou_args *args = opaque;
    const uint32_t rounds = count_boxes(boxes) > 0 ? MOST_ROUNDS : 0;

    for (uint32_t round = 0; round < rounds; round++) {
        const uint32_t block = round * (1 + (uint32_t)args->trials);
        double crop[4];
        double option;
        uint32_t bits[4];

        sli_draw(draws, block, bits);
        option = args->sampler_options.values[sli_below(bits[0], args->sampler_options.count)];
        if (option >= 1) {
            return SLUICE_OK;
        }
        if (find_crop(args, draws, block + 1, option, boxes, width, height, crop)) {
            for (uint32_t i = 0; i < boxes->count; i++) {
                boxes->dropped[i] |= !has_centre_of(crop, boxes->corners[i]);
            }
            out->crops = true;
            out->x = (int64_t)crop[0];
            out->y = (int64_t)crop[1];
            out->width = (uint32_t)(crop[2] - crop[0]);
            out->height = (uint32_t)(crop[3] - crop[1]);
            return SLUICE_OK;
        }
    }
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
     .offset = offsetof(iou_args, sampler_options),
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
