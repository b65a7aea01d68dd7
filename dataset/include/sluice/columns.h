/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Stages for the columns of a batch. Those that choose, order and name them cost nothing: no byte
 * is copied for them, and a column that no later stage needs is not written. They may stand
 * anywhere between source and batch.
 *
 * Returns: E_INVALID a NULL, or no column of that name; the sticky error of building; E_NO_MEMORY.
 */
#ifndef SLUICE_COLUMNS_H
#define SLUICE_COLUMNS_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/**
 * Keeps these columns, in this order, and drops the others. Images that are dropped before decode
 * are not decoded; those that masks or boxes follow are decoded all the same.
 *
 * @param columns  names, with commas, each at most once
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_project(sluice_dataset *dataset,
                                                        const char *columns);

/**
 * Drops columns; at least one stays.
 *
 * @param columns  names, with commas
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_drop(sluice_dataset *dataset, const char *columns);

/**
 * Gives a column another name. What its name stood for stays: the image is still the image that
 * transforms work on.
 *
 * @param column  its name so far
 * @param name    letters, digits and _, no digit first, at most 31 bytes; E_INVALID: another column
 *                has it
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
 * @param classes    1 to 1 048 576; a number that is not below it is a bad sample
 * @param smoothing  0 to 1
 *
 * Returns: also E_INVALID a column of another kind, numbers out of range.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_one_hot(sluice_dataset *dataset, const char *column,
                                                        uint64_t classes, double smoothing);

/**
 * Changes the type of a plain column. Integers become floats rounded to nearest even, by way of f32
 * for f16 and bf16; floats become integers without their fraction. A value that the integer
 * type cannot represent, such as NaN, is a bad sample. For images there is
 * sluice_dataset_to_dtype().
 *
 * @param column  neither the image nor one that follows it
 * @param dtype   not SLUICE_ENCODED
 *
 * Returns: also E_INVALID a column of another kind, no type of batches.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_cast(sluice_dataset *dataset, const char *column,
                                                     sluice_dtype dtype);

SLUICE_END_DECLS

#endif
