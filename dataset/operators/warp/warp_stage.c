/* SPDX-License-Identifier: Apache-2.0 */
#include "warp_stage.h"

#include <math.h>
#include <string.h>

#include "status_int.h"

#define IMAGE_CENTER    "image"
#define FARTHEST_CENTER 1e6

const char *const warp_filters[] = {"nearest", "bilinear", NULL};
const char *const warp_borders[] = {"masked", "constant", NULL};

sluice_status warp_check_center(const char *stage, const param_reals *center)
{
    if (center->name[0] != '\0' ? strcmp(center->name, IMAGE_CENTER) != 0 : center->count != 2) {
        return sli_fail(SLUICE_E_INVALID, "%s: center must be X,Y or image", stage);
    }
    for (uint32_t i = 0; i < center->count; i++) {
        if (!(fabs(center->values[i]) <= FARTHEST_CENTER)) {
            return sli_fail(SLUICE_E_INVALID, "%s: center=%g must be from %g to %g", stage,
                            center->values[i], -FARTHEST_CENTER, FARTHEST_CENTER);
        }
    }
    return SLUICE_OK;
}

warp_matrix warp_about_center(const warp_affine *affine, const param_reals *center,
                              const color_chain *chain)
{
    return center->count == 2 ? warp_about(affine, center->values, center->values)
                              : warp_of_affine(affine, chain->width, chain->height);
}

sluice_status warp_check(const char *stage, const warp_options *options)
{
    return fill_check(stage, &options->outside);
}

/* Refuses a warp that is not affine if a column of stage geometry has the map of the image. */
static sluice_status check_bend(const char *stage, const stage_schema *schema)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (schema->infos[i].role == ROLE_GEOMETRY) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: its map is not affine, and column %s of stage geometry can show "
                            "affine maps only; leave one of them out",
                            stage, schema->columns[i].name);
        }
    }
    return SLUICE_OK;
}

sluice_status warp_infer(const char *stage, const warp_options *options, uint32_t operations,
                         bool bends, stage_schema *schema)
{
    sluice_status st = schema_add_colors(schema, stage, "", false, operations);

    if (st == SLUICE_OK) {
        st = fill_infer(stage, &options->outside, schema);
    }
    if (st == SLUICE_OK && bends) {
        schema_set_state(schema, STATE_NONAFFINE, stage);
        st = check_bend(stage, schema);
    }
    return st;
}

image_warp warp_by(const warp_options *options, const warp_matrix *matrix)
{
    image_warp warp = {
        .matrix = *matrix, .nearest = options->filter == 0, .constant = options->border == 1};
    stage_padding padding;

    fill_set(&options->outside, &padding);
    memcpy(warp.fill, padding.fill, sizeof(warp.fill));
    warp.mask_fill = padding.mask_fill;
    return warp;
}

void warp_add(const warp_options *options, const warp_matrix *matrix, color_chain *chain)
{
    const image_warp warp = warp_by(options, matrix);

    color_add_warp(chain, &warp);
}

sluice_status warp_check_range(const char *stage, const char *name, double least, double most,
                               param_reals *range)
{
    double *values = range->values;

    if (range->name[0] != '\0' || range->count == 0 || range->count == 3) {
        return sli_fail(SLUICE_E_INVALID, "%s: %s must be one number, or LOW,HIGH", stage, name);
    }
    if (range->count == 1) {
        if (!(values[0] >= 0)) {
            return sli_fail(
                SLUICE_E_INVALID,
                "%s: %s=%g must be at least 0: one number is the largest in either direction",
                stage, name, values[0]);
        }
        values[1] = values[0];
        values[0] = 0 - values[1];
        range->count = 2;
    }
    for (uint32_t i = 0; i < range->count; i += 2) {
        if (!(values[i] >= least && values[i] <= values[i + 1] && values[i + 1] <= most)) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: %s from %g to %g must have %g <= LOW <= HIGH <= %g", stage, name,
                            values[i], values[i + 1], least, most);
        }
    }
    return SLUICE_OK;
}

double warp_uniform(const param_reals *values, uint32_t number, uint32_t bits)
{
    const double *ends = &values->values[2 * number];

    return ends[0] + sli_unit(bits) * (ends[1] - ends[0]);
}
