/* SPDX-License-Identifier: Apache-2.0 */
/* A window of an image, as the resampler takes it. */
#ifndef SLUICE_WINDOW_JOB_H
#define SLUICE_WINDOW_JOB_H

#include <string.h>

#include "plan.h"
#include "resample.h"

/* With `turns` the window is turned later, so the whole crop is made. */
static inline resample_job window_job(const fused_geometry *g, uint32_t channels,
                                      image_element element)
{
    resample_job job = {.channels = channels,
                        .element = element,
                        .in_width = g->width,
                        .in_height = g->height,
                        .margins = g->margins,
                        .out_width = g->new_width,
                        .out_height = g->new_height,
                        .window_x = g->window_x,
                        .window_y = g->window_y,
                        .window_width = g->turns ? g->width : g->window_width,
                        .window_height = g->turns ? g->height : g->window_height,
                        .filter = g->filter,
                        .edge = g->padding.edge};

    memcpy(job.margin_fill, g->margin_padding.fill, sizeof(job.margin_fill));
    memcpy(job.fill, g->padding.fill, sizeof(job.fill));
    return job;
}

/* The same window of the image's mask: nearest pixels, one channel. */
static inline resample_job window_job_of_mask(const fused_geometry *g)
{
    resample_job job = window_job(g, 1, IMAGE_U8);

    job.filter = (resize_filter){FILTER_NEAREST, false};
    job.margin_fill[0] = g->margin_padding.mask_fill;
    job.fill[0] = g->padding.mask_fill;
    return job;
}

#endif
