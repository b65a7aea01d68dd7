/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of a list, declared by the fields of its header: `image`, `label`, `NAME:KIND`. KIND
 * is one of
 *
 *     image        the path of an image; the first one determines the geometry of the others
 *     mask         the path of an image of class numbers
 *     boxes[N]     up to N boxes, x0,y0,x1,y1;..., in pixels of the image
 *     coco[N]      up to N boxes as in COCO: x0,y0,width,height in pixels
 *     voc[N]       up to N boxes as in PASCAL VOC: x0,y0,x1,y1, pixel indices from 1, x1 and y1
 *                  inclusive
 *     darknet[N]   up to N boxes as in darknet: x,y of the centre, width, height, as fractions of
 *                  the image's width and height
 *     points[N]    up to N points, x,y;..., in pixels of the image; they may be outside it
 *     T            one number of type T: u8, i8, u16, i16, u32, i32, i64, f32, f64; an integer
 *                  may be written as 7.0; blanks around numbers are skipped
 *
 *     T[N]         up to N numbers, separated by commas
 *
 *     T[N]@BOXES   one number per box or point of the column BOXES, dropped with its box or
 *                  exchanged with its point
 *
 *     text[N]      up to N bytes
 *     class        the name of a class, whose number is stored as i32; also class[N] and
 *                  class[N]@BOXES, names separated by commas
 */
#ifndef SLUICE_LIST_COLUMNS_H
#define SLUICE_LIST_COLUMNS_H

#include "box_form.h"
#include "list_text.h"
#include "stage.h"
#include "vocabulary.h"

typedef enum list_kind {
    LIST_IMAGE,
    LIST_MASK,
    LIST_PIXELS, /* an image or mask of a fixed shape; only of binary values */
    LIST_BOXES,
    LIST_POINTS,
    LIST_NUMBER,
    LIST_NUMBERS,
    LIST_ARRAY, /* of a fixed shape; only of binary values */
    LIST_TEXT
} list_kind;

/* A field declared in the list's header. */
typedef struct list_column {
    list_kind kind;
    int column;    /* index of its column in the batch */
    int length;    /* index of the column with its length; -1: none */
    int boxes;     /* for T[N]@BOXES: index of the field with the boxes or points; -1: none */
    box_form form; /* LIST_BOXES: format of its boxes */
    sluice_dtype dtype;
    uint32_t most; /* maximum number of elements: boxes, points, rows of numbers, or bytes */
    uint32_t row;  /* numbers in a row of LIST_NUMBERS, or points in one of LIST_POINTS; numbers in
                      LIST_ARRAY and LIST_PIXELS; else 1 */
    vocabulary *names; /* of class, class[N]: numbers by these names; owned by list_columns; NULL:
                           numbers are written as such */
} list_column;

typedef struct list_columns {
    uint32_t count; /* number of fields */
    bool is_plain;  /* the list has no header; see list_plain_columns() */
    bool is_binary; /* values are not texts, so the kinds of record_fields.h are valid, too */
    list_column fields[SLUICE_MAX_COLUMNS];
    stage_schema schema; /* the columns of the batch, before decoding */
} list_columns;

/*
 * Adds the column that a header field declares. E_INVALID: the declaration is invalid; the message
 * says why and lists the valid forms. The caller checks that no two columns have one name.
 */
sluice_status list_add_column(list_columns *columns, const char *text);

void list_columns_free(list_columns *columns);

/* Finds the names of classes of the column label, or without such a column those of the first
 * column of kind class; NULL: it has numbers, or there is none. True: there is a column label. */
bool list_columns_names(const list_columns *columns, const vocabulary **names_out);

/* Adds the number of columns of kind class to *count_io. Returns the names of the last one. */
vocabulary *list_columns_classes(const list_columns *columns, uint32_t *count_io);

/* Mixes the names of all columns of kind class into a hash, which begins as 0 and stays so if there
 * are none. */
uint64_t list_columns_identity(const list_columns *columns, uint64_t hash);

/* Appends the declarations of all columns, with commas, as `fields=` of JSON lines has them. */
void list_columns_print(const list_columns *columns, sli_text *text);

/* Adds the columns of a list without a header: image, or image and label. */
void list_plain_columns(list_columns *columns, uint32_t fields);

/*
 * Parses a field that is not a path, and writes it into its columns of a row. `row` has one entry
 * per column of the schema; NULL: the column is not needed. Unused elements are set to zero.
 * *count_out: the number of elements in the field. E_CORRUPT: the field is invalid; the message has
 * the reason.
 */
sluice_status list_write_field(const list_columns *columns, uint32_t field, const list_field *text,
                               void *const *row, uint32_t *count_out);

/* Does as list_write_field(), for the fields of a record in their order: counts[field] is set, and
 * a field with @BOXES must have as many elements as its boxes or points. */
sluice_status list_write_counted(const list_columns *columns, uint32_t field,
                                 const list_field *text, void *const *row, uint32_t *counts);

/*
 * Collects the names in a field of classes, whose names are still open, after the field and its
 * record were found good. Also returns E_NO_MEMORY.
 */
sluice_status list_learn_field(const list_columns *columns, uint32_t field, const list_field *text);

#endif
