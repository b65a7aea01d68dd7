/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of an IDX file, the format of MNIST (LeCun, "The MNIST database"): two zero bytes, the
 * type of the elements, the number of dimensions, and each dimension, big-endian in 4 bytes. The
 * elements follow, in C order.
 */
#ifndef SLUICE_IDX_HEADER_H
#define SLUICE_IDX_HEADER_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

enum {
    IDX_MAX_RANK = 4,
    IDX_HEAD = 4 + 4 * IDX_MAX_RANK /* size of the longest accepted header */
};

/* A parsed header; the elements are unsigned bytes. */
typedef struct idx_header {
    uint32_t rank;                /* number of dimensions, at least 1 */
    uint64_t shape[IDX_MAX_RANK]; /* shape[0] is the number of rows, which may be 0 */
    uint64_t row_bytes;           /* bytes of one row: the product of shape[1..rank), at least 1 */
    uint64_t data_at;             /* offset of the first element */
    uint64_t data_bytes;          /* shape[0] * row_bytes, below 2^62 */
} idx_header;

/*
 * Parses the first bytes of a file. E_CORRUPT: the file is not an IDX file, or its header is
 * truncated or invalid. E_UNSUPPORTED: the elements are not unsigned bytes, there are more than
 * IDX_MAX_RANK dimensions, or rows have no elements.
 */
sluice_status idx_header_parse(const uint8_t *bytes, size_t size, idx_header *header_out);

#endif
