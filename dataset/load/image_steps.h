/* SPDX-License-Identifier: Apache-2.0 */
/* One step of an image: from the current image, whose pixels may still be encoded, to the next
 * image or to the row. */
#ifndef SLUICE_IMAGE_STEPS_H
#define SLUICE_IMAGE_STEPS_H

#include <string.h>

#include "current_image.h"
#include "image_turn.h"
#include "layout_int.h"
#include "window_job.h"

/* The destination of the last geometry group: lines are converted and stored in the row. */
typedef struct row_sink {
    const sli_conversion *conversion;
    uint8_t *row;
    uint8_t flags;
    uint8_t operation;      /* row of the report of the conversion */
    bool has_lost;          /* a float has become infinite; */
    float lost;             /* the first one */
    operation_clock *clock; /* set by choose_row() if the sample is measured */
} row_sink;

static inline void convert_line(void *arg, uint32_t y, const uint8_t *pixels)
{
    const row_sink *sink = arg;

    sli_convert_line(sink->conversion, y, pixels, sink->row, sink->flags);
}

/* The same of floats that the type of the row may not represent. */
static inline void convert_checked_line(void *arg, uint32_t y, const uint8_t *pixels)
{
    row_sink *sink = arg;
    const sli_conversion *conversion = sink->conversion;

    if (!sink->has_lost) {
        sink->has_lost =
            sli_conversion_loses(conversion, (const float *)(const void *)pixels,
                                 (size_t)conversion->width * conversion->channels, &sink->lost);
    }
    sli_convert_line(conversion, y, pixels, sink->row, sink->flags);
}

/* The same of a sample whose operations are measured. */
static inline void convert_measured_line(void *arg, uint32_t y, const uint8_t *pixels)
{
    row_sink *sink = arg;
    const uint8_t outer = sink->clock->current;

    operation_enter(sink->clock, sink->operation);
    if (sink->conversion->loses) {
        convert_checked_line(arg, y, pixels);
    } else {
        convert_line(arg, y, pixels);
    }
    operation_enter(sink->clock, outer);
}

/* An image in memory that lines are copied into. */
typedef struct image_lines {
    uint8_t *to;
    size_t stride;
    size_t bytes; /* of a line */
} image_lines;

static inline void copy_line(void *arg, uint32_t y, const uint8_t *pixels)
{
    const image_lines *lines = arg;

    memcpy(lines->to + y * lines->stride, pixels, lines->bytes);
}

/* Fails since the image after the last step does not have the size or the channels of the batch. */
sluice_status fail_image_size(const sli_plan *plan, const sli_conversion *want,
                              const fused_geometry *window, uint32_t channels);

/* Fails since this value of the image is too large for the type that it is converted to. */
sluice_status fail_lost_value(const sli_conversion *conversion, float value);

/* E_INVALID: the image after a step would have too many pixels. */
sluice_status check_step_size(sample_loader *loader, const transform_step *step);

/*
 * Determines the destination of step `number`: the image for the next step, with channels and
 * elements as those of `pixels`. image: written if lines are copied there. E_INVALID: it would have
 * too many pixels.
 */
sluice_status choose_image(sample_loader *loader, uint32_t number, const image_view *pixels,
                           image_lines *image, line_sink *sink);

/* Determines the destination of step `number`, the last one: the row. */
INLINED sluice_status choose_row(sample_loader *loader, uint32_t number, uint32_t channels,
                                 row_sink *row, line_sink *sink)
{
    const fused_geometry *window = &loader->drawn.steps[number].window;
    const sli_conversion *conversion = row->conversion;

    if (window->window_width != conversion->width || window->window_height != conversion->height ||
        channels != conversion->channels) {
        return fail_image_size(loader->plan, conversion, window, channels);
    }
    *sink = (line_sink){row->conversion->loses ? convert_checked_line : convert_line, row, NULL};
    if (loader->clock.is_on) {
        row->clock = &loader->clock;
        sink->line = convert_measured_line;
    }
    if (loader->drawn.steps[number].lines != NULL) {
        return colors_start(&loader->tools.colors, loader->drawn.steps[number].lines, channels,
                            sink);
    }
    if ((sli_conversion_is_identity(conversion) && (row->flags & SLI_ROW_FLIP_LINES) == 0) ||
        (conversion->to == SLUICE_U8 && !conversion->to_chw && row->flags == 0)) {
        sink->direct = row->row;
    }
    return SLUICE_OK;
}

/* Prepares the resampler for a window, and returns the pixels that it needs. */
INLINED sluice_status prepare_window(sample_loader *loader, const fused_geometry *window,
                                     current_image *current, uint64_t *ticks, image_view *pixels)
{
    const resample_job job = window_job(window, current->image.channels, current->image.element);
    image_box needed;
    sluice_status st = resample_prepare(&loader->tools.resampler, &job, &needed);

    if (st == SLUICE_OK) {
        needed.x += (uint32_t)window->x;
        needed.y += (uint32_t)window->y;
        st = find_pixels(loader, current, &needed, pixels);
    }
    if (st == SLUICE_OK && current->encoded) {
        count_decoded(loader, current, pixels, ticks);
    }
    return st;
}

/* Runs a step: from the current image to the next image, or to the row if it is not NULL. */
INLINED sluice_status run_step(sample_loader *loader, uint32_t number, row_sink *row,
                               current_image *current, uint64_t *ticks)
{
    const uint32_t channels = current->image.channels;
    const transform_step *step = &loader->drawn.steps[number];
    const fused_geometry *window = &step->window;
    fused_geometry scaled;
    image_lines lines;
    line_sink sink;
    image_view pixels;
    sluice_status st;

    if (current->encoded && current->decode->fast_scale && !window->turns) {
        scaled = *window;
        scale_down(loader->tools.decoder, &scaled, current);
        window = &scaled;
    }
    st = prepare_window(loader, window, current, ticks, &pixels);
    operation_enter(&loader->clock, step->group->operation);
    if (st == SLUICE_OK) {
        st = row != NULL ? choose_row(loader, number, channels, row, &sink)
                         : choose_image(loader, number, &current->image, &lines, &sink);
    }
    if (st == SLUICE_OK) {
        st = window->turns ? image_turn(&window->turn, &pixels, window->window_width,
                                        window->window_height, &loader->tools.turned, &sink)
                           : resample_run(&loader->tools.resampler, &pixels, &sink);
    }
    if (st == SLUICE_OK && step->lines != NULL) {
        st = colors_finish(&loader->tools.colors);
    }
    operation_enter(&loader->clock, OPERATION_OTHER);
    current->encoded = false;
    current->image.pixels = loader->tools.between[number % 2].data;
    current->image.stride = window->window_width * image_pixel_bytes(&current->image);
    current->image.width = window->window_width;
    current->image.height = window->window_height;
    return st;
}

/* Runs steps [first, end) of the image. last: the destination of the last of them; NULL: its result
 * is the current image, as that of the others. */
INLINED sluice_status run_range(sample_loader *loader, uint32_t first, uint32_t end, row_sink *last,
                                current_image *current, uint64_t *ticks)
{
    sluice_status st = SLUICE_OK;

    for (uint32_t i = first; i < end && st == SLUICE_OK; i++) {
        st = run_step(loader, i, i + 1 == end ? last : NULL, current, ticks);
    }
    return st;
}

#endif
