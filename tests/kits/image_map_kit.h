/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Image maps and a filter as stages of texts: cut_map cuts a part at random of a size of its own,
 * mirror_map reflects, corner_map cuts 8x8 and declares that, again_map writes what it reads,
 * look_map writes `seen` (width, height and two values), sum_map reads it, too, boxes_map reads
 * boxes, other_map writes an image `view`, fail_map cuts, too, and then fails for sample 5,
 * overrun_map writes beyond its room, keep_wide_ones keeps
 * images of more than 30 columns.
 */
#ifndef SLUICE_IMAGE_MAP_KIT_H
#define SLUICE_IMAGE_MAP_KIT_H

#include <stdint.h>

#include <sluice/custom.h>

/* What the maps say of their geometry: the matrix, nothing, or a wrong one. */
typedef enum map_telling {
    MAP_TELLS,
    MAP_KEEPS_SILENT,
    MAP_TELLS_A_LINE,
    MAP_TELLS_NAN
} map_telling;

/* Makes them stages, once for the process. */
void image_map_kit_begin(map_telling tells);

/* Writes an image of this size whose pixels say where they are. */
void write_sized(const char *folder, const char *name, uint32_t width, uint32_t height);

/* Image i of eight has the size 24 + 3 i x 20 + i, and the label i. */
sluice_dataset *sized_dataset(const char *folder, const char *stages);

#endif
