/* SPDX-License-Identifier: Apache-2.0 */
/* The pixels of an image of a sample: decoding, geometry, the cache, colours, conversion. */
#include "sample_pixels.h"

#include "image_maps.h"
#include "image_steps.h"
#include "layout_int.h"
#include "sample_boxes.h"
#include "sample_cached.h"
#include "sample_draw.h"
#include "sample_erasing.h"
#include "sample_flips.h"

/* What an image or a tile goes through. */
typedef struct image_run {
    const plan_list *list; /* what its steps are drawn from */
    sample_transform *transform;
    bool is_cached; /* the image is read from the cache, or added to it, between two groups */
} image_run;

/* Runs the steps before the cache, and adds the pixels after them to it. An encoded image is
 * decoded as a whole, if there is room for it. */
static sluice_status run_to_cache(sample_loader *loader, const sample_transform *transform,
                                  uint64_t sample, void *const *buffers, current_image *current,
                                  uint64_t *ticks)
{
    /* All groups before the cache have a step, and the one that writes the row comes after it. */
    sluice_status st =
        run_range(loader, 0, loader->plan->details->cache.groups, NULL, current, ticks);

    if (st != SLUICE_OK ||
        (current->encoded &&
         !sample_cached_takes(&loader->cached, current->image.width, current->image.height,
                              image_pixel_bytes(&current->image)))) {
        return st;
    }
    st = decode_whole(loader, current, ticks);
    operation_enter(&loader->clock, OPERATION_CACHE);
    if (st == SLUICE_OK) {
        st = sample_cached_keep_pixels(loader, sample, &current->image, transform, buffers);
    }
    operation_enter(&loader->clock, OPERATION_OTHER);
    return st;
}

/* Draws and runs the steps after a stage that makes views, the colours and the conversion for each
 * view. */
static sluice_status run_views(sample_loader *loader, const image_run *run,
                               const image_draws *draws, row_sink *sink, current_image *current,
                               uint64_t *ticks)
{
    const struct plan_details *details = loader->plan->details;
    const uint32_t first = run->transform->shared_steps;
    uint8_t *row = sink->row;
    sluice_status st = decode_whole(loader, current, ticks);

    image_tools_share(&loader->tools, &current->image);
    for (uint32_t view = 0; view < details->geometry.view_count && st == SLUICE_OK; view++) {
        const image_draws own = draws_of_view(details, draws, view);
        current_image image = *current;
        uint8_t on_device;

        draw_flips(details, 0, own.sample, own.pass, &sink->flags, &on_device);
        sink->flags ^= own.flips;
        sink->row = row + view * sli_conversion_out_bytes(sink->conversion);
        run->transform->step_count = first;
        st = draw_groups(loader, run->transform, run->list, run->list->shared, run->list->count,
                         &own, image.image.width, image.image.height);
        if (st == SLUICE_OK) {
            st = run_range(loader, first, run->transform->step_count, sink, &image, ticks);
        }
        if (st == SLUICE_OK && details->erasing.is_used) {
            operation_enter(&loader->clock, OPERATION_ERASE);
            erase_converted(loader->plan, 0, sink->conversion, own.sample, own.pass, sink->row);
        }
    }
    sink->row = row;
    return st;
}

/*
 * Draws the steps of the head of the list. Those before the cache, of which none is random, are
 * drawn for an image from the cache, too: its masks and boxes follow them. A further image has the
 * windows of the first one.
 */
