/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The argument fields= of sources of record files, which maps values of a record to columns. It is
 * a comma-separated list of NAME:FEATURE@KIND; FEATURE is the value's name in the file. KIND is one
 * of
 *
 *     image      an encoded image; the first one determines the geometry of the others
 *     mask       an encoded image of class numbers
 *     imagexHxWxC, maskxHxW   the same as pixels, u8; so is u8xHxWxC of a column `image`
 *     boxes[N]   up to N boxes of four numbers; coco[N], voc[N] and darknet[N] as in lists
 *     points[N]  up to N points of two numbers; points[N]xK: up to N rows of K points; pointsxK: K
 *                points; points[N]xK@BOXES: K points of each box
 *     fraction_boxes[N], fraction_points[N]   in fractions of the image's width and height
 *     mask_numbers[N]@BOXES   the number that each box has in the mask, i32
 *     text[N]    up to N bytes, u8; also bytes[N]
 *     T          one number of type T, such as i32
 *     TxDxD      numbers in a fixed shape, such as f32x2x3
 *     T[N]       up to N numbers; T[N]xD: up to N rows of D numbers
 *     T[N]@ROWS  as many numbers or rows as an earlier column of boxes, points or T[N] has
 *
 * The numbers of a row may also be in values of their own, as many as the row has numbers, 2 to 4:
 * boxes:xmin+ymin+xmax+ymax@boxes[N].
 *
 * Columns of [N] without @ROWS have a column NAME_length, i32. What follows the last of the numbers
 * is zero. Numbers of another type are converted; those that T does not have are an error.
 */
#ifndef SLUICE_RECORD_FIELDS_H
#define SLUICE_RECORD_FIELDS_H

#include <stdbool.h>

#include "list_columns.h"
#include "record_values.h"

/* Room for FEATURE. */
enum { RECORD_NAME_SIZE = 160 };

/* Limit on FEATUREs of a column. */
enum { RECORD_MOST_PARTS = 4 };

/* The values of a column: one, or one for each number of its rows. */
typedef struct record_parts {
    uint32_t count;
    uint32_t values[RECORD_MOST_PARTS]; /* their indices in record_fields.names */
} record_parts;

typedef struct record_fields {
    list_columns columns; /* fields[i] is the column of the i-th item of the text */
    record_parts parts[SLUICE_MAX_COLUMNS]; /* of each of them */
    record_names names;                     /* which values to read; borrowed from `texts` */
    char texts[SLUICE_MAX_COLUMNS][RECORD_NAME_SIZE];
} record_fields;

/*
 * Parses the text, for messages of the source `stage`. The struct must not move afterwards.
 * E_INVALID: the text is malformed, or names are invalid or given twice. Also returns E_NO_MEMORY.
 */
sluice_status record_fields_parse(const char *text, const char *stage, record_fields *fields);

/* Sets the columns of a source. */
void record_fields_schema(const record_fields *fields, stage_schema *schema);

/* Returns the field of a column of the batch that read_other() or read() gives. */
uint32_t record_fields_find(const record_fields *fields, uint32_t column);

/*
 * Writes the values of a record into its row, all but images and masks. values[i] is that of
 * names.names[i]. E_CORRUPT: a value is missing, is of another kind, or does not fit its column;
 * the error names it.
 */
sluice_status record_fields_write(const record_fields *fields, const record_value *values,
                                  void *const *row);

/* Returns the bytes of an encoded image or mask. E_CORRUPT: it is missing, or is no byte string. */
sluice_status record_fields_encoded(const record_fields *fields, uint32_t field,
                                    const record_value *values, const uint8_t **bytes_out,
                                    size_t *size_out);

/* Writes the pixels of a field of LIST_PIXELS to memory with room for its column. Returns the
 * errors of record_fields_write(). */
sluice_status record_fields_pixels(const record_fields *fields, uint32_t field,
                                   const record_value *values, uint8_t *pixels);

#endif
