/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rotate and random_rotation stages: torchvision's rotate and RandomRotation. With expand=true
 * they are stages of geometry, since the size of the image changes; else warps.
 */
#include "status_int.h"
#include "warp_stage.h"

#define MOST_DEGREES 1e6

typedef struct rotate_args {
    double degrees;
    warp_options options;
    param_reals center;
    bool expand;
} rotate_args;

typedef struct rotation_args {
    param_reals degrees; /* after check(): LOW,HIGH */
    warp_options options;
    param_reals center;
    bool expand;
} rotation_args;

/* Unlike affine, rotate turns counter-clockwise. */
static void add_rotation(double degrees, const warp_options *options, const param_reals *center,
                         color_chain *chain)
{
    const warp_affine affine = {.degrees = -degrees, .scale = 1};
    const warp_matrix matrix = warp_about_center(&affine, center, chain);

    warp_add(options, &matrix, chain);
}

#define EXPAND_PARAM(struct_type)                                                                  \
    PARAM_(                                                                                        \
        struct_type, expand, PARAM_BOOL, "false", 0, 0, NULL,                                      \
        "enlarge the image so that it holds all of the rotated one; crops and resizes may follow")

static sluice_status check_options(const char *stage, const warp_options *options,
                                   const param_reals *center, bool expand)
{
    sluice_status st = warp_check(stage, options);

    if (st == SLUICE_OK) {
        st = warp_check_center(stage, center);
    }
    if (st == SLUICE_OK && expand && center->count > 0) {
        st = sli_fail(SLUICE_E_INVALID,
                      "%s: with expand=true the result holds the whole image, wherever the center "
                      "is; leave center out",
                      stage);
    }
    return st;
}

/* ---- with expand=true ------------------------------------------------------------------------ */

static sluice_status check_expandable(const char *stage, const warp_options *options,
                                      const stage_schema *schema)
{
    const sluice_status st = schema_check_pixels(schema, stage);

    return st == SLUICE_OK ? fill_infer(stage, &options->outside, schema) : st;
}

static void expand_by(double degrees, const warp_options *options, uint32_t width, uint32_t height,
                      stage_window *out)
{
    const warp_matrix matrix =
        warp_of_rotation(-degrees, width, height, &out->new_width, &out->new_height);

    out->turns = true;
    if (out->turn != NULL) {
        *out->turn = warp_by(options, &matrix);
    }
}

/* ---- rotate ------------------------------------------------------------------------------------
 */

static sluice_status rotate_check(void *opaque)
{
    const rotate_args *args = opaque;

    return check_options("rotate", &args->options, &args->center, args->expand);
}

static sluice_status rotate_infer(const void *opaque, stage_schema *schema)
{
    return warp_infer("rotate", &((const rotate_args *)opaque)->options, 1, false, schema);
}

static void rotate_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const rotate_args *args = opaque;

    (void)draws;
    add_rotation(args->degrees, &args->options, &args->center, chain);
}

static const stage_param rotate_params[] = {
    PARAM_(rotate_args, degrees, PARAM_REAL, NULL, -MOST_DEGREES, MOST_DEGREES, NULL,
           "the angle, counter-clockwise"),
    WARP_PARAMS(rotate_args, options, "nearest"),
    CENTER_PARAM(rotate_args, center),
    EXPAND_PARAM(rotate_args),
    BORDER_PARAM(rotate_args, options),
};

static sluice_status expanded_infer(const void *opaque, stage_schema *schema)
{
    const rotate_args *args = opaque;
    const sluice_status st = check_expandable("rotate", &args->options, schema);
    stage_window g = {0};
    uint64_t *shape;

    if (st != SLUICE_OK || schema_lacks_size(schema)) {
        return st;
    }
    shape = schema->columns[schema->image].shape;
    expand_by(args->degrees, &args->options, (uint32_t)shape[SCHEMA_W], (uint32_t)shape[SCHEMA_H],
              &g);
    shape[SCHEMA_W] = g.new_width;
    shape[SCHEMA_H] = g.new_height;
    return SLUICE_OK;
}

static sluice_status expanded_geometry(const void *opaque, const sli_draws *draws, uint32_t width,
                                       uint32_t height, stage_window *out)
{
    const rotate_args *args = opaque;

    (void)draws;
    expand_by(args->degrees, &args->options, width, height, out);
    return SLUICE_OK;
}

static const stage_def *rotate_variant(const void *args);

#define ROTATE_FIELDS                                                                              \
    .name = "rotate", .summary = "Rotates about the centre.", STAGE_PARAMS(rotate_params),         \
    .args_size = sizeof(rotate_args), .check = rotate_check, .variant = rotate_variant

