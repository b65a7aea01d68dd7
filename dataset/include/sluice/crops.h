/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Stages that pad images, crop them by their boxes, or make several views of them. Names, defaults,
 * draws and meaning are those of torchvision's v2 transforms.
 *
 * They come after decode, among crops and resizes, before stages that change colours or warp.
 * Adjacent crops, paddings and resizes are fused: each image is decoded where it is needed,
 * resampled once and written once. The pixels of a padding are not stored before a resize.
 *
 * Masks, boxes, points, further images and the column of stage geometry follow. A box is moved and
 * clipped; boxes without remaining area are dropped.
 *
 * Returns: E_INVALID invalid arguments, or a position where the stage is not allowed; the sticky
 *          error of building; E_NO_MEMORY.
 */
#ifndef SLUICE_CROPS_H
#define SLUICE_CROPS_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/** The values of a padding; initialized by sluice_padding_config_init(). */
typedef struct sluice_padding_config {
    size_t struct_size;  /**< bytes; set by sluice_padding_config_init() */
    const uint8_t *fill; /**< (fill_count) values of the padding; copied; NULL: 0 */
    uint32_t fill_count; /**< 1, or the number of channels of the image; not used if fill is NULL */
    uint32_t mask_fill;  /**< class number of the padding in masks, 0 to 255 */
} sluice_padding_config;

/** Sets every field to its default, zero, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_padding_config_init_size(sluice_padding_config *config, size_t size);

/** sluice_padding_config_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_padding_config_init(sluice_padding_config *config)
{
    sluice_padding_config_init_size(config, sizeof(*config));
}

/**
 * Pads the image. (The stage pad pads plain arrays.)
 *
 * @param padding  pixels on the left, above, on the right and below, each up to 65535
 * @param mode     torchvision's padding_mode. "constant" or NULL: the values of config; "edge",
 *                 "reflect" and "symmetric" repeat pixels of the image: aa|abcd|dd, cb|abcd|cb and
 *                 ba|abcd|dc for a line abcd and 2 pixels
 * @param config   NULL: zeros, also in masks; the other modes do not use it
 *
 * Returns: E_INVALID also if there are boxes or points and mode is not "constant". An image with
 *          fewer pixels than the padding ("symmetric"), or not more ("reflect"), is a bad sample.
 *
 * Source: torchvision.transforms.v2.Pad
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_pad_image(sluice_dataset *dataset,
                                                          const uint32_t padding[4],
                                                          const char *mode,
                                                          const sluice_padding_config *config);

/**
 * Places the image at a random position of a larger one with probability p. With r uniform in the
 * side range, the new width and height are r times the old ones, rounded down. The padding on the
 * left is u times the padding of both sides, and that above v times, rounded down, with u and v
 * uniform in [0, 1).
 *
 * @param side_range  (2) lowest and highest r, from 1 to 16; NULL: 1 and 4
 * @param p           0 to 1; torchvision's default is 0.5
 * @param config      NULL: zeros, also in masks
 *
 * Source: torchvision.transforms.v2.RandomZoomOut; Liu et al., "SSD: Single Shot MultiBox Detector"
 * (2016).
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status
sluice_dataset_random_zoom_out(sluice_dataset *dataset, const double *side_range, double p,
                               const sluice_padding_config *config);

/**
 * Makes n views of each image, for contrastive learning: the image is decoded once, and all later
 * stages run on each view with random numbers of their own. The image of the batch is (batch, n,
 * height, width, C), or (batch, n, C, height, width) after to_chw. View 0 has the
 * pixels of a pipeline without this stage.
 *
 * The stage comes among crops and resizes; those before it run once. Workers convert the
 * views, so sluice_dataset_device() and offload to the device are refused, and maps that read the
 * image, mixup and cutmix. Masks, boxes, points, further images and the column of stage geometry
 * are refused, since they would differ between the views.
 *
 * @param n  2 to 16
 *
 * Returns: E_INVALID also for a second stage of this kind or sluice_dataset_five_crop() or
 *          sluice_dataset_ten_crop().
 *
 * Source: Chen et al., "A Simple Framework for Contrastive Learning of Visual Representations"
 * (2020).
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_views(sluice_dataset *dataset, uint32_t n);

/**
 * Makes five views of each image, as sluice_dataset_views(): the upper left, upper right, lower
 * left and lower right corner, and the centre. An image smaller than the crop makes a bad sample.
 *
 * @param height, width  size of the crops, in pixels; width 0: squares
 *
 * Source: torchvision.transforms.v2.FiveCrop
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_five_crop(sluice_dataset *dataset, uint32_t height,
                                                          uint32_t width);

/**
 * Makes ten views of each image: those of sluice_dataset_five_crop(), then those of the flipped
 * image.
 *
 * @param height, width  size of the crops, in pixels; width 0: squares
 * @param vertical_flip  false, torchvision's default: flipped left to right; true: upside down
 *
 * Source: torchvision.transforms.v2.TenCrop
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_ten_crop(sluice_dataset *dataset, uint32_t height,
                                                         uint32_t width, bool vertical_flip);

/** Optional arguments of sluice_dataset_random_iou_crop(), initialized by
 * sluice_random_iou_crop_config_init(). */
