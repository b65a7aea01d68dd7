/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resizing a part of an image, and seeing a window of the result: one pass that serves resize, all
 * crops, and their combinations.
 *
 *     crop (in_width, in_height) --resize--> (out_width, out_height) --window--> lines
 *
 * The filters are Pillow's (resample_axis.h), and so are the bytes: equal for nearest, within 1 for
 * the others. Arithmetic is in integers: weights sum to 2^14, the image between the passes has 7
 * fractional bits, one rounding at the end of each pass. The vertical pass comes first, on long
 * lines of bytes. Of bicubic the horizontal one does: where a filter leaves the range of bytes
 * Pillow cuts after each pass, so that their order shows. (Pillow 13 begins with the vertical one
 * where the height shrinks by more than twice what the width does; the others do not, nor does
 * this.) Every level of instructions gives the same bytes.
 */
#ifndef SLUICE_RESAMPLE_H
#define SLUICE_RESAMPLE_H

#include "image.h"
#include "resample_axis.h"

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
    resize_filter filter;
} resample_job;

/* One worker's own; starts zeroed. */
typedef struct image_resampler {
    resample_job job;
    resample_axis x;
    resample_axis y;
    image_box needed;      /* of the crop */
    bool empty;            /* the window sees nothing of the image */
    bool copies;           /* no resizing: lines are copied */
    image_buffer middle;   /* (4, needed.width * channels + slack) int16 */
    image_buffer across;   /* lines after the horizontal pass where that comes first: a ring of
                              (y.taps + 4, x.count * channels + slack) int16 */
    uint32_t across_lines; /* needed lines that are or were in it */
    image_buffer rows;     /* (y.taps) pointers */
    image_buffer line;     /* (4, window_width * channels + slack) */
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
