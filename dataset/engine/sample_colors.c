/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_colors.h"

#include <string.h>

#include "alloc_int.h"
#include "layout_int.h"
#include "status_int.h"
#include "thread_interrupt_int.h"

/* The flips of the image by the stages before `stage`, added to those of its view, as row flags. */
static uint8_t flips_before(const struct plan_details *details, const dataset_stage *stage,
                            uint64_t sample, uint64_t pass, uint8_t flips)
{
    for (uint32_t i = 0; i < details->flip_count; i++) {
        const plan_flip *flip = &details->flips[i];
        const sli_draws draws = {flip->key, sample, pass};

        if (flip->stage < stage && flip->stage->def->flips(flip->stage->args.bytes, &draws)) {
            flips ^= flip->stage->def->row_flag;
        }
    }
    return flips;
}

sluice_status colors_init(sample_colors *colors, const sli_plan *plan)
{
    const uint32_t mixes = plan->dataset->opened_schema.color_mixes;
    const uint32_t fields = plan->dataset->opened_schema.color_fields;

    if (mixes > 0) {
        colors->mixes = sli_calloc(mixes, sizeof(*colors->mixes));
        if (colors->mixes == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "the mixes of an image");
        }
    }
    if (fields > 0) {
        colors->fields = sli_calloc(fields, sizeof(*colors->fields));
        if (colors->fields == NULL) {
            return sli_fail(SLUICE_E_NO_MEMORY, "the displacements of an image");
        }
        colors->field_count = fields;
    }
    return SLUICE_OK;
}

static void begin_chain(const sli_plan *plan, color_chain *chain)
{
    chain->width = plan->host_conversion.width;
    chain->height = plan->host_conversion.height;
    chain->count = 0;
    chain->mix_count = 0;
    chain->field_count = 0;
}

void colors_draw(sample_colors *colors, const sli_plan *plan, uint64_t sample, uint64_t pass,
                 uint32_t column, uint8_t view_flips)
{
    const struct plan_details *details = plan->details;
    const bool is_first = (int)column == details->image;

    begin_chain(plan, &colors->chain);
    colors->chain.mixes = colors->mixes;
    colors->chain.fields = colors->fields;
    colors->chain.field_count = colors->field_count;
    if (is_first && details->host_colors < details->color_count) {
        begin_chain(plan, &colors->device);
        colors->device.numbers = true;
    }
    for (uint32_t i = 0; i < details->color_count; i++) {
        const plan_stage *color = &details->colors[i];
        const sli_draws draws = {color->key, sample, pass};
        color_chain *chain =
            is_first && i >= details->host_colors ? &colors->device : &colors->chain;

        if ((color->images >> column & 1) != 0) {
            const uint8_t flips = color->stage->def->places ? flips_before(details, color->stage,
                                                                           sample, pass, view_flips)
                                                            : 0;

            chain->flipped_x = (flips & SLI_ROW_FLIP) != 0;
            chain->flipped_y = (flips & SLI_ROW_FLIP_LINES) != 0;
            color->stage->def->colors(color->stage->args.bytes, &draws, chain);
        }
    }
}

/* Returns the address of line y in the buffer, which has one line if no line must wait. */
static uint8_t *place_of(const sample_colors *colors, uint32_t y)
{
    const bool waits = colors->whole < colors->lines->count;

    return colors->pixels.data + (waits ? (size_t)y * colors->width * colors->channels : 0);
}

/* Counts a line for the next operation that needs the whole image; without one, passes the line to
 * the target. */
static void pass_on(sample_colors *colors, uint32_t y, const uint8_t *line)
{
    if (colors->whole < colors->lines->count) {
        color_count(&colors->lines->operations[colors->whole], line, colors->width,
                    colors->channels, &colors->statistics);
    } else {
        colors->target.line(colors->target.arg, y, line);
    }
}

static void take_line(void *arg, uint32_t y, const uint8_t *pixels)
{
    sample_colors *colors = arg;
    uint8_t *line = place_of(colors, y);

    color_apply(colors->lines, 0, colors->whole, y, pixels, line, colors->width, colors->channels);
    pass_on(colors, y, line);
}

/* True if an operation needs the pixels of the image; *again: another operation after it needs the
 * whole image. */
