/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the `segmentation` of an annotation of COCO: polygons, or runs. */
#ifndef SLUICE_COCO_SHAPE_H
#define SLUICE_COCO_SHAPE_H

#include "object_raster.h"

/*
 * Adds the pixels of a segmentation, whose JSON is `text`: [[x, y, x, y, ...], ...], polygons;
 * {"counts": [...], "size": [height, width]}, runs; or the same with the runs as a text, in COCO's
 * own form. The raster has been begun with the size of the image, and cleared. E_CORRUPT: the text
 * has another form, or the `size` of runs differs from the size of the image.
 */
sluice_status coco_shape_add(object_raster *raster, const char *text, size_t size);

#endif
