/* SPDX-License-Identifier: Apache-2.0 */
#include "resize_sides.h"

#include <math.h>

static uint32_t to_side(double length)
{
    return length < UINT32_MAX ? (uint32_t)length : UINT32_MAX;
}

static uint32_t longer_side(uint32_t shorter, uint32_t longer, uint32_t length)
{
    const uint64_t side = (uint64_t)longer * length / shorter;

    return side < UINT32_MAX ? (uint32_t)side : UINT32_MAX;
}

void resize_shorter_side(uint32_t width, uint32_t height, uint32_t length, stage_window *out)
{
    out->resizes = true;
    out->new_width = width < height ? length : longer_side(height, width, length);
    out->new_height = width < height ? longer_side(width, height, length) : length;
}

void resize_by(double r, uint32_t width, uint32_t height, stage_window *out)
{
    out->resizes = true;
    out->new_width = to_side(floor(width * r));
    out->new_height = to_side(floor(height * r));
}

sluice_status resize_infer_sides(const char *stage, window_geometry *geometry, const void *args,
                                 bool draws, stage_schema *schema)
{
    sluice_status st = schema_check_pixels(schema, stage);
    const sli_draws none = {0};
    stage_window g = {0};
    uint64_t *shape;

    if (st != SLUICE_OK) {
        return st;
    }
    shape = schema->columns[schema->image].shape;
    if (draws) {
        schema_unset_size(schema, stage);
        return SLUICE_OK;
    }
    if (shape[SCHEMA_H] != 0 && shape[SCHEMA_W] != 0) {
        st = geometry(args, &none, (uint32_t)shape[SCHEMA_W], (uint32_t)shape[SCHEMA_H], &g);
    }
    shape[SCHEMA_H] = g.new_height;
    shape[SCHEMA_W] = g.new_width;
    return st;
}
