/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps and a filter as stages of texts, which work on the image: lead_cut cuts a part at random of
 * a size of its own, lead_mirror reflects, lead_corner cuts 8x8 and declares that, lead_again
 * writes what it reads, lead_look writes `seen` (width, height and two values), lead_sum reads it,
 * too, lead_boxes reads boxes, lead_other writes an image `view`, lead_wide keeps images of more
 * than 30 columns.
 */
#ifndef SLUICE_LEADING_KIT_H
#define SLUICE_LEADING_KIT_H

#include <sluice/custom.h>

/* What the maps say of their geometry: the matrix, nothing, or a wrong one. */
typedef enum map_telling {
    MAP_TELLS,
    MAP_KEEPS_SILENT,
    MAP_TELLS_A_LINE,
    MAP_TELLS_NAN
} map_telling;

/* Makes them stages, once for the process. */
void leading_kit_begin(map_telling tells);

#endif
