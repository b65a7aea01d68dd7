/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The warp kernels of one instruction set level. This file is compiled once for each level
 * (SLI_LEVEL). Points and weights of a block of pixels are computed first, in loops that the
 * compiler vectorizes; then each pixel is sampled, its channels at once.
 */
#include "warp_kernels.h"

#include <string.h>

#include "cpu_int.h"

enum { BLOCK = WARP_BLOCK, MOST_CHANNELS = 4 };

/* The points of a block of pixels. */
typedef struct warp_block {
    float x[BLOCK];
    float y[BLOCK];
    int32_t column[BLOCK]; /* of the sample, the upper left one of four */
    int32_t line[BLOCK];
    int32_t inside[BLOCK]; /* 1: all samples of the pixel are inside the image */
    float weights[4][BLOCK];
} warp_block;

/* Computes the points of pixels [first, first + BLOCK). */
static inline void place(const sli_warp_row *row, bool divides, uint32_t first, warp_block *block)
{
    for (int i = 0; i < BLOCK; i++) {
        const sli_warp_point point = sli_warp_place(row, divides, first + (uint32_t)i);

        block->x[i] = point.x;
        block->y[i] = point.y;
    }
}

/* The same, with displacements of the pixels. */
static inline void place_shifted(const warp_row *row, uint32_t first, warp_block *block)
{
    const float *along_x = row->shifts + first;
    const float *along_y = along_x + row->shift_stride;

    for (int i = 0; i < BLOCK; i++) {
        const float x = (float)(int32_t)(first + (uint32_t)i) + along_x[i];
        const float y = along_y[i];
        const float divisor = x * row->points.step[2] + (y * row->across[2] + row->points.start[2]);

        block->x[i] =
            (x * row->points.step[0] + (y * row->across[0] + row->points.start[0])) / divisor;
        block->y[i] =
            (x * row->points.step[1] + (y * row->across[1] + row->points.start[1])) / divisor;
    }
}

/* Subtracts `shift` from the points' coordinates, and limits them. */
static inline void limit(float shift, float width, float height, warp_block *block)
{
    for (int i = 0; i < BLOCK; i++) {
        block->x[i] = sli_warp_limit(block->x[i] - shift, width);
        block->y[i] = sli_warp_limit(block->y[i] - shift, height);
    }
}

/* Rounds the points down, and finds those whose samples are inside; `reach` is the number of
 * samples of a line less one. */
static inline void find_samples(int32_t width, int32_t height, int32_t reach, warp_block *block)
{
    for (int i = 0; i < BLOCK; i++) {
        const int32_t column = sli_warp_floor(block->x[i]);
        const int32_t line = sli_warp_floor(block->y[i]);

        block->column[i] = column;
        block->line[i] = line;
        block->inside[i] =
            (column >= 0) & (line >= 0) & (column < width - reach) & (line < height - reach);
    }
}

/* Finds the samples of pixels [first, first + BLOCK) of a line. */
static inline void find_block(const warp_row *row, const image_view *from, uint32_t first,
                              float shift, int32_t reach, warp_block *block)
{
    if (row->shifts != NULL) {
        place_shifted(row, first, block);
    } else if (row->points.divides) {
        place(&row->points, true, first, block);
    } else {
        place(&row->points, false, first, block);
    }
    limit(shift, (float)from->width, (float)from->height, block);
    find_samples((int32_t)from->width, (int32_t)from->height, reach, block);
}

static inline void weigh(warp_block *block)
{
    for (int i = 0; i < BLOCK; i++) {
        const sli_warp_point point = {block->x[i], block->y[i]};
        const sli_warp_weights weights = sli_warp_weigh(point, block->column[i], block->line[i]);

        block->weights[0][i] = weights.upper_left;
        block->weights[1][i] = weights.upper_right;
        block->weights[2][i] = weights.lower_left;
        block->weights[3][i] = weights.lower_right;
    }
}

/* Interpolates pixel i of a block. Some of its neighbours may be outside the image. */
static void sample_border(const warp_row *row, const image_view *from, const warp_block *block,
                          int i, uint8_t *to)
{
    float sums[MOST_CHANNELS] = {0, 0, 0, 0};
    float weight = 0;

    for (int k = 0; k < 4; k++) {
        const int32_t column = block->column[i] + (k & 1);
        const int32_t line = block->line[i] + (k >> 1);
        const float part = block->weights[k][i];

        if (column >= 0 && line >= 0 && (uint32_t)column < from->width &&
            (uint32_t)line < from->height) {
            const uint8_t *pixel =
                from->pixels + (size_t)line * from->stride + (size_t)column * from->channels;

            for (uint32_t c = 0; c < from->channels; c++) {
                sums[c] += part * pixel[c];
            }
            weight += part;
        }
    }
    for (uint32_t c = 0; c < from->channels; c++) {
        to[c] = (uint8_t)sli_warp_blend_fill(sums[c], weight, row->fill[c]);
    }
}

