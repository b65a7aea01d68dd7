/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The box_format stage: gives boxes as centre and size, as corner and size, or as two corners, in
 * fractions of the final image or in pixels, with their class as a fifth number.
 */
#include <string.h>

#include "array_ops.h"
#include "array_values.h"
#include "box_columns.h"
#include "stage.h"
#include "status_int.h"

enum { FORMAT_CXCYWH, FORMAT_XYWH, FORMAT_XYXY };

enum { MOST_EXACT = 1 << 24 }; /* f32 has all integers up to it */

typedef struct box_format_args {
    uint32_t format;
    bool normalized;
    const char *classes;
    const char *column;
} box_format_args;

static sluice_status box_format_check(void *opaque)
{
    const box_format_args *args = opaque;

    return args->format == FORMAT_XYXY && !args->normalized && args->classes[0] == '\0'
               ? sli_fail(SLUICE_E_INVALID,
                          "box_format: format=xyxy normalized=false is what boxes are without the "
                          "stage; leave it out, or name a column of classes")
               : SLUICE_OK;
}

static uint32_t box_format_columns(const void *opaque, const char **names_out)
{
    const box_format_args *args = opaque;

    names_out[0] = args->column;
    names_out[1] = args->classes;
    return args->classes[0] != '\0' ? 2 : 1;
}

static sluice_status box_format_infer(const void *opaque, stage_schema *schema)
{
    const box_format_args *args = opaque;
    uint32_t boxes = 0;
    uint32_t length;
    sluice_status st = schema_check_pixels(schema, "box_format");

    if (st == SLUICE_OK) {
        st = box_columns_boxes(schema, "box_format", args->column, &boxes);
    }
    if (st == SLUICE_OK && args->classes[0] != '\0') {
        st = box_columns_classes(schema, "box_format", args->classes, boxes);
    }
    if (st == SLUICE_OK && schema->buffer_count + SCHEMA_MAX_MAPS >= SCHEMA_MAX_BUFFERS) {
        st = sli_fail(SLUICE_E_INVALID, "box_format: too many stages that compute columns");
    }
    if (st != SLUICE_OK) {
        return st;
    }
    length = schema->infos[boxes].length;
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (schema_owner(schema, i) == (int)boxes) {
            schema->infos[i].counted = length + 1; /* they keep the number of boxes */
        }
    }
    schema->infos[boxes] = (column_info){
        .buffer = schema->buffer_count++,
        .rows = length + 1,
        .counted = length + 1,
    };
    schema->columns[boxes].shape[1] = args->classes[0] != '\0' ? 5 : 4;
    return SLUICE_OK;
}

/* Writes the four numbers of a box. */
static void convert_box(const box_format_args *args, const float box[4], double width,
                        double height, float *to)
{
    const double size[2] = {args->normalized ? width : 1, args->normalized ? height : 1};

    for (int axis = 0; axis < 2; axis++) {
        const double low = (double)box[axis];
        const double high = (double)box[axis + 2];
        const double at = args->format == FORMAT_CXCYWH ? (low + high) / 2 : low;
        const double end = args->format == FORMAT_XYXY ? high : high - low;

        to[axis] = (float)(at / size[axis]);
        to[axis + 2] = (float)(end / size[axis]);
    }
}

static sluice_status box_format_compute(const void *opaque, const array_sample *sample)
{
    const box_format_args *args = opaque;
    const size_t width = args->classes[0] != '\0' ? 5 : 4;
    const float *corners = sample->inputs[0];
    float *rows = sample->outputs[0];

    for (size_t i = 0; i < sample->rows; i++) {
        float *row = rows + i * width;

        convert_box(args, corners + 4 * i, sample->width, sample->height, row);
        if (width == 5) {
            const int64_t class_number =
                array_integer(sample->types[1].dtype, sample->inputs[1], i);

            if (class_number < -MOST_EXACT || class_number > MOST_EXACT) {
                char text[32];

                array_print(sample->types[1].dtype, sample->inputs[1], i, text, sizeof(text));
                return sli_fail(SLUICE_E_CORRUPT,
                                "%s of box %zu is %s, and must be from -%d to %d, the integers "
                                "that f32 represents exactly",
                                args->classes, i + 1, text, MOST_EXACT, MOST_EXACT);
            }
            row[4] = (float)class_number;
        }
    }
    memset(rows + sample->rows * width, 0,
           (size_t)(sample->types[0].shape[0] - sample->rows) * width * sizeof(*rows));
    return SLUICE_OK;
}

static const char *const formats[] = {"cxcywh", "xywh", "xyxy", NULL};

static const stage_param box_format_params[] = {
    PARAM_(box_format_args, format, PARAM_CHOICE, "cxcywh", 0, 0, formats,
           "centre and size, corner and size, or two corners"),
    PARAM_(box_format_args, normalized, PARAM_BOOL, "true", 0, 0, NULL,
           "fractions of the final image; false: pixels"),
    PARAM_(box_format_args, classes, PARAM_TEXT, "", 0, 0, NULL,
           "a column of classes, for the fifth number; empty: four numbers"),
    PARAM_(box_format_args, column, PARAM_TEXT, "boxes", 0, 0, NULL, "the column of boxes"),
};

const stage_def stage_box_format = {
    .name = "box_format",
    .summary = "Gives boxes as normalised centre and size, or in another format.",
    .gives = "the boxes as f32 (n, 4), or (n, 5) with classes",
    .details =
        "A box x0, y0, x1, y1 becomes (x0 + x1) / 2, (y0 + y1) / 2, x1 - x0, y1 - y0 (cxcywh), x0, "
        "y0, x1 - x0, y1 - y0 (xywh), or stays (xyxy). With normalized=true the numbers are "
        "divided by the width and height of the final image, so they are from 0 to 1. With "
        "`classes=classes` the class number is the fifth number of each row, as darknet has it; "
        "the column of classes stays. The values are computed in f64 and rounded once.\n"
        "Rows after the last box are zeros, and NAME_length is the number of boxes.\n"
        "The formats are those of torchvision.tv_tensors.BoundingBoxFormat. The column is plain "
        "afterwards: crops, resizes and warps come before the stage, and so do stages that work on "
        "boxes. Flips may follow; the boxes are those of the flipped image.",
    .elsewhere = "ConvertBoundingBoxFormat",
    .kind = STAGE_ARRAY,
    .ends_boxes = true,
    STAGE_PARAMS(box_format_params),
    .args_size = sizeof(box_format_args),
    .check = box_format_check,
    .infer = box_format_infer,
    .array =
        &(const array_ops){
            .columns = box_format_columns,
            .written = 1,
            .compute_columns = box_format_compute,
        },
};
