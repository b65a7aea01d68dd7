/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Stages for the columns of a batch. Selecting, ordering and renaming columns costs nothing: no
 * bytes are copied, and a column that no later stage needs is not written. These stages may be
 * anywhere between source and batch, except for sluice_dataset_column().
 *
 * Returns: E_INVALID a NULL, or no column of that name; the sticky error of building; E_NO_MEMORY.
 */
#ifndef SLUICE_COLUMNS_H
#define SLUICE_COLUMNS_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/**
 * Gives a column of the source another role than the source declares (sluice_column_role), so that
 * arrays of numbers follow the image, or are images. It must come right after the source; only
 * stages of order and other calls of this kind may be between them. After a group of datasets it
 * names columns of all parts.
 *
 * - "boxes": f32 (N, 4), x0 y0 x1 y1 in pixels. If there is a column NAME_length, i32, it has the
 *   number of boxes of each sample; otherwise it is added, and rows of zeros at the end are padding
 * - "points": f32 (N, 2) or (N, K, 2). Without a column NAME_length all rows are points
 * - "mask": u8 (height, width) of the image's size, or an encoded image
 * - "image": u8 (height, width) or (height, width, channels), or an encoded mask. The first image
 *   if there is none, otherwise a further image, of the size of the first one
 * - "plain": no stage moves it. An image or mask must not be encoded, nor vary in size, and nothing
 *   may follow the first image
 *
 * @param column  its name
 * @param role    one of these; NULL: "plain"
 * @param of      with "plain" and "points": the name of a column of boxes, or with "plain" of
 *                points, of as many rows: rows are dropped with their box and exchanged with their
 *                point. NULL or "": none
 *
 * Returns: E_INVALID also for a column whose type or shape does not fit the role, and after another
 *          stage. NaN, a box that is not x0 y0 x1 y1 with 0 <= x0 < x1, and a NAME_length out of
 *          range are bad samples (E_CORRUPT).
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_column(sluice_dataset *dataset, const char *column,
                                                       const char *role, const char *of);

/**
 * Keeps these columns, in this order, and drops the others. An image that is dropped before decode
 * is not decoded, unless masks, boxes, points or further images follow it.
 *
 * @param columns  comma-separated names, each at most once
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_project(sluice_dataset *dataset,
                                                        const char *columns);

/**
 * Drops columns; at least one must remain.
 *
 * @param columns  comma-separated names
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_drop(sluice_dataset *dataset, const char *columns);

/**
 * Renames a column. Its role does not change: the image is still the one that transforms process.
 * The NAME_length of a ragged column, of boxes or of points is renamed, too. If NAME_length itself
 * is renamed, it remains the length of its column.
 *
 * @param column  its present name
 * @param name    letters, digits and _, no digit first, at most 31 bytes, or 24 if there is a
 *                NAME_length; E_INVALID: another column has this name, or that of the length
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_rename(sluice_dataset *dataset, const char *column,
                                                       const char *name);

/**
 * Replaces a class number by a vector, f32 (classes): 1 at its class, 0 elsewhere. With label
 * smoothing s the values are 1 - s + s / classes and s / classes.
 *
 * @param column     a plain scalar of an integer type, such as `label`
 * @param classes    1 to 1 048 576; a class number that is not in [0, classes) makes a bad sample
 * @param smoothing  0 to 1
 *
 * Returns: E_INVALID also for a column of another kind, or arguments out of range.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_one_hot(sluice_dataset *dataset, const char *column,
                                                        uint64_t classes, double smoothing);

/**
 * Changes the type of a plain column. Numbers are rounded to the nearest float, ties to even;
 * integers to f16 and bf16 by way of f32. Floats are truncated to integers. NaN and infinities stay
 * as they are in floats. A value that the type cannot represent makes a bad sample: an integer out
 * of range, NaN as an integer, 65520 or more as f16. For images use sluice_dataset_to_dtype().
 *
 * @param column  a column that is not an image, a mask, boxes or points
 * @param dtype   not SLUICE_ENCODED
 *
 * Returns: E_INVALID also for a column of another kind, or an invalid type.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_cast(sluice_dataset *dataset, const char *column,
                                                     sluice_dtype dtype);

/**
 * Pads an array along its first dimension to `to` rows: the stage `pad` of pipeline texts. Rows of
 * `value` are added after those of the sample. A ragged column keeps its NAME_length, the number of
 * rows before the padding; a sample with more than `to` rows is bad.
 *
 * @param column  a column with at least one dimension; not an image, a mask, boxes or points
 * @param to      rows after the stage, 1 to 67 108 864; not less than those of a column that is not
 *                ragged
 * @param value   value of each added element; the column's type must represent it
 *
 * Returns: E_INVALID also for a column of another kind, or arguments out of range.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_pad_array(sluice_dataset *dataset,
                                                          const char *column, uint64_t to,
                                                          double value);

/**
 * Keeps the first `to` rows of an array: the stage `truncate` of pipeline texts. The NAME_length of
 * a ragged column is the number of rows that are left.
 *
 * @param column  a column with at least one dimension; not an image, a mask, boxes, points, or a
 *                column with a row for each box
 * @param to      1 to 67 108 864; nothing changes if the column has fewer rows
 *
 * Returns: E_INVALID also for a column of another kind, or arguments out of range.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_truncate_array(sluice_dataset *dataset,
                                                               const char *column, uint64_t to);

/**
 * Adds a column m, f32 (2, 3): the affine map from the batch's image to the file's image, for
 * coordinates that the program handles itself. A point (X, Y) of the batch's image, before to_chw,
 * is at (x, y) of the file's image:
 *
 *     x = m[0][0] * X + m[0][1] * Y + m[0][2]
 *     y = m[1][0] * X + m[1][1] * Y + m[1][2]
 *
 * All images of a sample have the same map. It includes all crops, resizes, paddings and flips of
 * the pipeline, also those after this stage. Coordinates are as for boxes: pixel i of a line covers
 * [i, i + 1), and its centre is i + 0.5. For pixel indices i, whose centres are integers as in
 * OpenCV, use X = i + 0.5 and subtract 0.5 from the result. The map is computed in f64 and rounded
 * once to f32.
 *
 * @param column  name of the new column; NULL: "geometry"
 *
 * Returns: E_INVALID also if another column has this name, after a map, before decode, or if the
 *          pipeline has a geometry stage already.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_geometry(sluice_dataset *dataset,
                                                         const char *column);

SLUICE_END_DECLS

#endif
