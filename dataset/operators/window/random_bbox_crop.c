/* SPDX-License-Identifier: Apache-2.0 */
/* The random_bbox_crop stage: the operator of that name of NVIDIA DALI. */
#include <math.h>

#include "box_crop.h"
#include "geometry_ops.h"
#include "stage.h"
#include "status_int.h"

#define STAGE       "random_bbox_crop"
#define LEAST_SCALE 0.001
#define LEAST_RATIO 0.001
#define MOST_RATIO  1000.0

enum { MOST_TRIALS = 100000 };

enum { TYPE_IOU, TYPE_OVERLAP };

static const char *const types[] = {"iou", "overlap", NULL};

typedef struct bbox_args {
    param_reals scaling;
    param_reals aspect_ratio;
    param_reals thresholds;
    uint64_t num_attempts;
    uint64_t total_num_attempts;
    uint32_t threshold_type;
    bool allow_no_crop;
    bool all_boxes_above_threshold;
} bbox_args;

/* Checks that the stage can find crops: with a single ratio it makes each crop one of that ratio,
 * else it takes those crops whose ratio is in the range. */
static sluice_status check_ratio(const bbox_args *args)
{
    const double *scale = args->scaling.values;
    const double *ratio = args->aspect_ratio.values;
    const double least = scale[0] / scale[1];

    if (scale[0] >= 1 && ratio[0] <= 1 && ratio[1] >= 1) {
        return sli_fail(SLUICE_E_INVALID,
                        STAGE ": scaling=1,1 gives the whole image; LOW must be below 1, as in "
                              "scaling=0.3,1");
    }
    if (ratio[0] < ratio[1] && (ratio[1] < least || ratio[0] > 1 / least)) {
        return sli_fail(SLUICE_E_INVALID,
                        STAGE ": aspect_ratio=%g,%g must include a ratio from %g to %g, as crops "
                              "have with scaling=%g,%g",
                        ratio[0], ratio[1], least, 1 / least, scale[0], scale[1]);
    }
    return SLUICE_OK;
}

