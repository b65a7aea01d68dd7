/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sanitize_boxes stage: drops boxes that are too small, or of which too little is left, after
 * all geometry. The limits are part of the schema: what moves the boxes of a sample applies them.
 */
#include "stage.h"
#include "status_int.h"

typedef struct sanitize_args {
    double min_size;
    double min_area;
    double min_visibility;
} sanitize_args;

static double larger(double a, double b)
{
    return a > b ? a : b;
}

static sluice_status sanitize_check(void *opaque)
{
    const sanitize_args *args = opaque;

    return args->min_size > 0 || args->min_area > 0 || args->min_visibility > 0
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "sanitize_boxes: all limits are 0, which drops nothing; leave it out, or "
                          "set min_size, min_area or min_visibility");
}

/* Checks that there are boxes, which geometry still moves. */
static sluice_status check_boxes(const stage_schema *schema)
{
    if (schema_has(schema, STATE_MAPS_FOLLOWERS)) {
        return sli_fail(SLUICE_E_INVALID,
                        "sanitize_boxes comes after %s, a map or filter of masks, boxes, points or "
                        "images; put sanitize_boxes before it",
                        schema->by[STATE_MAPS_FOLLOWERS]);
    }
    if (schema_find_boxes(schema) != -1) {
        return SLUICE_OK;
    }
    return schema_has(schema, STATE_BOXES_FINAL)
               ? sli_fail(SLUICE_E_INVALID,
                          "sanitize_boxes: there is no column of boxes any more; put "
                          "sanitize_boxes before box_format, box_encoder, drop and project")
               : sli_fail(
                     SLUICE_E_INVALID,
                     "sanitize_boxes: there is no column of boxes, as coco and image_list have");
}

static sluice_status sanitize_infer(const void *opaque, stage_schema *schema)
{
    const sanitize_args *args = opaque;
    box_limits *limits = &schema->box_limits;
    sluice_status st = schema_check_pixels(schema, "sanitize_boxes");

    if (st == SLUICE_OK) {
        st = check_boxes(schema);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    limits->min_size = larger(limits->min_size, args->min_size);
    limits->min_area = larger(limits->min_area, args->min_area);
    limits->min_visibility = larger(limits->min_visibility, args->min_visibility);
    return SLUICE_OK;
}

static const stage_param sanitize_params[] = {
    PARAM_(sanitize_args, min_size, PARAM_REAL, "1", 0, 1048576, NULL,
           "minimum width and height of a box, in pixels of the final image"),
    PARAM_(sanitize_args, min_area, PARAM_REAL, "1", 0, 1e12, NULL,
           "minimum area of a box, in pixels of the final image"),
    PARAM_(sanitize_args, min_visibility, PARAM_REAL, "0", 0, 1, NULL,
           "minimum part of the area of a box that crops and warps leave"),
};

const stage_def stage_sanitize_boxes = {
    .name = "sanitize_boxes",
    .summary = "Drops boxes that are small, or mostly cut off, after all geometry.",
    .gives = "the same columns",
    .details =
        "A box is dropped if its width or height is below min_size, its area below min_area, "
        "or (its area) / (the area that it would have if nothing had clipped it) below "
        "min_visibility. These are sizes of the box after all crops, resizes and warps, clipped "
        "to the final image; a limit of 0 drops nothing. The rows of columns that belong to the "
        "box, such as classes, are dropped with it, and the others keep their order. A "
        "sample without a box left stays, with NAME_length 0; skip_empty leaves it out.\n"
        "min_size and min_area are those of torchvision.transforms.v2.SanitizeBoundingBoxes, "
        "min_area and min_visibility those of albumentations.BboxParams. Boxes are clipped "
        "and boxes without an area dropped also without this stage. The area before clipping "
        "is that of the box in the image of the source, clipped to that image, or after "
        "mosaic on its canvas, moved through the crops, resizes and warps.\n"
        "The limits hold for all columns of boxes; of several such stages the largest limits "
        "hold. Only flips, colours, conversions, maps and batch come after it; crops, "
        "resizes and warps come before it.",
    .elsewhere = "SanitizeBoundingBoxes",
    .kind = STAGE_COLUMNS,
    .ends_boxes = true,
    STAGE_PARAMS(sanitize_params),
    .args_size = sizeof(sanitize_args),
    .check = sanitize_check,
    .infer = sanitize_infer,
};
