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
} coco_options;

/*
 * Reads a file. E_CORRUPT: the text is not JSON, an element lacks a member or has one of another
 * type; E_UNSUPPORTED: a value that is too large, or the build lacks jansson; E_IO; errors of
 * coco_set_make(). The message has the position in the file. *text_numbers_out: ids and other whole
 * numbers that the file gives as texts. On success the caller calls box_set_free().
 */
sluice_status coco_file_read(int fd, const coco_options *options, box_set *set_out,
                             uint64_t *text_numbers_out);

#endif
