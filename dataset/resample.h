/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resizing a part of an image, and seeing a window of the result: one pass that serves resize, all
 * crops, and their combinations.
 *
 *     crop (in_width, in_height) --resize--> (out_width, out_height) --window--> lines
 *
 * The filter is the antialiased triangle ("bilinear") of Pillow: support max(1, scale), its weights
 * cut at the border of the crop and normalised. Arithmetic is in integers, vertical pass first:
 * weights sum to 2^14, the image between the passes has 7 fractional bits, one rounding at the end
 * of each pass. Every level of instructions gives the same bytes, within 1 of Pillow's.
 */
#ifndef SLUICE_RESAMPLE_H
#define SLUICE_RESAMPLE_H

#include <stdbool.h>

#include "image.h"

enum { RESAMPLE_WEIGHT_BITS = 14, RESAMPLE_MID_BITS = 7 };

/* The weights of one axis for a range of outputs. */
typedef struct resample_axis {
    uint32_t in;   /* length of the crop */
    uint32_t out;  /* length it is resized to */
    uint32_t from; /* outputs [from, from + count) */
    uint32_t count;
    uint32_t taps;    /* weights of each output, an even number; the last may be zero */
    int32_t *first;   /* (count) first input of each output */
    int16_t *weights; /* (count, taps) */
    size_t first_capacity;
    size_t weight_capacity;
} resample_axis;

/* What is asked for. The window may reach beyond the resized crop: zeros are there. */
typedef struct resample_job {
    uint32_t channels;
    uint32_t in_width;
    uint32_t in_height;
    uint32_t out_width;
    uint32_t out_height;
    int64_t window_x;
    int64_t window_y;
    uint32_t window_width;
    uint32_t window_height;
} resample_job;

/* One worker's own; starts zeroed. */
typedef struct image_resampler {
    resample_job job;
    resample_axis x;
    resample_axis y;
    image_box needed;    /* of the crop */
    bool empty;          /* the window sees nothing of the image */
    bool copies;         /* no resizing: lines are copied */
    image_buffer middle; /* (4, needed.width * channels + slack) int16 */
    image_buffer line;   /* (4, window_width * channels + slack) */
} image_resampler;

/* Where lines go, in order; pixels is (window_width, channels). */
typedef struct line_sink {
    void (*line)(void *arg, uint32_t y, const uint8_t *pixels);
    void *arg;
    uint8_t *direct; /* not NULL: lines are written here, (height, width, channels), and
                        line() is not called */
} line_sink;

/*
 * Computes the weights and which part of the crop they touch (needed_out; width 0 when none).
 * E_NO_MEMORY.
 */
sluice_status resample_prepare(image_resampler *resampler, const resample_job *job,
                               image_box *needed_out);

/* Makes the window's lines. needed: the pixels of needed_out. E_NO_MEMORY. */
sluice_status resample_run(image_resampler *resampler, const image_view *needed,
                           const line_sink *sink);

void resampler_free(image_resampler *resampler);

#endif
