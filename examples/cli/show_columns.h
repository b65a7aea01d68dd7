/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of batches as numbers: their values, and a table of minimum, maximum and mean. */
#ifndef SLUICE_SHOW_COLUMNS_H
#define SLUICE_SHOW_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/channel.h>

/* Is it a type of whole numbers? */
bool show_is_integer(sluice_dtype dtype);

/* Element i of an array of whole numbers; all of their types fit. */
int64_t show_integer(sluice_dtype dtype, const void *data, size_t i);

/* Element i of any array. */
double show_real(sluice_dtype dtype, const void *data, size_t i);

enum { COLUMN_FIRST_SIZE = 64 };

/* What is known of the values of one column. Zero is a column without values. */
typedef struct column_range {
    uint64_t count;     /* values */
    int64_t low, high;  /* of whole numbers */
    double least, most; /* of others; NaNs left out */
    double sum;
    char first[COLUMN_FIRST_SIZE]; /* values, of columns of small rank */
} column_range;

/* Adds the first `rows` rows of a tensor. */
void show_range_add(column_range *range, const sluice_tensor *tensor, uint32_t rows);

/*
 * Prints a line for each column on stdout; `rows` is the first dimension of each. Then the first
 * values: of a scalar for the first rows, of a sequence or a small matrix for the first row.
 */
void show_print_table(const sluice_channel_info *info, const column_range *ranges, uint64_t rows);

#endif
