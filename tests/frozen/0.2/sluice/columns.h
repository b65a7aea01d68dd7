/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Stages that choose, order and name the columns of a batch. They cost nothing: no byte is copied
 * for them, and a column that no later stage needs is not written. They may stand anywhere between
 * source and batch.
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

SLUICE_END_DECLS

#endif
