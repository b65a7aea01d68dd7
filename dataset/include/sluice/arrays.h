/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Arrays as sources of a dataset: in memory, or in .npy files. Each array is a column of the batch.
 * Its first dimension counts the samples, so it must be equal for all arrays of a dataset. Row i of
 * all arrays is one sample: these rows stay together through shuffle, split, shard and every other
 * stage of order.
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
    const char *name;   /**< name of its column: letters, digits and _, at most 31 */
    const void *data;   /**< the first element */
    sluice_dtype dtype; /**< type of its elements; not SLUICE_ENCODED */
    uint32_t rank;      /**< number of dimensions, at least 1 */
    uint64_t shape[SLUICE_MAX_RANK + 1]; /**< shape[0] counts the samples */
} sluice_array;

/**
 * Makes a dataset from arrays in memory. The arrays are not copied; each row is copied once, into
 * its batch.
 *
 * @param arrays       (count) the structs and names are copied; the elements are borrowed, and must
 *                     neither change nor be freed before sluice_dataset_destroy()
 * @param count        number of arrays, 1 to SLUICE_MAX_COLUMNS
 * @param dataset_out  owned by the caller: freed by sluice_dataset_destroy()
 *
 * Returns: E_INVALID a NULL, an array without samples or elements, different numbers of samples, an
 *          invalid or repeated name, an invalid type; E_NO_MEMORY.
 *
 * sluice_dataset_describe() writes it as `memory`, which sluice_dataset_parse() refuses.
 *
 * Threads: any. Several workers read the elements at once while a run uses the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_memory(const sluice_array *arrays, uint32_t count,
                                                       sluice_dataset **dataset_out);

/**
 * Makes a dataset from .npy files, the format of numpy.save(). Each file is a column, named like
 * the file without folder and .npy. Types are u1 and b1 (as u8), i1, u2, i4, u4, i8, f2 and f4,
 * little-endian, in C order. This call opens the files and reads their headers; they stay open
 * until sluice_dataset_destroy(). Rows are read when they are needed.
 *
 * @param files        comma-separated files, folders (all *.npy in them, sorted by bytes) and
 *                     patterns with {0..9} and wildcards
 * @param names        comma-separated names of the columns; NULL: the names of the files
 * @param dataset_out  owned by the caller: freed by sluice_dataset_destroy()
 *
 * Returns: E_IO a file cannot be opened or read; E_CORRUPT a corrupt header, or a truncated file;
 *          E_UNSUPPORTED Fortran order, other types, an array without dimensions; E_INVALID
 *          different numbers of samples, invalid or repeated names, more than SLUICE_MAX_COLUMNS
 *          files. The message has the file and what to do; E_NO_MEMORY.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_npy(const char *files, const char *names,
                                                    sluice_dataset **dataset_out);

SLUICE_END_DECLS

#endif
