/* SPDX-License-Identifier: Apache-2.0 */
/* The rotate and random_rotation stages: torchvision's rotate and RandomRotation. */
#include "warp_stage.h"

#define MOST_DEGREES 1e6

typedef struct rotate_args {
    double degrees;
    warp_options options;
    param_reals center;
} rotate_args;

typedef struct rotation_args {
    param_reals degrees; /* after check(): LOW,HIGH */
    warp_options options;
    param_reals center;
} rotation_args;

/* Unlike affine, rotate turns counter-clockwise. */
static void add_rotation(double degrees, const warp_options *options, const param_reals *center,
                         color_chain *chain)
{
    const warp_affine affine = {.degrees = -degrees, .scale = 1};
    const warp_matrix matrix = warp_about_center(&affine, center, chain);

    warp_add(options, &matrix, chain);
}

/* ---- rotate ------------------------------------------------------------------------------------
 */

static sluice_status rotate_check(void *opaque)
{
    const rotate_args *args = opaque;
    const sluice_status st = warp_check("rotate", &args->options);

    return st == SLUICE_OK ? warp_check_center("rotate", &args->center) : st;
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
};

const stage_def stage_rotate = {
    .name = "rotate",
    .summary = "Rotates about the centre.",
    .gives = "image u8, the same shape",
    .kind = STAGE_COLOR,
    STAGE_PARAMS(rotate_params),
    .args_size = sizeof(rotate_args),
    .check = rotate_check,
    .infer = rotate_infer,
    .colors = rotate_colors,
    .is_by_pixel = warp_is_by_pixel,
    .warps = true,
    .places = true,
};

sluice_status sluice_dataset_rotate(sluice_dataset *dataset, double degrees,
                                    const sluice_warp_config *config)
{
    rotate_args args = {.degrees = degrees};
    const sluice_status st = warp_read_center(&stage_rotate, "sluice_dataset_rotate", config,
                                              &args.options, &args.center);

    return st == SLUICE_OK ? dataset_append(dataset, &stage_rotate, &args)
                           : dataset_keep(dataset, &stage_rotate, st);
}

/* ---- random_rotation ---------------------------------------------------------------------------
 */

static sluice_status rotation_check(void *opaque)
{
    rotation_args *args = opaque;
    sluice_status st = warp_check("random_rotation", &args->options);

    if (st == SLUICE_OK) {
        st = warp_check_center("random_rotation", &args->center);
    }

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

static void rotation_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const rotation_args *args = opaque;
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    add_rotation(warp_uniform(&args->degrees, 0, bits[0]), &args->options, &args->center, chain);
}

static const stage_param rotation_params[] = {
    PARAM_(rotation_args, degrees, PARAM_REALS, NULL, 0, 0, NULL,
           "largest angle in either direction, or LOW,HIGH, counter-clockwise"),
    WARP_PARAMS(rotation_args, options, "nearest"),
    CENTER_PARAM(rotation_args, center),
};

const stage_def stage_random_rotation = {
    .name = "random_rotation",
    .summary = "Rotates about the centre by a random angle.",
    .gives = "image u8, the same shape",
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(rotation_params),
    .args_size = sizeof(rotation_args),
    .check = rotation_check,
    .infer = rotation_infer,
    .colors = rotation_colors,
    .is_by_pixel = warp_is_by_pixel,
    .warps = true,
    .places = true,
};

sluice_status sluice_dataset_random_rotation(sluice_dataset *dataset, double low, double high,
                                             const sluice_warp_config *config)
{
    rotation_args args = {.degrees = {2, {low, high}, ""}};
    const sluice_status st =
        warp_read_center(&stage_random_rotation, "sluice_dataset_random_rotation", config,
                         &args.options, &args.center);

    return st == SLUICE_OK ? dataset_append(dataset, &stage_random_rotation, &args)
                           : dataset_keep(dataset, &stage_random_rotation, st);
}
