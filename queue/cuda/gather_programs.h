/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GetNext's gather of an image whose rows have programs (row_program_int.h): each pixel is read
 * once, changed by the operators of its row, converted and written once, with the bits of
 * sli_row_program_run(). Included by getnext_gather.h.
 */
#ifndef SLUICE_GATHER_PROGRAMS_H
#define SLUICE_GATHER_PROGRAMS_H

#include "gather_access.h"
#include "gather_values.h"

/* Loads operator i of a program. */
SLI_KERNEL_FN sli_row_operator gather_load_operator(const sli_row_program *program, uint32_t i)
{
    sli_row_operator op;
    uint32_t words[4];

    gather_load_128((const uint8_t *)&program->operators[i], words);
    op.kind = words[0];
    op.value = words[1];
    op.a = words[2];
    op.b = words[3];
    return op;
}

/* The number of operators; at most SLI_ROW_OPERATORS, whatever the slot has. */
SLI_KERNEL_FN uint32_t gather_operator_count(const sli_row_program *program)
{
    const uint32_t count = gather_load_32((const uint8_t *)&program->count);

    return count < SLI_ROW_OPERATORS ? count : SLI_ROW_OPERATORS;
}

/*
 * Applies the program to a unit of pixels of one line, (x + i, y) in pixels[i]. The pixels rotate
 * through pixels[0], so that they stay in registers and the code of the operators exists once.
 */
SLI_KERNEL_FN void gather_operate(const sli_row_program *program, uint32_t count, uint32_t channels,
                                  uint32_t x, uint32_t y, uint32_t unit, uint32_t *pixels)
{
    for (uint32_t k = 0; k < count; k++) {
        const sli_row_operator op = gather_load_operator(program, k);

        SLI_NO_UNROLL
        for (uint32_t i = 0; i < unit; i++) {
            const uint32_t pixel = sli_row_operate(&op, channels, pixels[0], x + i, y);

            SLI_UNROLL
            for (uint32_t j = 0; j + 1 < unit; j++) {
                pixels[j] = pixels[j + 1];
            }
            pixels[unit - 1] = pixel;
        }
    }
}

/* Converts any type, layout, width and number of channels, pixel by pixel. */
SLI_KERNEL_FN void gather_program_any(const sli_gather *g, const uint8_t *slot, uint32_t t,
                                      uint32_t n)
{
    const sli_gather_image *image = &g->image;
    const sli_row_program *programs = (const sli_row_program *)(slot + image->programs);
    const uint32_t pixels = image->pixels;
    const uint32_t channels = image->channels;
    gather_walk walk = gather_walk_begin(pixels, t, n);

    for (; walk.row < g->batch_size; gather_walk_next(&walk, pixels)) {
        const uint8_t *in = slot + image->from + walk.row * image->from_bytes;
        uint8_t *out = image->to + walk.row * image->to_bytes;
        const uint8_t flags = gather_load_8(slot + g->row_flags + walk.row);
        const bool zero = (flags & SLI_ROW_ZERO) != 0;
        const uint32_t from = image->flip != 0 && (flags & SLI_ROW_FLIP) != 0
                                  ? gather_flipped(walk.unit, image->width)
                                  : walk.unit;
        uint32_t pixel = 0;

        SLI_UNROLL
        for (uint32_t c = 0; c < SLI_MAX_CHANNELS; c++) {
            pixel |= c < channels ? (uint32_t)gather_load_8(in + from * channels + c) << 8 * c : 0;
        }
        if (!zero) {
            gather_operate(&programs[walk.row], gather_operator_count(&programs[walk.row]),
                           channels, from % image->width, from / image->width, 1, &pixel);
        }
        SLI_UNROLL
        for (uint32_t c = 0; c < SLI_MAX_CHANNELS; c++) {
            const uint32_t to =
                image->to_chw != 0 ? c * pixels + walk.unit : walk.unit * channels + c;
            const float value = (float)(int32_t)sli_pixel_channel(pixel, c);

            if (c < channels) {
                gather_store(image->to_dtype, out, to,
                             zero ? 0
                             : image->affine != 0
                                 ? gather_affine(value, image->scale[c], image->bias[c])
                                 : value);
            }
        }
    }
}

