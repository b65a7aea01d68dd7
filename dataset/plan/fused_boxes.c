/* SPDX-License-Identifier: Apache-2.0 */
#include "fused_boxes.h"

/* A group of geometry on one axis. */
typedef struct fused_axis {
    int64_t at; /* the crop */
    uint32_t length;
    uint32_t margin; /* before the crop */
    uint32_t full;   /* length of the crop with its margins */
    uint32_t grown;  /* that after the resize */
    int64_t window;  /* in it */
    uint32_t shown;  /* length of the window */
} fused_axis;

static fused_axis axis_x(const fused_geometry *g)
{
    return (fused_axis){g->x,         g->width,    g->margins.left, fused_full_width(g),
                        g->new_width, g->window_x, g->window_width};
}

static fused_axis axis_y(const fused_geometry *g)
{
    return (fused_axis){g->y,          g->height,   g->margins.top,  fused_full_height(g),
                        g->new_height, g->window_y, g->window_height};
}

static double clip(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

/* Transforms and clips a range of one axis. False: nothing is left of it. */
static bool follow_axis(double range[2], const fused_axis *a)
{
    const double scale = a->full > 0 ? (double)a->grown / a->full : 0;

    for (int i = 0; i < 2; i++) {
        const double kept = clip(range[i] - (double)a->at, 0, a->length) + a->margin;

        range[i] = clip((kept * scale) - (double)a->window, 0, a->shown);
    }
    return range[0] < range[1];
}

static void move_axis(double range[2], const fused_axis *a)
{
    const double scale = a->full > 0 ? (double)a->grown / a->full : 0;

    for (int i = 0; i < 2; i++) {
        range[i] = ((range[i] - (double)a->at + a->margin) * scale) - (double)a->window;
    }
}

/* Replaces a box by the bounding box of its turned corners. */
static bool turn(const fused_geometry *g, double x[2], double y[2])
{
    double points[8];
    warp_matrix ahead;

    if (!warp_invert(&g->turn.matrix, &ahead)) {
        return false;
    }
    for (size_t i = 0; i < 4; i++) {
        (void)warp_point(&ahead, x[i & 1], y[i >> 1], points + 2 * i);
    }
    warp_bounds(points, x, y);
    return true;
}

bool fused_clip(uint32_t width, uint32_t height, double x[2], double y[2])
{
    for (int i = 0; i < 2; i++) {
        x[i] = clip(x[i], 0, width);
        y[i] = clip(y[i], 0, height);
    }
    return x[0] < x[1] && y[0] < y[1];
}

bool fused_follow(const fused_geometry *g, double x[2], double y[2])
{
    const fused_axis across = axis_x(g);
    const fused_axis down = axis_y(g);

    return g->turns ? turn(g, x, y) && fused_clip(g->window_width, g->window_height, x, y)
                    : follow_axis(x, &across) && follow_axis(y, &down);
}

bool fused_move(const fused_geometry *g, double x[2], double y[2])
{
    const fused_axis across = axis_x(g);
    const fused_axis down = axis_y(g);

    if (g->turns) {
        return turn(g, x, y);
    }
    move_axis(x, &across);
    move_axis(y, &down);
    return true;
}

void fused_follow_all(const fused_geometry *g, const plan_boxes *boxes, double (*corners_out)[4])
{
    for (uint32_t i = 0; i < boxes->count; i++) {
        const double *from = boxes->corners[i];
        double x[2] = {from[0], from[2]};
        double y[2] = {from[1], from[3]};

        if (!fused_follow(g, x, y)) {
            boxes->dropped[i] = 1;
        }
        corners_out[i][0] = x[0];
        corners_out[i][1] = y[0];
        corners_out[i][2] = x[1];
        corners_out[i][3] = y[1];
    }
}
