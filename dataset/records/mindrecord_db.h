/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of a MindRecord file that MindSpore reads: a database of SQLite with a table INDEXES,
 * which has the position of each row, and the values of columns of integers, by which MindSpore's
 * samplers select rows; and a table SHARD_NAME, which has the name of the file.
 */
#ifndef SLUICE_MINDRECORD_DB_H
#define SLUICE_MINDRECORD_DB_H

#include <stdint.h>

#include <sluice/status.h>
#include <sluice/tensor.h>

typedef struct mindrecord_db mindrecord_db;

/* The position of a row. Offsets are relative to their page; a row begins with its length. */
typedef struct mindrecord_position {
    uint64_t row;
    uint64_t raw_page;
    uint64_t raw_begin;
    uint64_t raw_end;
    uint64_t group;
    uint64_t blob_page;
    uint64_t blob_begin;
    uint64_t blob_end;
} mindrecord_position;

/* E_UNSUPPORTED: the build has no sqlite3, or the library is missing. */
sluice_status mindrecord_db_check(void);

/*
 * Creates the index of a file; `columns` are the names of its columns of integers, at most
 * SLUICE_MAX_COLUMNS. E_IO: it cannot be created, or exists already. Also returns E_NO_MEMORY and
 * E_UNSUPPORTED.
 */
sluice_status mindrecord_db_create(const char *path, const char *name, const char *const *columns,
                                   uint32_t count, mindrecord_db **db_out);

/* Adds a row; numbers[i] is its value of columns[i]. */
sluice_status mindrecord_db_add(mindrecord_db *db, const mindrecord_position *position,
                                const int64_t *numbers);

/* Completes the file. */
sluice_status mindrecord_db_finish(mindrecord_db *db);
void mindrecord_db_close(mindrecord_db *db);

#endif
