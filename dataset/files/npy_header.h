/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of a .npy file, versions 1 to 3 of the format (numpy.lib.format): a magic string, the
 * length of the text that follows, and the text of a Python dict with the keys descr, fortran_order
 * and shape.
 */
#ifndef SLUICE_NPY_HEADER_H
#define SLUICE_NPY_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>
#include <sluice/tensor.h>

/* Maximum size of a header, read from the beginning of a file. numpy writes 128 bytes. */
enum { NPY_HEAD = 16 * 1024 };

typedef struct npy_header {
    sluice_dtype dtype;
    uint32_t rank;                       /* number of dimensions; 0: a single number */
    uint64_t shape[SLUICE_MAX_RANK + 1]; /* shape[0] is the number of rows */
    bool is_fortran;     /* the first index varies fastest, and that differs from C order */
    bool is_swapped;     /* elements are big-endian, of more than one byte */
    bool is_complex;     /* of two floats each: the last dimension, 2, is theirs */
    uint64_t row_bytes;  /* bytes of one row: the product of shape[1..rank) and the element size */
    uint64_t data_at;    /* offset of the first element */
    uint64_t data_bytes; /* bytes of all elements, at most 2^62 */
} npy_header;

/*
 * Parses the first bytes of a file, as numpy does. E_CORRUPT: the file is not a .npy file, or its
 * header is corrupt. E_UNSUPPORTED: the array has an element type without a dtype (the message
 * says which conversion to make), or more than SLUICE_MAX_RANK + 1 dimensions.
 */
sluice_status npy_header_parse(const uint8_t *bytes, size_t size, npy_header *header_out);

/* Copies the elements of an array with is_fortran in C order; their bytes stay as they are. */
void npy_to_c_order(const npy_header *header, const uint8_t *from, uint8_t *to);

/* Changes `bytes` bytes of elements to the order of the machine, little-endian, if is_swapped. */
void npy_swap(const npy_header *header, uint8_t *elements, uint64_t bytes);

#endif
