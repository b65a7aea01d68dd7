/* SPDX-License-Identifier: Apache-2.0 */
/* Prints columns of batches as numbers: first values, and a table of minimum, maximum and mean. */
#ifndef SLUICE_SHOW_COLUMNS_H
#define SLUICE_SHOW_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/channel.h>

/* True for integer types, but for u64, whose values are shown as reals. */
bool show_is_integer(sluice_dtype dtype);

/* Element i of an integer array; of u64 at most INT64_MAX. */
int64_t show_integer(sluice_dtype dtype, const void *data, size_t i);

/* Element i of any array. */
double show_real(sluice_dtype dtype, const void *data, size_t i);

enum { COLUMN_FIRST_SIZE = 64 };

/* Statistics of one column. A zeroed struct has no values yet. */
typedef struct column_range {
    uint64_t count;     /* number of values */
    int64_t low, high;  /* range of integer columns */
    double least, most; /* range of other columns, ignoring NaN */
    double sum;
    char first[COLUMN_FIRST_SIZE]; /* first values as text, for columns with small rows */
} column_range;

/* Adds the first `rows` rows of a tensor. */
void show_range_add(column_range *range, const sluice_tensor *tensor, uint32_t rows);

/* True if the error policy `zero` has zeroed a valid row. Only for a channel with that policy,
 * whose last column marks such rows, and without device maps. */
bool show_is_zeroed(const sluice_batch *batch, uint32_t row);

/*
 * Prints a line for each column on stdout; `rows` is the first dimension of each column. Then
 * prints the first values: of a scalar column for the first rows, of a sequence or a small matrix
 * for the first row.
 */
void show_print_table(const sluice_channel_info *info, const column_range *ranges, uint64_t rows);

#endif
