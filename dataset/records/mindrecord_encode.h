/* SPDX-License-Identifier: Apache-2.0 */
/* What mindrecord_writer.h writes: the types of columns, the bytes of rows, the text of a header.
 */
#ifndef SLUICE_MINDRECORD_ENCODE_H
#define SLUICE_MINDRECORD_ENCODE_H

#include "image.h"
#include "mindrecord_writer.h"
#include "text_int.h"

/* Bytes before each row, for its length. */
enum { MINDRECORD_LENGTH_BYTES = 8 };

/* The columns of a file. */
typedef struct mindrecord_layout {
    uint32_t count;
    mindrecord_field fields[SLUICE_MAX_COLUMNS]; /* names are borrowed from `columns` */
    mindrecord_column columns[SLUICE_MAX_COLUMNS];
    uint32_t blob_count;
    uint32_t blobs[SLUICE_MAX_COLUMNS]; /* columns of a blob row, by name: MindSpore sorts them */
    uint32_t indexed_count;
    uint32_t indexed[SLUICE_MAX_COLUMNS]; /* columns of integers, in the index */
} mindrecord_layout;

/* A row, each part with its length before it. */
typedef struct mindrecord_row {
    image_buffer raw;
    image_buffer blob;
    image_buffer numbers; /* of one array, as its column has them */
    size_t raw_size;
    size_t blob_size;
    int64_t indexed[SLUICE_MAX_COLUMNS];
    int64_t saved; /* bytes by which packing made the arrays of integers smaller */
} mindrecord_row;

/* Determines the columns of these fields. E_UNSUPPORTED: MindRecord has no such column. */
sluice_status mindrecord_layout_make(const mindrecord_schema *schema, mindrecord_layout *layout);
void mindrecord_layout_free(mindrecord_layout *layout);

/* Encodes a row. E_CORRUPT: a value is missing, or is not of its field. Also returns E_NO_MEMORY.
 */
sluice_status mindrecord_row_encode(const mindrecord_layout *layout, const record_value *values,
                                    mindrecord_row *row);
void mindrecord_row_free(mindrecord_row *row);

/* Appends the members index_fields and schema of the header. */
void mindrecord_layout_print(const mindrecord_layout *layout, const char *description,
                             sli_text *text);

#endif