typedef struct sluice_random_iou_crop_config {
    size_t struct_size;            /**< bytes; set by sluice_random_iou_crop_config_init() */
    double min_scale;              /**< smallest fraction of width and height, from 0.001; 0: 0.3 */
    double max_scale;              /**< largest fraction, up to 1; 0: 1 */
    double min_aspect_ratio;       /**< smallest width / height, from 0.001; 0: 0.5 */
    double max_aspect_ratio;       /**< largest width / height, up to 1000; 0: 2 */
    const double *sampler_options; /**< (option_count) minimum values of the intersection over
                                        union, 0 to 1; 1: no crop; copied; NULL: 0, 0.1, 0.3, 0.5,
                                        0.7, 0.9 and 1 */
    uint32_t option_count;         /**< 1 to 8; not used if sampler_options is NULL */
    uint32_t trials;               /**< crops drawn for each option, up to 1000; 0: 40 */
} sluice_random_iou_crop_config;

/** Sets every field to its default, zero, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_random_iou_crop_config_init_size(sluice_random_iou_crop_config *config,
                                                        size_t size);

/** sluice_random_iou_crop_config_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_random_iou_crop_config_init(sluice_random_iou_crop_config *config)
{
    sluice_random_iou_crop_config_init_size(config, sizeof(*config));
}

/**
 * Crops a random part of the image that overlaps a box. Boxes whose centre is not inside the crop
 * are dropped, with the elements of the columns that belong to them; the others are clipped.
 *
 * An option is drawn. If it is 1, the image does not change. Else up to `trials` crops are drawn:
 * width and height are the image's times numbers uniform in the range of scales, rounded down, and
 * the position is uniform. A crop is taken if its aspect ratio is in the range, and if of the boxes
 * whose centre is inside it the largest intersection over union with the crop is at least the
 * option. If no crop is taken, another option is drawn, up to 100 times; then the image does not
 * change, nor does an image without boxes. (torchvision has no limit. It drops boxes in
 * SanitizeBoundingBoxes, which must follow there, and with its defaults also boxes of less than a
 * pixel.)
 *
 * @param config  NULL: all defaults
 *
 * Returns: E_INVALID also if the sample has not exactly one column of boxes.
 *
 * Source: torchvision.transforms.v2.RandomIoUCrop; Liu et al., "SSD: Single Shot MultiBox Detector"
 * (2016).
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_random_iou_crop(
    sluice_dataset *dataset, const sluice_random_iou_crop_config *config);

SLUICE_END_DECLS

#endif