/* The four samples of each pixel of a block, with its channels in the bytes of a word. */
typedef struct sample_block {
    uint32_t samples[4][BLOCK];
    uint32_t result[BLOCK];
} sample_block;

static inline uint32_t read_word(const uint8_t *from)
{
    uint32_t word;

    memcpy(&word, from, sizeof(word));
    return word;
}

/* Reads the samples of the pixels that are inside; those of others keep their values. */
static inline void read_samples(const image_view *from, const warp_block *block, int count,
                                uint32_t channels, sample_block *samples)
{
    for (int i = 0; i < count; i++) {
        if (block->inside[i]) {
            const uint8_t *upper = from->pixels + (size_t)block->line[i] * from->stride +
                                   (size_t)block->column[i] * channels;
            const uint8_t *lower = upper + from->stride;

            samples->samples[0][i] = read_word(upper);
            samples->samples[1][i] = read_word(upper + channels);
            samples->samples[2][i] = read_word(lower);
            samples->samples[3][i] = read_word(lower + channels);
        }
    }
}

/* Returns byte `shift` / 8 of a word. */
static inline float byte_of(uint32_t word, int shift)
{
    return (float)(int32_t)(word >> shift & 0xFF);
}

static inline void blend_channel(const warp_block *block, int shift, sample_block *samples)
{
    for (int i = 0; i < BLOCK; i++) {
        const sli_warp_weights weights = {block->weights[0][i], block->weights[1][i],
                                          block->weights[2][i], block->weights[3][i]};

        samples->result[i] |= sli_warp_blend(weights, byte_of(samples->samples[0][i], shift),
                                             byte_of(samples->samples[1][i], shift),
                                             byte_of(samples->samples[2][i], shift),
                                             byte_of(samples->samples[3][i], shift))
                              << shift;
    }
}

static inline void bilinear_line(const warp_row *row, const image_view *from, uint32_t channels,
                                 uint8_t *to)
{
    warp_block block;
    sample_block samples;

    memset(&samples, 0, sizeof(samples));
    for (uint32_t first = 0; first < row->width; first += BLOCK) {
        const int count = row->width - first < BLOCK ? (int)(row->width - first) : BLOCK;

        find_block(row, from, first, 0.5F, 1, &block);
        weigh(&block);
        read_samples(from, &block, count, channels, &samples);
        memset(samples.result, 0, sizeof(samples.result));
        for (uint32_t c = 0; c < channels; c++) {
            blend_channel(&block, (int)(8 * c), &samples);
        }
        for (int i = 0; i < count; i++, to += channels) {
            if (block.inside[i]) {
                memcpy(to, &samples.result[i], sizeof(samples.result[i]));
            } else {
                sample_border(row, from, &block, i, to);
            }
        }
    }
}

static inline void nearest_line(const warp_row *row, const image_view *from, uint32_t channels,
                                uint8_t *to)
{
    warp_block block;

    for (uint32_t first = 0; first < row->width; first += BLOCK) {
        const int count = row->width - first < BLOCK ? (int)(row->width - first) : BLOCK;

        find_block(row, from, first, 0, 0, &block);
        for (int i = 0; i < count; i++, to += channels) {
            const uint8_t *pixel = block.inside[i]
                                       ? from->pixels + (size_t)block.line[i] * from->stride +
                                             (size_t)block.column[i] * channels
                                       : row->fill;

            memcpy(to, pixel, channels);
        }
    }
}

/* Calls a function with the number of channels as a constant. */
#define FOR_CHANNELS(function)                                                                     \
    switch (from->channels) {                                                                      \
    case 1:                                                                                        \
        function(row, from, 1, to);                                                                \
        break;                                                                                     \
    case 3:                                                                                        \
        function(row, from, 3, to);                                                                \
        break;                                                                                     \
    default:                                                                                       \
        function(row, from, from->channels, to);                                                   \
        break;                                                                                     \
    }

static void nearest(const warp_row *row, const image_view *from, uint8_t *to)
{
    FOR_CHANNELS(nearest_line)
}

static void bilinear(const warp_row *row, const image_view *from, uint8_t *to)
{
    FOR_CHANNELS(bilinear_line)
}

const warp_kernels SLI_AT_LEVEL(sli_warp_kernels) = {
    .nearest = nearest,
    .bilinear = bilinear,
};
