/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_erasing.h"

#include <math.h>
#include <string.h>

#include "cpu_int.h"
#include "float16_int.h"
#include "layout_int.h"
#include "noise_kernels.h"
#include "stage_kinds.h"
#include "tensor_int.h"

/* Writes value number `at` of an image. */
static void store(sluice_dtype dtype, float value, void *row, size_t at)
{
    switch (dtype) {
    case SLUICE_F32:
        ((float *)row)[at] = value;
        break;
    case SLUICE_F16:
        ((uint16_t *)row)[at] = sli_f16_of_f32(value);
        break;
    case SLUICE_BF16:
        ((uint16_t *)row)[at] = sli_bf16_of_f32(value);
        break;
    default:
        ((uint8_t *)row)[at] = (uint8_t)value; /* a whole number from 0 to 255 */
        break;
    }
}

/* Sets the first line of each plane, and copies it to the others. */
static void fill_constant(const sli_conversion *conversion, const stage_erasing *erasing,
                          uint8_t *row)
{
    const bool is_chw = conversion->to_chw;
    const size_t size = sluice_dtype_size(conversion->to);
    const size_t pixel = is_chw ? 1 : conversion->channels;
    const size_t line = conversion->width * pixel;
    const size_t values = erasing->width * pixel;

    for (uint32_t p = 0; p < (is_chw ? conversion->channels : 1) && erasing->height > 0; p++) {
        const size_t start =
            ((size_t)p * conversion->height + erasing->y) * line + erasing->x * pixel;

        for (size_t i = 0; i < values; i++) {
            store(conversion->to, erasing->values[is_chw ? p : i % conversion->channels], row,
                  start + i);
        }
        for (uint32_t y = 1; y < erasing->height; y++) {
            memcpy(row + (start + y * line) * size, row + start * size, values * size);
        }
    }
}

/*
 * Sets all values to random numbers: channel by channel, line by line, as the rectangle was before
 * `flips`. So they do not depend on the layout, nor on where flips run.
 */
static void fill_normal(const sli_conversion *conversion, const stage_erasing *erasing,
                        uint8_t flips, const sli_draws *draws, uint8_t *row)
{
    const noise_kernels *kernels = SLI_CHOOSE(sli_noise_kernels);
    const bool is_chw = conversion->to_chw;
    const size_t pixel = is_chw ? 1 : conversion->channels;
    const size_t channel = is_chw ? (size_t)conversion->width * conversion->height : 1;
    float normals[NOISE_NORMALS];
    uint32_t block = erasing->block;
    uint32_t used = NOISE_NORMALS;

    for (uint32_t line = 0; line < conversion->channels * erasing->height; line++) {
        const uint32_t c = line / erasing->height;
        const uint32_t y = line % erasing->height;
        const uint32_t to_y = (flips & SLI_ROW_FLIP_LINES) != 0 ? erasing->height - 1 - y : y;
        const size_t start =
            c * channel + ((size_t)(erasing->y + to_y) * conversion->width + erasing->x) * pixel;

        for (uint32_t x = 0; x < erasing->width; x++) {
            const uint32_t to_x = (flips & SLI_ROW_FLIP) != 0 ? erasing->width - 1 - x : x;

            if (used == NOISE_NORMALS) {
                kernels->normal(draws, block, normals);
                block += NOISE_BLOCKS;
                used = 0;
            }
            store(conversion->to, normals[used++], row, start + to_x * pixel);
        }
    }
}

/* The flips of the image by later stages that the worker has run already, as row flags. */
static uint8_t flips_after(const sli_plan *plan, const dataset_stage *stage, uint32_t segment,
                           uint64_t sample, uint64_t pass)
{
    const struct plan_details *details = plan->details;
    const bool follows = details->work.segments[segment].follows;
    uint8_t flips = 0;

    for (uint32_t i = 0; i < details->flips.count; i++) {
        const plan_flip *flip = &details->flips.stages[i];
        const sli_draws draws = {flip->key, sample, pass};

        if (flip->stage > stage && flip->segment == (follows ? 0 : segment) &&
            (follows || !flip->on_device) &&
            flip->stage->def->flip->draw(flip->stage->args.bytes, &draws)) {
            flips ^= flip->stage->def->flip->row_flag;
        }
    }
    return flips;
}

static void erase_by(const sli_plan *plan, uint32_t number, uint32_t segment,
                     const sli_conversion *conversion, uint64_t sample, uint64_t pass, void *row)
{
    const dataset_stage *stage = &plan->dataset->stages[number];
    const sli_draws draws = {plan->details->erasing.keys[number], sample, pass};
    stage_erasing erasing;
    uint8_t flips;

    if (!stage->def->conversion->erases(stage->args.bytes, &draws, conversion->width,
                                        conversion->height, &erasing)) {
        return;
    }
    flips = flips_after(plan, stage, segment, sample, pass);
    if ((flips & SLI_ROW_FLIP) != 0) {
        erasing.x = conversion->width - erasing.x - erasing.width;
    }
    if ((flips & SLI_ROW_FLIP_LINES) != 0) {
        erasing.y = conversion->height - erasing.y - erasing.height;
    }
    if (erasing.is_normal) {
        fill_normal(conversion, &erasing, flips, &draws, row);
    } else {
        fill_constant(conversion, &erasing, row);
    }
}

void erase_converted(const sli_plan *plan, uint32_t segment, const sli_conversion *conversion,
                     uint64_t sample, uint64_t pass, void *row)
{
    const plan_segment *conversions = &plan->details->work.segments[segment];

    for (uint32_t k = 0; k < conversions->count; k++) {
        const uint32_t number = conversions->stages[k];

        if (stage_erases(plan->dataset->stages[number].def)) {
            erase_by(plan, number, segment, conversion, sample, pass, row);
        }
    }
}

/* Cuts [start, start + length) of the image to a side of the window, [0, side), reflected if
 * `flips` is set. Returns the first pixel inside; *inside: how many there are. */
static uint32_t side_of(int64_t start, uint32_t length, uint32_t side, bool flips, uint32_t *inside)
{
    const int64_t from = start > 0 ? start : 0;
    const int64_t end = start + length < side ? start + length : side;

    *inside = end > from ? (uint32_t)(end - from) : 0;
    return *inside == 0 ? side : (uint32_t)(flips ? side - end : from);
}

void fill_converted(const fused_geometry *window, const sli_conversion *conversion, uint8_t flags,
                    void *row)
{
    const bool flips = conversion->flip && (flags & SLI_ROW_FLIP) != 0;
    const uint32_t width = conversion->width;
    const uint32_t height = conversion->height;
    stage_erasing part = {.width = width};
    uint32_t columns;
    uint32_t lines;
    uint32_t x;
    uint32_t y;

    if (!window->padding.has_parts || conversion->to == SLUICE_U8) {
        return;
    }
    for (uint32_t c = 0; c < conversion->channels; c++) {
        part.values[c] = fmaf(window->padding.parts[c], conversion->scale[c], conversion->bias[c]);
    }
    x = side_of(-window->window_x, window->new_width, width, flips, &columns);
    y = side_of(-window->window_y, window->new_height, height, (flags & SLI_ROW_FLIP_LINES) != 0,
                &lines);
    part.height = y; /* above */
    fill_constant(conversion, &part, row);
    part.y = y + lines; /* below */
    part.height = height - part.y;
    fill_constant(conversion, &part, row);
    part.y = y; /* on the left */
    part.width = x;
    part.height = lines;
    fill_constant(conversion, &part, row);
    part.x = x + columns; /* on the right */
    part.width = width - part.x;
    fill_constant(conversion, &part, row);
}
