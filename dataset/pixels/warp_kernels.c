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

static inline int count_inside(const warp_block *block)
{
    int inside = 0;

    for (int i = 0; i < BLOCK; i++) {
        inside += block->inside[i];
    }
    return inside;
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

/* ---- bilinear: the four samples of each pixel, with its channels in the bytes of a word --------
 */

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

static inline uint64_t read_words(const uint8_t *from)
{
    uint64_t words;

    memcpy(&words, from, sizeof(words));
    return words;
}

/* True if the offset of each sample fits an int32, also of those outside, which are not read. */
static inline bool offsets_fit(const image_view *from)
{
    return (uint64_t)from->stride * from->height < INT32_MAX / 4;
}

/* Reads the samples of pixels that are all inside. Two of a line lie side by side. The offset of a
 * sample fits an int32. */
static inline void read_inside(const image_view *from, const warp_block *block, uint32_t channels,
                               sample_block *samples)
{
    const int32_t stride = (int32_t)from->stride;
    const uint32_t shift = 8 * channels;
    int32_t offsets[BLOCK];
    uint64_t upper[BLOCK];
    uint64_t lower[BLOCK];

    for (int i = 0; i < BLOCK; i++) {
        offsets[i] = block->line[i] * stride + block->column[i] * (int32_t)channels;
    }
    for (int i = 0; i < BLOCK; i++) {
        upper[i] = read_words(from->pixels + offsets[i]);
        lower[i] = read_words(from->pixels + offsets[i] + stride);
    }
    for (int i = 0; i < BLOCK; i++) {
        samples->samples[0][i] = (uint32_t)upper[i];
        samples->samples[1][i] = (uint32_t)(upper[i] >> shift);
        samples->samples[2][i] = (uint32_t)lower[i];
        samples->samples[3][i] = (uint32_t)(lower[i] >> shift);
    }
}

static inline int32_t clamp(int32_t value, int32_t most)
{
    value = value > 0 ? value : 0;
    return value < most ? value : most;
}

/* Reads the samples of pixels, some of which are outside: there the nearest ones inside. */
static inline void read_any(const image_view *from, const warp_block *block, uint32_t channels,
                            sample_block *samples)
{
    const int32_t right = (int32_t)from->width - 1;
    const int32_t bottom = (int32_t)from->height - 1;

    for (int i = 0; i < BLOCK; i++) {
        const uint8_t *upper = from->pixels + (size_t)clamp(block->line[i], bottom) * from->stride;
        const uint8_t *lower =
            from->pixels + (size_t)clamp(block->line[i] + 1, bottom) * from->stride;
        const size_t column = (size_t)clamp(block->column[i], right) * channels;
        const size_t next = (size_t)clamp(block->column[i] + 1, right) * channels;

        samples->samples[0][i] = read_word(upper + column);
        samples->samples[1][i] = read_word(upper + next);
        samples->samples[2][i] = read_word(lower + column);
        samples->samples[3][i] = read_word(lower + next);
    }
}

/* Returns byte `shift` / 8 of a word. */
static inline float byte_of(uint32_t word, int shift)
{
    return (float)(int32_t)(word >> shift & 0xFF);
}

/* Blends a channel, whose byte in a word is `shift` / 8. */
static inline uint32_t blend_channel(const warp_block *block, const sample_block *samples, int i,
                                     int shift)
{
    const sli_warp_weights weights = {block->weights[0][i], block->weights[1][i],
                                      block->weights[2][i], block->weights[3][i]};

    return sli_warp_blend(weights, byte_of(samples->samples[0][i], shift),
                          byte_of(samples->samples[1][i], shift),
                          byte_of(samples->samples[2][i], shift),
                          byte_of(samples->samples[3][i], shift))
           << shift;
}

/* Channels are blended in one loop over pixels, which the compiler then vectorizes. */
static inline void blend(const warp_block *block, uint32_t channels, sample_block *samples)
{
    for (int i = 0; i < BLOCK; i++) {
        uint32_t result = blend_channel(block, samples, i, 0);

        result |= channels > 1 ? blend_channel(block, samples, i, 8) : 0;
        result |= channels > 2 ? blend_channel(block, samples, i, 16) : 0;
        result |= channels > 3 ? blend_channel(block, samples, i, 24) : 0;
        samples->result[i] = result;
    }
}

/*
 * Sets the weights of samples outside the image to 0; sums[i] is the sum of the weights that pixel
 * i keeps. Returns the number of pixels with a sample inside the image.
 */
static inline int weigh_inside(const image_view *from, warp_block *block, float sums[BLOCK])
{
    const int32_t width = (int32_t)from->width;
    const int32_t height = (int32_t)from->height;
    int touched = 0;

    for (int i = 0; i < BLOCK; i++) {
        const int32_t column = block->column[i];
        const int32_t line = block->line[i];
        const int32_t left = (column >= 0) & (column < width);
        const int32_t right = (column >= -1) & (column < width - 1);
        const int32_t above = (line >= 0) & (line < height);
        const int32_t below = (line >= -1) & (line < height - 1);

        block->weights[0][i] *= (float)(left & above);
        block->weights[1][i] *= (float)(right & above);
        block->weights[2][i] *= (float)(left & below);
        block->weights[3][i] *= (float)(right & below);
        sums[i] = block->weights[0][i] + block->weights[1][i] + block->weights[2][i] +
                  block->weights[3][i];
        touched += (left | right) & (above | below);
    }
    return touched;
}

/* The same for a pixel with samples outside, the weights of which are 0. sum: of the others */
static inline uint32_t blend_channel_edge(const warp_row *row, const warp_block *block,
                                          const sample_block *samples, float weight, int i,
                                          int shift)
{
    const float sum = block->weights[0][i] * byte_of(samples->samples[0][i], shift) +
                      block->weights[1][i] * byte_of(samples->samples[1][i], shift) +
                      block->weights[2][i] * byte_of(samples->samples[2][i], shift) +
                      block->weights[3][i] * byte_of(samples->samples[3][i], shift);
    const uint32_t inside = sli_warp_round(sum);
    const uint32_t edge = sli_warp_blend_fill(sum, weight, row->fill[shift / 8], row->constant);

    return (block->inside[i] ? inside : edge) << shift;
}

static inline void blend_edge(const warp_row *row, const warp_block *block, const float *sums,
                              uint32_t channels, sample_block *samples)
{
    for (int i = 0; i < BLOCK; i++) {
        uint32_t result = blend_channel_edge(row, block, samples, sums[i], i, 0);

        result |= channels > 1 ? blend_channel_edge(row, block, samples, sums[i], i, 8) : 0;
        result |= channels > 2 ? blend_channel_edge(row, block, samples, sums[i], i, 16) : 0;
        result |= channels > 3 ? blend_channel_edge(row, block, samples, sums[i], i, 24) : 0;
        samples->result[i] = result;
    }
}

/* Writes the pixels of a block; after the last one up to 3 bytes more. */
static inline void write_pixels(const uint32_t *pixels, int count, uint32_t channels, uint8_t *to)
{
    for (int i = 0; i < count; i++, to += channels) {
        memcpy(to, &pixels[i], sizeof(pixels[i]));
    }
}

/* Interpolates a block with samples outside. */
static inline void bilinear_edge(const warp_row *row, const image_view *from, uint32_t channels,
                                 warp_block *block, sample_block *samples)
{
    float sums[BLOCK];

    if (weigh_inside(from, block, sums) == 0) {
        for (int i = 0; i < BLOCK; i++) {
            samples->result[i] = read_word(row->fill);
        }
        return;
    }
    read_any(from, block, channels, samples);
    blend_edge(row, block, sums, channels, samples);
}

static inline void bilinear_line(const warp_row *row, const image_view *from, uint32_t channels,
                                 uint8_t *to)
{
    const bool is_small = offsets_fit(from);
    warp_block block;
    sample_block samples;

    for (uint32_t first = 0; first < row->width; first += BLOCK) {
        const int count = row->width - first < BLOCK ? (int)(row->width - first) : BLOCK;

        find_block(row, from, first, 0.5F, 1, &block);
        weigh(&block);
        if (is_small && count_inside(&block) == BLOCK) {
            read_inside(from, &block, channels, &samples);
            blend(&block, channels, &samples);
        } else {
            bilinear_edge(row, from, channels, &block, &samples);
        }
        write_pixels(samples.result, count, channels, to + (size_t)first * channels);
    }
}

/* Copies the samples of a block, up to 3 bytes more after the last one. */
static inline void copy_nearest(const warp_row *row, const image_view *from, uint32_t channels,
                                const warp_block *block, int count, uint8_t *to)
{
    const int32_t stride = (int32_t)from->stride;
    int32_t offsets[BLOCK];

    for (int i = 0; i < BLOCK; i++) {
        offsets[i] = block->line[i] * stride + block->column[i] * (int32_t)channels;
    }
    if (count == BLOCK && count_inside(block) == BLOCK) {
        for (int i = 0; i < BLOCK; i++, to += channels) {
            memcpy(to, from->pixels + offsets[i], sizeof(uint32_t));
        }
        return;
    }
    for (int i = 0; i < count; i++, to += channels) {
        const uint8_t *pixel = block->inside[i] ? from->pixels + offsets[i] : row->fill;

        memcpy(to, pixel, sizeof(uint32_t));
    }
}

/* The same for an image in which an offset does not fit an int32. */
static inline void copy_nearest_far(const warp_row *row, const image_view *from, uint32_t channels,
                                    const warp_block *block, int count, uint8_t *to)
{
    for (int i = 0; i < count; i++, to += channels) {
        const uint8_t *pixel = block->inside[i]
                                   ? from->pixels + (size_t)block->line[i] * from->stride +
                                         (size_t)block->column[i] * channels
                                   : row->fill;

        memcpy(to, pixel, channels);
    }
}

static inline void nearest_line(const warp_row *row, const image_view *from, uint32_t channels,
                                uint8_t *to)
{
    const bool is_small = offsets_fit(from);
    warp_block block;

    for (uint32_t first = 0; first < row->width; first += BLOCK, to += (size_t)BLOCK * channels) {
        const int count = row->width - first < BLOCK ? (int)(row->width - first) : BLOCK;

        find_block(row, from, first, 0, 0, &block);
        if (is_small) {
            copy_nearest(row, from, channels, &block, count, to);
        } else {
            copy_nearest_far(row, from, channels, &block, count, to);
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
