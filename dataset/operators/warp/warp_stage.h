/* SPDX-License-Identifier: Apache-2.0 */
/* Shared functions of the stages that warp images. */
#ifndef SLUICE_WARP_STAGE_H
#define SLUICE_WARP_STAGE_H

#include <sluice/warps.h>

#include "operators/window/fill_args.h"
#include "stage.h"

/* How a warp samples. */
typedef struct warp_options {
    uint32_t filter; /* index in warp_filters */
    fill_args outside;
} warp_options;

extern const char *const warp_filters[];

/* The parameters of an argument struct with warp_options in `field`. */
#define WARP_PARAMS(struct_type, field, text)                                                      \
    {.name = "filter",                                                                             \
     .type = PARAM_CHOICE,                                                                         \
     .offset = offsetof(struct_type, field.filter),                                                \
     .default_text = (text),                                                                       \
     .choices = warp_filters,                                                                      \
     .help = "how a point is sampled"},                                                            \
        FILL_PARAM(struct_type, field.outside), MASK_FILL_PARAM(struct_type, field.outside)

/* Checks the fill. */
sluice_status warp_check(const char *stage, const warp_options *options);

/*
 * Checks that there are decoded uint8 images, with the number of channels of the fill, and
 * adds `operations`, the most that the stage has for one image. `bends`: the
 * warp is not affine, so there must be no column of stage geometry.
 */
sluice_status warp_infer(const char *stage, const warp_options *options, uint32_t operations,
                         bool bends, stage_schema *schema);

/* The warp by a matrix with these options. */
image_warp warp_by(const warp_options *options, const warp_matrix *matrix);

void warp_add(const warp_options *options, const warp_matrix *matrix, color_chain *chain);

/* Reads the options of a call; `config` may be NULL. */
sluice_status warp_read(const stage_def *def, const char *function,
                        const sluice_warp_config *config, warp_options *options_out);

/*
 * Replaces one number x, at least 0, of a range by -x,x; checks that a range LOW,HIGH is within
 * [least, most].
 */
sluice_status warp_check_range(const char *stage, const char *name, double least, double most,
                               param_reals *range);

/* A uniform number between values 2 * number and 2 * number + 1. */
double warp_uniform(const param_reals *values, uint32_t number, uint32_t bits);

/* stage_def.is_by_pixel of warps. */
bool warp_is_by_pixel(const void *args);

#endif
