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

/* The head of a program, and the line of its warp. */
typedef struct gather_program {
    const sli_row_program *program;
    uint32_t count; /* operators, and those before the warp, within bounds whatever the slot has */
    uint32_t before;
    uint32_t warp;
    uint32_t fill;
    sli_warp_row row; /* if there is a warp */
} gather_program;

/* Loads the head of a program; `y` is the line that the thread makes. */
SLI_KERNEL_FN gather_program gather_load_program(const sli_row_program *from, bool zero, uint32_t y)
{
    gather_program program;
    uint32_t words[4];

    gather_load_128((const uint8_t *)from, words);
    program.program = from;
    program.count = zero ? 0 : words[0] < SLI_ROW_OPERATORS ? words[0] : SLI_ROW_OPERATORS;
    program.warp = zero ? (uint32_t)SLI_ROW_NO_WARP : words[1];
    program.before = words[2] < program.count ? words[2] : program.count;
    program.fill = words[3];
    if (program.warp != SLI_ROW_NO_WARP) {
        double matrix[9];

        SLI_UNROLL
        for (int i = 0; i < 9; i++) {
            matrix[i] = gather_load_f64((const uint8_t *)&from->matrix[i]);
        }
        program.row = sli_warp_row_of(matrix, y);
    }
    return program;
}

/* Drops values[0], moves the others down by one, and appends `last`. */
SLI_KERNEL_FN void gather_rotate_in(uint32_t count, uint32_t *values, uint32_t last)
{
    SLI_UNROLL
    for (uint32_t i = 0; i + 1 < count; i++) {
        values[i] = values[i + 1];
    }
    values[count - 1] = last;
}

/* Applies an operator of a kind that the compiler knows to `unit` pixels. */
#define GATHER_OPERATE(KIND)                                                                       \
    case KIND:                                                                                     \
        op.kind = KIND;                                                                            \
        SLI_UNROLL                                                                                 \
        for (uint32_t i = 0; i < unit; i++) {                                                      \
            pixels[i] = sli_row_operate(&op, channels, pixels[i], x + i % line, y + i / line);     \
        }                                                                                          \
        break

/*
 * Applies operators [first, end) to `unit` pixels: pixels[i] is (x + i % line, y + i / line). In
 * the long formula of hue they rotate through pixels[0], so that they stay in registers and its
 * code exists once.
 */
SLI_KERNEL_FN void gather_operate(const sli_row_program *program, uint32_t first, uint32_t end,
                                  uint32_t channels, uint32_t x, uint32_t y, uint32_t line,
                                  uint32_t unit, uint32_t *pixels)
{
    for (uint32_t k = first; k < end; k++) {
        sli_row_operator op = gather_load_operator(program, k);

        switch (op.kind) {
            GATHER_OPERATE(SLI_ROW_BITS);
            GATHER_OPERATE(SLI_ROW_SOLARIZE);
            GATHER_OPERATE(SLI_ROW_BRIGHTNESS);
            GATHER_OPERATE(SLI_ROW_SATURATION);
            GATHER_OPERATE(SLI_ROW_GRAY);
            GATHER_OPERATE(SLI_ROW_ERASE);
        default:
            op.kind = SLI_ROW_HUE;
            SLI_UNROLL_2
            for (uint32_t i = 0; i < unit; i++) {
                gather_rotate_in(unit, pixels, sli_row_operate(&op, channels, pixels[0], x, y));
            }
            break;
        }
    }
}

/*
 * Loads a pixel from any address. Three bytes are loaded by the one or two aligned words that
 * contain them, which are in the slot, since its size is a multiple of the word size.
 */
SLI_KERNEL_FN uint32_t gather_load_pixel(const uint8_t *from, uint32_t channels)
{
    uint32_t pixel = 0;

    if (channels == 3) {
        const uint32_t odd = (uint32_t)((uintptr_t)from & 3);
        const uint8_t *words = from - odd;

        return gather_funnel(gather_load_32(words), gather_load_32(words + (odd > 1 ? 4 : 0)),
                             8 * odd) &
               0xFFFFFF;
    }
    SLI_UNROLL
    for (uint32_t c = 0; c < SLI_MAX_CHANNELS; c++) {
        pixel |= c < channels ? (uint32_t)gather_load_8(from + c) << 8 * c : 0;
    }
    return pixel;
}

/* Loads two neighbouring pixels of three bytes each, from any address, by the two or three aligned
 * words that contain them. The first is in bytes 0 to 2, the second in bytes 3 to 5. */
