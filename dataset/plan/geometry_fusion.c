/* SPDX-License-Identifier: Apache-2.0 */
/* Fuses the geometry stages of a group, crops, paddings and up to one resize, into one resampling.
 */
#include "fused_boxes.h"

/* Longest side of a padded image. */
enum { MOST_SIDE = 1 << 20 };

/*
 * Applies a crop to one axis of the current window, before any resize. Pixels outside the crop are
 * lost: where a later crop extends beyond it, padding must appear. The result may be empty.
 */
static void narrow_axis(int64_t *at, uint32_t *length, int64_t *window, int64_t start,
                        uint32_t want)
{
    const int64_t from = *window + start;
    const int64_t low = from > 0 ? from : 0;
    const int64_t high = from + want < *length ? from + want : *length;

    *at += low;
    *length = low < high ? (uint32_t)(high - low) : 0;
    *window = from - low;
}

/*
 * Fuses a crop. Its coordinates are relative to the current window. After a resize, and in an image
 * that is continued beyond its edges, pixels outside the crop are kept, as the window shows them.
 */
static void fuse_crop(fused_geometry *w, bool resized, const plan_stage *planned,
                      const stage_window *g)
{
    const bool keeps = resized || w->padding.edge != EDGE_CONSTANT;

    if (planned->pads) {
        w->padding = planned->padding;
    }
    if (keeps) {
        w->window_x += g->x;
        w->window_y += g->y;
    } else {
        narrow_axis(&w->x, &w->width, &w->window_x, g->x, g->width);
        narrow_axis(&w->y, &w->height, &w->window_y, g->y, g->height);
        w->new_width = w->width;
        w->new_height = w->height;
    }
    w->window_width = g->width;
    w->window_height = g->height;
}

/* The pixels of a window beside the crop, which is all before a resize, become its margins. */
static void keep_margins(int64_t window, uint32_t shown, uint32_t length, uint32_t *before,
                         uint32_t *after)
{
    const uint64_t most = window < 0 ? (uint64_t)-window : 0;

    *before = most < shown ? (uint32_t)most : shown;
    *after = shown - *before - length;
}

static void fuse_resize(fused_geometry *w, const plan_stage *planned, const stage_window *g)
{
    keep_margins(w->window_x, w->window_width, w->width, &w->margins.left, &w->margins.right);
    keep_margins(w->window_y, w->window_height, w->height, &w->margins.top, &w->margins.bottom);
    w->margin_padding = w->padding;
    w->padding = (stage_padding){0};
    w->new_width = g->new_width;
    w->new_height = g->new_height;
    w->filter = g->filter;
    w->window_x = 0;
    w->window_y = 0;
    w->window_width = g->new_width;
    w->window_height = g->new_height;
    if (g->frames) {
        w->window_x = g->window_x;
        w->window_y = g->window_y;
        w->window_width = g->window_width;
        w->window_height = g->window_height;
        w->padding = planned->padding;
    }
}

static sluice_status check_sides(const fused_geometry *w, const stage_window *g)
{
    if (g->resizes && (g->new_width == 0 || g->new_width > 65535 || g->new_height == 0 ||
                       g->new_height > 65535)) {
        return sli_fail(SLUICE_E_INVALID,
                        "resizing %ux%u gives %ux%u, and sides must be from 1 to 65535",
                        w->window_width, w->window_height, g->new_width, g->new_height);
    }
    if (g->turns && (g->new_width == 0 || g->new_width > MOST_SIDE || g->new_height == 0 ||
                     g->new_height > MOST_SIDE)) {
        return sli_fail(SLUICE_E_INVALID,
                        "rotating %ux%u gives %ux%u, and sides must be from 1 to %d",
                        w->window_width, w->window_height, g->new_width, g->new_height, MOST_SIDE);
    }
    if (g->crops &&
        (g->width == 0 || g->width > MOST_SIDE || g->height == 0 || g->height > MOST_SIDE)) {
        return sli_fail(SLUICE_E_INVALID,
                        "padding %ux%u gives %ux%u, and sides must be from 1 to %d",
                        w->window_width, w->window_height, g->width, g->height, MOST_SIDE);
    }
    return SLUICE_OK;
}

/* Draws the geometry of a stage for the current window. */
static sluice_status draw_stage(const plan_stage *planned, const sli_draws *draws, uint32_t view,
                                const fused_geometry *w, plan_boxes *boxes, stage_window *out)
{
    const geometry_ops *ops = planned->stage->def->geometry;
    const void *args = planned->stage->args.bytes;
    stage_boxes at_stage;

    if (ops->views != NULL) {
        return ops->views->draw(args, view, w->window_width, w->window_height, out);
    }
    if (ops->draw_of_boxes == NULL) {
        return ops->draw(args, draws, w->window_width, w->window_height, out);
    }
    fused_follow_all(w, boxes, boxes->moved);
    at_stage = (stage_boxes){boxes->count, (const double(*)[4])boxes->moved, boxes->dropped};
    return ops->draw_of_boxes(args, draws, &at_stage, w->window_width, w->window_height, out);
}

void plan_whole_window(fused_geometry *w, uint32_t width, uint32_t height)
{
    w->x = 0;
    w->y = 0;
    w->width = width;
    w->height = height;
    w->margins = (image_margins){0};
    w->margin_padding = (stage_padding){0};
    w->new_width = width;
    w->new_height = height;
    w->window_x = 0;
    w->window_y = 0;
    w->window_width = width;
    w->window_height = height;
    w->filter = (resize_filter){0};
    w->padding = (stage_padding){0};
    w->turns = false;
}

sluice_status plan_fuse_geometry(const struct plan_details *details, const plan_group *group,
                                 const image_draws *draws, uint32_t width, uint32_t height,
                                 plan_boxes *boxes, fused_geometry *fused_out,
                                 const char **stage_out)
{
    fused_geometry *w = fused_out;
    bool resized = false;

    plan_whole_window(w, width, height);
    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        const plan_stage *planned = &details->geometry.stages[i];
        const stage_def *def = planned->stage->def;
        const sli_draws own = {planned->key, draws->sample, draws->pass};
        stage_window g = {.turn = &w->turn};
        sluice_status st = draw_stage(planned, &own, draws->view, w, boxes, &g);

        if (st == SLUICE_OK) {
            st = check_sides(w, &g);
        }
        if (st != SLUICE_OK) {
            *stage_out = def->name;
            return st;
        }
        if (g.crops) {
            fuse_crop(w, resized, planned, &g);
        }
        if (g.turns) {
            w->turns = true;
            w->window_width = g.new_width;
            w->window_height = g.new_height;
        }
        if (g.resizes) {
            fuse_resize(w, planned, &g);
            resized = true;
        }
    }
    if (boxes != NULL) {
        fused_follow_all(w, boxes, boxes->corners);
    }
    return SLUICE_OK;
}

sluice_status plan_place_tile(const plan_mosaic *mosaic, const sli_draws *draws, uint32_t tile,
                              uint32_t width, uint32_t height, fused_geometry *fused_out,
                              const char **stage_out)
{
    const dataset_stage *stage = mosaic->planned->stage;
    stage_window g = {0};
    sluice_status st;

    plan_whole_window(fused_out, width, height);
    stage->def->geometry->tiles->place(stage->args.bytes, draws, tile, width, height, &g);
    st = check_sides(fused_out, &g);
    if (st != SLUICE_OK) {
        *stage_out = stage->def->name;
        return st;
    }
    fuse_resize(fused_out, mosaic->planned, &g);
    return SLUICE_OK;
}
