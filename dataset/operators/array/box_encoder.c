/* SPDX-License-Identifier: Apache-2.0 */
/* The box_encoder stage: the operator of that name of NVIDIA DALI, the targets of SSD. */
#include <math.h>
#include <string.h>

#include "anchor_list.h"
#include "array_ops.h"
#include "array_values.h"
#include "box_columns.h"
#include "stage.h"
#include "status_int.h"

#define STAGE "box_encoder"

enum { BOXES, CLASSES, COLUMNS };

/* The label of an anchor without a box. */
enum { BACKGROUND = 0 };

typedef struct encoder_args {
    const char *anchors;
    double criteria;
    bool offset;
    param_reals means;
    param_reals stds;
    double scale;
    int64_t first_label;
    const char *boxes;
    const char *classes;
    anchor_list *list; /* encoder_make() */
} encoder_args;

static void encoder_retain(void *args)
{
    anchor_list_retain(((encoder_args *)args)->list);
}

static void encoder_release(void *args)
{
    anchor_list_release(((encoder_args *)args)->list);
    ((encoder_args *)args)->list = NULL;
}

static sluice_status encoder_make(const stage_def *def, void *opaque)
{
    encoder_args *args = opaque;

    return anchor_list_open(def->name, args->anchors, &args->list);
}

static uint64_t encoder_identity(const void *args)
{
    return ((const encoder_args *)args)->list->hash;
}

static sluice_status check_four(const char *name, const param_reals *values)
{
    return values->count == 4 && values->name[0] == '\0'
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          STAGE ": %s must be four numbers, of centre x and y, width and height",
                          name);
}

static sluice_status encoder_check(void *opaque)
{
    const encoder_args *args = opaque;
    sluice_status st = check_four("means", &args->means);

    if (st == SLUICE_OK) {
        st = check_four("stds", &args->stds);
    }
    for (uint32_t i = 0; st == SLUICE_OK && i < 4; i++) {
        if (!((float)args->stds.values[i] > 0)) {
            st =
                sli_fail(SLUICE_E_INVALID, STAGE ": stds=%g must be above 0", args->stds.values[i]);
        }
    }
    return st;
}

static uint32_t encoder_columns(const void *opaque, const char **names)
{
    const encoder_args *args = opaque;

    names[BOXES] = args->boxes;
    names[CLASSES] = args->classes;
    return COLUMNS;
}

static sluice_status check_image(const stage_schema *schema)
{
    return schema->image < 0 || schema->columns[schema->image].dtype == SLUICE_ENCODED
               ? fail_missing_image(schema, STAGE)
               : SLUICE_OK;
}

static sluice_status encoder_infer(const void *opaque, stage_schema *schema)
{
    const encoder_args *args = opaque;
    uint32_t found[COLUMNS] = {0};
    sluice_status st = check_image(schema);

    if (st == SLUICE_OK) {
        st = box_columns_boxes(schema, STAGE, args->boxes, &found[BOXES]);
    }
    if (st == SLUICE_OK) {
        st = box_columns_classes(schema, STAGE, args->classes, found[BOXES]);
    }
    if (st == SLUICE_OK && schema->buffer_count + COLUMNS + SCHEMA_MAX_MAPS > SCHEMA_MAX_BUFFERS) {
        st = sli_fail(SLUICE_E_INVALID, STAGE ": too many stages that compute columns");
    }
    if (st != SLUICE_OK) {
        return st;
    }
    found[CLASSES] = (uint32_t)schema_find(schema, args->classes);
    for (uint32_t i = 0; i < COLUMNS; i++) {
        sluice_column *column = &schema->columns[found[i]];

        schema->infos[found[i]] = (column_info){.buffer = schema->buffer_count++};
        column->dtype = i == BOXES ? SLUICE_F32 : SLUICE_I32;
        column->rank = i == BOXES ? 2 : 1;
        column->shape[0] = args->list->count;
    }
    return SLUICE_OK;
}

/* ---- encoding -------------------------------------------------------------------------------- */

/* A sample, in f32 as DALI computes. */
typedef struct encoding {
    const encoder_args *args;
    const float *boxes;  /* (n, 4) pixels */
    const void *classes; /* (n) of type class_type */
    const sluice_column *class_type;
    float size[2];   /* of the image */
    float (*out)[4]; /* (anchors, 4); while boxes are matched, out[i][0] is the IoU of the
                        best box */
    int32_t *labels; /* (anchors); while boxes are matched, the number of the best box */
} encoding;

static void box_at(const encoding *e, uint32_t i, float box[4])
{
    for (int k = 0; k < 4; k++) {
        box[k] = e->boxes[(size_t)4 * i + k] / e->size[k % 2];
    }
}

