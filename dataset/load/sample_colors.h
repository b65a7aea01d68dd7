/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The colour stages of an image, between the resampler and the conversion: each line is changed as
 * the resampler writes it. If an operation needs the whole image, for its statistics or its pixels,
 * lines are collected in a buffer before it until the last one is there.
 */
#ifndef SLUICE_SAMPLE_COLORS_H
#define SLUICE_SAMPLE_COLORS_H

#include "color_fields.h"
#include "image_mix.h"
#include "operation_clock.h"
#include "plan.h"
#include "resample.h"

/* The colour state of a worker; zero-initialise. */
typedef struct sample_colors {
    color_chain *chains;  /* (chain_count) for the steps of the image: what the worker applies */
    uint32_t chain_count; /* one for each step that may be drawn; 0: there are no colour stages */
    color_chain device;   /* what GetNext applies to the first image of the sample */
    color_chain *lines;   /* what colors_start() began to apply */
    uint32_t whole;       /* the first of lines that needs the whole image; lines->count: none */
    color_statistics statistics;
    image_buffer pixels; /* (height, width, channels), or one line if no operation needs the whole
                            image */
    image_buffer warped; /* the result of an operation that needs the pixels: (height, width,
                            channels) if a later operation needs the whole image, else one line */
    image_buffer memory; /* of color_line() */
    mix_buffers mixing;
    jpeg_buffers jpeg;
    uint32_t width;
    uint32_t height;
    uint32_t channels;
    line_sink target;       /* where the lines go */
    operation_clock *clock; /* of the worker */
} sample_colors;

/* Allocates the mixes and fields of the plan's stages. After E_NO_MEMORY call colors_free(), too.
 */
sluice_status colors_init(sample_colors *colors, const sli_plan *plan);

/*
 * Draws the operations of the worker for step `step`, which was drawn from `group`, for an image of
 * this size there: for all images of a sample the same, except for stages that do not work on this
 * column. Returns NULL if there are none.
 */
color_chain *colors_draw(sample_colors *colors, const sli_plan *plan, const plan_group *group,
                         uint32_t step, uint32_t width, uint32_t height, const image_draws *draws);

/* Draws one colour stage by itself, as parameters, into the memory of a step; for the chain's size,
 * that of the step. */
const color_chain *colors_draw_one(sample_colors *colors, const sli_plan *plan, uint32_t stage,
                                   uint32_t step, const image_draws *draws);

/* Draws the operations of GetNext, of which there are some. */
void colors_draw_device(sample_colors *colors, const sli_plan *plan, const image_draws *draws);

/*
 * Replaces *sink by one that applies the operations of `lines`, at least one, and passes the lines
 * on to the old one. Returns E_NO_MEMORY on failure.
 */
sluice_status colors_start(sample_colors *colors, color_chain *lines, uint32_t channels,
                           line_sink *sink);

/* Passes the waiting lines to the target; called after the last line. E_INVALID: the image is too
 * large for a JPEG file. CLOSED: the thread was interrupted. Also returns E_NO_MEMORY. */
sluice_status colors_finish(sample_colors *colors);

void colors_free(sample_colors *colors);

#endif
