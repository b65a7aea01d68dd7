/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Arrays in memory as the source of a dataset. Each array is a column of the batch.
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

SLUICE_END_DECLS

#endif
