/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_colors.h"

#include <string.h>

#include "alloc_int.h"
#include "color_ops.h"
#include "layout_int.h"
#include "status_int.h"
#include "thread_interrupt_int.h"

/* The flips of the image by the stages before `stage`, added to those of its view, as row flags. */
static uint8_t flips_before(const struct plan_details *details, const dataset_stage *stage,
                            uint64_t sample, uint64_t pass, uint8_t flips)
{
    for (uint32_t i = 0; i < details->flips.count; i++) {
        const plan_flip *flip = &details->flips.stages[i];
        const sli_draws draws = {flip->key, sample, pass};

        if (flip->stage < stage && flip->stage->def->flip->draw(flip->stage->args.bytes, &draws)) {
            flips ^= flip->stage->def->flip->row_flag;
        }
    }
    return flips;
}

sluice_status colors_init(sample_colors *colors, const sli_plan *plan)
{
    const uint32_t mixes = plan->dataset->opened_schema.colors.mixes;
    const uint32_t fields = plan->dataset->opened_schema.colors.fields;

    if (plan->details->colors.count == 0) {
        return SLUICE_OK;
    }
    colors->chains = sli_calloc(plan->details->geometry.most_steps, sizeof(*colors->chains));
    if (colors->chains == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the colours of an image");
    }
    colors->chain_count = plan->details->geometry.most_steps;
    for (uint32_t i = 0; i < colors->chain_count; i++) {
        color_chain *chain = &colors->chains[i];

        chain->mixes = mixes > 0 ? sli_calloc(mixes, sizeof(*chain->mixes)) : NULL;
        chain->fields = fields > 0 ? sli_calloc(fields, sizeof(*chain->fields)) : NULL;
        if ((mixes > 0 && chain->mixes == NULL) || (fields > 0 && chain->fields == NULL)) {
            return sli_fail(SLUICE_E_NO_MEMORY, "the mixes and displacements of an image");
        }
        chain->field_count = fields;
    }
    return SLUICE_OK;
}

static void begin_chain(color_chain *chain, uint32_t width, uint32_t height)
{
    chain->width = width;
    chain->height = height;
    chain->count = 0;
    chain->mix_count = 0;
}

/* Draws colour stages [first, end) for an image. */
static void draw_stages(const struct plan_details *details, uint32_t first, uint32_t end,
                        const image_draws *draws, color_chain *chain)
{
    for (uint32_t i = first; i < end; i++) {
        const plan_stage *color = &details->colors.stages[i];
        const color_ops *ops = color->stage->def->color;
        const sli_draws own = {color->key, draws->sample, draws->pass};

        if ((color->images >> draws->column & 1) != 0) {
            const uint32_t before = chain->count;
            const uint8_t flips = ops->places ? flips_before(details, color->outer, draws->sample,
                                                             draws->pass, draws->flips)
                                              : 0;

            chain->flipped_x = (flips & SLI_ROW_FLIP) != 0;
            chain->flipped_y = (flips & SLI_ROW_FLIP_LINES) != 0;
            ops->add(color->stage->args.bytes, &own, chain);
            for (uint32_t k = before; k < chain->count; k++) {
                chain->owners[k] = color->operation;
            }
        }
    }
}

color_chain *colors_draw(sample_colors *colors, const sli_plan *plan, const plan_group *group,
                         uint32_t step, uint32_t width, uint32_t height, const image_draws *draws)
{
    const struct plan_details *details = plan->details;
    const uint32_t most = (int)draws->column == details->images.first ? details->colors.host_count
                                                                      : details->colors.count;
    const uint32_t end = group->color_end < most ? group->color_end : most;
    color_chain *chain;

    if (group->color_first >= end) {
        return NULL;
    }
    chain = &colors->chains[step];
    begin_chain(chain, width, height);
    draw_stages(details, group->color_first, end, draws, chain);
    return chain->count > 0 ? chain : NULL;
}

const color_chain *colors_draw_one(sample_colors *colors, const sli_plan *plan, uint32_t stage,
                                   uint32_t step, const image_draws *draws)
{
    color_chain *chain = &colors->chains[step];

    begin_chain(chain, chain->width, chain->height);
    chain->numbers = true;
    draw_stages(plan->details, stage, stage + 1, draws, chain);
    chain->numbers = false;
    return chain;
}

