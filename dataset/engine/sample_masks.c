/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_masks.h"

#include "status_int.h"

/* Checks that the size of a mask is that of its image; opens the mask if it is encoded. */
static sluice_status open_mask(const sli_plan *plan, const image_way *way, const sample_data *data,
                               image_decoder *decoder)
{
    uint32_t width = data->image.width;
    uint32_t height = data->image.height;
    sluice_status st = SLUICE_OK;

    if (data->bytes != NULL) {
        const decode_args *args =
            (const decode_args *)(const void *)plan->details->decode->args.bytes;

        st = image_decoder_open_head(decoder, data->bytes, data->size, &data->rest,
                                     args->max_pixels, true, &width, &height);
        if (st == SLUICE_OK) {
            st = image_decoder_want_indices(decoder);
        }
    }
    if (st == SLUICE_OK && (width != way->width || height != way->height)) {
        st = sli_fail(SLUICE_E_CORRUPT, "the mask is %ux%u, its image %ux%u", width, height,
                      way->width, way->height);
    }
    return st;
}

/* The destination of flip_line(), which writes a line flipped. */
typedef struct mask_line {
    uint8_t *row;
    uint32_t width;
} mask_line;

static void flip_line(void *arg, uint32_t y, const uint8_t *pixels)
{
    const mask_line *line = arg;
    uint8_t *to = line->row + (size_t)y * line->width;

    for (uint32_t x = 0; x < line->width; x++) {
        to[x] = pixels[line->width - 1 - x];
    }
}

/*
 * Applies one group of the image's geometry to the mask. `current` is the mask between two groups;
 * its pixels are NULL while it is encoded.
 */
static sluice_status run_group(const image_way *way, uint32_t number, const mask_tools *tools,
                               image_view *current, uint8_t *row)
{
    const fused_geometry *g = &way->groups[number];
    const resample_job job = {
        1,           g->width,    g->height,       g->new_width,     g->new_height,
        g->window_x, g->window_y, g->window_width, g->window_height, {FILTER_NEAREST, false},
        g->mask_fill};
    const bool is_last = number + 1 == way->group_count;
    mask_line line = {row, g->window_width};
    image_buffer *between = &tools->between[number % 2];
    image_view pixels = {NULL, 0, 0, 0, 1};
    line_sink sink = {NULL, NULL, row};
    image_box needed;
    sluice_status st = resample_prepare(tools->resampler, &job, &needed);

    if (st == SLUICE_OK && !is_last) {
        st = image_buffer_reserve(between, (size_t)g->window_width * g->window_height);
        sink.direct = between->data;
    } else if (way->flipped) {
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
    if (st == SLUICE_OK) {
        st = resample_run(tools->resampler, &pixels, &sink);
    }
    *current = (image_view){between->data, g->window_width, g->window_width, g->window_height, 1};
    return st;
}

sluice_status mask_follow(const sli_plan *plan, const image_way *way, const sample_data *data,
                          const mask_tools *tools, uint8_t *row)
{
    image_view current = data->image; /* pixels are NULL if the mask is encoded */
    sluice_status st = open_mask(plan, way, data, tools->decoder);

    for (uint32_t i = 0; i < way->group_count && st == SLUICE_OK; i++) {
        st = run_group(way, i, tools, &current, row);
    }
    return st;
}
