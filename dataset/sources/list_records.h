/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a list in memory: its columns, where each record begins, and which are bad. A
 * record is parsed again whenever its sample is read.
 */
#ifndef SLUICE_LIST_RECORDS_H
#define SLUICE_LIST_RECORDS_H

#include "json_lines.h"
#include "list_columns.h"
#include "list_lines.h"
#include "list_text.h"

typedef struct list_records {
    char *text; /* text of the whole list; owned */
    size_t size;
    char separator;
    list_lines lines;
    json_records json; /* of JSON lines, of which the text was made, with the columns; its `lines`
                          are NULL for other lists, and its text is NULL */
    uint64_t *offsets; /* of each record in the text */
    size_t capacity;
    uint64_t count;
    list_columns columns; /* its schema.image is -1 at first */
    const char *classes;  /* file of the names of classes; "": they are those of the list */
} list_records;

/*
 * Makes the text of a list from the text in JSON lines, and its columns by `fields`. `others`: the
 * keys that are in no column. Returns the errors of json_lines.h.
 */
sluice_status list_records_convert(list_records *list, const char *fields, char *others,
                                   size_t others_size);

/*
 * Reads the header of the text, if it has one, checks all records, and stores their offsets. Bad
 * records are bad samples: they are counted in a warning. `path` names the list in messages. Fails
 * if there are no records, or all are bad; or, without a header, if the first one is bad, which may
 * be a header of another form. Also returns E_NO_MEMORY.
 */
sluice_status list_records_find(list_records *list, const char *path);
void list_records_free(list_records *list);

/* Returns the names of classes of the column label, or without such a column those of the first
 * column of kind class; NULL: it has numbers, or there is none. */
const vocabulary *list_records_names(const list_records *list);

/* Bytes that the text and the tables of its records take. */
uint64_t list_records_memory(const list_records *list);

/* The first field of a record. */
list_cursor list_records_at(const list_records *list, uint64_t index);

/*
 * Writes all columns of a record that are not paths into a row, as list_write_field() does.
 * *image_out: the field with the path of the first image, if there is one. E_CORRUPT: the record is
 * bad; the error begins with its line and column.
 */
sluice_status list_records_parse(const list_records *list, uint64_t index, void *const *row,
                                 list_field *image_out);

#endif
