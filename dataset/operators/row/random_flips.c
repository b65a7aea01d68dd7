/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The random_horizontal_flip and random_vertical_flip stages: torchvision's RandomHorizontalFlip
 * and RandomVerticalFlip. After all stages of geometry they are conversions. A horizontal flip
 * leaves pixels in their line. For a vertical flip workers write the lines in reverse order; the
 * device has a part in it only by row programs. Before a stage of geometry, and in parentheses
 * together with one, they are geometry: the image is warped by a reflection.
 */
#include <string.h>

#include "conversion_ops.h"
#include "geometry_ops.h"
#include "layout_int.h"
#include "stage.h"
#include "status_int.h"

typedef struct flip_args {
    conversion_args common;
    double p;
    const char *swap;
    const char *points;
    point_pairs pairs; /* parsed from `swap` */
} flip_args;

/* Checks that a column of points has those that the flip exchanges. */
static sluice_status check_points(const char *stage, const flip_args *args,
                                  const sluice_column *column)
{
    for (uint32_t k = 0; k < 2 * args->pairs.count; k++) {
        const uint16_t point = args->pairs.pairs[k / 2][k % 2];

        if (point >= column->shape[column->rank - 2]) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: swap=%s: column %s has points 0 to %llu; points= names the "
                            "columns that swap works on",
                            stage, args->swap, column->name,
                            (unsigned long long)column->shape[column->rank - 2] - 1);
        }
    }
    return SLUICE_OK;
}

/* Finds the columns of points that the flip exchanges: those that `points` has, or all. */
static sluice_status find_points(const char *stage, const flip_args *args,
                                 const stage_schema *schema, column_set *points_out)
{
    const char *list = args->points[0] != '\0' ? args->points : NULL;
    column_set points = 0;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < schema->column_count && list == NULL; i++) {
        points |= (column_set)(schema->infos[i].role == ROLE_POINTS) << i;
    }
    while (list != NULL && st == SLUICE_OK) {
        uint32_t column = 0;

        st = schema_next_column(&list, schema, stage, &column);
        if (st == SLUICE_OK && schema->infos[column].role != ROLE_POINTS) {
            st = sli_fail(SLUICE_E_INVALID, "%s: points=%s must name columns of points; %s is %s",
                          stage, args->points, schema->columns[column].name,
                          schema_role_words(schema, column));
        }
        points |= st == SLUICE_OK ? (column_set)1 << column : 0;
    }
    for (uint32_t i = 0; i < schema->column_count && st == SLUICE_OK; i++) {
        st = (points >> i & 1) != 0 ? check_points(stage, args, &schema->columns[i]) : SLUICE_OK;
    }
    if (st == SLUICE_OK && points == 0) {
        st = sli_fail(SLUICE_E_INVALID,
                      "%s: swap=%s exchanges points, and there is no column of points", stage,
                      args->swap);
    }
    *points_out = points;
    return st;
}

static sluice_status infer(const char *stage, const flip_args *args, const stage_schema *schema)
{
    column_set points;

    if (schema->image < 0 || schema->columns[schema->image].dtype == SLUICE_ENCODED) {
        return fail_missing_image(schema, stage);
    }
    for (uint32_t i = 0; i < schema->column_count && schema_has(schema, STATE_MAPPED); i++) {
        const column_role role = schema->infos[i].role;

        if (schema_has(schema, STATE_MAPS_FOLLOWERS) || schema_follows(role) ||
            role == ROLE_GEOMETRY) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s comes after a map; put it before, since masks, boxes and points "
                            "do not follow the image any more",
                            stage);
        }
    }
    if (args->pairs.count == 0 && args->points[0] != '\0') {
        return sli_fail(SLUICE_E_INVALID, "%s: points=%s is for swap=", stage, args->points);
    }
    return args->pairs.count > 0 ? find_points(stage, args, schema, &points) : SLUICE_OK;
}

static sluice_status horizontal_infer(const void *args, stage_schema *schema)
{
    return infer("random_horizontal_flip", args, schema);
}

static sluice_status vertical_infer(const void *args, stage_schema *schema)
{
    return infer("random_vertical_flip", args, schema);
}

/* True if no points are exchanged, not even those that the source says. */
static bool swaps_none(const flip_args *args)
{
    return strcmp(args->swap, "none") == 0;
}

static sluice_status parse_swap(const char *stage, flip_args *args)
{
    args->pairs.count = 0;
    return swaps_none(args) ? SLUICE_OK : point_pairs_parse(args->swap, stage, &args->pairs);
}

static sluice_status horizontal_check(void *opaque)
{
    flip_args *args = opaque;

    return parse_swap("random_horizontal_flip", args);
}

static sluice_status vertical_check(void *opaque)
{
    flip_args *args = opaque;

    return parse_swap("random_vertical_flip", args);
}

static const point_pairs *flip_pairs(const void *opaque, const stage_schema *before,
                                     column_set *points_out)
{
    const flip_args *args = opaque;

    if (swaps_none(args)) {
        return &args->pairs;
    }
    return args->pairs.count > 0 && find_points("flip", args, before, points_out) == SLUICE_OK
               ? &args->pairs
               : NULL;
}

static void horizontal_convert(const void *args, const column_info *before, conversion_state *state)
{
    (void)args;
    (void)before;
    state->flip = true;
}

/* Lines are reversed for each row, by its flags, with any program. */
static void vertical_convert(const void *args, const column_info *before, conversion_state *state)
{
    (void)args;
    (void)before;
    (void)state;
}

