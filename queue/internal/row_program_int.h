/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program of a row: colour operations and a warp that GetNext applies to the image of one row
 * of a batch, before the conversion (conversion_int.h). A worker draws it with the sample; it is a
 * column of the slot, which steps do not see. The operations change one pixel at a time, so those
 * before the warp are applied to its samples. After the conversion the row may be mixed with
 * another one. All have the bits of the workers' kernels (dataset/pixels).
 *
 * A pixel is a word with one channel in each byte, the first one in the lowest byte.
 */
#ifndef SLUICE_ROW_PROGRAM_INT_H
#define SLUICE_ROW_PROGRAM_INT_H

#include <stddef.h>
#include <stdint.h>

#include "color_pixel_int.h"
#include "conversion_int.h"
#include "float16_int.h"
#include "mix_pixel_int.h"
#include "warp_pixel_int.h"

enum {
    SLI_ROW_OPERATORS = 8,       /* most operators of a program */
    SLI_ROW_PROGRAM_SIDE = 65535 /* largest width and height of images with programs */
};

typedef enum sli_row_operator_kind {
    SLI_ROW_BITS,       /* (v & keep) ^ flip: inverts, posterizes */
    SLI_ROW_SOLARIZE,   /* 255 - v if v is at least the threshold */
    SLI_ROW_BRIGHTNESS, /* v * factor */
    SLI_ROW_SATURATION, /* blends with the luma; images of 3 channels only, like hue and gray */
    SLI_ROW_HUE,
    SLI_ROW_GRAY,
    SLI_ROW_ERASE /* sets a rectangle to a value */
} sli_row_operator_kind;

typedef struct sli_row_operator {
    uint32_t kind;  /* an sli_row_operator_kind */
    uint32_t value; /* BITS: keep, in each byte; SOLARIZE: threshold, 0 to 256; ERASE: the pixel */
    uint32_t a;     /* BITS: flip, in each byte; BRIGHTNESS, SATURATION, HUE: bits of the f32 factor
                       or shift; ERASE: x | y << 16 of the rectangle */
    uint32_t b;     /* SATURATION: bits of the f32 1 - factor; ERASE: width | height << 16 */
} sli_row_operator;

typedef enum sli_row_warp {
    SLI_ROW_NO_WARP,
    SLI_ROW_NEAREST,
    SLI_ROW_BILINEAR,
    SLI_ROW_CONSTANT /* bilinear; samples outside the image are the fill */
} sli_row_warp;

typedef enum sli_row_mix_kind { SLI_ROW_NO_MIX, SLI_ROW_BLEND, SLI_ROW_PASTE } sli_row_mix_kind;

/*
 * How a row is mixed with another row of its batch, its partner, as that is before it is mixed
 * itself. The worker that completes the batch writes it. Neither row has the flag SLI_ROW_ZERO.
 */
typedef struct sli_row_mix {
    uint32_t kind;    /* an sli_row_mix_kind */
    uint32_t partner; /* the other row, below the batch size */
    uint32_t a;       /* BLEND: bits of the f32 factor of the row; PASTE: x | y << 16 of the
                         rectangle of the partner, in the result */
    uint32_t b; /* BLEND: bits of the f32 factor of the partner; PASTE: width | height << 16 */
} sli_row_mix;

/* Coordinates are those of the slot's image, before the flips of the row's flags; in `mix` they are
 * those of the result. */
typedef struct sli_row_program {
    uint32_t count;  /* operators, at most SLI_ROW_OPERATORS */
    uint32_t warp;   /* an sli_row_warp */
    uint32_t before; /* the operators before the warp; 0 if there is none */
    uint32_t fill;   /* the pixel outside the image */
    sli_row_mix mix;
    sli_row_operator operators[SLI_ROW_OPERATORS];
    double matrix[9]; /* of the warp: from its result to its input (warp_pixel_int.h) */
    double padding;
} sli_row_program;

SLI_DEVICE_FN uint32_t sli_pixel_channel(uint32_t pixel, uint32_t c)
{
    return pixel >> 8 * c & 0xFF;
}

/*
 * Channel c of a pixel as a float. On a GPU, whose conversions are slow, the byte becomes the low
 * bits of 2^23, and 2^23 is subtracted: exact.
 */
SLI_DEVICE_FN float sli_pixel_float(uint32_t pixel, uint32_t c)
{
#if defined(__CUDA_ARCH__)
    return __uint_as_float(__byte_perm(pixel, 0x4B000000, 0x7440 | c)) - 8388608.0F;
#else
    return (float)(int32_t)sli_pixel_channel(pixel, c);
#endif
}

