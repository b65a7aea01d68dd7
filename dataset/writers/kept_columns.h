/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of a source that a pack keeps, and the values of a sample. */
#ifndef SLUICE_KEPT_COLUMNS_H
#define SLUICE_KEPT_COLUMNS_H

#include "dataset_state.h"
#include "point_pairs.h"

/* A column that is kept. A column NAME_length is not one: it goes with its column. */
typedef struct kept_column {
    sluice_column type; /* in the source: shape[0] is the most rows, if they vary */
    column_info info;   /* its role */
    uint32_t column;    /* its index in the source */
    int length;         /* column of the source with the number of its rows; -1: all are values */
    int owner;          /* kept column of the boxes or points that its rows belong to; -1: none */
    bool is_file;       /* an image or mask, stored as the bytes of an encoded file */
    bool is_pixels;     /* an image or mask, stored as its pixels; else values of a row */
    size_t row_bytes;   /* of values: bytes of a row; of a column without rows, of all */
    size_t offset;      /* of values: in the buffer of a sample's row */
} kept_column;

typedef struct kept_columns {
    uint32_t count;
    int image;                /* the first image; -1: there is none */
    int label;                /* the column `label`, if it is one i32; -1: there is none */
    const point_pairs *pairs; /* points that a flip exchanges; NULL: the source does not say. They
                                 are those of column pairs_of of the source */
    uint32_t pairs_of;
    size_t bytes; /* of the buffer of a sample's row, in which columns are aligned to 16 */
    size_t lengths[SLUICE_MAX_COLUMNS]; /* by column of the source: offset of the number of rows in
                                           the buffer; SIZE_MAX: it is not such a number */
    kept_column columns[SLUICE_MAX_COLUMNS]; /* in the order of the source */
} kept_columns;

enum { KEPT_EXTENSION_SIZE = 8 };

/* A value of a sample. */
typedef struct kept_value {
    const uint8_t *data; /* bytes of a file, or the rows that are values, one after another */
    size_t size;
    uint64_t rows;                       /* number of these rows; 1 if the column has no rows */
    char extension[KEPT_EXTENSION_SIZE]; /* of a file, by its contents */
} kept_value;

/* True if the source gives a column as an image or mask, not in a row. */
static inline bool kept_is_image(const kept_column *column)
{
    return column->is_file || column->is_pixels;
}

/* True if the rows of a column vary in number. */
static inline bool kept_is_ragged(const kept_column *column)
{
    return column->length >= 0;
}

/*
 * Finds the columns of an unopened or open dataset, without those that `drop` names, which may be
 * NULL. encodes: pixels of the first image become files. E_INVALID: there is no such column, it is
 * the first image, or a column cannot be kept without it; E_UNSUPPORTED: a size varies between
 * samples. The message names the column, and says what to do.
 */
sluice_status kept_columns_find(const sluice_dataset *dataset, const char *drop, bool encodes,
                                kept_columns *kept_out);

/* True if the first image is stored as a file. */
static inline bool kept_has_file(const kept_columns *kept)
{
    return kept->image >= 0 && kept->columns[kept->image].is_file;
}

/* True if the columns are the first image, as files, and at most a label i32. */
bool kept_columns_are_usual(const kept_columns *kept);

#endif
