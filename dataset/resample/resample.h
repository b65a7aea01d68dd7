/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resizing a crop of an image and taking a window of the result: one pass that serves resize, all
 * crops, and their combinations.
 *
 *     crop (in_width, in_height) --resize--> (out_width, out_height) --window--> lines
 *
 * The filters are Pillow's (resample_axis.h), and so are the bytes: equal for nearest, within 1 for
 * the others. Arithmetic is in integers: weights sum to 2^14, the image between the passes (the
 * middle) has 7 fractional bits, and each pass rounds once, at its end. The vertical pass comes
 * first, on long lines of bytes. For bicubic the horizontal pass comes first: Pillow clamps after
 * each pass, so where a filter leaves the range of bytes the order of the passes changes the
 * result. (Pillow 13 begins with the vertical pass where the height shrinks by more than twice as
 * much as the width; other versions do not, nor does this code.) Every instruction set level gives
 * the same bytes.
 */
#ifndef SLUICE_RESAMPLE_H
#define SLUICE_RESAMPLE_H

#include "image.h"
#include "resample_axis.h"

/* A resize. The window may reach beyond the resized crop: there it has zeros. */
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
    resize_filter filter;
} resample_job;

/* The state of one worker; zero-initialise. */
typedef struct image_resampler {
    resample_job job;
    resample_axis x;
    resample_axis y;
    image_box needed;      /* of the crop */
    bool empty;            /* the window shows no part of the image */
    bool copies;           /* no resizing: lines are copied */
    image_buffer middle;   /* (4, needed.width * channels + slack) int16 */
    image_buffer across;   /* lines after the horizontal pass where that comes first: a ring of
                            * (y.taps + 4, x.count * channels + slack) int16 */
    uint32_t across_lines; /* needed lines [0, across_lines) were written to it */
    image_buffer rows;     /* (y.taps) pointers */
    image_buffer line;     /* (4, window_width * channels + slack) */
} image_resampler;

/* Where lines are written, in order; pixels is (window_width, channels). */
typedef struct line_sink {
    void (*line)(void *arg, uint32_t y, const uint8_t *pixels);
    void *arg;
    uint8_t *direct; /* not NULL: lines are written here, (height, width, channels), and
                        line() is not called */
} line_sink;

/*
 * Computes the weights and the part of the crop that they use (needed_out; width 0: none).
 * E_NO_MEMORY.
 */
sluice_status resample_prepare(image_resampler *resampler, const resample_job *job,
                               image_box *needed_out);

/* Writes the window's lines. needed: the pixels of needed_out. E_NO_MEMORY. */
sluice_status resample_run(image_resampler *resampler, const image_view *needed,
                           const line_sink *sink);

void resampler_free(image_resampler *resampler);

#endif
