/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Arrays as sources of a dataset: in memory, or in .npy files. Each array is a column of the batch;
 * its first dimension counts the samples, so arrays of one dataset are equally long there. Rows of
 * all arrays stay together through shuffle, split, shard and every other stage of order.
 *
 * A column named `image` of type u8 and shape (height, width, 1 to 4 channels) is an image: crops,
 * resize, flips and conversions work on it. Other columns are copied as they are.
 */
#ifndef SLUICE_ARRAYS_H
#define SLUICE_ARRAYS_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/** A row-major array in host memory. This struct never grows. */
typedef struct sluice_array {
    const char *name;                    /**< of its column: letters, digits and _, at most 31 */
    const void *data;                    /**< the first element */
    sluice_dtype dtype;                  /**< of its elements; not SLUICE_ENCODED */
    uint32_t rank;                       /**< dimensions, at least 1 */
    uint64_t shape[SLUICE_MAX_RANK + 1]; /**< shape[0] counts the samples */
} sluice_array;

/**
 * A dataset of arrays in memory, which are not copied: a row is copied once, into its batch.
 *
 * @param arrays       (count) descriptions and names are copied; the elements stay the caller's,
 *                     and must neither change nor be freed before sluice_dataset_destroy()
 * @param count        columns, 1 to SLUICE_MAX_COLUMNS
 * @param dataset_out  owned by the caller: freed by sluice_dataset_destroy()
 *
 * Returns: E_INVALID a NULL, an array without samples or elements, lengths that differ, a name that
 *          is no name or is given twice, a type that is not one of sluice_dtype; E_NO_MEMORY.
 *
 * In sluice_dataset_describe() it is `memory`, which sluice_dataset_parse() does not read.
 *
 * Threads: any. Workers read the elements, several at once, while a run uses the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_memory(const sluice_array *arrays, uint32_t count,
                                                       sluice_dataset **dataset_out);

/**
 * A dataset of .npy files, as numpy.save() writes them: each file is a column. Its name is that of
 * the file without folder and .npy. Types are u1 and b1 (as u8), i1, u2, i4, u4, i8, f2 and f4,
 * little-endian, in C order. The files are opened, and their headers read, by this call; they stay
 * open until sluice_dataset_destroy(). Rows are read as they are needed.
 *
 * @param files        files, folders (all *.npy in them, in byte order of the names) and patterns
 *                     with {0..9} and wildcards, with commas between them
 * @param names        of the columns, with commas, in place of those of the files; NULL: none
 * @param dataset_out  owned by the caller: freed by sluice_dataset_destroy()
 *
 * Returns: E_IO a file cannot be opened or read; E_CORRUPT a damaged header, a file that is shorter
 *          than its header says; E_UNSUPPORTED Fortran order, other types, no dimension of samples;
 *          E_INVALID lengths that differ, bad or equal names, more than SLUICE_MAX_COLUMNS files.
 *          The error names the file and what to do; E_NO_MEMORY.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_npy(const char *files, const char *names,
                                                    sluice_dataset **dataset_out);

SLUICE_END_DECLS

#endif