SLI_DEVICE_FN sli_rgb sli_rgb_of(uint32_t pixel)
{
    sli_rgb rgb;

    rgb.red = sli_pixel_float(pixel, 0);
    rgb.green = sli_pixel_float(pixel, 1);
    rgb.blue = sli_pixel_float(pixel, 2);
    return rgb;
}

/* A pixel of the lowest bytes of three words, whose second bytes are 0. */
SLI_DEVICE_FN uint32_t sli_pixel_join(uint32_t red, uint32_t green, uint32_t blue)
{
#if defined(__CUDA_ARCH__)
    return __byte_perm(__byte_perm(red, green, 0x1140), blue, 0x2410);
#else
    return (red & 0xFF) | (green & 0xFF) << 8 | (blue & 0xFF) << 16;
#endif
}

/* Truncates values from 0 to below 256. On a GPU 2^23 is added and rounded down. */
SLI_DEVICE_FN uint32_t sli_pixel_of(sli_rgb rgb)
{
#if defined(__CUDA_ARCH__)
    return sli_pixel_join(__float_as_uint(__fadd_rz(rgb.red, 8388608.0F)),
                          __float_as_uint(__fadd_rz(rgb.green, 8388608.0F)),
                          __float_as_uint(__fadd_rz(rgb.blue, 8388608.0F)));
#else
    return (uint32_t)(int32_t)rgb.red | (uint32_t)(int32_t)rgb.green << 8 |
           (uint32_t)(int32_t)rgb.blue << 16;
#endif
}

SLI_DEVICE_FN uint32_t sli_pixel_brighter(uint32_t pixel, float factor, uint32_t channels)
{
    uint32_t result = 0;

    if (channels == 3) {
        sli_rgb rgb = sli_rgb_of(pixel);

        rgb.red = sli_color_clamp(rgb.red * factor, 255);
        rgb.green = sli_color_clamp(rgb.green * factor, 255);
        rgb.blue = sli_color_clamp(rgb.blue * factor, 255);
        return sli_pixel_of(rgb);
    }
    SLI_UNROLL
    for (uint32_t c = 0; c < SLI_MAX_CHANNELS; c++) {
        result |= (uint32_t)sli_color_byte(sli_pixel_float(pixel, c) * factor) << 8 * c;
    }
    return result;
}

SLI_DEVICE_FN uint32_t sli_pixel_solarized(uint32_t pixel, uint32_t threshold)
{
    uint32_t flip = 0;

    SLI_UNROLL
    for (uint32_t c = 0; c < SLI_MAX_CHANNELS; c++) {
        flip |= sli_pixel_channel(pixel, c) >= threshold ? UINT32_C(0xFF) << 8 * c : 0;
    }
    return pixel ^ flip;
}

/* Applies an operator to pixel (x, y). */
SLI_DEVICE_FN uint32_t sli_row_operate(const sli_row_operator *op, uint32_t channels,
                                       uint32_t pixel, uint32_t x, uint32_t y)
{
    const float factor = sli_f32_of_bits(op->a);
    sli_rgb rgb;

    switch (op->kind) {
    case SLI_ROW_BITS:
        return (pixel & op->value) ^ op->a;
    case SLI_ROW_SOLARIZE:
        return sli_pixel_solarized(pixel, op->value);
    case SLI_ROW_BRIGHTNESS:
        return sli_pixel_brighter(pixel, factor, channels);
    case SLI_ROW_ERASE:
        return x - (op->a & 0xFFFF) < (op->b & 0xFFFF) && y - (op->a >> 16) < op->b >> 16
                   ? op->value
                   : pixel;
    default:
        break;
    }
    if (channels != 3) {
        return pixel;
    }
    rgb = sli_rgb_of(pixel);
    if (op->kind == SLI_ROW_SATURATION) {
        rgb = sli_saturate(rgb, factor, sli_f32_of_bits(op->b));
    } else if (op->kind == SLI_ROW_HUE) {
        rgb = sli_shift_hue(rgb, factor);
    } else {
        rgb.red = sli_luma(rgb);
        rgb.green = rgb.red;
        rgb.blue = rgb.red;
    }
    return sli_pixel_of(rgb);
}

