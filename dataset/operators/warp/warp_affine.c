/* SPDX-License-Identifier: Apache-2.0 */
/* The warp_affine stage: DALI's operator of that name, a warp by a matrix. */
#include <math.h>

#include "status_int.h"
#include "warp_stage.h"

enum { NUMBERS = 6 };
#define MOST_FACTOR 1e6

typedef struct warp_affine_args {
    param_reals matrix; /* M11, M12, M13, M21, M22, M23 */
    bool inverse_map;
    warp_options options;
} warp_affine_args;

/* The map from a point of the result to a point of the image. False: the matrix is singular. */
static bool map_of(const warp_affine_args *args, warp_matrix *map_out)
{
    const double *m = args->matrix.values;
    const warp_matrix matrix = {{m[0], m[1], m[2], m[3], m[4], m[5], 0, 0, 1}};
    warp_matrix inverse;

    if (!warp_invert(&matrix, &inverse)) {
        return false;
    }
    *map_out = args->inverse_map ? matrix : inverse;
    return true;
}

static sluice_status warp_affine_check(void *opaque)
{
    const warp_affine_args *args = opaque;
    const double *m = args->matrix.values;
    sluice_status st = warp_check("warp_affine", &args->options);
    warp_matrix map;

    if (st == SLUICE_OK && (args->matrix.name[0] != '\0' || args->matrix.count != NUMBERS)) {
        st = sli_fail(SLUICE_E_INVALID,
                      "warp_affine: matrix must be six numbers, M11,M12,M13,M21,M22,M23");
    }
    for (uint32_t i = 0; i < NUMBERS && st == SLUICE_OK; i++) {
        if (!(fabs(m[i]) <= MOST_FACTOR)) {
            st = sli_fail(SLUICE_E_INVALID, "warp_affine: matrix=%g must be from %g to %g", m[i],
                          -MOST_FACTOR, MOST_FACTOR);
        }
    }
    if (st == SLUICE_OK && !map_of(args, &map)) {
        st = sli_fail(SLUICE_E_INVALID,
                      "warp_affine: the matrix %g,%g %g,%g is singular: it maps the image to a "
                      "line or a point; M11 M22 - M12 M21 must not be 0",
                      m[0], m[1], m[3], m[4]);
    }
    return st;
}

static sluice_status warp_affine_infer(const void *opaque, stage_schema *schema)
{
    return warp_infer("warp_affine", &((const warp_affine_args *)opaque)->options, 1, false,
                      schema);
}

static void warp_affine_colors(const void *opaque, const sli_draws *draws, color_chain *chain)
{
    const warp_affine_args *args = opaque;
    warp_matrix map;

    (void)draws;
    if (map_of(args, &map)) {
        warp_add(&args->options, &map, chain);
    }
}

static const stage_param warp_affine_params[] = {
    {.name = "matrix",
     .type = PARAM_REALS,
     .offset = PARAM_OFFSET_(warp_affine_args, matrix, PARAM_REALS),
     .most = NUMBERS,
     .help = "M11,M12,M13,M21,M22,M23: maps (x, y) to (M11 x + M12 y + M13, M21 x + M22 y + M23); "
             "-1e6 to 1e6"},
    PARAM_(warp_affine_args, inverse_map, PARAM_BOOL, "true", 0, 0, NULL,
           "the matrix maps the result to the image; false: the image to the result"),
    WARP_PARAMS(warp_affine_args, options, "bilinear"),
    BORDER_PARAM(warp_affine_args, options),
};

const stage_def stage_warp_affine = {
    .name = "warp_affine",
    .summary = "Applies an affine matrix, as DALI's warp_affine.",
    .elsewhere = "WarpAffine",
    .example = "warp_affine 1,0.3,-14,0,1.2,-9",
    .gives = "image u8, the same shape",
    .details = "Reference: NVIDIA DALI, dali/operators/image/remap/warp_affine.cc, with "
               "border=constant.\n"
               "Pixel (x, y) of the result is sampled at the point to which the matrix maps "
               "it. (0, 0) is the corner of the first pixel, so its centre is at (0.5, 0.5). "
               "With inverse_map=false the matrix is inverted first. A singular matrix is an "
               "error.\n"
               "Points outside have the fill; DALI without fill_value repeats the pixels at "
               "the edge.\n" WARP_DETAILS,
    .kind = STAGE_COLOR,
    STAGE_PARAMS(warp_affine_params),
    .args_size = sizeof(warp_affine_args),
    .check = warp_affine_check,
    .infer = warp_affine_infer,
    .color =
        &(const color_ops){
            .add = warp_affine_colors,
            .is_by_pixel = color_is_by_pixel,
            .warps = true,
            .places = true,
        },
};