/* The label of a box. */
static int64_t label_of(const encoding *e, uint32_t i)
{
    return array_integer(e->class_type->dtype, e->classes, i) + e->args->first_label;
}

static float area_of(const float box[4])
{
    return (box[2] - box[0]) * (box[3] - box[1]);
}

static float iou_of(const float a[4], const float b[4])
{
    const float x0 = a[0] > b[0] ? a[0] : b[0];
    const float y0 = a[1] > b[1] ? a[1] : b[1];
    const float x1 = a[2] < b[2] ? a[2] : b[2];
    const float y1 = a[3] < b[3] ? a[3] : b[3];
    float shared;

    if (x1 <= x0 || y1 <= y0) {
        return 0;
    }
    shared = (x1 - x0) * (y1 - y0);
    return shared / (area_of(a) + area_of(b) - shared);
}

/* The best anchor of each box has this IoU with it, so that it is a match whatever other boxes are.
 */
static const float FORCED = 2;

/* Finds the best box of each anchor. Of equal ones, the last is the best. */
static void match_boxes(const encoding *e, uint32_t count)
{
    const anchor_list *list = e->args->list;

    for (uint32_t i = 0; i < list->count; i++) {
        e->out[i][0] = -1;
        e->labels[i] = 0;
    }
    for (uint32_t b = 0; b < count; b++) {
        float box[4];
        float most = -1;
        uint32_t best = 0;

        box_at(e, b, box);
        for (uint32_t i = 0; i < list->count; i++) {
            const float iou = iou_of(box, list->corners[i]);

            if (iou >= most) {
                most = iou;
                best = i;
            }
            if (iou >= e->out[i][0]) {
                e->out[i][0] = iou;
                e->labels[i] = (int32_t)b;
            }
        }
        e->out[best][0] = FORCED;
        e->labels[best] = (int32_t)b;
    }
}

/* Converts corners to centre and size. */
static void to_centre(const float corners[4], float centre[4])
{
    for (int axis = 0; axis < 2; axis++) {
        centre[axis] = 0.5F * (corners[axis] + corners[2 + axis]);
        centre[2 + axis] = corners[2 + axis] - corners[axis];
    }
}

/* The box relative to the anchor: equation 2 of the paper, normalized. */
static void to_offset(const encoder_args *args, const float box[4], const float anchor[4],
                      float out[4])
{
    const float scale = (float)args->scale;

    for (int k = 0; k < 4; k++) {
        const float size = anchor[k < 2 ? 2 + k : k] * scale;
        const float value = k < 2 ? (box[k] * scale - anchor[k] * scale) / size
                                  : (float)log((double)(box[k] * scale / size));

        out[k] = (value - (float)args->means.values[k]) / (float)args->stds.values[k];
    }
}

/* Replaces the best box of each anchor by what is put out. */
static void put_boxes(const encoding *e)
{
    const anchor_list *list = e->args->list;

    for (uint32_t i = 0; i < list->count; i++) {
        const bool is_match = e->out[i][0] > (float)e->args->criteria;
        float anchor[4];
        float box[4];

        to_centre(list->corners[i], anchor);
        if (is_match) {
            float corners[4];

            box_at(e, (uint32_t)e->labels[i], corners);
            to_centre(corners, box);
        }
        if (e->args->offset && is_match) {
            to_offset(e->args, box, anchor, e->out[i]);
        } else if (e->args->offset) {
            memset(e->out[i], 0, sizeof(e->out[i]));
        } else {
            memcpy(e->out[i], is_match ? box : anchor, sizeof(box));
        }
        e->labels[i] = is_match ? (int32_t)label_of(e, (uint32_t)e->labels[i]) : BACKGROUND;
    }
}

/* Checks the classes before first_label is added, since the sum may overflow. */
static sluice_status check_labels(const encoding *e, uint32_t count)
{
    const sluice_dtype dtype = e->class_type->dtype;
    const int64_t lowest = BACKGROUND + 1 - e->args->first_label;
    const int64_t highest = INT32_MAX - e->args->first_label;

    for (uint32_t i = 0; i < count; i++) {
        const int64_t number = array_integer(dtype, e->classes, i);

        if (number < lowest || number > highest) {
            char text[32];

            array_print(dtype, e->classes, i, text, sizeof(text));
            return sli_fail(SLUICE_E_CORRUPT,
                            "%s: class %s of box %u must be from %lld to %lld, as with "
                            "first_label=%lld labels are from 1 to 2147483647, and 0 is the "
                            "background",
                            e->class_type->name, text, i + 1, (long long)lowest, (long long)highest,
                            (long long)e->args->first_label);
        }
    }
    return SLUICE_OK;
}

