/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images with their boxes and classes in memory, as a reader of annotations adds them: image after
 * image, each followed by its boxes. box_rule.h is applied to each box as it is added.
 */
#ifndef SLUICE_BOX_SET_H
#define SLUICE_BOX_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* Where an annotation is, for messages. */
typedef struct box_place {
    const char *file; /* NULL: the set has one file, which the caller names, and `byte` is known */
    uint64_t byte;
    uint64_t line; /* 0: not known */
} box_place;

typedef struct box_image {
    int64_t id;
    size_t name;    /* offset of the file's name in `names` */
    size_t first;   /* index of its first box */
    uint32_t count; /* number of its boxes */
    uint32_t bad;   /* 1 + the index of its error in `bad`; 0: it is a good sample */
    uint32_t width; /* as listed; 0: not listed */
    uint32_t height;
} box_image;

/* Why an image is a bad sample. */
typedef struct box_bad {
    sluice_status status;
    char text[400];
} box_bad;

/* How boxes of good images were changed. */
typedef enum box_set_change {
    SET_DROPPED,  /* boxes without an area */
    SET_CLIPPED,  /* boxes that reached beyond their image */
    SET_REPEATED, /* boxes that their image has twice; the reader drops them */
    SET_CHANGES
} box_set_change;

/* Boxes that were changed, and where the first one is. */
typedef struct box_changes {
    size_t count;
    char first[300];
} box_changes;

typedef struct set_box {
    float corners[4];          /* x0, y0, x1, y1, with an area */
    int32_t label;             /* index of its class */
    uint32_t flag : 1;         /* iscrowd of COCO, difficult of VOC */
    uint32_t shape_bytes : 31; /* bytes of its shape in the file of its annotation; 0: not needed */
    uint64_t shape;            /* offset of the shape in that file */
} set_box;

/* Limit on set_box.shape_bytes. */
enum { SHAPE_MOST_BYTES = 1 << 24 };

/* Limit on box_points.count. */
enum { BOX_MOST_POINTS = 1000 };

/* The key points of the boxes of a set: x, y and visibility of each point, box after box. */
typedef struct box_points {
    uint32_t count; /* of a box; 0: boxes have none */
    float *values;
    size_t capacity;
} box_points;

/* Set max_boxes, in_parts and points.count before images are added; all else begins as zeros. */
typedef struct box_set {
    uint64_t max_boxes; /* an image with more boxes is a bad sample */
    bool in_parts;      /* corners are fractions of the image's size, not pixels */
    char *names;        /* zero-terminated texts */
    size_t names_capacity;
    size_t names_size;
    box_image *images; /* in the order of the samples */
    size_t image_capacity;
    size_t image_count;
    set_box *boxes; /* by image; the boxes of an image in the order of its annotations */
    size_t box_capacity;
    size_t box_count;
    box_points points;
    size_t *classes; /* offset of the name of each class in `names`, by label */
    size_t class_capacity;
    size_t class_count;
    box_bad *bad; /* the errors of bad images */
    size_t bad_capacity;
    size_t bad_count;
    box_changes changes[SET_CHANGES];
    box_changes pending[SET_CHANGES]; /* of the last image, which may yet be bad */
} box_set;

/* Functions that return a status return E_NO_MEMORY on failure, and others as listed. */

/* Adds a text of `length` bytes to the names. Returns its offset. */
sluice_status box_set_add_name(box_set *set, const char *text, size_t length, size_t *name_out);

/* Adds a class, whose name was added before. */
sluice_status box_set_add_class(box_set *set, size_t name);

/* Adds an image. Of `about` id, name, width and height are used. */
sluice_status box_set_add_image(box_set *set, const box_image *about);

/*
 * Adds a box to the last image, or counts it as dropped, or makes the image a bad sample. Does
 * nothing if it is one. `list` and `number` name the annotation in an error: "annotations[7]".
 */
sluice_status box_set_add_box(box_set *set, const set_box *box, const char *list, uint32_t number,
                              const box_place *place);

/* Adds the key points of the box that was added last. Does nothing if that was not kept: `boxes` is
 * the number of boxes of the set before it. */
sluice_status box_set_add_points(box_set *set, size_t boxes, const float *values);

/* Counts a box of the last image that the reader has changed itself. */
void box_set_count(box_set *set, box_set_change change, const box_place *place);

/* Makes the last image a bad sample because of this thread's last error, unless it is one. */
sluice_status box_set_mark_bad(box_set *set, const box_place *place, sluice_status status);

/*
 * Ends a set after its last image. place_of() returns where the annotations of an image begin; its
 * result is used before the next call. E_CORRUPT: all images are bad.
 */
sluice_status box_set_finish(box_set *set, box_place (*place_of)(const void *user, size_t image),
                             const void *user);

void box_set_free(box_set *set);

/* Bytes of memory of a set, without the struct. */
uint64_t box_set_memory(const box_set *set);

/* Logs what the rule for boxes has changed or refused; `source` and `path` begin each message. */
void box_set_tell(const box_set *set, const char *source, const char *path);

#endif
