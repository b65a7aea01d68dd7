/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label files of YOLO. Each line is an object; coordinates are fractions of the image's size:
 *     class x y width height              a box, by its centre
 *     class x y width height px py ...    a box and its key points
 *     class x1 y1 x2 y2 x3 y3 ...         a polygon
 */
#ifndef SLUICE_YOLO_LABELS_H
#define SLUICE_YOLO_LABELS_H

#include "box_set.h"
#include "object_raster.h"

/* Classes that a file may have if they have no names. */
enum { YOLO_MOST_UNNAMED = 1 << 16 };

/* A line of a label file. */
typedef struct yolo_line {
    set_box box;
    uint64_t line;
    bool is_repeated;
} yolo_line;

/* What files are read by, and what was found in them. It begins as zeros. */
typedef struct yolo_labels {
    uint32_t class_count;   /* classes with names; 0: they have none */
    uint32_t point_numbers; /* numbers of the key points of a line; 0: there are no key points */
    uint32_t unnamed;       /* 1 + the largest class, if classes have no names */
    uint32_t keypoints; /* key points that are read; 0: they are not. Every line must have them */
    float *values;      /* x, y and visibility of these, line after line of the last file */
    size_t value_capacity;
    bool has_shapes;      /* every line must be a polygon, whose place in the file is kept */
    box_changes polygons; /* lines with a polygon, whose box is the one around it */
    box_changes points;   /* lines with key points, which are not read */
    yolo_line *lines;     /* of the last file */
    size_t line_capacity;
    size_t line_count;
} yolo_labels;

/*
 * Adds the boxes of a label file to the last image of the set, which has fractions. `file` is its
 * path, for messages. A line that repeats an earlier one is dropped and counted, as Ultralytics
 * does. A wrong line makes the image a bad sample. E_NO_MEMORY.
 */
sluice_status yolo_labels_add(yolo_labels *labels, const char *text, size_t size, const char *file,
                              box_set *set);

void yolo_labels_free(yolo_labels *labels);

/* Adds the pixels of the polygon of a line to a raster that has been begun and cleared. E_CORRUPT:
 * the line is not one. */
sluice_status yolo_shape_add(object_raster *raster, const char *line, size_t size);

#endif