/* Swaps the pixels of a unit, if `flipped`. */
SLI_KERNEL_FN void gather_flip_unit(uint32_t unit, bool flipped, uint32_t *pixels)
{
    SLI_UNROLL
    for (uint32_t i = 0; i < unit / 2; i++) {
        const uint32_t left = pixels[i];

        pixels[i] = flipped ? pixels[unit - 1 - i] : left;
        pixels[unit - 1 - i] = flipped ? left : pixels[unit - 1 - i];
    }
}

/* Separates a unit of pixels of three bytes each. */
SLI_KERNEL_FN void gather_split_pixels(const uint32_t *words, uint32_t unit, uint32_t *pixels)
{
    SLI_UNROLL
    for (uint32_t i = 0; i < unit; i++) {
        const uint32_t at = 3 * i / 4;
        const uint32_t last = 3 * unit / 4 - 1;

        pixels[i] =
            gather_funnel(words[at], words[at < last ? at + 1 : last], 8 * (3 * i % 4)) & 0xFFFFFF;
    }
}

/* Converts channel c of pixel i. */
SLI_KERNEL_FN float gather_value(const uint32_t *pixels, uint32_t i, uint32_t c,
                                 const sli_gather_image *image, bool zero)
{
    const float value = (float)(int32_t)sli_pixel_channel(pixels[i], c);

    return zero ? 0 : gather_fma(value, image->scale[c], image->bias[c]);
}

/*
 * Converts (H, W, 3) u8 to (3, H, W) or, if not `planes`, to (H, W, 3), one unit of pixels at a
 * time, with three stores of 16 bytes. Without normalisation scale is 1 and bias 0.
 */
SLI_KERNEL_FN void gather_program_units(const sli_gather *g, const uint8_t *slot, uint32_t t,
                                        uint32_t n, uint32_t unit, sluice_dtype dtype, bool planes)
{
    const sli_gather_image *image = &g->image;
    const sli_row_program *programs = (const sli_row_program *)(slot + image->programs);
    const uint32_t units = image->pixels / unit;
    const uint32_t line = image->width / unit;
    const uint64_t part_bytes = planes ? image->to_bytes / 3 : 16;
    const uint64_t unit_bytes = planes ? 16 : 48;
    gather_walk walk = gather_walk_begin(units, t, n);

    for (; walk.row < g->batch_size; gather_walk_next(&walk, units)) {
        const uint8_t *in = slot + image->from + walk.row * image->from_bytes;
        uint8_t *out = image->to + walk.row * image->to_bytes + unit_bytes * walk.unit;
        const uint8_t flags = gather_load_8(slot + g->row_flags + walk.row);
        const bool zero = (flags & SLI_ROW_ZERO) != 0;
        const bool flipped = image->flip != 0 && (flags & SLI_ROW_FLIP) != 0;
        const uint32_t from = flipped ? gather_flipped(walk.unit, line) : walk.unit;
        uint32_t words[6];
        uint32_t pixels[8];

        gather_load_pixels(in + 3 * unit * (uint64_t)from, unit, words);
        gather_split_pixels(words, unit, pixels);
        gather_operate(&programs[walk.row], zero ? 0 : gather_operator_count(&programs[walk.row]),
                       3, from % line * unit, from / line, unit, pixels);
        gather_flip_unit(unit, flipped, pixels);
        SLI_UNROLL
        for (uint32_t part = 0; part < 3; part++) {
            float v[8];

            SLI_UNROLL
            for (uint32_t i = 0; i < unit; i++) {
                const uint32_t at = part * unit + i; /* of the packed values */

                v[i] = planes ? gather_value(pixels, i, part, image, zero)
                              : gather_value(pixels, at / 3, at % 3, image, zero);
            }
            gather_store_unit(dtype, out + part * part_bytes, v);
        }
    }
}

#endif