static sluice_status bbox_check(void *opaque)
{
    const bbox_args *args = opaque;
    sluice_status st = stage_check_range(STAGE, "scaling", &args->scaling, LEAST_SCALE, 1);

    if (st == SLUICE_OK) {
        st = stage_check_range(STAGE, "aspect_ratio", &args->aspect_ratio, LEAST_RATIO, MOST_RATIO);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (args->num_attempts > args->total_num_attempts) {
        return sli_fail(
            SLUICE_E_INVALID, STAGE ": num_attempts=%llu must be at most total_num_attempts=%llu",
            (unsigned long long)args->num_attempts, (unsigned long long)args->total_num_attempts);
    }
    st = box_crop_check(STAGE, "thresholds", &args->thresholds);
    return st == SLUICE_OK ? check_ratio(args) : st;
}

static sluice_status bbox_infer(const void *args, stage_schema *schema)
{
    (void)args;
    return box_crop_infer(STAGE, schema);
}

/* DALI's Box::contains(): a centre on the left or upper edge is inside. */
static bool has_centre_of(const double crop[4], const double box[4])
{
    const double x = 0.5 * (box[0] + box[2]);
    const double y = 0.5 * (box[1] + box[3]);

    return crop[0] <= x && x < crop[2] && crop[1] <= y && y < crop[3];
}

/* The least overlap of the crop and a box, or the largest. */
static double measure(const void *opaque, const double crop[4], const stage_boxes *boxes)
{
    const bbox_args *args = opaque;
    double found = args->all_boxes_above_threshold ? HUGE_VAL : -1;

    for (uint32_t i = 0; i < boxes->count; i++) {
        const double *box = boxes->corners[i];
        double overlap;

        if (boxes->dropped[i] != 0) {
            continue;
        }
        overlap = box_crop_shared(crop, box) / (args->threshold_type == TYPE_IOU
                                                    ? box_crop_joined(crop, box)
                                                    : (box[2] - box[0]) * (box[3] - box[1]));
        if (args->all_boxes_above_threshold ? overlap < found : overlap > found) {
            found = overlap;
        }
    }
    return found;
}

/* Draws a crop as fractions of the image, and rounds its edges, as DALI's slice does. False: it has
 * no area, or its aspect ratio is not allowed. */
static bool draw_crop(const void *opaque, const uint32_t bits[4], uint32_t width, uint32_t height,
                      double crop[4])
{
    const bbox_args *args = opaque;
    const double *ratio = args->aspect_ratio.values;
    const double least = args->scaling.values[0];
    const double range = args->scaling.values[1] - least;
    double w = least + range * sli_unit(bits[0]);
    double h = least + range * sli_unit(bits[1]);
    double x;
    double y;

    if (ratio[0] == ratio[1]) { /* the larger of both is kept */
        const double larger = w > h ? w : h;

        w = ratio[0] < 1 ? larger * ratio[0] : larger;
        h = ratio[0] < 1 ? larger : larger / ratio[0];
    } else if (!(w / h >= ratio[0] && w / h <= ratio[1])) {
        return false;
    }
    x = (1 - w) * sli_unit(bits[2]);
    y = (1 - h) * sli_unit(bits[3]);
    crop[0] = round(x * width);
    crop[1] = round(y * height);
    crop[2] = round((x + w) * width);
    crop[3] = round((y + h) * height);
    return crop[0] < crop[2] && crop[1] < crop[3];
}

static sluice_status bbox_geometry(const void *opaque, const sli_draws *draws,
                                   const stage_boxes *boxes, uint32_t width, uint32_t height,
                                   stage_window *out)
{
    const bbox_args *args = opaque;
    box_crop_search search = {
        .args = args,
        .draw = draw_crop,
        .keeps = has_centre_of,
        .measure = measure,
        .option_count = args->thresholds.count,
        .trials = (uint32_t)args->num_attempts,
        .most_trials = (uint32_t)args->total_num_attempts,
        .takes_best = true,
    };

    for (uint32_t i = 0; i < search.option_count; i++) {
        search.options[i] = args->thresholds.values[i];
    }
    if (args->allow_no_crop) {
        search.options[search.option_count++] = BOX_CROP_NONE;
    }
    box_crop_find(&search, draws, boxes, width, height, out);
    return SLUICE_OK;
}

static const stage_param bbox_params[] = {
    PARAM_(bbox_args, scaling, PARAM_REALS, NULL, 0, 0, NULL,
           "LOW,HIGH: fractions of width and of height, such as 0.3,1"),
    PARAM_(bbox_args, aspect_ratio, PARAM_REALS, "1,1", 0, 0, NULL,
           "LOW,HIGH: fraction of width / fraction of height; 1 is the shape of the image"),
    {.name = "thresholds",
     .type = PARAM_REALS,
     .offset = PARAM_OFFSET_(bbox_args, thresholds, PARAM_REALS),
     .default_text = "0",
     .most = PARAM_MAX_REALS,
     .help = "minimum overlaps, of which one is drawn; at most 8, 0 to 1"},
    PARAM_(bbox_args, num_attempts, PARAM_COUNT, "1", 1, MOST_TRIALS, NULL,
           "crops that are tried before another threshold is drawn"),
    PARAM_(bbox_args, allow_no_crop, PARAM_BOOL, "true", 0, 0, NULL,
           "leaving the image as it is counts as one more threshold"),
    PARAM_(bbox_args, threshold_type, PARAM_CHOICE, "iou", 0, 0, types,
           "iou of box and crop, or overlap: the part of the box that is in the crop"),
    PARAM_(bbox_args, all_boxes_above_threshold, PARAM_BOOL, "true", 0, 0, NULL,
           "all boxes must have the minimum overlap; false: one of them"),
    PARAM_(bbox_args, total_num_attempts, PARAM_COUNT, "1000", 1, MOST_TRIALS, NULL,
           "crops that are tried in all; then the best of them is taken"),
};

const stage_def stage_random_bbox_crop = {
    .name = STAGE,
    .summary = "Crops a random part of the image that overlaps all boxes, and drops boxes whose "
               "centre is outside.",
    .elsewhere = "RandomBBoxCrop ssd_random_crop SSDRandomCrop",
    .example = "random_bbox_crop 0.3,0.8 0.5,2 0.1,0.3 5 false | resize 48,64",
    .gives = "image u8, of random size",
    .details =
        "Reference: random_bbox_crop of NVIDIA DALI, with the arguments of DALI's SSD: "
        "`random_bbox_crop scaling=0.3,1 aspect_ratio=0.5,2 thresholds=0,0.1,0.3,0.5,0.7,0.9`.\n"
        "A threshold is drawn, or that the image stays as it is. Then up to `num_attempts` crops "
        "are drawn: width and "
        "height are the image's times numbers uniform in the range `scaling`, and the position is "
        "uniform; the edges are rounded to whole pixels. A crop is taken if the quotient of these "
        "two numbers is in the range `aspect_ratio`, if the centre of at least one box is inside, "
        "and if all boxes of the sample (all_boxes_above_threshold=false: one of them) overlap "
        "it by at least the threshold. With aspect_ratio=R,R the larger of the two numbers is "
        "kept, and the other one is set by R.\n"
        "threshold_type=iou is the intersection over union of box and crop; overlap is the "
        "fraction of the box's area that is inside the crop.\n"
        "If no crop is taken, a threshold is drawn again, until `total_num_attempts` crops were "
        "drawn. Then, of the crops with a box, the one with the largest overlap is taken. Without "
        "such a crop, or without boxes, the image does not change. In DALI "
        "total_num_attempts is without limit, and a search may not end.\n"
        "Boxes whose centre is not inside the crop are dropped, with the elements of the columns "
        "that belong to them; the others are clipped. There must be exactly one column of boxes.\n"
        "random_iou_crop is the crop of torchvision for the same purpose: there one box must have "
        "the minimum, and aspect ratios are those of pixels.",
    .kind = STAGE_GEOMETRY,
    .draws = true,
    STAGE_PARAMS(bbox_params),
    .args_size = sizeof(bbox_args),
    .check = bbox_check,
    .infer = bbox_infer,
    .geometry =
        &(const geometry_ops){
            .draw_of_boxes = bbox_geometry,
            .crops = true,
        },
};