static sluice_status encoder_compute(const void *opaque, const array_sample *sample)
{
    const encoder_args *args = opaque;
    const encoding e = {
        .args = args,
        .boxes = sample->inputs[BOXES],
        .classes = sample->inputs[CLASSES],
        .class_type = &sample->types[CLASSES],
        .size = {(float)sample->width, (float)sample->height},
        .out = sample->outputs[BOXES],
        .labels = sample->outputs[CLASSES],
    };
    const sluice_status st = check_labels(&e, (uint32_t)sample->rows);

    if (st == SLUICE_OK) {
        match_boxes(&e, (uint32_t)sample->rows);
        put_boxes(&e);
    }
    return st;
}

static const stage_param encoder_params[] = {
    PARAM_(encoder_args, anchors, PARAM_TEXT, NULL, 0, 0, NULL,
           "ssd300, or a .npy file of (anchors, 4), x0 y0 x1 y1 in fractions of the image"),
    PARAM_(encoder_args, criteria, PARAM_REAL, "0.5", 0, 1, NULL,
           "an anchor gets a box whose IoU with it is above this"),
    PARAM_(encoder_args, offset, PARAM_BOOL, "false", 0, 0, NULL,
           "boxes relative to their anchors"),
    PARAM_(encoder_args, scale, PARAM_REAL, "1", 1e-6, 1e6, NULL,
           "factor of boxes and anchors before offsets are computed"),
    PARAM_(encoder_args, means, PARAM_REALS, "0,0,0,0", 0, 0, NULL,
           "subtracted from the offsets of x, y, width and height"),
    PARAM_(encoder_args, stds, PARAM_REALS, "1,1,1,1", 0, 0, NULL,
           "divisors of the offsets, after that; 0.1,0.1,0.2,0.2 are those of SSD"),
    PARAM_(encoder_args, first_label, PARAM_INT, "1", -1048576, 1048576, NULL,
           "label of class 0; label 0 is the background"),
    PARAM_(encoder_args, boxes, PARAM_TEXT, "boxes", 0, 0, NULL, "the column of boxes"),
    PARAM_(encoder_args, classes, PARAM_TEXT, "classes", 0, 0, NULL, "the column of their classes"),
};

const stage_def stage_box_encoder = {
    .name = STAGE,
    .summary = "Assigns boxes and classes to the anchors of a detector of the SSD family.",
    .elsewhere = "BoxEncoder",
    .gives = "boxes as f32 (anchors, 4), classes as i32 (anchors)",
    .details =
        "Reference: box_encoder of NVIDIA DALI; Liu et al., \"SSD: Single Shot MultiBox Detector\" "
        "(2016).\n"
        "Boxes are divided by width and height of the image, so a stage that sets its size comes "
        "before. An anchor gets the box with the largest IoU with it, if that is above `criteria`. "
        "Each box gets the anchor with the largest IoU, however small; of several boxes with the "
        "same best anchor the last one has it. Of equal overlaps, the last box or anchor counts.\n"
        "The values of an anchor with a box are:\n"
        "  offset=false  x y w h: centre and size, fractions of width and height\n"
        "  offset=true   (kx - kX) / kW, (ky - kY) / kH, log(w / W), log(h / H)\n"
        "X Y W H is the anchor and k is `scale`; `means` are subtracted from offsets, and the "
        "differences are divided by `stds`.\n"
        "The label of such an anchor is the class of its box plus first_label. An anchor without a "
        "box has the label "
        "0, the background; its values are X Y W H, or zeros with offset=true. The sources number "
        "classes from 0. DALI does not add to classes: its reader of COCO numbers them from 1, so "
        "labels are the same. A label below 1 makes a bad sample.\n"
        "boxes_length keeps the number of boxes. All is computed in f32, as in DALI, but for the "
        "logarithm.\n"
        "ssd300 are the 8 732 anchors of SSD for images of 300x300 in the order of NVIDIA's "
        "dboxes300_coco(): map by map (38, 19, 10, 5, 3, 1), shape by shape, line by line. A file "
        "has f32 or f64, and coordinates from -2 to 3.\n"
        "Crops, resizes and warps come before it; flips may follow, and the boxes are those of the "
        "flipped image.",
    .kind = STAGE_ARRAY,
    .ends_boxes = true,
    STAGE_PARAMS(encoder_params),
    .args_size = sizeof(encoder_args),
    .check = encoder_check,
    .retain = encoder_retain,
    .make = encoder_make,
    .release = encoder_release,
    .infer = encoder_infer,
    .array =
        &(const array_ops){
            .columns = encoder_columns,
            .written = COLUMNS,
            .compute_columns = encoder_compute,
            .identity = encoder_identity,
        },
};
