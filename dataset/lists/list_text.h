/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of a list: records of fields, with tabs (TSV) or commas (CSV, RFC 4180) between them. A
 * field may be in double quotes, and then holds separators and line breaks; a quote in it is
 * doubled. Lines end in LF or CRLF.
 */
#ifndef SLUICE_LIST_TEXT_H
#define SLUICE_LIST_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* A field as it stands in the text; of a quoted one what is between the quotes. Borrowed. */
typedef struct list_field {
    const char *text;
    size_t length;
    bool quoted; /* its quotes are doubled still */
} list_field;

/* A place in a text. */
typedef struct list_cursor {
    const char *begin; /* of the text */
    const char *at;
    const char *end;
    char separator;
} list_cursor;

/* Skips empty lines. False: the text has ended. */
bool list_begin_record(list_cursor *cursor);

/*
 * Reads the next field of a record; *last_out: it was the record's last, and the cursor is behind
 * its line break. E_CORRUPT: a quote without its end, or text behind it.
 */
sluice_status list_next_field(list_cursor *cursor, list_field *field_out, bool *last_out);

/* Copies a field without its doubled quotes, and a zero. E_CORRUPT: it is longer, or has a zero. */
sluice_status list_copy_field(const list_field *field, char *text, size_t size);

/* The line and column, both from 1, of a place in the text. */
void list_place(const list_cursor *cursor, const char *at, uint64_t *line_out,
                uint64_t *column_out);

#endif
