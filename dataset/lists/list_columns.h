/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of a list, by the fields of its header: `image`, `label`, `NAME:KIND`. KIND is
 *
 *     mask         the path of an image of class numbers
 *     boxes[N]     up to N boxes, x0,y0,x1,y1;..., in pixels of the image
 *     T            one number of type T: u8, i8, u16, i32, u32, i64, f32
 *     T[N]         up to N of them, with commas
 *     T[N]@BOXES   a number per box of the column BOXES, dropped with it
 *     text[N]      up to N bytes
 */
#ifndef SLUICE_LIST_COLUMNS_H
#define SLUICE_LIST_COLUMNS_H

#include "list_text.h"
#include "stage.h"

typedef enum list_kind {
    LIST_IMAGE,
    LIST_MASK,
    LIST_BOXES,
    LIST_NUMBER,
    LIST_NUMBERS,
    LIST_TEXT
} list_kind;

/* A field of every record. */
typedef struct list_column {
    list_kind kind;
    int column; /* of the batch */
    int length; /* the column of its length; -1: none */
    int boxes;  /* of numbers a box each: the field of the boxes; -1: none */
    sluice_dtype dtype;
    uint32_t most; /* elements: boxes, numbers, bytes */
} list_column;

typedef struct list_columns {
    uint32_t count; /* fields */
    list_column fields[SLUICE_MAX_COLUMNS];
    stage_schema schema; /* of the batch, before decode */
} list_columns;

/* Adds a column by a field of the header. E_INVALID with what is wrong and what a field may be. */
sluice_status list_add_column(list_columns *columns, const char *text);

/* The columns of a list without a header: image, or image and label. */
void list_plain_columns(list_columns *columns, uint32_t fields);

/*
 * Parses a field that is no path, and writes it into its columns of a row: `row` has as many
 * entries as the schema has columns, and NULL where none is wanted. Elements that are not there are
 * zero. *count_out: how many there are. E_CORRUPT with the reason.
 */
sluice_status list_write_field(const list_columns *columns, uint32_t field, const list_field *text,
                               void *const *row, uint32_t *count_out);

#endif
