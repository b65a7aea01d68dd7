/* SPDX-License-Identifier: Apache-2.0 */
/* The filter arguments of a resize, shared by resize and random_resized_crop. */
#ifndef SLUICE_RESIZE_FILTER_H
#define SLUICE_RESIZE_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/status.h>

/* The filters, in the order of resize_filter_names. */
enum { FILTER_BILINEAR, FILTER_BICUBIC, FILTER_NEAREST, FILTER_AREA, FILTERS };

typedef struct resize_filter {
    uint32_t filter;
    bool antialias; /* when shrinking, the filter is widened so that every input has a weight */
} resize_filter;

extern const char *const resize_filter_names[];

/*
 * Checks the filter arguments. E_INVALID: area without antialiasing, which would not be an area
 * filter.
 */
sluice_status resize_filter_check(const char *stage, const resize_filter *filter);

/* The stage parameters for an argument struct that has a resize_filter in `field`. */
#define RESIZE_FILTER_PARAMS(struct_type, field)                                                   \
    {.name = "filter",                                                                             \
     .type = PARAM_CHOICE,                                                                         \
     .offset = PARAM_OFFSET_(struct_type, field.filter, PARAM_CHOICE),                             \
     .default_text = "bilinear",                                                                   \
     .choices = resize_filter_names,                                                               \
     .help = "interpolation filter, as in Pillow"},                                                \
    {                                                                                              \
        .name = "antialias", .type = PARAM_BOOL,                                                   \
        .offset = PARAM_OFFSET_(struct_type, field.antialias, PARAM_BOOL), .default_text = "true", \
        .help = "filter over all source pixels when shrinking; false: only over those next to "    \
                "each point"                                                                       \
    }

#endif