void colors_draw_device(sample_colors *colors, const sli_plan *plan, const image_draws *draws)
{
    const struct plan_details *details = plan->details;

    begin_chain(&colors->device, plan->host_conversion.width, plan->host_conversion.height);
    colors->device.numbers = true;
    draw_stages(details, details->colors.host_count, details->colors.count, draws, &colors->device);
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

/* Applies operations [first, end) to a line of a sample whose operations are measured, and passes
 * it on. The target enters an operation of its own. */
static void pass_measured(sample_colors *colors, uint32_t first, uint32_t end, uint32_t y,
                          const uint8_t *from, uint8_t *line)
{
    const color_chain *chain = colors->lines;
    const uint8_t outer = colors->clock->current;

    if (first == end) {
        color_apply(chain, first, end, y, from, line, colors->width, colors->channels);
    }
    for (uint32_t i = first; i < end; i++) {
        operation_enter(colors->clock, chain->owners[i]);
        color_apply(chain, i, i + 1, y, i == first ? from : line, line, colors->width,
                    colors->channels);
    }
    operation_enter(colors->clock,
                    colors->whole < chain->count ? chain->owners[colors->whole] : outer);
    pass_on(colors, y, line);
    operation_enter(colors->clock, outer);
}

/* Applies operations [first, end) to a line, and passes it on. */
static inline void pass_line(sample_colors *colors, uint32_t first, uint32_t end, uint32_t y,
                             const uint8_t *from, uint8_t *line)
{
    if (colors->clock->is_on) {
        pass_measured(colors, first, end, y, from, line);
        return;
    }
    color_apply(colors->lines, first, end, y, from, line, colors->width, colors->channels);
    pass_on(colors, y, line);
}

static void take_line(void *arg, uint32_t y, const uint8_t *pixels)
{
    sample_colors *colors = arg;
    uint8_t *line = place_of(colors, y);

    color_apply(colors->lines, 0, colors->whole, y, pixels, line, colors->width, colors->channels);
    pass_on(colors, y, line);
}

static void take_measured_line(void *arg, uint32_t y, const uint8_t *pixels)
{
    sample_colors *colors = arg;

    pass_measured(colors, 0, colors->whole, y, pixels, place_of(colors, y));
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
    *sink = (line_sink){colors->clock->is_on ? take_measured_line : take_line, colors, NULL};
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
static sluice_status warp_lines(sample_colors *colors, uint32_t number)
{
    const size_t stride = (size_t)colors->width * colors->channels;
    const image_view from = {colors->pixels.data, stride,           colors->width,
                             colors->height,      colors->channels, IMAGE_U8};
    const uint32_t end = color_next_whole(colors->lines, number + 1);
    const size_t step = end < colors->lines->count ? stride : 0;
    const color_operation *operation = &colors->lines->operations[number];
    sluice_status st = SLUICE_OK;

    operation_enter(colors->clock, colors->lines->owners[number]);
    if (operation->kind == COLOR_MIX) {
        mix_run(&colors->mixing, &colors->lines->mixes[operation->mix], &from);
    } else if (operation->kind == COLOR_JPEG) {
        st = jpeg_run(&colors->jpeg, &operation->jpeg, &from);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    colors->whole = end;
    for (uint32_t y = 0; y < colors->height && !sli_is_interrupted_at(y); y++) {
        uint8_t *line = colors->warped.data + y * step;

        if (operation->kind == COLOR_MIX) {
            mix_line(&colors->mixing, &from, y, line);
        } else if (operation->kind == COLOR_JPEG) {
            jpeg_line(&colors->jpeg, &operation->jpeg, y, line);
        } else {
            color_line(operation, &from, y, colors->memory.data, line);
        }
        pass_line(colors, number + 1, end, y, line, line);
    }
    swap_buffers(colors);
    return SLUICE_OK;
}

sluice_status colors_finish(sample_colors *colors)
{
    sluice_status st;

    while (colors->whole < colors->lines->count) {
        const size_t stride = (size_t)colors->width * colors->channels;
        const uint32_t first = colors->whole;
        uint32_t end;

        if (color_needs_pixels(&colors->lines->operations[first])) {
            memset(&colors->statistics, 0, sizeof(colors->statistics));
            st = warp_lines(colors, first);
            if (st != SLUICE_OK) {
                return st;
            }
            continue;
        }
        operation_enter(colors->clock, colors->lines->owners[first]);
        color_settle(colors->lines, first, &colors->statistics);
        memset(&colors->statistics, 0, sizeof(colors->statistics));
        end = color_next_whole(colors->lines, first);
        colors->whole = end;
        for (uint32_t y = 0; y < colors->height && !sli_is_interrupted_at(y); y++) {
            uint8_t *line = colors->pixels.data + y * stride;

            pass_line(colors, first, end, y, line, line);
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
    jpeg_free(&colors->jpeg);
    for (uint32_t i = 0; i < colors->chain_count; i++) {
        color_chain *chain = &colors->chains[i];

        sli_free(chain->mixes);
        for (uint32_t k = 0; k < chain->field_count; k++) {
            elastic_free(&chain->fields[k]);
        }
        sli_free(chain->fields);
    }
    sli_free(colors->chains);
}
