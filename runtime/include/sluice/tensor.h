/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Element types, columns and tensors: the data model of the public interface.
 */
#ifndef SLUICE_TENSOR_H
#define SLUICE_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/export.h>

SLUICE_BEGIN_DECLS

/** Maximum number of dimensions of one sample of a column. */
#define SLUICE_MAX_RANK 6
/** Maximum number of columns of a dataset. */
#define SLUICE_MAX_COLUMNS 16
/** Size of a column's name in bytes, including the final zero. */
#define SLUICE_NAME_SIZE 32

/** Element types. Numbers are never changed or reused. */
typedef enum sluice_dtype {
    SLUICE_ENCODED = 0, /**< bytes of a file, before decode; never reaches a batch */
    SLUICE_U8 = 1,
    SLUICE_I32 = 2,
    SLUICE_F32 = 3,
    SLUICE_F16 = 4,  /**< IEEE 754 binary16 */
    SLUICE_BF16 = 5, /**< the upper half of an IEEE 754 binary32 */
    SLUICE_I64 = 6,
    SLUICE_U16 = 7,
    SLUICE_U32 = 8,
    SLUICE_I8 = 9,
    SLUICE_I16 = 10,
    SLUICE_U64 = 11,
    SLUICE_F64 = 12 /**< IEEE 754 binary64 */
} sluice_dtype;

/**
 * Returns the bytes of one element; 0 for SLUICE_ENCODED and for an unknown value.
 *
 * Threads: any.
 */
SLUICE_API size_t sluice_dtype_size(sluice_dtype dtype);

/** Returns "u8", "f32", ...; "?" for an unknown value. Threads: any. */
SLUICE_API const char *sluice_dtype_name(sluice_dtype dtype);

/** A named column of a dataset: type and shape of one sample. No later version changes it. */
typedef struct sluice_column {
    char name[SLUICE_NAME_SIZE];     /**< "image", "label", ... */
    sluice_dtype dtype;              /**< element type */
    uint32_t rank;                   /**< number of dimensions in shape; 0: a scalar */
    uint64_t shape[SLUICE_MAX_RANK]; /**< per sample; 0: the dimension varies between samples */
} sluice_column;

/**
 * A row-major array in device memory, lent for a step, or until sluice_channel_get_next(). No later
 * version changes it.
 */
typedef struct sluice_tensor {
    const char *name;                    /**< the column's name */
    void *data;                          /**< read and written by the device; the next batch
                                              overwrites all bytes */
    sluice_dtype dtype;                  /**< element type */
    uint32_t rank;                       /**< number of dimensions, including the batch dimension */
    uint64_t shape[SLUICE_MAX_RANK + 1]; /**< shape[0] is the batch size, including padding */
    size_t bytes;                        /**< size of the whole array */
} sluice_tensor;

SLUICE_END_DECLS

#endif
