/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_colors.h"

#include <string.h>

void colors_draw(sample_colors *colors, const struct plan_details *details, uint64_t sample,
                 uint64_t pass)
{
    colors->chain.count = 0;
    for (uint32_t i = 0; i < details->color_count; i++) {
        const plan_stage *color = &details->colors[i];
        const sli_draws draws = {color->key, sample, pass};

        color->stage->def->colors(color->stage->args.bytes, &draws, &colors->chain);
    }
}

/* Returns the address of line y in the buffer, which has one line if no line must wait. */
static uint8_t *place_of(const sample_colors *colors, uint32_t y)
{
    const bool waits = colors->whole < colors->chain.count;

    return colors->pixels.data + (waits ? (size_t)y * colors->width * colors->channels : 0);
}

/* Counts a line for the next operation that needs the whole image; without one, passes the line to
 * the target. */
static void pass_on(sample_colors *colors, uint32_t y, const uint8_t *line)
{
    if (colors->whole < colors->chain.count) {
        color_count(&colors->chain.operations[colors->whole], line, colors->width, colors->channels,
                    &colors->statistics);
    } else {
        colors->target.line(colors->target.arg, y, line);
    }
}

static void take_line(void *arg, uint32_t y, const uint8_t *pixels)
{
    sample_colors *colors = arg;
    uint8_t *line = place_of(colors, y);

    color_apply(&colors->chain, 0, colors->whole, pixels, line, colors->width, colors->channels);
    pass_on(colors, y, line);
}

sluice_status colors_start(sample_colors *colors, const sli_conversion *conversion, line_sink *sink)
{
    size_t lines;

    if (colors->chain.count == 0) {
        return SLUICE_OK;
    }
    colors->whole = color_next_whole(&colors->chain, 0);
    colors->width = conversion->width;
    colors->height = conversion->height;
    colors->channels = conversion->channels;
    colors->target = *sink;
    memset(&colors->statistics, 0, sizeof(colors->statistics));
    *sink = (line_sink){take_line, colors, NULL};
    lines = colors->whole < colors->chain.count ? colors->height : 1;
    return image_buffer_reserve(&colors->pixels, lines * colors->width * colors->channels);
}

void colors_finish(sample_colors *colors)
{
    while (colors->whole < colors->chain.count) {
        const size_t stride = (size_t)colors->width * colors->channels;
        const uint32_t first = colors->whole;
        uint32_t end;

        color_settle(&colors->chain, first, &colors->statistics);
        memset(&colors->statistics, 0, sizeof(colors->statistics));
        end = color_next_whole(&colors->chain, first);
        colors->whole = end;
        for (uint32_t y = 0; y < colors->height; y++) {
            uint8_t *line = colors->pixels.data + y * stride;

            color_apply(&colors->chain, first, end, line, line, colors->width, colors->channels);
            pass_on(colors, y, line);
        }
    }
}

void colors_free(sample_colors *colors)
{
    image_buffer_free(&colors->pixels);
}
