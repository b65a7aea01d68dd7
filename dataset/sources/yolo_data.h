/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The description of a set for Ultralytics' trainer, data.yaml: `path:`, the folder of the set;
 * `train:`, `val:` and so on, a folder of images, a list of images, or several of them; `names:`,
 * the names of the classes, as a list or by their numbers; `nc:`, their number; `kpt_shape:`, the
 * number of key points of an object and the numbers of each; `flip_idx:`, for each key point that
 * which takes its place in a flip. Other keys are skipped.
 */
#ifndef SLUICE_YOLO_DATA_H
#define SLUICE_YOLO_DATA_H

#include "box_set.h"
#include "image_files.h"
#include "point_pairs.h"

/* Limit on the bytes of a description. */
enum { YOLO_DATA_MOST = 1 << 20 };

/* It begins as zeros. */
typedef struct yolo_data {
    image_files folder;     /* `path:`; none, or one */
    image_files images;     /* what the key of the split lists */
    uint32_t nc;            /* 0: not given */
    uint32_t points;        /* of kpt_shape: key points of an object; 0: it is not given */
    uint32_t point_numbers; /* all numbers of these */
    uint32_t flip_points;   /* points of flip_idx; 0: it is not given */
    point_pairs pairs;      /* of flip_idx */
    char lists[200]; /* keys whose value may be images, such as "train, val", for a message */
} yolo_data;

/*
 * Reads a description. Adds the classes to the set. `split` is the key of the images that are
 * needed; NULL: none are. E_CORRUPT: the text is not YAML, a key has another value than it must
 * have; E_INVALID: there are no images of the split; E_UNSUPPORTED: the build has no libyaml, or it
 * cannot be loaded; E_NO_MEMORY. Messages have the line. The caller calls yolo_data_free().
 */
sluice_status yolo_data_read(const char *text, size_t size, const char *split, yolo_data *data,
                             box_set *set);

static inline void yolo_data_free(yolo_data *data)
{
    image_files_free(&data->folder);
    image_files_free(&data->images);
}

#endif