SLI_KERNEL_FN void gather_load_pair(const uint8_t *from, uint32_t *pair)
{
    const uint32_t odd = (uint32_t)((uintptr_t)from & 3);
    const uint8_t *words = (const uint8_t *)((uintptr_t)from & ~(uintptr_t)3);
    const uint32_t w0 = gather_load_32(words);
    const uint32_t w1 = gather_load_32(words + 4);
    const uint32_t w2 = odd == 3 ? gather_load_32(words + 8) : 0;

    pair[0] = gather_funnel(w0, w1, 8 * odd);
    pair[1] = gather_funnel(w1, w2, 8 * odd);
}

/* Channel c of pixel k of a pair. */
SLI_KERNEL_FN float gather_pair_float(const uint32_t *pair, uint32_t k, uint32_t c)
{
    return sli_pixel_float(pair[(3 * k + c) / 4], (3 * k + c) % 4);
}

/* The address of pixel (column, line); pixels times channels are below 2^32. */
SLI_KERNEL_FN const uint8_t *gather_pixel_at(const sli_row_image *image, uint32_t column,
                                             uint32_t line)
{
    return image->pixels + (line * image->width + column) * image->channels;
}

/* Interpolates four samples of three channels inside the image, as loaded from it. */
SLI_KERNEL_FN uint32_t gather_blend_inside(const sli_row_samples *samples,
                                           const sli_row_image *image)
{
    const sli_warp_weights w = sli_warp_weigh(samples->point, samples->column, samples->line);
    const uint8_t *from =
        gather_pixel_at(image, (uint32_t)samples->column, (uint32_t)samples->line);
    uint32_t values[3];
    uint32_t upper[2];
    uint32_t lower[2];

    gather_load_pair(from, upper);
    gather_load_pair(from + 3 * image->width, lower);
    SLI_UNROLL
    for (uint32_t c = 0; c < 3; c++) {
        values[c] =
            sli_warp_blend(w, gather_pair_float(upper, 0, c), gather_pair_float(upper, 1, c),
                           gather_pair_float(lower, 0, c), gather_pair_float(lower, 1, c));
    }
    return sli_pixel_join(values[0], values[1], values[2]);
}

/* Makes a pixel of a warp from its samples, which the operators before the warp have changed, and
 * which may be outside the image. */
SLI_KERNEL_FN uint32_t gather_warp_samples(const gather_program *program,
                                           const sli_row_image *image,
                                           const sli_row_samples *samples)
{
    const bool blends = sli_row_blends(program->warp);
    uint32_t pixels[4];

    SLI_UNROLL
    for (uint32_t k = 0; k < 4; k++) {
        pixels[k] = 0;
        if ((k == 0 || blends) && sli_row_is_inside(samples, k, image)) {
            pixels[k] =
                gather_load_pixel(gather_pixel_at(image, (uint32_t)samples->column + (k & 1),
                                                  (uint32_t)samples->line + (k >> 1)),
                                  image->channels);
        }
    }
    gather_operate(program->program, 0, program->before, image->channels, (uint32_t)samples->column,
                   (uint32_t)samples->line, 2, 4, pixels);
    return blends ? sli_row_blend(samples, pixels, program->warp, program->fill, image)
           : sli_row_is_inside(samples, 0, image) ? pixels[0]
                                                  : program->fill;
}

/* Makes pixel x of the line of a warp. Most pixels have all samples inside the image. */
SLI_KERNEL_FN uint32_t gather_warp_pixel(const gather_program *program, const sli_row_image *image,
                                         uint32_t x)
{
    const sli_row_samples samples = sli_row_find(&program->row, program->warp, x, image);

    return sli_row_blends(program->warp) && program->before == 0 && image->channels == 3 &&
                   (uint32_t)samples.column < image->width - 1 &&
                   (uint32_t)samples.line < image->height - 1
               ? gather_blend_inside(&samples, image)
               : gather_warp_samples(program, image, &samples);
}

/* The same of a nearest warp of three channels without operators before it. */
SLI_KERNEL_FN uint32_t gather_nearest_pixel(const gather_program *program,
                                            const sli_row_image *image, uint32_t x)
{
    const sli_row_samples samples = sli_row_find(&program->row, SLI_ROW_NEAREST, x, image);

    return sli_row_is_inside(&samples, 0, image)
               ? gather_load_pixel(
                     gather_pixel_at(image, (uint32_t)samples.column, (uint32_t)samples.line), 3)
               : program->fill;
}

