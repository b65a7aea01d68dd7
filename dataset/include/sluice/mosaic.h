/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The stage mosaic: one image of four samples, for training of object detectors.
 */
#ifndef SLUICE_MOSAIC_H
#define SLUICE_MOSAIC_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/** Optional arguments of sluice_dataset_mosaic(), initialized by sluice_mosaic_config_init(). */
typedef struct sluice_mosaic_config {
    size_t struct_size;      /**< bytes; set by sluice_mosaic_config_init() */
    double center[2];        /**< lowest and highest c, 0 to 2; both 0: 0.5 and 1.5 */
    double scale[2];         /**< lowest and highest scale, 0.01 to 10; both 0: 0.5 and 1.5 */
    const double *translate; /**< largest t, 0 to 1; NULL: 0.1 */
    const double *p;         /**< probability, 0 to 1; NULL: 1 */
    const uint8_t *fill;     /**< value outside the images, in every channel; NULL: 114 */
    uint8_t mask_fill;       /**< class number there in masks, such as 0 or 255 */
    bool no_antialias;       /**< like antialias = false of sluice_dataset_resize() */
    const char *filter;      /**< as in sluice_dataset_resize(); NULL: "bilinear" */
} sluice_mosaic_config;

/** Sets every field to its default, zero, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_mosaic_config_init_size(sluice_mosaic_config *config, size_t size);

/** sluice_mosaic_config_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_mosaic_config_init(sluice_mosaic_config *config)
{
    sluice_mosaic_config_init_size(config, sizeof(*config));
}

/**
 * Makes one image of four samples. With probability p, the sample itself is at the top left, and
 * three partners are at the top right, the bottom left and the bottom right. The corners of the
 * four images meet at the point
 *
 *     x = width * (0.5 + (c - 1) * scale + t), y likewise
 *
 * rounded to whole pixels. c is drawn from `center`, scale from `scale`, and t from [-translate,
 * translate], uniformly; c and t separately for x and y. Each image is resized by scale *
 * min(height / its height, width / its width), so at scale 1 it fits into the size of the result.
 * With probability 1 - p the sample is alone: resized in the same way, with its centre at c = 1.
 *
 * This is Mosaic of Ultralytics' YOLO, with RandomPerspective of the same scale and translation,
 * whose default values are 0.5 (scale 0.5 to 1.5) and 0.1. There c and `center` are the point in a
 * canvas of twice the size, in units of the size, as center_ratio_range of MMDetection's Mosaic.
 * Unlike there, an image is resampled once, with antialiasing, and is not cut off at the edge of
 * that canvas.
 *
 * The partners are drawn uniformly, with replacement, from all samples of the pass, those of other
 * ranks included: by the seed, the pass and the sample. So batches do not depend on workers or
 * ranks. Random crops before this stage have draws of their own for each partner. Files of images
 * that the result does not show are not read; of the others, the part that is shown is decoded.
 *
 * Masks and further images are composed in the same way. Boxes of the four samples, with the
 * columns that belong to them, are moved, clipped and joined in the order of the images; boxes
 * without remaining area are dropped. If more are left than the column holds, the largest are kept,
 * so give the source a larger maximum. Points that belong to boxes are moved and joined with them;
 * other points are refused. Other columns, such as the label, are those of the sample itself.
 *
 * A bad partner makes the sample a bad one; the error has the name of the partner. Under the policy
 * replace another partner is drawn instead, up to 8 times. Streams, filters, pack and bucket are
 * refused, since with them the sample at a position is not known in advance, and so is a column of
 * the stage geometry. Crops, resizes and a cache may come before this stage; all stages of
 * images may follow, except a second mosaic.
 *
 * @param height, width  size of the result, in pixels; width 0: a square
 * @param config         NULL: all defaults
 *
 * Returns: E_INVALID an argument is out of range, or a position where the stage is not allowed; the
 *          sticky error of building; E_NO_MEMORY.
 *
 * Sources: Bochkovskiy et al., "YOLOv4: Optimal Speed and Accuracy of Object Detection" (2020);
 * Mosaic and RandomPerspective in ultralytics/data/augment.py.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_mosaic(sluice_dataset *dataset, uint32_t height,
                                                       uint32_t width,
                                                       const sluice_mosaic_config *config);

SLUICE_END_DECLS

#endif
