/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The markers of a JPEG 2000 code stream (ISO/IEC 15444-1, annex A), checked before OpenJPEG sees
 * them: it allocates tiles, precincts and layers as the headers say, and makes missing tiles black.
 * Only markers that are known here are let through, so that both readers agree on what is there.
 */
#ifndef SLUICE_JP2_WALK_H
#define SLUICE_JP2_WALK_H

#include <sluice/status.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jp2_boxes.h"

enum { JP2_RESOLUTIONS = 33 }; /* most resolutions of a component */

/* How a component is coded. Sizes are logarithms to base 2. */
typedef struct jp2_coding {
    uint32_t resolutions;
    uint32_t block_x;                    /* width of a code-block */
    uint32_t block_y;                    /* its height */
    uint32_t style;                      /* of code-blocks */
    uint8_t precinct_x[JP2_RESOLUTIONS]; /* by resolution, from the smallest */
    uint8_t precinct_y[JP2_RESOLUTIONS];
} jp2_coding;

typedef struct jp2_component {
    uint32_t bits;
    bool is_signed;
    uint32_t dx; /* a sample for dx by dy pixels */
    uint32_t dy;
    jp2_coding coding;
} jp2_component;

/* What the tile-parts of a tile are together. */
typedef struct jp2_tile {
    uint64_t bytes; /* of packets */
    uint32_t parts;
    uint32_t stated; /* number of parts that a header states; 0: not stated */
} jp2_tile;

/* A rectangle of the reference grid, on which components and tiles are placed (annex B): columns
 * x0 to x1 and lines y0 to y1, without x1 and y1. */
typedef struct jp2_area {
    uint32_t x0;
    uint32_t y0;
    uint32_t x1;
    uint32_t y1;
} jp2_area;

typedef struct jp2_walk {
    const uint8_t *bytes;
    size_t size;
    size_t at; /* of the next marker */
    jp2_area image;
    jp2_area first_tile; /* before it is cut to the image */
    uint32_t tiles_x;
    uint32_t tiles_y;
    uint32_t components;
    uint32_t layers;   /* 0: no marker COD yet */
    uint64_t segments; /* marker segments */
    jp2_component component[JP2_COMPONENTS];
    jp2_tile *tiles; /* tiles_x * tiles_y */
} jp2_walk;

/* Reads the main header, up to the first tile-part. E_CORRUPT: it is damaged or cut; E_UNSUPPORTED:
 * it has components, code-blocks or markers that are not decoded. */
sluice_status jp2_walk_header(jp2_walk *walk, const uint8_t *bytes, size_t size);

/* Walks all tile-parts: E_CORRUPT if one is missing or damaged. Sets `size` to the end of the
 * stream. Also returns E_UNSUPPORTED and E_NO_MEMORY. jp2_walk_end() frees the tiles, also after an
 * error. */
sluice_status jp2_walk_tiles(jp2_walk *walk);
void jp2_walk_end(jp2_walk *walk);

/* The part of the image that is in tile x, y. */
jp2_area jp2_walk_tile(const jp2_walk *walk, uint32_t x, uint32_t y);

#endif
