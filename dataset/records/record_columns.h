/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses columns for the values of a record file by its first records, if the user has not given
 * fields=. */
#ifndef SLUICE_RECORD_COLUMNS_H
#define SLUICE_RECORD_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

#include "image_decoder.h"
#include "record_values.h"
#include "text_int.h"

typedef struct record_columns record_columns;

/* `stage` is the name of the source, for messages. E_NO_MEMORY. */
sluice_status record_columns_create(const char *stage, record_columns **columns_out);
void record_columns_free(record_columns *columns);

/*
 * True if bytes are the file of an image: it can be opened, or begins as a file of a format does
 * whose decoder this build lacks, so that decode says what is missing.
 */
bool record_is_image(image_decoder *decoder, const uint8_t *bytes, size_t size);

/* Begins the next record. */
void record_columns_begin(record_columns *columns);

/* Notes a value of the record; RECORD_MISSING is ignored. `varies`: the number of rows may vary,
 * even if it is the same in all records that are noted. */
void record_columns_note(record_columns *columns, const char *name, size_t length,
                         const record_value *value, bool varies);

/*
 * Appends the columns in the syntax of fields=:
 *
 *     one number     its type; of an i64 named label: i32
 *     k of them      i64xk, f32xk; a number that varies: i64[N], f32[N]
 *     an array       f32x2x3; a number of rows that varies: f32[N]x3
 *     bytes          image, if they begin as a file of an image; text[N], if they are UTF-8 in all
 *                    records; else bytes[N]
 *
 * N is a power of 2, at least twice what the records have. A column has the last part of a
 * value's name after a slash, or all of it, if two have the same one; the first image is `image`.
 * If a sample cannot have all columns, the first image is taken, then values named image or label,
 * then the others in their order. The log names those left out, as it does those that cannot be a
 * column, such as several byte strings.
 * E_UNSUPPORTED: nothing is left.
 */
sluice_status record_columns_print(const record_columns *columns, sli_text *fields);

#endif
