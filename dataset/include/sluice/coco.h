/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * COCO's object detection annotations as a source of a dataset: images with boxes and classes.
 */
#ifndef SLUICE_COCO_H
#define SLUICE_COCO_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/** Optional arguments of sluice_dataset_coco(), initialized by sluice_coco_config_init(). Texts are
 * copied. */
typedef struct sluice_coco_config {
    size_t struct_size; /**< bytes; set by sluice_coco_config_init() */
    const char *root;   /**< folder to which the names of image files are relative; NULL: the folder
                             of the JSON file */
    const char *iscrowd; /**< annotations of crowds, with iscrowd=1: "drop" leaves them out; "keep"
                              keeps them and adds the column `iscrowd`; NULL: "drop" */
    uint64_t max_boxes;  /**< maximum number of boxes of an image, at most 2^20; 0: 100 */
} sluice_coco_config;

/** Sets every field to its default, zero, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_coco_config_init_size(sluice_coco_config *config, size_t size);

/** sluice_coco_config_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_coco_config_init(sluice_coco_config *config)
{
    sluice_coco_config_init_size(config, sizeof(*config));
}

/**
 * Makes a dataset of the images that a JSON file lists in the format of COCO's detection task
 * (https://cocodataset.org/#format-data), such as instances_train2017.json: an object with the
 * lists `images`, `annotations` and `categories`. The columns of a sample:
 *
 *     image         the encoded image, to be decoded
 *     boxes         f32 (max_boxes, 4): x0, y0, x1, y1 in pixels, which follow crops, resizes and
 *                   flips
 *     boxes_length  i32, the number of boxes
 *     classes       i32 (max_boxes): the class of each box, dropped with its box
 *     image_id      i64, the id of the image in the file
 *     iscrowd       u8 (max_boxes), with iscrowd "keep": 1 for the box of a crowd, else 0
 *
 * A class is the index of its category's id among the sorted ids of all categories, from 0;
 * sluice_dataset_class_name() returns its name. Samples are in the order of the list of images;
 * images without annotations have no boxes. Boxes that reach beyond their image are clipped to it,
 * and boxes without an area are dropped, both with a warning. An image with a box that is wholly
 * outside, not finite or of negative size, or with more than max_boxes boxes, is a bad sample.
 *
 * The file is read sequentially, once, at the first use of the dataset; memory holds the boxes, not
 * the file. That use returns these errors, with the file, the byte and the line: E_CORRUPT invalid
 * JSON, a missing member or one of another type, an id of an image or category that occurs twice,
 * an annotation of an unknown image or category, only bad images; E_INVALID no images;
 * E_UNSUPPORTED a library that was built without jansson, a member of more than 1 MiB; E_IO;
 * E_NO_MEMORY. Missing or corrupt images are bad samples of a run.
 *
 * @param file         the JSON file
 * @param config       NULL: all defaults
 * @param dataset_out  owned by the caller: freed by sluice_dataset_destroy()
 *
 * Returns: E_INVALID file is NULL, or an argument is invalid; E_NO_MEMORY.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_coco(const char *file,
                                                     const sluice_coco_config *config,
                                                     sluice_dataset **dataset_out);

SLUICE_END_DECLS

#endif
