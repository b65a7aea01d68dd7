/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The annotations of COCO's detection task: a JSON file with the lists images, annotations and
 * categories (https://cocodataset.org/#format-data). Other members of the file are skipped, and so
 * are other members of their elements. Segmentations are read when they are needed: coco_shape.h.
 */
#ifndef SLUICE_COCO_FILE_H
#define SLUICE_COCO_FILE_H

#include "coco_set.h"

typedef struct coco_options {
    bool keep_crowds;   /* false: annotations with iscrowd=1 are left out */
    bool has_shapes;    /* where the segmentations are is found, too */
    uint64_t max_boxes; /* most boxes of an image */
    uint32_t points;    /* key points of an annotation; 0: they are not read */
} coco_options;

/* What was found in a file, besides its set. */
typedef struct coco_found {
    uint64_t text_numbers;   /* ids and other whole numbers that the file gives as texts */
    uint64_t without_points; /* annotations without key points, where these are read */
    point_pairs pairs;       /* of the key points that a flip exchanges, by their names */
    bool pairs_are_many;     /* a category has more than MOST_POINT_PAIRS, so there are none */
    bool pairs_differ;       /* categories have different pairs, so there are none */
} coco_found;

/*
 * Reads a file. E_CORRUPT: the text is not JSON, an element lacks a member or has one of another
 * type; E_UNSUPPORTED: a value that is too large, or the build lacks jansson; E_IO; errors of
 * coco_set_make(). The message has the position in the file. On success the caller calls
 * box_set_free().
 */
sluice_status coco_file_read(int fd, const coco_options *options, box_set *set_out,
                             coco_found *found_out);

#endif
