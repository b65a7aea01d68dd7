/* SPDX-License-Identifier: Apache-2.0 */
/* The perspective and random_perspective stages: torchvision's perspective and RandomPerspective.
 */
#include "status_int.h"
#include "warp_stage.h"

enum { CORNERS = 4 };
#define MOST_PIXELS 1e6

typedef struct corners_args {
    param_reals top_left; /* x, y; count 0: the corner of the image */
    param_reals top_right;
    param_reals bottom_right;
    param_reals bottom_left;
    warp_options options;
} corners_args;

typedef struct distortion_args {
    double distortion_scale;
    double p;
    warp_options options;
} distortion_args;

/* Images of one line or column have no such map, and are left as they are. */
static void add_perspective(const double corners[2 * CORNERS], const warp_options *options,
                            color_chain *chain)
{
    warp_matrix matrix;

    if (warp_of_corners(corners, chain->width, chain->height, &matrix)) {
        warp_add(options, &matrix, chain);
    }
}

/* ---- perspective -------------------------------------------------------------------------------
 */

static const param_reals *corner_of(const corners_args *args, int i)
{
    return i == 0   ? &args->top_left
           : i == 1 ? &args->top_right
           : i == 2 ? &args->bottom_right
                    : &args->bottom_left;
}

static sluice_status corners_check(void *opaque)
{
    const corners_args *args = opaque;

    for (int i = 0; i < CORNERS; i++) {
        const param_reals *corner = corner_of(args, i);

        if (corner->name[0] != '\0' || (corner->count != 0 && corner->count != 2)) {
            return sli_fail(SLUICE_E_INVALID, "perspective: each corner must be X,Y in pixels");
        }
        for (uint32_t k = 0; k < corner->count; k++) {
            if (!(corner->values[k] >= -MOST_PIXELS && corner->values[k] <= MOST_PIXELS)) {
                return sli_fail(SLUICE_E_INVALID,
                                "perspective: %g of a corner must be from %g to %g",
                                corner->values[k], -MOST_PIXELS, MOST_PIXELS);
            }
        }
    }
    return warp_check("perspective", &args->options);
}

/* The corners in an image of this size. */
static void find_corners(const corners_args *args, uint32_t width, uint32_t height,
                         double corners[2 * CORNERS])
{
    for (int i = 0; i < CORNERS; i++) {
        const param_reals *corner = corner_of(args, i);

        corners[2 * i] = corner->count > 0    ? corner->values[0]
                         : (i == 1 || i == 2) ? (double)width - 1
                                              : 0;
        corners[2 * i + 1] = corner->count > 0 ? corner->values[1]
                             : i >= 2          ? (double)height - 1
                                               : 0;
    }
}

static sluice_status corners_infer(const void *opaque, stage_schema *schema)
{
    const corners_args *args = opaque;
    sluice_status st = warp_infer("perspective", &args->options, 1, true, schema);
    const uint64_t *shape = schema->image >= 0 ? schema->columns[schema->image].shape : NULL;
    double corners[2 * CORNERS];
    warp_matrix matrix;

    if (st == SLUICE_OK && shape[SCHEMA_H] > 1 && shape[SCHEMA_W] > 1) {
        find_corners(args, (uint32_t)shape[SCHEMA_W], (uint32_t)shape[SCHEMA_H], corners);
        if (!warp_of_corners(corners, (uint32_t)shape[SCHEMA_W], (uint32_t)shape[SCHEMA_H],
                             &matrix)) {
            st = sli_fail(SLUICE_E_INVALID,
                          "perspective: no map moves the corners of an image of %llux%llu there; "
                          "three of the points must not be on one line",
                          (unsigned long long)shape[SCHEMA_W], (unsigned long long)shape[SCHEMA_H]);
        }
    }
    return st;
}

static void corners_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const corners_args *args = opaque;
    double corners[2 * CORNERS];

    (void)draws;
    find_corners(args, chain->width, chain->height, corners);
    add_perspective(corners, &args->options, chain);
}

#define CORNER(field, words) PARAM_(corners_args, field, PARAM_REALS, "", 0, 0, NULL, words)

