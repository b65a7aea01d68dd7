/* SPDX-License-Identifier: Apache-2.0 */
#include "image_maps.h"

#include <string.h>

#include "fused_boxes.h"
#include "sample_draw.h"
#include "sample_maps.h"

uint32_t image_maps_next(const plan_list *list, uint32_t first, uint32_t end)
{
    while (first < end && list->groups[first].map == NULL) {
        first++;
    }
    return first;
}

sluice_status image_maps_check_further(const sample_transform *transform)
{
    for (uint32_t i = 0; i < transform->step_count; i++) {
        const plan_group *group = transform->steps[i].group;

        if (group != NULL && group->map != NULL) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s has changed the geometry of the first image, and this one cannot "
                            "follow; put %s after all crops and resizes, where it can read and "
                            "write both",
                            group->map->name, group->map->name);
        }
    }
    return SLUICE_OK;
}

/* Removes gaps between the lines of the image, which the view of a sample cannot have. */
static sluice_status close_gaps(image_tools *tools, uint32_t steps, image_view *image)
{
    const size_t line = image->width * image_pixel_bytes(image);
    /* No step has written an image with gaps, and the next one writes to the other buffer. */
    image_buffer *to = &tools->between[(steps + 1) % 2];
    sluice_status st;

    if (image->stride == line) {
        return SLUICE_OK;
    }
    st = image_buffer_reserve(to, line * image->height);
    for (uint32_t y = 0; y < image->height && st == SLUICE_OK; y++) {
        memcpy(to->data + y * line, image->pixels + y * image->stride, line);
    }
    image->pixels = to->data;
    image->stride = line;
    return st;
}

/* Adds the step of a map that has written an image, if it has moved it or changed its size. */
static sluice_status add_step(sample_loader *loader, sample_transform *transform,
                              const plan_group *group, const image_view *before,
                              const map_image *written)
{
    const image_view *after = &written->image;
    const bool is_resized = before->width != after->width || before->height != after->height;
    plan_boxes *boxes = drawn_boxes(&loader->drawn);
    transform_step *step = &loader->drawn.steps[transform->step_count];

    if (is_resized && !written->is_warped &&
        (loader->plan->details->images.has_followers || boxes != NULL)) {
        return sli_fail(SLUICE_E_INVALID,
                        "it makes %ux%u of an image of %ux%u, which masks, boxes, points or other "
                        "columns follow; call sluice_sample_warped() with the matrix from the old "
                        "to the new coordinates",
                        after->width, after->height, before->width, before->height);
    }
    if (!written->is_warped && !is_resized) {
        return SLUICE_OK;
    }
    *step = (transform_step){.group = group};
    plan_whole_window(&step->window, before->width, before->height);
    step->window.window_width = after->width;
    step->window.window_height = after->height;
    if (!written->is_warped) { /* nothing follows it; sluice_dataset_explain_sample() names it */
        step->window.new_width = after->width;
        step->window.new_height = after->height;
    }
    step->window.turns = written->is_warped;
    step->window.turn = (image_warp){.matrix = written->warp};
    transform->step_count++;
    if (boxes != NULL) {
        fused_follow_all(&step->window, boxes, boxes->corners);
    }
    return SLUICE_OK;
}

sluice_status image_maps_call(sample_loader *loader, sample_transform *transform,
                              const plan_group *group, const image_draws *draws,
                              void *const *buffers, current_image *current, uint64_t *ticks)
{
    const struct plan_details *details = loader->plan->details;
    const uint32_t step = sample_map_step(details, group->map);
    const uint32_t stage = PLAN_MAPS + details->work.steps[step].profiled;
    map_image image;
    uint64_t start;
    bool keep = true;
    sluice_status st = decode_whole(loader, current, ticks);

    if (st == SLUICE_OK) {
        st = close_gaps(&loader->tools, transform->step_count, &current->image);
    }
    if (st != SLUICE_OK || (group->map->filter != NULL && !loader->filters)) {
        return st;
    }
    image.image = current->image;
    start = change_stage(loader, stage);
    sli_counter_add(&loader->report.counters[PLAN_PIXELS]->busy_ticks, start - *ticks);
    st = sample_map_image(loader, step, draws, buffers, &image, &keep);
    loader->last.dropped = !keep;
    if (st == SLUICE_OK && image.is_written) {
        st = add_step(loader, transform, group, &current->image, &image);
        current->image = image.image;
    }
    count_item(loader, stage, stage_ticks(loader) - start, 0);
    if (st == SLUICE_OK) {
        *ticks = change_stage(loader, PLAN_PIXELS);
    }
    return st;
}
