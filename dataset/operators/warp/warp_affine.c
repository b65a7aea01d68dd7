/* SPDX-License-Identifier: Apache-2.0 */
/* The warp_affine stage: DALI's operator of that name, a warp by a matrix. */
#include <math.h>
#include <string.h>

#include "status_int.h"
#include "warp_stage.h"

enum { ROW = 3 };
#define MOST_FACTOR 1e6

typedef struct warp_affine_args {
    param_reals x; /* M11, M12, M13 */
    param_reals y; /* M21, M22, M23 */
    bool inverse_map;
    warp_options options;
} warp_affine_args;

/* The map from a point of the result to a point of the image. False: the matrix is singular. */
static bool map_of(const warp_affine_args *args, warp_matrix *map_out)
{
    const double *x = args->x.values;
    const double *y = args->y.values;
    const warp_matrix matrix = {{x[0], x[1], x[2], y[0], y[1], y[2], 0, 0, 1}};
    warp_matrix inverse;

    if (!warp_invert(&matrix, &inverse)) {
        return false;
    }
    *map_out = args->inverse_map ? matrix : inverse;
    return true;
}

static sluice_status check_row(const char *name, const param_reals *row)
{
    if (row->name[0] != '\0' || row->count != ROW) {
        return sli_fail(SLUICE_E_INVALID,
                        "warp_affine: %s: want three numbers, a row of the matrix", name);
    }
    for (uint32_t i = 0; i < ROW; i++) {
        if (!(fabs(row->values[i]) <= MOST_FACTOR)) {
            return sli_fail(SLUICE_E_INVALID, "warp_affine: %s=%g: want %g to %g", name,
                            row->values[i], -MOST_FACTOR, MOST_FACTOR);
        }
    }
    return SLUICE_OK;
}

static sluice_status warp_affine_check(void *opaque)
{
    const warp_affine_args *args = opaque;
    sluice_status st = warp_check("warp_affine", &args->options);
    warp_matrix map;

    if (st == SLUICE_OK) {
        st = check_row("x", &args->x);
    }
    if (st == SLUICE_OK) {
        st = check_row("y", &args->y);
    }
    if (st == SLUICE_OK && !map_of(args, &map)) {
        st = sli_fail(SLUICE_E_INVALID,
                      "warp_affine: the matrix %g,%g %g,%g is singular: it maps the image to a "
                      "line or a point",
                      args->x.values[0], args->x.values[1], args->y.values[0], args->y.values[1]);
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
    PARAM_(warp_affine_args, x, PARAM_REALS, NULL, 0, 0, NULL,
           "M11,M12,M13: first row of the matrix, which gives x"),
    PARAM_(warp_affine_args, y, PARAM_REALS, NULL, 0, 0, NULL,
           "M21,M22,M23: second row, which gives y"),
    PARAM_(warp_affine_args, inverse_map, PARAM_BOOL, "true", 0, 0, NULL,
           "the matrix maps the result to the image; false: the image to the result"),
    WARP_PARAMS(warp_affine_args, options, "bilinear"),
};

const stage_def stage_warp_affine = {
    .name = "warp_affine",
    .summary = "Warps by a matrix, as DALI.",
    .gives = "image u8, the same shape",
    .kind = STAGE_COLOR,
    STAGE_PARAMS(warp_affine_params),
    .args_size = sizeof(warp_affine_args),
    .check = warp_affine_check,
    .infer = warp_affine_infer,
    .colors = warp_affine_colors,
    .is_by_pixel = warp_is_by_pixel,
    .warps = true,
    .places = true,
};

sluice_status sluice_dataset_warp_affine(sluice_dataset *dataset, const double *matrix,
                                         bool inverse_map, const sluice_warp_config *config)
{
    warp_affine_args args = {.x = {ROW, {0}, ""}, .y = {ROW, {0}, ""}, .inverse_map = inverse_map};
    sluice_status st =
        matrix != NULL
            ? warp_read(&stage_warp_affine, "sluice_dataset_warp_affine", config, &args.options)
            : sli_fail(SLUICE_E_INVALID, "sluice_dataset_warp_affine: matrix is NULL");

    if (st != SLUICE_OK) {
        return dataset_keep(dataset, &stage_warp_affine, st);
    }
    memcpy(args.x.values, matrix, ROW * sizeof(*matrix));
    memcpy(args.y.values, matrix + ROW, ROW * sizeof(*matrix));
    return dataset_append(dataset, &stage_warp_affine, &args);
}