/* Makes a unit of pixels of a warp, from pixel x of its line on. */
SLI_KERNEL_FN void gather_warp_unit(const gather_program *program, const sli_row_image *image,
                                    uint32_t x, uint32_t unit, uint32_t *pixels)
{
    if (program->warp == SLI_ROW_NEAREST && program->before == 0) {
        SLI_NO_UNROLL
        for (uint32_t i = 0; i < unit; i++) {
            gather_rotate_in(unit, pixels, gather_nearest_pixel(program, image, x + i));
        }
    } else {
        SLI_NO_UNROLL
        for (uint32_t i = 0; i < unit; i++) {
            gather_rotate_in(unit, pixels, gather_warp_pixel(program, image, x + i));
        }
    }
}

SLI_KERNEL_FN sli_row_image gather_row_image(const sli_gather_image *image, const uint8_t *in,
                                             uint32_t channels)
{
    sli_row_image result;

    result.pixels = in;
    result.width = image->width;
    result.height = image->pixels / image->width;
    result.channels = channels;
    return result;
}

SLI_KERNEL_FN uint8_t gather_load_flags(const sli_gather *g, const uint8_t *slot, uint32_t row)
{
    return gather_load_8(slot + g->row_flags + row);
}

/* Returns the source of unit `to` of a row with these flags. line, units: units of a line, of the
 * image */
SLI_KERNEL_FN uint32_t gather_source(const sli_gather_image *image, uint8_t flags, uint32_t to,
                                     uint32_t line, uint32_t units)
{
    const uint32_t from =
        image->flip != 0 && (flags & SLI_ROW_FLIP) != 0 ? gather_flipped(to, line) : to;

    return (flags & SLI_ROW_FLIP_LINES) != 0 ? gather_flipped_lines(from, line, units) : from;
}

/* Makes pixel `to` of the result of a row, not yet converted; with any number of channels. */
SLI_KERNEL_FN uint32_t gather_make_pixel(const sli_gather *g, const uint8_t *slot, uint32_t row,
                                         uint8_t flags, uint32_t to)
{
    const sli_gather_image *image = &g->image;
    const sli_row_program *programs = (const sli_row_program *)(slot + image->programs);
    const uint32_t channels = image->channels;
    const uint8_t *in = slot + image->from + row * image->from_bytes;
    const sli_row_image from = gather_row_image(image, in, channels);
    const uint32_t at = gather_source(image, flags, to, image->width, image->pixels);
    const uint32_t x = at % image->width;
    const uint32_t y = at / image->width;
    const gather_program program =
        gather_load_program(&programs[row], (flags & SLI_ROW_ZERO) != 0, y);
    uint32_t pixel = program.warp != SLI_ROW_NO_WARP
                         ? gather_warp_pixel(&program, &from, x)
                         : gather_load_pixel(in + (uint64_t)at * channels, channels);

    gather_operate(program.program, program.before, program.count, channels, x, y, 1, 1, &pixel);
    return pixel;
}

/* Converts channel c of a pixel, but does not round to the type of the result. */
SLI_KERNEL_FN float gather_convert(const sli_gather_image *image, uint32_t pixel, uint32_t c)
{
    const float value = sli_pixel_float(pixel, c);

    return image->affine != 0 ? gather_affine(value, image->scale[c], image->bias[c]) : value;
}

/* Converts any type, layout, width and number of channels, pixel by pixel. */
SLI_KERNEL_FN void gather_program_any(const sli_gather *g, const uint8_t *slot, uint32_t t,
                                      uint32_t n)
{
    const sli_gather_image *image = &g->image;
    const uint32_t pixels = image->pixels;
    const uint32_t channels = image->channels;
    gather_walk walk = gather_walk_begin(pixels, t, n);

    for (; walk.row < g->batch_size; gather_walk_next(&walk, pixels)) {
        uint8_t *out = image->to + walk.row * image->to_bytes;
        const uint8_t flags = gather_load_flags(g, slot, walk.row);
        const bool zero = (flags & SLI_ROW_ZERO) != 0;
        const uint32_t pixel = gather_make_pixel(g, slot, walk.row, flags, walk.unit);

        SLI_UNROLL
        for (uint32_t c = 0; c < SLI_MAX_CHANNELS; c++) {
            const uint32_t to =
                image->to_chw != 0 ? c * pixels + walk.unit : walk.unit * channels + c;

            if (c < channels) {
                gather_store(image->to_dtype, out, to, zero ? 0 : gather_convert(image, pixel, c));
            }
        }
    }
}

/* Reverses the order of the pixels of a unit, if `flipped`. */
SLI_KERNEL_FN void gather_flip_unit(uint32_t unit, bool flipped, uint32_t *pixels)
{
    SLI_UNROLL
    for (uint32_t i = 0; i < unit / 2; i++) {
        const uint32_t left = pixels[i];

        pixels[i] = flipped ? pixels[unit - 1 - i] : left;
        pixels[unit - 1 - i] = flipped ? left : pixels[unit - 1 - i];
    }
}

