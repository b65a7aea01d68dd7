/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the argument fields= of webdataset, which maps members of a sample to columns. It is a
 * comma-separated list of NAME:FIELD. FIELD is the part of the member's name after its first dot;
 * its extension determines the column's type:
 *
 *     NAME:jpg         jpg, jpeg, png, bmp, gif, ppm, pgm, pbm, pnm: an image
 *     NAME:png@mask    a mask of class numbers, transformed like the image
 *     NAME:cls         an integer, i32
 *     NAME:npy         an array; dtype and shape are those of the first sample's array
 *     NAME:npy[N]      an array of up to N rows, of any number in each sample, and NAME_length i32
 *     NAME:npy[N]@ROWS the same, with as many rows as ROWS has, an earlier NAME:npy[N]
 *     NAME:txt[N]      any other extension: up to N bytes, u8 (N), and NAME_length i32
 *     NAME:json.a.b    the integer at a path of the JSON member, i32; a.0.b: the first of a list
 *     NAME:KIND=json.a.b  a value of KIND, as in the header of a list (list_columns.h)
 *     NAME:ROLE=npy    an array of a role: image, boxes[N], points[N] (web_roles.h)
 *     NAME:jpg/png     either extension; the sample has one of these members
 *
 * Columns of one JSON member share a field. With "auto" the list is found (web_fields_auto.h).
 */
#ifndef SLUICE_WEB_FIELDS_H
#define SLUICE_WEB_FIELDS_H

#include "stage.h"
#include "web_json.h"
#include "web_roles.h"

/* Limit on the bytes of a row of a column NAME:FIELD[N]. */
enum { WEB_MOST_ROW = 1 << 26 };

typedef enum web_kind {
    WEB_IMAGE,   /* the first image */
    WEB_FURTHER, /* a further image */
    WEB_MASK,
    WEB_NUMBER,
    WEB_ARRAY,
    WEB_BYTES,
    WEB_JSON
} web_kind;

typedef struct web_field {
    web_kind kind;
    char name[SLUICE_NAME_SIZE];
    char field[40];
    char others[48]; /* further extensions of the member, with commas; "": none */
    web_role role;   /* of WEB_ARRAY */
    bool is_further; /* WEB_PIXELS: not the first image */
    point_pairs pairs;
    uint32_t most;   /* largest number of bytes, or of rows of an array; 0: the size is fixed */
    int rows_of;     /* the field that has as many rows in each sample; -1: none */
    uint32_t column; /* index of its column; web_field_has_length(): the next one is the length */
    web_json *json;  /* WEB_JSON: its columns; owned by web_fields */
} web_field;

typedef struct web_fields {
    uint32_t count;
    uint32_t column_count;
    web_field fields[SLUICE_MAX_COLUMNS];
} web_fields;

/* True if the field has a column NAME_length. */
bool web_field_has_length(const web_field *field);

/* Returns E_INVALID for a malformed list. The error text names the fault and a correct form. Also
 * returns E_UNSUPPORTED and E_NO_MEMORY. */
sluice_status web_fields_parse(const char *text, web_fields *fields_out);
void web_fields_free(web_fields *fields);

/*
 * Writes the columns of the fields into a schema. types[i] is the dtype and shape of field i if it
 * is an array, with any number of rows if that varies. Returns E_INVALID for invalid or duplicate
 * names.
 */
sluice_status web_fields_schema(const web_fields *fields, const sluice_column *types,
                                stage_schema *schema);

/*
 * Returns the index of a field by the part of a member's name after its first dot; -1: the member
 * belongs to no field.
 */
int web_fields_find(const web_fields *fields, const char *member);

#endif
