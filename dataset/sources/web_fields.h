/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The argument fields= of webdataset: members of a sample as columns. It is a list with commas of
 * NAME:FIELD, where FIELD is the rest of a member's name behind its first dot; what it ends in says
 * what it is:
 *
 *     NAME:jpg         jpg, jpeg, png, ppm, pgm, pnm: the image, at most one
 *     NAME:png@mask    an image of class numbers, which follows the image
 *     NAME:cls         a whole number, i32
 *     NAME:npy         an array of the type and shape of the first sample's
 *     NAME:txt[N]      any other: at most N bytes, u8 (N), and NAME_length i32
 */
#ifndef SLUICE_WEB_FIELDS_H
#define SLUICE_WEB_FIELDS_H

#include "stage.h"

typedef enum web_kind { WEB_IMAGE, WEB_MASK, WEB_NUMBER, WEB_ARRAY, WEB_BYTES } web_kind;

typedef struct web_field {
    web_kind kind;
    char name[SLUICE_NAME_SIZE];
    char field[40];
    uint32_t most;   /* of WEB_BYTES */
    uint32_t column; /* that of its length is behind it */
} web_field;

typedef struct web_fields {
    uint32_t count;
    uint32_t column_count;
    web_field fields[SLUICE_MAX_COLUMNS];
} web_fields;

/* E_INVALID: the text says what is wrong and what to write. */
sluice_status web_fields_parse(const char *text, web_fields *fields_out);

/*
 * The columns; types[i] is the type and shape of field i where it is an array. E_INVALID: bad or
 * equal names.
 */
sluice_status web_fields_schema(const web_fields *fields, const sluice_column *types,
                                stage_schema *schema);

/* The field that a member has, by what stands behind the first dot of its name; -1: none. */
int web_fields_find(const web_fields *fields, const char *field);

#endif
