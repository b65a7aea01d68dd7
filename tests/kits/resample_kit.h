/* SPDX-License-Identifier: Apache-2.0 */
/* Resizes of whole pictures. ctest runs the suites that use this at each level of instructions. */
#ifndef SLUICE_RESAMPLE_KIT_H
#define SLUICE_RESAMPLE_KIT_H

#include "picture_kit.h"
#include "resample.h"

/* Does a job on the picture, which is the crop; out is (window_height, window_width, channels). */
void run_job(image_resampler *resampler, const resample_job *job, const picture *in, bool direct,
             uint8_t *out);

/* The filters that there are, antialiased and not. */
enum { WAYS = 7 };
extern const resize_filter ways[WAYS];
#define PLAIN (&ways[0]) /* antialiased bilinear */

/* "bicubic, not antialiased" */
const char *way_name(const resize_filter *filter);

/* The picture to a new size, all of it. */
resample_job whole_job(const picture *in, uint32_t width, uint32_t height,
                       const resize_filter *filter);

/* What that gives. */
picture resized(const picture *in, uint32_t width, uint32_t height, const resize_filter *filter);

/* A filter as its definition has it; x in units of the filter. */
double weight_of_filter(uint32_t filter, double x);

/* Output i of an axis without any rounding: of a line of `in` values, `step` apart, that becomes
 * `out` long. */
double reference_of(const resize_filter *filter, const double *line, size_t step, uint32_t in,
                    uint32_t out, uint32_t i);

#endif
