/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pixels of one object, from its polygons or runs: those that COCO's tools give (rleFrPoly()
 * and rleDecode() of pycocotools), bit for bit. Pixels are held column after column, as runs count
 * them.
 */
#ifndef SLUICE_OBJECT_RASTER_H
#define SLUICE_OBJECT_RASTER_H

#include <stdbool.h>

#include "image.h"

/* Limit on the absolute value of a coordinate: all arithmetic on it is exact enough. */
enum { RASTER_FARTHEST = 1 << 20 };

/* It begins as zeros. */
typedef struct object_raster {
    image_buffer covered;   /* 1: a pixel of the object; 0 */
    image_buffer crossings; /* of one polygon: where its edges cross columns; else zeros */
    uint32_t width;
    uint32_t height;
    uint32_t first; /* columns from `first` to before `end` may have pixels of the object */
    uint32_t end;
    uint32_t low; /* the same of crossings */
    uint32_t high;
    uint64_t points; /* points of the polygon */
    int start[2];    /* first and last point of the polygon, in fifths of a pixel */
    int last[2];
    uint64_t at; /* pixels that have runs */
    bool is_set; /* the next run is of pixels of the object */
} object_raster;

/* Begins the objects of an image, whose sides are at least 1. E_NO_MEMORY. */
sluice_status raster_begin(object_raster *raster, uint32_t width, uint32_t height);

/* Removes the pixels of the last object. */
void raster_clear(object_raster *raster);

/* Adds a point of a polygon, in pixels. E_CORRUPT: it is farther than RASTER_FARTHEST, or not
 * finite. */
sluice_status raster_add_point(object_raster *raster, double x, double y);

/* Ends a polygon, and adds its pixels to those of the object. E_CORRUPT: it has fewer than 3
 * points. */
sluice_status raster_end_polygon(object_raster *raster);

/* Adds a run; the first one is of pixels beside the object. E_CORRUPT: it is longer than the rest
 * of the image, or negative. */
sluice_status raster_add_run(object_raster *raster, int64_t count);

/* Ends the runs. E_CORRUPT: they are not all pixels of the image. */
sluice_status raster_end_runs(object_raster *raster);

/* Returns the number of pixels of the object. */
uint64_t raster_area(const object_raster *raster);

void raster_free(object_raster *raster);

#endif
