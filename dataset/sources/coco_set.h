/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The images, boxes and categories of COCO's detection task, as a file lists them, with ids, in any
 * order; and a set of them.
 */
#ifndef SLUICE_COCO_SET_H
#define SLUICE_COCO_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "box_set.h"
#include "coco_points.h"
#include "json_walk.h"

typedef struct listed_image {
    int64_t id;
    size_t name;    /* offset of the file's name in `names` */
    uint32_t width; /* 0: not listed */
    uint32_t height;
    json_place place;
} listed_image;

typedef struct listed_category {
    int64_t id;
    size_t name; /* offset in `names` */
    json_place place;
} listed_category;

typedef struct listed_box {
    int64_t image;        /* its id; once it is found its index */
    int64_t category;     /* its id; once it is found its class */
    float corners[4];     /* x0, y0, x1, y1 */
    uint32_t crowd;       /* iscrowd: 0 or 1 */
    uint32_t shape_bytes; /* bytes of its segmentation; 0: it has none, or it is not needed */
    uint64_t shape;       /* offset of the segmentation in the file */
    uint32_t number;      /* its index in the file's list, modulo 2^32, for messages */
    json_place place;
} listed_box;

/* The lists of a file. They begin empty, as zeros. */
typedef struct coco_lists {
    char *names; /* zero-terminated texts */
    size_t names_capacity;
    size_t names_size;
    listed_image *images;
    size_t image_capacity;
    size_t image_count;
    listed_category *categories;
    size_t category_capacity;
    size_t category_count;
    listed_box *boxes;
    size_t box_capacity;
    size_t box_count;
    coco_points points;
    bool has_shapes; /* a box without a segmentation makes its image a bad sample */
} coco_lists;

void coco_lists_free(coco_lists *lists);

/*
 * Makes a set of the lists: finds the image and the class of each box, and orders the boxes by
 * image. Changes the lists; moves their names to the set. On failure *place_out is the position of
 * the error; line 0: none. E_CORRUPT: an id occurs twice, a box belongs to no image or category, or
 * all images are bad; E_INVALID: no images; E_NO_MEMORY. On success the caller calls
 * box_set_free().
 */
sluice_status coco_set_make(coco_lists *lists, uint64_t max_boxes, box_set *set_out,
                            json_place *place_out);

#endif