/* True if pixel (x, y) of the result is that of the partner. */
SLI_DEVICE_FN bool sli_row_is_pasted(const sli_row_mix *mix, uint32_t x, uint32_t y)
{
    return mix->kind == SLI_ROW_PASTE && x - (mix->a & 0xFFFF) < (mix->b & 0xFFFF) &&
           y - (mix->a >> 16) < mix->b >> 16;
}

/* An image (height, width, channels) u8 of a slot. */
typedef struct sli_row_image {
    const uint8_t *pixels;
    uint32_t width;
    uint32_t height;
    uint32_t channels;
} sli_row_image;

/* True if a pixel of the warp is made of four samples. */
SLI_DEVICE_FN bool sli_row_blends(uint32_t warp)
{
    return warp >= SLI_ROW_BILINEAR;
}

/* The samples of one pixel of a warp: one with SLI_ROW_NEAREST, else four, in the order of
 * sli_warp_weights. */
typedef struct sli_row_samples {
    sli_warp_point point;
    int32_t column; /* of the first sample */
    int32_t line;
} sli_row_samples;

/* Finds the samples of pixel x of a line. */
SLI_DEVICE_FN sli_row_samples sli_row_find(const sli_warp_row *row, uint32_t warp, uint32_t x,
                                           const sli_row_image *image)
{
    const float shift = sli_row_blends(warp) ? 0.5F : 0;
    sli_row_samples samples;

    samples.point = sli_warp_place(row, row->divides, x);
    samples.point.x = sli_warp_limit(samples.point.x - shift, (float)image->width);
    samples.point.y = sli_warp_limit(samples.point.y - shift, (float)image->height);
    samples.column = sli_warp_floor(samples.point.x);
    samples.line = sli_warp_floor(samples.point.y);
    return samples;
}

/* True if sample k is inside the image. */
SLI_DEVICE_FN bool sli_row_is_inside(const sli_row_samples *samples, uint32_t k,
                                     const sli_row_image *image)
{
    return (uint32_t)(samples->column + (int32_t)(k & 1)) < image->width &&
           (uint32_t)(samples->line + (int32_t)(k >> 1)) < image->height;
}

/* Interpolates four samples; those outside the image do not matter. */
SLI_DEVICE_FN uint32_t sli_row_blend(const sli_row_samples *samples, const uint32_t *pixels,
                                     uint32_t warp, uint32_t fill, const sli_row_image *image)
{
    const sli_warp_weights w = sli_warp_weigh(samples->point, samples->column, samples->line);
    const float weights[4] = {w.upper_left, w.upper_right, w.lower_left, w.lower_right};
    uint32_t inside = 0;
    uint32_t result = 0;
    float weight = 0;

    SLI_UNROLL
    for (uint32_t k = 0; k < 4; k++) {
        inside |= sli_row_is_inside(samples, k, image) ? 1U << k : 0;
        weight += (inside >> k & 1) != 0 ? weights[k] : 0;
    }
    SLI_UNROLL
    for (uint32_t c = 0; c < SLI_MAX_CHANNELS; c++) {
        float sum = 0;

        SLI_UNROLL
        for (uint32_t k = 0; k < 4; k++) {
            const float part = weights[k] * sli_pixel_float(pixels[k], c);

            sum += (inside >> k & 1) != 0 ? part : 0;
        }
        if (c < image->channels) {
            const float value = sli_pixel_float(fill, c);

            result |= ((inside == 15
                            ? sli_warp_round(sum)
                            : sli_warp_blend_fill(sum, weight, value, warp == SLI_ROW_CONSTANT)) &
                       0xFF)
                      << 8 * c;
        }
    }
    return result;
}

/* What the queue must know of the programs of a batch. */
typedef enum sli_row_programs {
    SLI_PROGRAMS_NONE,  /* rows have no programs */
    SLI_PROGRAMS_ALONE, /* no program mixes its row with another one */
    SLI_PROGRAMS_MIX
} sli_row_programs;

/* The rows of a batch that have programs. */
typedef struct sli_row_batch {
    const sli_row_program *programs; /* (batch_size) */
    const uint8_t *images;           /* (batch_size, H, W, C) of the conversion's shape */
    const uint8_t *flags;            /* (batch_size) as in sli_convert_image() */
} sli_row_batch;

/* Applies the program of a row to its image, converts it, and mixes it with its partner. */
void sli_row_program_run(const sli_row_batch *batch, uint32_t row, const sli_conversion *conversion,
                         void *out);

#endif