static bool warps(const color_chain *chain, bool *again)
{
    uint32_t i = color_next_whole(chain, 0);

    while (i < chain->count && !color_needs_pixels(&chain->operations[i])) {
        i = color_next_whole(chain, i + 1);
    }
    *again = i < chain->count && color_next_whole(chain, i + 1) < chain->count;
    return i < chain->count;
}

sluice_status colors_start(sample_colors *colors, color_chain *lines, uint32_t channels,
                           line_sink *sink)
{
    size_t line;
    bool warps_again;
    sluice_status st;

    colors->lines = lines;
    colors->whole = color_next_whole(colors->lines, 0);
    colors->width = lines->width;
    colors->height = lines->height;
    colors->channels = channels;
    colors->target = *sink;
    memset(&colors->statistics, 0, sizeof(colors->statistics));
    *sink = (line_sink){take_line, colors, NULL};
    line = (size_t)colors->width * colors->channels;
    st = image_buffer_reserve(&colors->pixels,
                              colors->whole < colors->lines->count ? colors->height * line : line);
    if (st == SLUICE_OK && warps(colors->lines, &warps_again)) {
        st = image_buffer_reserve(&colors->warped, warps_again ? colors->height * line : line);
        if (st == SLUICE_OK) {
            st = image_buffer_reserve(&colors->memory,
                                      color_line_bytes(colors->lines, colors->channels));
        }
        if (st == SLUICE_OK) {
            st = mix_reserve(&colors->mixing, colors->lines, colors->channels);
        }
        if (st == SLUICE_OK) {
            st = color_make_fields(colors->lines);
        }
    }
    return st;
}

static void swap_buffers(sample_colors *colors)
{
    const image_buffer pixels = colors->pixels;

    colors->pixels = colors->warped;
    colors->warped = pixels;
}

/* Makes all lines of the result of an operation that needs the pixels of the image, and applies the
 * operations after it up to the next one that needs the whole image. */
static void warp_lines(sample_colors *colors, uint32_t number)
{
    const size_t stride = (size_t)colors->width * colors->channels;
    const image_view from = {colors->pixels.data, stride, colors->width, colors->height,
                             colors->channels};
    const uint32_t end = color_next_whole(colors->lines, number + 1);
    const size_t step = end < colors->lines->count ? stride : 0;
    const color_operation *operation = &colors->lines->operations[number];

    if (operation->kind == COLOR_MIX) {
        mix_run(&colors->mixing, &colors->lines->mixes[operation->mix], &from);
    }
    colors->whole = end;
    for (uint32_t y = 0; y < colors->height && !sli_is_interrupted_at(y); y++) {
        uint8_t *line = colors->warped.data + y * step;

        if (operation->kind == COLOR_MIX) {
            mix_line(&colors->mixing, &from, y, line);
        } else {
            color_line(operation, &from, y, colors->memory.data, line);
        }
        color_apply(colors->lines, number + 1, end, y, line, line, colors->width, colors->channels);
        pass_on(colors, y, line);
    }
    swap_buffers(colors);
}

sluice_status colors_finish(sample_colors *colors)
{
    while (colors->whole < colors->lines->count) {
        const size_t stride = (size_t)colors->width * colors->channels;
        const uint32_t first = colors->whole;
        uint32_t end;

        if (color_needs_pixels(&colors->lines->operations[first])) {
            memset(&colors->statistics, 0, sizeof(colors->statistics));
            warp_lines(colors, first);
            continue;
        }
        color_settle(colors->lines, first, &colors->statistics);
        memset(&colors->statistics, 0, sizeof(colors->statistics));
        end = color_next_whole(colors->lines, first);
        colors->whole = end;
        for (uint32_t y = 0; y < colors->height && !sli_is_interrupted_at(y); y++) {
            uint8_t *line = colors->pixels.data + y * stride;

            color_apply(colors->lines, first, end, y, line, line, colors->width, colors->channels);
            pass_on(colors, y, line);
        }
    }
    return sli_is_interrupted() ? SLUICE_CLOSED : SLUICE_OK;
}

void colors_free(sample_colors *colors)
{
    image_buffer_free(&colors->pixels);
    image_buffer_free(&colors->warped);
    image_buffer_free(&colors->memory);
    mix_free(&colors->mixing);
    sli_free(colors->mixes);
    for (uint32_t i = 0; i < colors->field_count; i++) {
        elastic_free(&colors->fields[i]);
    }
    sli_free(colors->fields);
}
