/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The images, boxes and categories of COCO's detection task: first as a file lists them, with ids,
 * in any order; then the boxes by image.
 */
#ifndef SLUICE_COCO_SET_H
#define SLUICE_COCO_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "json_walk.h"

/* ---- as listed ------------------------------------------------------------------------------- */

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
    int64_t image;
    int64_t category;
    float corners[4]; /* x0, y0, x1, y1 */
    uint32_t crowd;   /* iscrowd: 0 or 1 */
    uint32_t number;  /* its index in the file's list, modulo 2^32, for messages */
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
} coco_lists;

void coco_lists_free(coco_lists *lists);

/* ---- by image -------------------------------------------------------------------------------- */

typedef struct coco_image {
    int64_t id;
    size_t name;    /* offset of the file's name in `names` */
    size_t first;   /* index of its first box */
    uint32_t count; /* number of its boxes */
    uint32_t bad;   /* 1 + the index of its error in `bad`; 0: it is a good sample */
    uint32_t width; /* as listed; 0: not listed */
    uint32_t height;
} coco_image;

/* Why an image is a bad sample. */
typedef struct coco_bad {
    char text[240];
} coco_bad;

/* Boxes of good images that were changed, and where the first one is. */
typedef struct coco_changes {
    size_t count;
    json_place first;
} coco_changes;

typedef struct coco_box {
    float corners[4]; /* x0, y0, x1, y1 in pixels, with an area */
    int32_t label;    /* index of its category, in the order of the ids */
    uint32_t crowd;   /* iscrowd: 0 or 1 */
} coco_box;

typedef struct coco_set {
    char *names;
    size_t names_size;
    coco_image *images; /* in the order of the file */
    size_t image_count;
    coco_box *boxes; /* by image; the boxes of an image in the order of the file */
    size_t box_count;
    size_t *classes; /* offset of each category's name in `names`, by label */
    size_t class_count;
    coco_bad *bad; /* the errors of bad images */
    size_t bad_capacity;
    size_t bad_count;
    coco_changes dropped;  /* boxes without an area */
    coco_changes clipped;  /* boxes that reached beyond the listed size of their image */
    uint64_t text_numbers; /* ids and other whole numbers that the file gives as texts */
} coco_set;

/*
 * Orders the boxes by image, and applies box_rule.h to them with the listed size of the image. An
 * image with a bad box or more than max_boxes boxes is a bad sample. Moves the names from the lists
 * to the set. On failure *place_out is the position of the error; line 0: none. E_CORRUPT: an id
 * occurs twice, a box belongs to no image or category, or all images are bad; E_INVALID: no images;
 * E_NO_MEMORY. On success the caller calls coco_set_free().
 */
sluice_status coco_set_make(coco_lists *lists, uint64_t max_boxes, coco_set *set_out,
                            json_place *place_out);

void coco_set_free(coco_set *set);

#endif