INLINED sluice_status draw_image(sample_loader *loader, const image_run *run,
                                 const image_draws *draws, void *const *buffers,
                                 const current_image *current)
{
    sample_transform *transform = run->transform;
    sluice_status st = SLUICE_OK;

    if (current->follows) {
        if (loader->tools.colors.chain_count > 0) {
            draw_lines_again(loader, transform, draws);
        }
        return run->list->head < run->list->shared ? image_maps_check_further(transform)
                                                   : SLUICE_OK;
    }
    if (run->is_cached && loader->cached.hit) {
        transform->width = loader->cached.width;
        transform->height = loader->cached.height;
        transform->applied = loader->cached.applied;
        st = opened_image_check_resumed(loader, transform->applied.image);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    if (loader->drawn.boxes.corners != NULL) {
        boxes_begin(&loader->plan->dataset->source_schema, transform, buffers,
                    &loader->drawn.boxes);
    }
    transform->step_count = 0;
    return draw_groups(loader, transform, run->list, 0, run->list->head, draws, transform->width,
                       transform->height);
}

/* Calls the image maps of a list, and draws and runs the steps after each of them. sink: as for
 * run_steps(). */
static sluice_status run_maps(sample_loader *loader, const image_run *run, const image_draws *draws,
                              void *const *buffers, row_sink *sink, current_image *current,
                              uint64_t *ticks)
{
    const bool is_last_read = plan_maps_alone(loader->plan->details);
    const uint32_t shared = run->list->shared;
    sample_transform *transform = run->transform;
    uint32_t first = run->list->head;
    sluice_status st = SLUICE_OK;

    while (first < shared && st == SLUICE_OK) {
        const uint32_t end = image_maps_next(run->list, first + 1, shared);
        uint32_t step;

        st = image_maps_call(loader, transform, &run->list->groups[first], draws, buffers, current,
                             ticks);
        if (st != SLUICE_OK || loader->last.dropped || (end == shared && is_last_read)) {
            return st;
        }
        step = transform->step_count;
        st = draw_groups(loader, transform, run->list, first + 1, end, draws, current->image.width,
                         current->image.height);
        if (st == SLUICE_OK) {
            st = run_range(loader, step, transform->step_count, end == shared ? sink : NULL,
                           current, ticks);
        }
        first = end;
    }
    return st;
}

/* The destination of the last step of the head of a list that has more groups: a further image has
 * the steps of all groups before the views. */
static row_sink *sink_of_head(const image_run *run, const current_image *current, row_sink *sink)
{
    return current->follows && run->list->shared == run->list->count ? sink : NULL;
}

/* Runs what comes after the head of a list. */
static sluice_status run_tail(sample_loader *loader, const image_run *run, const image_draws *draws,
                              void *const *buffers, row_sink *sink, current_image *current,
                              uint64_t *ticks)
{
    const bool has_views = run->list->shared < run->list->count;
    sluice_status st = SLUICE_OK;

    if (run->list->head < run->list->shared && !current->follows) {
        st = run_maps(loader, run, draws, buffers, has_views ? NULL : sink, current, ticks);
    }
    run->transform->shared_steps = run->transform->step_count;
    return st == SLUICE_OK && has_views && !loader->last.dropped &&
                   !plan_maps_alone(loader->plan->details)
               ? run_views(loader, run, draws, sink, current, ticks)
               : st;
}

/* Runs all steps, or those after the cache for an image that was read from it. sink: the
 * destination of the last step; NULL: its result is the current image. */
INLINED sluice_status run_steps(sample_loader *loader, const image_run *run,
                                const image_draws *draws, void *const *buffers, row_sink *sink,
                                current_image *current, uint64_t *ticks)
{
    const struct plan_details *details = loader->plan->details;
    sluice_status st = draw_image(loader, run, draws, buffers, current);
    const bool has_tail = run->list->head < run->list->count;

    if (st == SLUICE_OK && run->is_cached && !loader->cached.hit) {
        st = run_to_cache(loader, run->transform, draws->sample, buffers, current, ticks);
    }
    if (st == SLUICE_OK) {
        st = run_range(loader, run->is_cached ? details->cache.groups : 0,
                       run->transform->step_count,
                       has_tail ? sink_of_head(run, current, sink) : sink, current, ticks);
    }
    return st == SLUICE_OK && has_tail ? run_tail(loader, run, draws, buffers, sink, current, ticks)
                                       : st;
}

/* Draws the lines of the first image again after a further one: masks follow its warps. */
static sluice_status draw_first_again(sample_loader *loader, uint64_t sample, uint64_t pass)
{
    const image_draws draws = {sample, pass, (uint32_t)loader->plan->details->images.first, 0, 0};
    sluice_status st = SLUICE_OK;

    draw_lines_again(loader, &loader->drawn.image, &draws);
    for (uint32_t i = 0; i < loader->drawn.image.step_count && st == SLUICE_OK; i++) {
        st = loader->drawn.steps[i].lines != NULL ? color_make_fields(loader->drawn.steps[i].lines)
                                                  : SLUICE_OK;
    }
    return st;
}

/* Does what is left once an image is in its row. further: NULL for the first image. */
static sluice_status complete_row(sample_loader *loader, const image_draws *draws,
                                  const sample_data *data, const plan_further_image *further,
                                  void *const *buffers, const row_sink *sink)
{
    const sli_plan *plan = loader->plan;

    if (sink->has_lost) {
        return fail_lost_value(sink->conversion, sink->lost);
    }
    if (plan->details->geometry.part_fill != NULL) {
        fill_converted(&loader->drawn.steps[loader->drawn.image.step_count - 1].window,
                       sink->conversion, sink->flags, sink->row);
    }
    if (plan->details->erasing.is_used && plan->details->geometry.view == NULL) {
        operation_enter(&loader->clock, OPERATION_ERASE);
        erase_converted(plan, further != NULL ? further->segment : 0, sink->conversion,
                        draws->sample, draws->pass, sink->row);
    }
    if (loader->cached.samples != NULL && further == NULL && data->bytes != NULL &&
        !plan->details->cache.is_decoded && !loader->cached.hit) {
        operation_enter(&loader->clock, OPERATION_CACHE);
        return sample_cached_keep(loader, draws->sample, data, buffers);
    }
    return SLUICE_OK;
}

sluice_status sample_process_image(sample_loader *loader, uint64_t sample, uint64_t pass,
                                   const sample_data *data, const plan_further_image *further,
                                   void *const *buffers, uint8_t *flags, uint64_t ticks)
{
    const sli_plan *plan = loader->plan;
    const int column = further != NULL ? (int)further->column : plan->details->images.first;
    sample_transform *transform = &loader->drawn.image;
    const image_draws draws = {sample, pass, (uint32_t)column, 0, 0};
    row_sink sink = {.conversion = &plan->host_conversion,
                     .row = buffers[column],
                     .operation = plan->details->work.segments[0].operation};
    const image_run run = {&plan->details->geometry.list, transform,
                           loader->cached.samples != NULL && further == NULL &&
                               plan->details->cache.is_decoded &&
                               plan->details->geometry.mosaic.tiles == 0};
    current_image current;
    sluice_status st;

    current.follows = further != NULL;
    current.is_extra = further != NULL;
    if (further != NULL) {
        sink.conversion = &further->conversion;
        sink.operation = plan->details->work.segments[further->segment].operation;
        sink.flags = transform->flips;
    } else {
        draw_flips(plan->details, 0, sample, pass, &sink.flags, flags);
        if (plan->details->colors.host_count < plan->details->colors.count) {
            colors_draw_device(&loader->tools.colors, plan, &draws);
        }
    }
    st = open_image(loader, sample, data,
                    further != NULL ? further->decode : plan->details->geometry.decode, &current);
    if (further == NULL) {
        transform->width = current.image.width;
        transform->height = current.image.height;
        transform->applied = current.applied;
        transform->flips = (uint8_t)((sink.flags ^ *flags) & ~SLI_ROW_ZERO);
    } else if (st == SLUICE_OK) {
        st = image_rules_fit_further(&current.image, transform->width, transform->height);
    }
    if (st == SLUICE_OK) {
        st = run_steps(loader, &run, &draws, buffers, &sink, &current, &ticks);
    }
    if (st == SLUICE_OK) {
        st = complete_row(loader, &draws, data, further, buffers, &sink);
    }
    if (st == SLUICE_OK) {
        count_image(loader, PLAN_PIXELS, &current, stage_ticks(loader) - ticks,
                    sli_conversion_out_bytes(sink.conversion) * plan->details->geometry.view_count);
    }
    if (further != NULL && plan->details->colors.warps && st == SLUICE_OK) {
        st = draw_first_again(loader, sample, pass);
    }
    return st;
}

/* ---- the tiles of a mosaic ------------------------------------------------------------------- */

/* Reduces one axis of a window to the part of it that the image, [0, length), covers. Returns where
 * that part begins in the window. *shown: its length; 0: nothing is shown, and the window keeps its
 * position. */
static uint32_t show_axis(int64_t *window, uint32_t *shown, uint32_t length)
{
    const int64_t begin = *window > 0 ? *window : 0;
    const int64_t end = *window + *shown < length ? *window + *shown : length;
    const int64_t at = begin - *window;

    if (begin >= end) {
        *shown = 0;
        return 0;
    }
    *window = begin;
    *shown = (uint32_t)(end - begin);
    return (uint32_t)at;
}

/* Reduces the window of a tile to what it shows of the image. Returns its rectangle. */
static image_box show_tile(fused_geometry *window)
{
    image_box shown;

    shown.x = show_axis(&window->window_x, &window->window_width, window->new_width);
    shown.y = show_axis(&window->window_y, &window->window_height, window->new_height);
    shown.width = window->window_width;
    shown.height = window->window_height;
    return shown;
}

/* Resizes the current image into its part of the canvas. */
static sluice_status paint_tile(sample_loader *loader, fused_geometry *window,
                                const image_box *shown, const sli_conversion *conversion,
                                current_image *current, image_buffer *canvas, uint64_t *ticks)
{
    const uint32_t channels = current->image.channels;
    const size_t stride = (size_t)loader->plan->details->geometry.mosaic.width * channels;
    image_lines lines = {NULL, stride, (size_t)shown->width * channels};
    const line_sink sink = {copy_line, &lines, NULL};
    image_view pixels;
    sluice_status st;

    if (channels != conversion->channels) {
        return sli_fail(SLUICE_E_INVALID, "the image has %u channels, and that of the batch %u",
                        channels, conversion->channels);
    }
    if (current->encoded && current->decode->fast_scale) {
        scale_down(loader->tools.decoder, window, current);
    }
    lines.to = canvas->data + shown->y * stride + (size_t)shown->x * channels;
    st = prepare_window(loader, window, current, ticks, &pixels);
    operation_enter(&loader->clock, OPERATION_MOSAIC);
    return st == SLUICE_OK ? resample_run(&loader->tools.resampler, &pixels, &sink) : st;
}

sluice_status sample_process_tile(sample_loader *loader, const tile_task *task, uint32_t column,
                                  const sample_data *data, void *const *buffers,
                                  image_buffer *canvas, image_box *shown_out)
{
    const struct plan_details *details = loader->plan->details;
    const plan_mosaic *mosaic = &details->geometry.mosaic;
    const bool is_first = (int)column == details->images.first;
    const plan_further_image *further = is_first ? NULL : plan_further_of(details, column);
    const sli_conversion *conversion =
        is_first ? &loader->plan->host_conversion : &further->conversion;
    const bool is_cached = is_first && loader->cached.samples != NULL;
    sample_transform *transform = &loader->drawn.tile;
    const image_run run = {&mosaic->list, transform, is_cached && details->cache.is_decoded};
    const image_draws draws = {task->sample, task->pass, column, 0, 0};
    fused_geometry *window = NULL;
    uint64_t ticks = change_stage(loader, data->bytes != NULL ? PLAN_DECODE : PLAN_PIXELS);
    current_image current = {.follows = !is_first, .is_extra = !is_first || task->tile > 0};
    sluice_status st = open_image(loader, task->sample, data,
                                  is_first ? details->geometry.decode : further->decode, &current);

    if (is_first) {
        transform->width = current.image.width;
        transform->height = current.image.height;
        transform->applied = current.applied;
    } else if (st == SLUICE_OK) {
        st = image_rules_fit_further(&current.image, transform->width, transform->height);
        transform->step_count--; /* the resize is drawn again */
    }
    if (st == SLUICE_OK) {
        st = run_steps(loader, &run, &draws, buffers, NULL, &current, &ticks);
    }
    if (st == SLUICE_OK) {
        transform_step *step = &loader->drawn.steps[transform->step_count++];

        step->lines = NULL;
        step->group = NULL;
        window = &step->window;
        st = plan_place_tile(mosaic, &task->draws, task->tile, current.image.width,
                             current.image.height, window, &loader->last.stage);
    }
    if (st == SLUICE_OK) {
        *shown_out = show_tile(window);
    }
    if (st == SLUICE_OK && shown_out->width > 0 && shown_out->height > 0) {
        fused_geometry scaled = *window;

        st = paint_tile(loader, &scaled, shown_out, conversion, &current, canvas, &ticks);
    }
    if (st == SLUICE_OK && is_cached && data->bytes != NULL && !details->cache.is_decoded &&
        !loader->cached.hit) {
        st = sample_cached_keep(loader, task->sample, data, buffers);
    }
    sli_counter_add(&loader->report.counters[PLAN_PIXELS]->busy_ticks, stage_ticks(loader) - ticks);
    operation_enter(&loader->clock, OPERATION_NONE); /* what follows is not in a stage */
    return st;
}