static const stage_param corners_params[] = {
    CORNER(top_left, "X,Y to which this corner of the image is moved, in pixels, -1e6 to 1e6"),
    CORNER(top_right, "the same"),
    CORNER(bottom_right, "the same"),
    CORNER(bottom_left, "the same"),
    WARP_PARAMS(corners_args, options, "bilinear"),
    BORDER_PARAM(corners_args, options),
};

const stage_def stage_perspective = {
    .name = "perspective",
    .summary = "Moves the corners of the image.",
    .example = "perspective top_left=30,10 bottom_right=110,70",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.functional.perspective, with the corners of "
               "the image as its startpoints. A corner that is not given stays.\n"
               "The point (X, Y) of the result, the centre of a pixel, is sampled at\n"
               "  x = (a X + b Y + c) / (g X + h Y + 1)\n"
               "  y = (d X + e Y + f) / (g X + h Y + 1)\n"
               "The coefficients map the four points to (0, 0), (width - 1, 0), (width - 1, "
               "height - 1) and (0, height - 1). An image for which there are no such "
               "coefficients, since three points are on one line, does not change.\n"
               "A pipeline with the stage geometry is refused.\n" WARP_DETAILS,
    .kind = STAGE_COLOR,
    STAGE_PARAMS(corners_params),
    .args_size = sizeof(corners_args),
    .check = corners_check,
    .infer = corners_infer,
    .color =
        &(const color_ops){
            .add = corners_colors,
            .is_by_pixel = color_is_by_pixel,
            .warps = true,
            .places = true,
        },
};

/* ---- random_perspective ------------------------------------------------------------------------
 */

static sluice_status distortion_check(void *opaque)
{
    return warp_check("random_perspective", &((const distortion_args *)opaque)->options);
}

static sluice_status distortion_infer(const void *opaque, stage_schema *schema)
{
    return warp_infer("random_perspective", &((const distortion_args *)opaque)->options, 1, true,
                      schema);
}

static void distortion_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const distortion_args *args = opaque;
    const uint32_t width = chain->width;
    const uint32_t height = chain->height;
    const uint32_t most_x = (uint32_t)(args->distortion_scale * (width / 2)) + 1;
    const uint32_t most_y = (uint32_t)(args->distortion_scale * (height / 2)) + 1;
    double corners[2 * CORNERS];
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    if (!(sli_unit(bits[0]) < args->p)) {
        return;
    }
    sli_draw(draws, 1, bits);
    for (int i = 0; i < CORNERS; i++) {
        const uint32_t by = sli_below(bits[i], most_x);

        corners[2 * i] = i == 1 || i == 2 ? (double)(width - most_x + by) : by;
    }
    sli_draw(draws, 2, bits);
    for (int i = 0; i < CORNERS; i++) {
        const uint32_t by = sli_below(bits[i], most_y);

        corners[2 * i + 1] = i >= 2 ? (double)(height - most_y + by) : by;
    }
    add_perspective(corners, &args->options, chain);
}

static const stage_param distortion_params[] = {
    PARAM_(distortion_args, distortion_scale, PARAM_REAL, "0.5", 0, 1, NULL,
           "maximum distance that corners move, as a fraction of half the width and height"),
    PARAM_(distortion_args, p, PARAM_REAL, "0.5", 0, 1, NULL, "probability"),
    WARP_PARAMS(distortion_args, options, "bilinear"),
    BORDER_PARAM(distortion_args, options),
};

const stage_def stage_random_perspective = {
    .name = "random_perspective",
    .summary = "Moves the corners of the image to random points, with probability p.",
    .elsewhere = "RandomPerspective",
    .example = "random_perspective p=1",
    .gives = "image u8, the same shape",
    .details = "Reference: torchvision.transforms.v2.RandomPerspective. The warp is that of "
               "perspective.\n"
               "A corner moves by whole pixels towards the centre, along x and y by 0 to "
               "distortion_scale * (width or height) / 2.\n"
               "A pipeline with the stage geometry is refused.\n" WARP_DETAILS,
    .kind = STAGE_COLOR,
    .draws = true,
    STAGE_PARAMS(distortion_params),
    .args_size = sizeof(distortion_args),
    .check = distortion_check,
    .infer = distortion_infer,
    .color =
        &(const color_ops){
            .add = distortion_colors,
            .is_by_pixel = color_is_by_pixel,
            .warps = true,
            .places = true,
        },
};
