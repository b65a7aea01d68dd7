/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_masks.h"

#include <string.h>

#include "image_turn.h"
#include "layout_int.h"
#include "opened_image.h"
#include "status_int.h"
#include "thread_interrupt_int.h"

/* Checks that the size of a mask is that of its image; opens the mask if it is encoded. */
static sluice_status open_mask(const sli_plan *plan, const image_way *way, const sample_data *data,
                               const mask_tools *tools)
{
    uint32_t width = data->image.width;
    uint32_t height = data->image.height;
    sluice_status st = SLUICE_OK;

    if (data->bytes != NULL) {
        const decode_args *args =
            (const decode_args *)(const void *)plan->details->decode->args.bytes;

        st = image_decoder_open_head(tools->decoder, data->bytes, data->size, &data->rest,
                                     args->max_pixels, true, &width, &height);
        if (st == SLUICE_OK) {
            st = opened_image_want_indices(tools->decoder, tools->ends_run);
        }
    }
    if (st == SLUICE_OK && (width != way->width || height != way->height)) {
        st = sli_fail(SLUICE_E_CORRUPT, "the mask is %ux%u, its image %ux%u", width, height,
                      way->width, way->height);
    }
    return st;
}

/* The destination of flip_line(). */
typedef struct mask_line {
    uint8_t *row;
    size_t stride;
    uint32_t width;
    uint32_t height;
    uint8_t flips; /* image_way.flips */
} mask_line;

/* Writes a line at its position after the flips, flipped horizontally or not. */
static void flip_line(void *arg, uint32_t y, const uint8_t *pixels)
{
    const mask_line *line = arg;
    const uint32_t to_y = (line->flips & SLI_ROW_FLIP_LINES) != 0 ? line->height - 1 - y : y;
    uint8_t *to = line->row + to_y * line->stride;

    if ((line->flips & SLI_ROW_FLIP) == 0) {
        memcpy(to, pixels, line->width);
        return;
    }
    for (uint32_t x = 0; x < line->width; x++) {
        to[x] = pixels[line->width - 1 - x];
    }
}

/* The first warp from operation *number on, with *number set after it; NULL: there is none. */
static const image_warp *next_warp(const image_way *way, uint32_t *number)
{
    while (way->colors != NULL && *number < way->colors->count) {
        const color_operation *operation = &way->colors->operations[(*number)++];

        if (operation->kind == COLOR_WARP) {
            return &operation->warp;
        }
    }
    return NULL;
}

/*
 * Applies one group of the image's geometry to the mask. `current` is the mask between two groups;
 * its pixels are NULL while it is encoded. `row`: the destination of the last group, lines of
 * `stride` bytes; NULL: it is followed by warps.
 */
static sluice_status run_group(const image_way *way, uint32_t number, const mask_tools *tools,
                               image_view *current, uint8_t *row, size_t stride)
{
    const fused_geometry *g = &way->groups[number];
    const resample_job job = {
        .channels = 1,
        .in_width = g->width,
        .in_height = g->height,
        .margins = g->margins,
        .margin_fill = {g->margin_padding.mask_fill},
        .out_width = g->new_width,
        .out_height = g->new_height,
        .window_x = g->window_x,
        .window_y = g->window_y,
        .window_width = g->turns ? g->width : g->window_width,
        .window_height = g->turns ? g->height : g->window_height,
        .filter = {FILTER_NEAREST, false},
        .fill = {g->padding.mask_fill},
        .edge = g->padding.edge,
    };
    const bool is_last = number + 1 == way->group_count && row != NULL;
    mask_line line = {row, stride, g->window_width, g->window_height, way->flips};
    image_buffer *between = &tools->between[number % 2];
    image_view pixels = {NULL, 0, 0, 0, 1};
    line_sink sink = {NULL, NULL, row};
    image_box needed;
    sluice_status st = resample_prepare(tools->resampler, &job, &needed);

    if (st == SLUICE_OK && !is_last) {
        st = image_buffer_reserve(between, (size_t)g->window_width * g->window_height);
        sink.direct = between->data;
    } else if (way->flips != 0 || stride != g->window_width) {
        sink = (line_sink){flip_line, &line, NULL};
    }
    needed.x += (uint32_t)g->x;
    needed.y += (uint32_t)g->y;
    if (st == SLUICE_OK && needed.width > 0 && needed.height > 0) {
        if (current->pixels == NULL) {
            st = image_decoder_region(tools->decoder, &needed, &pixels);
        } else {
            pixels = *current;
            pixels.pixels += needed.y * current->stride + needed.x;
            pixels.width = needed.width;
            pixels.height = needed.height;
        }
    }
    if (st == SLUICE_OK && g->turns) {
        const image_warp nearest = warp_of_mask(&g->turn);

        st = image_turn(&nearest, &pixels, g->window_width, g->window_height, tools->turned, &sink);
    } else if (st == SLUICE_OK) {
        st = resample_run(tools->resampler, &pixels, &sink);
    }
    *current = (image_view){between->data, g->window_width, g->window_width, g->window_height, 1};
    return st;
}

/* Applies the warps of the image to the mask in one of the two buffers, and writes it into the row.
 */
static sluice_status run_warps(const image_way *way, const image_warp *warp, uint32_t next,
                               const mask_tools *tools, image_view *current, uint8_t *row)
{
    for (uint32_t number = way->group_count; warp != NULL; number++) {
        const image_warp nearest = warp_of_mask(warp);
        image_buffer *to = &tools->between[number % 2];
        const size_t bytes = (size_t)current->stride * current->height;
        sluice_status st = image_buffer_reserve(to, bytes);

        if (st != SLUICE_OK) {
            return st;
        }
        for (uint32_t y = 0; y < current->height && !sli_is_interrupted_at(y); y++) {
            warp_line(&nearest, current, y, to->data + y * current->stride);
        }
        current->pixels = to->data;
        warp = next_warp(way, &next);
    }
    for (uint32_t y = 0; y < current->height; y++) {
        const uint8_t *from = current->pixels + y * current->stride;
        mask_line line = {row, current->width, current->width, current->height, way->flips};

        flip_line(&line, y, from);
    }
    return sli_is_interrupted() ? SLUICE_CLOSED : SLUICE_OK;
}

sluice_status mask_follow(const sli_plan *plan, const image_way *way, const sample_data *data,
                          const mask_tools *tools, uint8_t *row, size_t stride)
{
    uint32_t next = 0;
    const image_warp *warp = next_warp(way, &next);
    image_view current = data->image; /* pixels are NULL if the mask is encoded */
    sluice_status st = open_mask(plan, way, data, tools);

    for (uint32_t i = 0; i < way->group_count && st == SLUICE_OK; i++) {
        st = run_group(way, i, tools, &current, warp == NULL ? row : NULL, stride);
    }
    return st == SLUICE_OK && warp != NULL ? run_warps(way, warp, next, tools, &current, row) : st;
}
