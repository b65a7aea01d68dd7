/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key points of COCO's annotations: `keypoints` of an annotation has x, y and visibility of each
 * point, and `keypoints` of a category has the names of the points.
 */
#ifndef SLUICE_COCO_POINTS_H
#define SLUICE_COCO_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

#include "point_pairs.h"

struct json_t;

/* The key points of a file. It begins as zeros, with `count`. */
typedef struct coco_points {
    uint32_t count; /* of an annotation, at most BOX_MOST_POINTS; 0: they are not read */
    float *values;  /* 3 * count of each annotation */
    size_t capacity;
    uint64_t missing;  /* annotations without key points */
    bool has_names;    /* a category has names */
    bool differ;       /* categories have other pairs than the first one with names */
    bool are_many;     /* a category has more than MOST_POINT_PAIRS pairs */
    point_pairs pairs; /* by the names: left_eye and right_eye */
} coco_points;

/* Adds the key points of annotation `number` of those that are kept. Without any they are zeros.
 * E_CORRUPT: there are more or less, or a value is wrong; E_NO_MEMORY. */
sluice_status coco_points_add(coco_points *points, size_t number, const struct json_t *element);

/* Finds the pairs by the names of a category, if it has names. E_CORRUPT: their number is another
 * one. */
sluice_status coco_points_name(coco_points *points, const struct json_t *category);

#endif