static const stage_def stage_rotate_expanded = {
    ROTATE_FIELDS,
    .gives = "image u8, of the size that holds it",
    .kind = STAGE_GEOMETRY,
    .infer = expanded_infer,
    .geometry =
        &(const geometry_ops){
            .draw = expanded_geometry,
            .turns = true,
        },
};

const stage_def stage_rotate = {
    ROTATE_FIELDS,
    .elsewhere = "Rotate",
    .example = "rotate 15 bilinear",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.functional.rotate.\n"
               "With expand=false the image keeps its size. With expand=true the size follows "
               "from the angle, and a rotation by a multiple of 90 degrees only permutes the "
               "pixels. Then the stage comes among crops and resizes, the result is stored "
               "before a later crop or resize, and center must not be set.\n" WARP_DETAILS,
    .kind = STAGE_COLOR,
    .infer = rotate_infer,
    .color =
        &(const color_ops){
            .add = rotate_colors,
            .is_by_pixel = color_is_by_pixel,
            .warps = true,
            .places = true,
        },
};

static const stage_def *rotate_variant(const void *args)
{
    return ((const rotate_args *)args)->expand ? &stage_rotate_expanded : &stage_rotate;
}

/* ---- random_rotation ---------------------------------------------------------------------------
 */

static sluice_status rotation_check(void *opaque)
{
    rotation_args *args = opaque;
    const sluice_status st =
        check_options("random_rotation", &args->options, &args->center, args->expand);

    if (st == SLUICE_OK && args->degrees.count > 2) {
        args->degrees.count = 3; /* refused */
    }
    return st == SLUICE_OK ? warp_check_range("random_rotation", "degrees", -MOST_DEGREES,
                                              MOST_DEGREES, &args->degrees)
                           : st;
}

static sluice_status rotation_infer(const void *opaque, stage_schema *schema)
{
    return warp_infer("random_rotation", &((const rotation_args *)opaque)->options, 1, false,
                      schema);
}

static double draw_degrees(const rotation_args *args, const sli_draws *draws)
{
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    return warp_uniform(&args->degrees, 0, bits[0]);
}

static void rotation_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const rotation_args *args = opaque;

    add_rotation(draw_degrees(args, draws), &args->options, &args->center, chain);
}

static const stage_param rotation_params[] = {
    PARAM_(rotation_args, degrees, PARAM_REALS, NULL, 0, 0, NULL,
           "maximum angle in either direction, or LOW,HIGH, counter-clockwise, -1e6 to 1e6"),
    WARP_PARAMS(rotation_args, options, "nearest"),
    CENTER_PARAM(rotation_args, center),
    EXPAND_PARAM(rotation_args),
    BORDER_PARAM(rotation_args, options),
};

static sluice_status expanded_rotation_infer(const void *opaque, stage_schema *schema)
{
    const rotation_args *args = opaque;
    const sluice_status st = check_expandable("random_rotation", &args->options, schema);

    if (st == SLUICE_OK) {
        schema_unset_size(schema, "random_rotation");
    }
    return st;
}

static sluice_status expanded_rotation_geometry(const void *opaque, const sli_draws *draws,
                                                uint32_t width, uint32_t height, stage_window *out)
{
    const rotation_args *args = opaque;

    expand_by(draw_degrees(args, draws), &args->options, width, height, out);
    return SLUICE_OK;
}

static const stage_def *rotation_variant(const void *args);

#define ROTATION_FIELDS                                                                            \
    .name = "random_rotation", .summary = "Rotates about the centre by a random angle.",           \
    .draws = true, STAGE_PARAMS(rotation_params), .args_size = sizeof(rotation_args),              \
    .check = rotation_check, .variant = rotation_variant

static const stage_def stage_random_rotation_expanded = {
    ROTATION_FIELDS,
    .gives = "image u8, of the size that holds it",
    .kind = STAGE_GEOMETRY,
    .infer = expanded_rotation_infer,
    .geometry =
        &(const geometry_ops){
            .draw = expanded_rotation_geometry,
            .turns = true,
        },
};

const stage_def stage_random_rotation = {
    ROTATION_FIELDS,
    .elsewhere = "RandomRotation",
    .example = "random_rotation 30",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.RandomRotation.\n"
               "The angle is uniform in [LOW, HIGH). One number x stands for -x,x.\n"
               "With expand=true the size of the image is random, so a later resize or crop "
               "must set it; else as expand of rotate.\n" WARP_DETAILS,
    .kind = STAGE_COLOR,
    .infer = rotation_infer,
    .color =
        &(const color_ops){
            .add = rotation_colors,
            .is_by_pixel = color_is_by_pixel,
            .warps = true,
            .places = true,
        },
};

static const stage_def *rotation_variant(const void *args)
{
    return ((const rotation_args *)args)->expand ? &stage_random_rotation_expanded
                                                 : &stage_random_rotation;
}
