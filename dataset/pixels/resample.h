/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resizes a crop of an image, with margins around it, and takes a window of the result. Resize, all
 * crops and paddings, and their combinations are this one operation.
 *
 *     crop (in_width, in_height) + margins --resize--> (out_width, out_height) --window--> lines
 *
 * The margins are not stored: the result is that of an image with them, and takes the memory and
 * about the time of one without them.
 *
 * The filters are Pillow's (resample_axis.h). The results equal Pillow's for nearest, and differ by
 * up to 1 for the other filters. Arithmetic is in integers: weights sum to 2^14, the image between
 * the passes (the middle) has 7 fractional bits, and each pass rounds once, at its end. The
 * vertical pass comes first, on long lines of bytes. For bicubic the horizontal pass comes first,
 * as in Pillow: Pillow clamps after each pass, so if results can be outside 0..255, the order of
 * the passes matters. (Pillow 13 runs the vertical pass first if the height shrinks by more than
 * twice as much as the width; other versions and this code do not.) Every instruction set level
 * gives the same bytes. Images of 16 bits and of floats: resample_wide.h.
 */
#ifndef SLUICE_RESAMPLE_H
#define SLUICE_RESAMPLE_H

#include "image.h"
#include "resample_axis.h"

/*
 * A resize. Where the window is outside the result of the resize, pixels are `fill`, or those of
 * the image, continued beyond its edges. The latter is possible without margins and a new size
 * only.
 */
typedef struct resample_job {
    uint32_t channels;
    image_element element; /* other than IMAGE_U8: fills are zeros */
    uint32_t in_width;
    uint32_t in_height;
    image_margins margins; /* beside the crop, of pixels with the value margin_fill */
    uint8_t margin_fill[IMAGE_CHANNELS];
    uint32_t out_width; /* of the crop with its margins after the resize */
    uint32_t out_height;
    int64_t window_x;
    int64_t window_y;
    uint32_t window_width;
    uint32_t window_height;
    resize_filter filter;
    uint8_t fill[IMAGE_CHANNELS];
    image_edge edge;
} resample_job;

/* The state of a resampler, one per worker; zero-initialise. */
typedef struct image_resampler {
    resample_job job;
    resample_axis x;
    resample_axis y;
    image_box span;      /* the part of the crop with its margins that the weights apply to */
    image_box needed;    /* the part of the crop that must be decoded */
    uint32_t lead_x;     /* columns of the span before those of `needed` */
    uint32_t lead_y;     /* lines of the span before those of `needed` */
    bool has_margins;    /* the span has pixels that are not `needed` */
    bool empty;          /* the window contains no part of the image */
    bool copies;         /* no resizing is needed: lines are copied */
    image_buffer middle; /* output of the first pass, (4, needed.width * channels + slack) int16 */
    image_buffer across; /* for filters with negative weights: output of the horizontal pass, a ring
                            of (y.taps + 4, x.count * channels + slack) int16 */
    uint32_t across_lines; /* lines [0, across_lines) of the span have been written to `across` */
    image_buffer rows;     /* (y.taps) line pointers */
    image_buffer margin;   /* a line of the margins above and below, as long as one of `needed` */
    image_buffer line;     /* (4, window_width) pixels and slack */
    image_buffer padding;  /* (window_width) pixels, a line outside the image */
} image_resampler;

/*
 * The destination of output lines. line() is called for each line, in order; pixels is
 * (window_width, channels) elements.
 */
typedef struct line_sink {
    void (*line)(void *arg, uint32_t y, const uint8_t *pixels);
    void *arg;
    uint8_t *direct; /* if not NULL, lines are written here instead, (height, width, channels), and
                        line() is not called */
} line_sink;

/*
 * Computes the weights and needed_out, the part of the crop that they apply to (width 0: no part of
 * the crop is needed). Returns E_NO_MEMORY on failure.
 */
sluice_status resample_prepare(image_resampler *resampler, const resample_job *job,
                               image_box *needed_out);

/*
 * Writes the lines of the window to the sink. `needed` holds the pixels of the box needed_out.
 * Returns E_NO_MEMORY on failure, CLOSED if the thread is interrupted: lines are missing then.
 */
sluice_status resample_run(image_resampler *resampler, const image_view *needed,
                           const line_sink *sink);

void resampler_free(image_resampler *resampler);

#endif
