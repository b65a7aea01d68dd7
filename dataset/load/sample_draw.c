/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_draw.h"

#include "image_steps.h"
#include "loader_stage.h"
#include "sample_boxes.h"

/* An image while its steps are drawn. */
typedef struct drawing {
    sample_loader *loader;
    sample_transform *transform;
    const image_draws *draws;
    uint32_t width; /* after the steps so far */
    uint32_t height;
} drawing;

/* True if a step, as it was drawn for the first image, leaves all images of the sample as they are.
 * Colours may work on further images only. */
static bool is_idle(const struct plan_details *details, const transform_step *step)
{
    const plan_group *group = step->group;
    const bool is_drawn =
        group->count > 0 &&
        (details->geometry.stages[group->first].stage->def->flip == NULL || step->window.turns);

    return !is_drawn && step->lines == NULL &&
           (group->color_first == group->color_end || details->images.further_count == 0);
}

static color_chain *draw_lines(sample_loader *loader, uint32_t step, const image_draws *draws)
{
    const transform_step *drawn = &loader->drawn.steps[step];

    return drawn->group->color_end > drawn->group->color_first
               ? colors_draw(&loader->tools.colors, loader->plan, drawn->group, step,
                             drawn->window.window_width, drawn->window.window_height, draws)
               : NULL;
}

/* Draws the step of a group without branches. */
static inline sluice_status draw_step(drawing *d, const plan_group *group)
{
    sample_loader *loader = d->loader;
    const struct plan_details *details = loader->plan->details;
    const uint32_t number = d->transform->step_count;
    transform_step *step = &loader->drawn.steps[number];
    plan_boxes *boxes = drawn_boxes(&loader->drawn);
    sluice_status st = plan_fuse_geometry(details, group, d->draws, d->width, d->height, boxes,
                                          &step->window, &loader->last.stage);

    if (st != SLUICE_OK) {
        return st;
    }
    step->group = group;
    step->lines = draw_lines(loader, number, d->draws);
    if (step->lines != NULL && details->colors.warps && boxes != NULL) {
        st = check_step_size(loader, step); /* elastic warps take memory for each pixel */
        if (st == SLUICE_OK) {
            st = boxes_warp(step->lines, boxes);
        }
        if (st != SLUICE_OK) {
            return st;
        }
    }
    if (group->writes_row || !is_idle(details, step)) {
        d->transform->step_count++;
        d->width = step->window.window_width;
        d->height = step->window.window_height;
    }
    return SLUICE_OK;
}

/* Draws which branches the image goes through, and their steps. */
static sluice_status draw_branches(drawing *d, const plan_branches *branches)
{
    const sli_draws own = {branches->key, d->draws->sample, d->draws->pass};
    uint32_t order[NESTED_BRANCHES];
    const uint32_t count =
        branches->stage->def->geometry->branches->choose(branches->stage->args.bytes, &own, order);
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < count; i++) {
        const plan_list *list = &branches->lists[order[i]];

        for (uint32_t k = 0; k < list->count && st == SLUICE_OK; k++) {
            const plan_group *group = &list->groups[k];

            st = group->branches != NULL ? draw_branches(d, group->branches) : draw_step(d, group);
        }
    }
    return st;
}

sluice_status draw_groups(sample_loader *loader, sample_transform *transform, const plan_list *list,
                          uint32_t first, uint32_t end, const image_draws *draws, uint32_t width,
                          uint32_t height)
{
    drawing d = {loader, transform, draws, width, height};
    sluice_status st = SLUICE_OK;

    for (uint32_t i = first; i < end && st == SLUICE_OK; i++) {
        const plan_group *group = &list->groups[i];

        st = group->branches != NULL ? draw_branches(&d, group->branches) : draw_step(&d, group);
    }
    return st;
}

image_draws draws_of_view(const struct plan_details *details, const image_draws *draws,
                          uint32_t view)
{
    const dataset_stage *stage = details->geometry.view;
    const view_ops *ops = stage->def->geometry->views;
    image_draws own = *draws;

    own.view = view;
    own.flips = ops->flips != NULL ? ops->flips(stage->args.bytes, view) : 0;
    if (view > 0) {
        own.pass = sli_further_pass(draws->pass, sli_mix_in(sli_hash_text("views"), view));
    }
    return own;
}

void draw_lines_again(sample_loader *loader, const sample_transform *transform,
                      const image_draws *draws)
{
    for (uint32_t i = 0; i < transform->step_count; i++) {
        loader->drawn.steps[i].lines = draw_lines(loader, i, draws);
    }
}
