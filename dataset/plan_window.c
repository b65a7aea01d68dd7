/* SPDX-License-Identifier: Apache-2.0 */
/* Composing crops and a resize into one resampling. */
#include "plan.h"

/* A crop, given in the coordinates of what is seen so far. */
static void compose_crop(plan_window *w, bool resized, const stage_geometry *g)
{
    if (!resized && g->x >= 0 && g->y >= 0 && g->x + g->width <= w->window_width &&
        g->y + g->height <= w->window_height && w->window_x >= 0 && w->window_y >= 0 &&
        w->window_x + w->window_width <= w->width && w->window_y + w->window_height <= w->height) {
        /* Wholly within the image: it is a smaller image, as a resize that follows wants it. */
        w->x += w->window_x + g->x;
        w->y += w->window_y + g->y;
        w->width = g->width;
        w->height = g->height;
        w->new_width = g->width;
        w->new_height = g->height;
        w->window_x = 0;
        w->window_y = 0;
    } else {
        w->window_x += g->x;
        w->window_y += g->y;
    }
    w->window_width = g->width;
    w->window_height = g->height;
}

static void compose_resize(plan_window *w, const stage_geometry *g)
{
    w->new_width = g->new_width;
    w->new_height = g->new_height;
    w->window_x = 0;
    w->window_y = 0;
    w->window_width = g->new_width;
    w->window_height = g->new_height;
}

sluice_status plan_compose(const struct plan_details *details, const plan_group *group,
                           uint64_t sample, uint64_t pass, uint32_t width, uint32_t height,
                           plan_window *window_out, const char **stage_out)
{
    plan_window w = {0, 0, width, height, width, height, 0, 0, width, height};
    bool resized = false;

    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        const plan_stage *planned = &details->geometry[i];
        const stage_def *def = planned->stage->def;
        const sli_draws draws = {planned->key, sample, pass};
        stage_geometry g = {0};
        sluice_status st =
            def->geometry(planned->stage->args.bytes, &draws, w.window_width, w.window_height, &g);

        if (st == SLUICE_OK && g.resizes &&
            (g.new_width == 0 || g.new_width > 65535 || g.new_height == 0 ||
             g.new_height > 65535)) {
            st =
                sli_fail(SLUICE_E_INVALID, "resizing %ux%u gives %ux%u, want sides from 1 to 65535",
                         w.window_width, w.window_height, g.new_width, g.new_height);
        }
        if (st != SLUICE_OK) {
            *stage_out = def->name;
            return st;
        }
        if (g.crops) {
            compose_crop(&w, resized, &g);
        }
        if (g.resizes) {
            compose_resize(&w, &g);
            resized = true;
        }
    }
    *window_out = w;
    return SLUICE_OK;
}
