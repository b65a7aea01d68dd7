/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a list: records whose fields are separated by tabs (TSV) or commas (CSV, RFC 4180). A
 * field may be in double quotes. It may then contain separators and line breaks, and quotes in it
 * are doubled. Lines end in LF or CRLF.
 */
#ifndef SLUICE_LIST_TEXT_H
#define SLUICE_LIST_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* A field of the text, without its enclosing quotes; borrowed from the text. */
typedef struct list_field {
    const char *text;
    size_t length;
    bool quoted; /* the field was quoted, so quotes in `text` are doubled */
} list_field;

/* A position in the text of a list. */
typedef struct list_cursor {
    const char *at;
    const char *end;
    char separator;
} list_cursor;

/* Moves to the next record; skips empty lines. False: the end of the text was reached. */
bool list_begin_record(list_cursor *cursor);

/*
 * Reads the next field of a record. *last_out: the field is the last one of its record, and the
 * cursor is after the record's line break. E_CORRUPT: the closing quote is missing, or text follows
 * it.
 */
sluice_status list_next_field(list_cursor *cursor, list_field *field_out, bool *last_out);

/*
 * Copies a field, replaces doubled quotes by single ones, and terminates the copy. E_CORRUPT: the
 * copy does not fit, or the field contains a zero byte.
 */
sluice_status list_copy_field(const list_field *field, char *text, size_t size);

/* Returns the text without the blanks around it; removes those at its end. */
char *list_trim(char *text);

#endif
