/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a MindRecord file, version 3.0, and the index that MindSpore needs to read it, FILE.db, a
 * database of SQLite. Columns become
 *
 *     u8, i8, u16, i16, i32    int32      f32              float32
 *     u32, i64                 int64      f64              float64
 *     texts                    string     byte strings     bytes
 *     arrays: the same types with a shape, but those of u8: bytes
 *
 * Other types are refused. The same calls give the same bytes.
 */
#ifndef SLUICE_MINDRECORD_WRITER_H
#define SLUICE_MINDRECORD_WRITER_H

#include "mindrecord_header.h"
#include "record_values.h"

/* A column of all rows. */
typedef struct mindrecord_field {
    const char *name; /* letters, digits and _ */
    record_kind kind;
    sluice_dtype dtype;              /* of RECORD_NUMBERS */
    uint32_t rank;                   /* of RECORD_NUMBERS; 0: one number */
    uint64_t shape[SLUICE_MAX_RANK]; /* 0: the dimension varies; at most one does */
} mindrecord_field;

typedef struct mindrecord_schema {
    const mindrecord_field *fields;
    uint32_t count; /* 1 to SLUICE_MAX_COLUMNS */
    const char *description;
    uint64_t header_size; /* 0: 2^24 */
    uint64_t page_size;   /* 0: 2^25; limit on the bytes of a row */
} mindrecord_schema;

typedef struct mindrecord_writer mindrecord_writer;

/*
 * Begins a file. `fd` is an empty file open for writing, borrowed until mindrecord_writer_close();
 * `name` is its final name without folders, by which the index refers to it. The index is written
 * to `index_path`, which must not exist. E_UNSUPPORTED: MindRecord cannot keep a column, which the
 * message names, or the build has no sqlite3. Also returns E_IO and E_NO_MEMORY.
 */
sluice_status mindrecord_writer_begin(const mindrecord_schema *schema, int fd, const char *name,
                                      const char *index_path, mindrecord_writer **writer_out);

/*
 * Appends a row; values[i] is of fields[i]. E_UNSUPPORTED: the row is larger than a page.
 * E_CORRUPT: a value is missing, or is not of its field. Also returns E_IO and E_NO_MEMORY. After
 * an error the file must be given up.
 */
sluice_status mindrecord_writer_add(mindrecord_writer *writer, const record_value *values);

/*
 * Completes file and index. `files` are the final names of all files of the dataset, and `shard` is
 * the number of this one. The caller syncs both, and renames them. E_UNSUPPORTED: there are more
 * pages than the header has room for. Also returns E_IO and E_NO_MEMORY.
 */
sluice_status mindrecord_writer_finish(mindrecord_writer *writer, const char *const *files,
                                       uint32_t count, uint32_t shard);
void mindrecord_writer_close(mindrecord_writer *writer);

/* E_UNSUPPORTED: the build has no sqlite3, or the library is missing. */
sluice_status mindrecord_writer_check(void);

#endif
