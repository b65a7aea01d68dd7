/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Declarations of the columns that user code gives: sources, maps and plugins (custom.h, plugin.h).
 */
#ifndef SLUICE_COLUMN_SPEC_H
#define SLUICE_COLUMN_SPEC_H

#include <sluice/tensor.h>

SLUICE_BEGIN_DECLS

/** How transforms affect a column. */
typedef enum sluice_column_role {
    SLUICE_ROLE_PLAIN = 0, /**< not affected: its bytes go into the batch unchanged */
    SLUICE_ROLE_IMAGE = 1, /**< an image to transform: u8 (height, width, 1 to 4 channels), or
                                SLUICE_ENCODED. Further images get the same crops, resizes and
                                flips as the first image, and must have its size; they may be
                                encoded only if the first image is */
    SLUICE_ROLE_MASK = 2,  /**< a map of class numbers, which follows crops, resizes and flips of
                                the image by nearest neighbour. The image must be declared before
                                it. u8 (height, width), with the size of the image; or
                                SLUICE_ENCODED, if the image is */
    SLUICE_ROLE_BOXES = 3, /**< boxes, which follow crops, resizes, flips and warps of the
                                image: f32 (most, 4), x0 y0 x1 y1 in pixels of the image, with 0 <=
                                x0 < x1 and 0 <= y0 < y1; always ragged */
    SLUICE_ROLE_POINTS = 4 /**< points, such as key points of a body, which follow crops, resizes,
                                flips and warps of the image: f32 (n, 2), x y in pixels of the image
                                from -1e6 to 1e6; pixel i of a line covers [i, i + 1). They keep
                                their order and number: points that leave the image are neither
                                clipped nor dropped. Or f32 (n, k, 2), k points of each of n
                                objects, which may belong to boxes (sluice_column_spec.boxes) and
                                are then dropped with them. A point that a perspective moves farther
                                than 1e6 pixels away becomes -1e6, -1e6 */
} sluice_column_role;

/**
 * A column that user code declares. Entries of an array are column_size bytes apart, so the struct
 * may grow at its end.
 */
typedef struct sluice_column_spec {
    const char *name;                /**< letters, digits and _, no digit first; at most 31 */
    sluice_dtype dtype;              /**< for an image or mask, SLUICE_ENCODED: the bytes of a JPEG,
                                          PNG, PPM or PGM file */
    uint32_t rank;                   /**< number of dimensions used in shape; 0: a scalar, and for
                                          SLUICE_ENCODED */
    uint64_t shape[SLUICE_MAX_RANK]; /**< shape of one sample. Height and width of an image and its
                                          masks are 0 if they vary; also of masks whose image is
                                          encoded. Of a ragged column shape[0] is the maximum */
    sluice_column_role role;         /**< how transforms affect it */
    uint32_t ragged;                 /**< not 0: shape[0] differs between samples, up to the
                                          declared one. The batch then has a column NAME_length
                                          (i32), and rows after that length are zero */
    const char *boxes;               /**< NULL, or the name of a column of boxes or points that is
                                          declared before it: row i belongs to box i and is dropped
                                          with it, or to point i and is exchanged with it by flips
                                          (swap=). The column is ragged if the boxes or points are,
                                          with their length. For points f32 (n, k, 2), elements
                                          [i][j] of a column (n, k, ...) belong to point [i][j] */
} sluice_column_spec;

SLUICE_END_DECLS

#endif