static bool flip_draws(const void *args, const sli_draws *draws)
{
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    return sli_unit(bits[0]) < ((const flip_args *)args)->p;
}

/* Makes an image its reflection, or leaves it as it is. */
static void reflect(bool flips, const warp_matrix *matrix, uint32_t width, uint32_t height,
                    stage_window *out)
{
    out->turns = flips;
    out->new_width = width;
    out->new_height = height;
    if (out->turn != NULL) {
        *out->turn = (image_warp){.matrix = *matrix, .nearest = true};
    }
}

static sluice_status horizontal_geometry(const void *args, const sli_draws *draws, uint32_t width,
                                         uint32_t height, stage_window *out)
{
    reflect(flip_draws(args, draws), &(warp_matrix){{-1, 0, width, 0, 1, 0, 0, 0, 1}}, width,
            height, out);
    return SLUICE_OK;
}

static sluice_status vertical_geometry(const void *args, const sli_draws *draws, uint32_t width,
                                       uint32_t height, stage_window *out)
{
    reflect(flip_draws(args, draws), &(warp_matrix){{1, 0, 0, 0, -1, height, 0, 0, 1}}, width,
            height, out);
    return SLUICE_OK;
}

#define SWAP_PARAMS                                                                                \
    PARAM_(flip_args, swap, PARAM_TEXT, "", 0, 0, NULL,                                            \
           "points that a flip exchanges, such as left and right eyes: 1:2,3:4, indexes from 0; "  \
           "none: no points; empty: those of the source"),                                         \
        PARAM_(flip_args, points, PARAM_TEXT, "", 0, 0, NULL,                                      \
               "the columns of points that swap works on, with commas; else all")

static const stage_param horizontal_params[] = {
    PARAM_(flip_args, p, PARAM_REAL, "0.5", 0, 1, NULL, "probability"),
    OFFLOAD_PARAM,
    SWAP_PARAMS,
};

static const flip_ops horizontal_flip = {
    .draw = flip_draws,
    .row_flag = SLI_ROW_FLIP,
    .pairs = flip_pairs,
};

#define HORIZONTAL_FIELDS                                                                          \
    .name = "random_horizontal_flip", .draws = true, STAGE_PARAMS(horizontal_params),              \
    .args_size = sizeof(flip_args), .check = horizontal_check, .infer = horizontal_infer,          \
    .flip = &horizontal_flip

static const stage_def horizontal_flip_before_geometry = {
    HORIZONTAL_FIELDS,
    .summary = "",
    .gives = "",
    .kind = STAGE_GEOMETRY,
    .geometry =
        &(const geometry_ops){
            .draw = horizontal_geometry,
            .turns = true,
        },
};

const stage_def stage_random_horizontal_flip = {
    HORIZONTAL_FIELDS,
    .summary = "Flips the image left to right with probability p.",
    .elsewhere = "RandomHorizontalFlip",
    .example = "random_horizontal_flip 1",
    .gives = "the same shape and type",
    .details =
        "Before a crop or resize the workers flip the whole image, which must be decoded for "
        "it; after all of them a flip is part of the write to the row.\n"
        "swap exchanges points that change their meaning by a flip: the left eye of a "
        "flipped face is the right one. In columns of points, points i and j of a pair "
        "change places, together with the rows that belong to them. There are at most "
        "64 pairs, each point in one of them. A pair of which a sample has neither "
        "point is ignored; a sample with only one of the two is a bad sample. A swap "
        "without a column of points, or with one of fewer points, is an error. Without swap a flip "
        "exchanges the pairs of key points that the sources coco and yolo give; if they give none, "
        "a warning says so.",
    .kind = STAGE_CONVERSION,
    .conversion =
        &(const conversion_ops){
            .before_geometry = &horizontal_flip_before_geometry,
            .convert = horizontal_convert,
            .moves = true,
        },
};

/* Without OFFLOAD_PARAM: workers do it, unless rows have programs. */
static const stage_param vertical_params[] = {
    PARAM_(flip_args, p, PARAM_REAL, "0.5", 0, 1, NULL, "probability"),
    SWAP_PARAMS,
};

static const flip_ops vertical_flip = {
    .draw = flip_draws,
    .row_flag = SLI_ROW_FLIP_LINES,
    .pairs = flip_pairs,
};

#define VERTICAL_FIELDS                                                                            \
    .name = "random_vertical_flip", .draws = true, STAGE_PARAMS(vertical_params),                  \
    .args_size = sizeof(flip_args), .check = vertical_check, .infer = vertical_infer,              \
    .flip = &vertical_flip

static const stage_def vertical_flip_before_geometry = {
    VERTICAL_FIELDS,
    .summary = "",
    .gives = "",
    .kind = STAGE_GEOMETRY,
    .geometry =
        &(const geometry_ops){
            .draw = vertical_geometry,
            .turns = true,
        },
};

const stage_def stage_random_vertical_flip = {
    VERTICAL_FIELDS,
    .summary = "Flips the image upside down with probability p.",
    .elsewhere = "RandomVerticalFlip",
    .example = "random_vertical_flip 1",
    .gives = "the same shape and type",
    .details = "The workers write the lines of a flipped image in reverse order. GetNext does "
               "it only if colour stages or warps come after the stage device, so there is no "
               "argument offload.\n"
               "swap is as in random_horizontal_flip.",
    .kind = STAGE_CONVERSION,
    .conversion =
        &(const conversion_ops){
            .before_geometry = &vertical_flip_before_geometry,
            .convert = vertical_convert,
            .moves = true,
        },
};
