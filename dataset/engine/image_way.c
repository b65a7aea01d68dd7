/* SPDX-License-Identifier: Apache-2.0 */
#include "image_way.h"

#include <math.h>

#include "layout_int.h"

/* The map of the flips, which is its own inverse. */
static warp_matrix flips_of(const image_way *way)
{
    const fused_geometry *last = &way->groups[way->group_count - 1];
    warp_matrix map = warp_identity;

    if ((way->flips & SLI_ROW_FLIP) != 0) {
        map.m[0] = -1;
        map.m[2] = last->window_width;
    }
    if ((way->flips & SLI_ROW_FLIP_LINES) != 0) {
        map.m[4] = -1;
        map.m[5] = last->window_height;
    }
    return map;
}

/* The map of one axis back over a group, from its result: step * x + offset. */
typedef struct axis_back {
    double step;
    double offset;
} axis_back;

static axis_back back_axis(int64_t at, uint32_t margin, uint32_t full, uint32_t grown,
                           int64_t window)
{
    /* The window of a group without a resize may show nothing of the image. */
    const double step = grown > 0 ? (double)full / grown : 1;

    return (axis_back){step, (double)at - margin + (double)window * step};
}

static void back_group(const fused_geometry *g, axis_back *x_out, axis_back *y_out)
{
    *x_out = back_axis(g->x, g->margins.left, fused_full_width(g), g->new_width, g->window_x);
    *y_out = back_axis(g->y, g->margins.top, fused_full_height(g), g->new_height, g->window_y);
}

/* Extends the map of one axis, offset + across * x + down * y, back over a group. */
static void extend_back(double map[3], const axis_back *axis)
{
    map[2] = map[2] * axis->step + axis->offset;
    map[0] *= axis->step;
    map[1] *= axis->step;
}

void way_back(const image_way *way, float map[6])
{
    warp_matrix all = flips_of(way);

    for (uint32_t i = way->colors != NULL ? way->colors->count : 0; i-- > 0;) {
        const color_operation *operation = &way->colors->operations[i];

        if (operation->kind == COLOR_WARP) {
            all = warp_compose(&operation->warp.matrix, &all);
        }
    }
    for (uint32_t i = way->group_count; i-- > 0;) {
        axis_back x;
        axis_back y;

        if (way->groups[i].turns) {
            all = warp_compose(&way->groups[i].turn.matrix, &all);
            continue;
        }
        back_group(&way->groups[i], &x, &y);
        extend_back(&all.m[0], &x);
        extend_back(&all.m[3], &y);
    }
    for (int i = 0; i < 6; i++) {
        map[i] = (float)all.m[i];
    }
}

/* The map of all groups, from the image before all geometry. */
static warp_matrix ahead_of_groups(const image_way *way)
{
    warp_matrix all = warp_identity;

    for (uint32_t i = 0; i < way->group_count; i++) {
        warp_matrix group = warp_identity;
        axis_back x;
        axis_back y;

        if (way->groups[i].turns) {
            (void)warp_invert(&way->groups[i].turn.matrix, &group); /* a rotation has an inverse */
            all = warp_compose(&group, &all);
            continue;
        }
        back_group(&way->groups[i], &x, &y);
        group.m[0] = 1 / x.step;
        group.m[2] = -x.offset / x.step;
        group.m[4] = 1 / y.step;
        group.m[5] = -y.offset / y.step;
        all = warp_compose(&group, &all);
    }
    return all;
}

bool way_ahead(const image_way *way, uint32_t *next, way_leg *leg_out)
{
    const uint32_t count = way->colors != NULL ? way->colors->count : 0;
    warp_matrix map = *next == 0 ? ahead_of_groups(way) : warp_identity;
    const warp_shifts *shifts = NULL;
    uint32_t i = *next;

    for (; i < count && shifts == NULL; i++) {
        const color_operation *operation = &way->colors->operations[i];
        warp_matrix warp;

        if (operation->kind != COLOR_WARP) {
            continue;
        }
        if (!warp_invert(&operation->warp.matrix, &warp)) {
            return false;
        }
        map = warp_compose(&warp, &map);
        shifts = operation->warp.shifts;
    }
    *next = i;
    if (shifts == NULL) {
        const warp_matrix flips = flips_of(way);

        map = warp_compose(&flips, &map);
        *next = WAY_END;
    }
    *leg_out = (way_leg){map, shifts};
    return true;
}

/* The pixel whose displacement a point gets. */
static uint32_t pixel_of_point(double value, uint32_t length)
{
    const double last = (double)length - 1;

    return (uint32_t)(value > 0 ? value < last ? ceil(value) : last : 0); /* also if it is NaN */
}

void way_shift_back(const warp_shifts *shifts, uint32_t width, uint32_t height, double point[2])
{
    const uint32_t x = pixel_of_point(point[0], width);
    const uint32_t y = pixel_of_point(point[1], height);
    const float *line = shifts->lines + 2 * (size_t)y * shifts->stride;

    point[0] -= (double)line[x];
    point[1] -= (double)line[shifts->stride + x];
}