/* Separates a unit of pixels of three bytes each; the fourth byte has no meaning. */
SLI_KERNEL_FN void gather_split_pixels(const uint32_t *words, uint32_t unit, uint32_t *pixels)
{
    SLI_UNROLL
    for (uint32_t i = 0; i < unit; i++) {
        const uint32_t at = 3 * i / 4;
        const uint32_t last = 3 * unit / 4 - 1;

        pixels[i] = gather_funnel(words[at], words[at < last ? at + 1 : last], 8 * (3 * i % 4));
    }
}

/* Scale and bias of a row; zeros make a row of zeros, since pixels are finite. */
typedef struct gather_scales {
    float scale[3];
    float bias[3];
} gather_scales;

SLI_KERNEL_FN gather_scales gather_scales_of(const sli_gather_image *image, bool zero)
{
    gather_scales scales;

    SLI_UNROLL
    for (uint32_t c = 0; c < 3; c++) {
        scales.scale[c] = zero ? 0 : image->scale[c];
        scales.bias[c] = zero ? 0 : image->bias[c];
    }
    return scales;
}

/* Converts channel c of pixel i. */
SLI_KERNEL_FN float gather_value(const uint32_t *pixels, uint32_t i, uint32_t c,
                                 const gather_scales *scales)
{
    return gather_fma(sli_pixel_float(pixels[i], c), scales->scale[c], scales->bias[c]);
}

/* Makes unit `to` of the result of a row of three channels, not yet converted. */
SLI_KERNEL_FN void gather_make_unit(const sli_gather *g, const uint8_t *slot, uint32_t row,
                                    uint8_t flags, uint32_t to, uint32_t unit, uint32_t *pixels)
{
    const sli_gather_image *image = &g->image;
    const sli_row_program *programs = (const sli_row_program *)(slot + image->programs);
    const uint32_t line = image->width / unit;
    const uint8_t *in = slot + image->from + row * image->from_bytes;
    const bool zero = (flags & SLI_ROW_ZERO) != 0;
    const bool flipped = image->flip != 0 && (flags & SLI_ROW_FLIP) != 0;
    const uint32_t from = gather_source(image, flags, to, line, image->pixels / unit);
    const sli_row_image view = gather_row_image(image, in, 3);
    const uint32_t x = from % line * unit;
    const uint32_t y = from / line;
    const gather_program program = gather_load_program(&programs[row], zero, y);

    if (program.warp != SLI_ROW_NO_WARP) {
        gather_warp_unit(&program, &view, x, unit, pixels);
    } else {
        uint32_t words[6];

        gather_load_pixels(in + 3 * unit * (uint64_t)from, unit, words);
        gather_split_pixels(words, unit, pixels);
    }
    gather_operate(program.program, program.before, program.count, 3, x, y, unit, unit, pixels);
    gather_flip_unit(unit, flipped, pixels);
}

/*
 * Converts (H, W, 3) u8 to (3, H, W) or, if not `planes`, to (H, W, 3), one unit of pixels at a
 * time, with three stores of 16 bytes. Without normalisation scale is 1 and bias 0.
 */
SLI_KERNEL_FN void gather_program_units(const sli_gather *g, const uint8_t *slot, uint32_t t,
                                        uint32_t n, uint32_t unit, sluice_dtype dtype, bool planes)
{
    const sli_gather_image *image = &g->image;
    const uint32_t units = image->pixels / unit;
    const uint64_t part_bytes = planes ? image->to_bytes / 3 : 16;
    const uint64_t unit_bytes = planes ? 16 : 48;
    gather_walk walk = gather_walk_begin(units, t, n);

    for (; walk.row < g->batch_size; gather_walk_next(&walk, units)) {
        uint8_t *out = image->to + walk.row * image->to_bytes + unit_bytes * walk.unit;
        const uint8_t flags = gather_load_flags(g, slot, walk.row);
        const gather_scales scales = gather_scales_of(image, (flags & SLI_ROW_ZERO) != 0);
        uint32_t pixels[8];

        gather_make_unit(g, slot, walk.row, flags, walk.unit, unit, pixels);
        SLI_UNROLL
        for (uint32_t part = 0; part < 3; part++) {
            float v[8];

            SLI_UNROLL
            for (uint32_t i = 0; i < unit; i++) {
                const uint32_t at = part * unit + i; /* of the packed values */

                v[i] = planes ? gather_value(pixels, i, part, &scales)
                              : gather_value(pixels, at / 3, at % 3, &scales);
            }
            gather_store_unit(dtype, out + part * part_bytes, v);
        }
    }
}

#endif
