/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of a map or filter of user code (STAGE_MAP). */
#ifndef SLUICE_MAP_OPS_H
#define SLUICE_MAP_OPS_H

#include <stdbool.h>

#include "stage.h"

typedef struct map_ops {
    /*
     * Decides whether the map works on the image before geometry. `follows`: decode, or a stage of
     * geometry or colours, comes after it; else it does so if the size of the image in `before` is
     * not known. Returns true from when it does.
     */
    bool (*goes_before_geometry)(void *args, const stage_schema *before, bool follows);
    /* Optional: true if the map works before geometry and declares the size of its image. */
    bool (*declares_size)(const void *args);
    bool is_filter;     /* it drops samples */
    bool is_of_library; /* a filter of the library, which help lists with the stages of order */
} map_ops;

#endif
