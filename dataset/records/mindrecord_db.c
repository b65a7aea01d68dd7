/* SPDX-License-Identifier: Apache-2.0 */
#include "mindrecord_db.h"

#include <sqlite3.h>
#include <string.h>

#include "alloc_int.h"
#include "library_calls.h"
#include "status_int.h"
#include "text_int.h"

#define SQLITE_CALLS(X)                                                                            \
    X(sqlite3_bind_int64)                                                                          \
    X(sqlite3_bind_text)                                                                           \
    X(sqlite3_close)                                                                               \
    X(sqlite3_errmsg)                                                                              \
    X(sqlite3_exec)                                                                                \
    X(sqlite3_finalize)                                                                            \
    X(sqlite3_open_v2)                                                                             \
    X(sqlite3_prepare_v2)                                                                          \
    X(sqlite3_reset)                                                                               \
    X(sqlite3_step)

static struct {
    SQLITE_CALLS(CALL_MEMBER)
} calls;
static const library_call call_table[] = {SQLITE_CALLS(CALL_ENTRY)};
static loaded_library sqlite = {.file = "libsqlite3.so.0",
                                .name = "sqlite3",
                                .package = "libsqlite3-0",
                                .calls = call_table,
                                .count = sizeof(call_table) / sizeof(call_table[0])};

enum { POSITIONS = sizeof(mindrecord_position) / sizeof(uint64_t) };

/* The columns of a position, in the order of mindrecord_position. */
static const char *const position_names[POSITIONS] = {
    "ROW_ID",       "PAGE_ID_RAW",  "PAGE_OFFSET_RAW",  "PAGE_OFFSET_RAW_END",
    "ROW_GROUP_ID", "PAGE_ID_BLOB", "PAGE_OFFSET_BLOB", "PAGE_OFFSET_BLOB_END"};

struct mindrecord_db {
    sqlite3 *db;
    sqlite3_stmt *insert;
    uint32_t count; /* columns of integers */
};

sluice_status mindrecord_db_check(void)
{
    return library_load(&sqlite);
}

static sluice_status fail_db(const mindrecord_db *db, int result, const char *what)
{
    return result == SQLITE_NOMEM
               ? sli_fail(SLUICE_E_NO_MEMORY, "the index of a MindRecord file")
               : sli_fail(SLUICE_E_IO, "cannot %s the index of a MindRecord file: %.200s", what,
                          db->db != NULL ? calls.sqlite3_errmsg(db->db) : "no memory");
}

static sluice_status run_sql(mindrecord_db *db, const char *sql)
{
    const int result = calls.sqlite3_exec(db->db, sql, NULL, NULL, NULL);

    return result == SQLITE_OK ? SLUICE_OK : fail_db(db, result, "create");
}

static sluice_status prepare(mindrecord_db *db, const char *sql, sqlite3_stmt **statement_out)
{
    const int result = calls.sqlite3_prepare_v2(db->db, sql, -1, statement_out, NULL);

    return result == SQLITE_OK ? SLUICE_OK : fail_db(db, result, "create");
}

/* Runs a prepared statement that has no results. */
static sluice_status run_step(mindrecord_db *db, sqlite3_stmt *statement)
{
    const int result = calls.sqlite3_step(statement);

    (void)calls.sqlite3_reset(statement);
    return result == SQLITE_DONE ? SLUICE_OK : fail_db(db, result, "write");
}

/* Takes the text of SQL and runs or prepares it; frees the text. */
static sluice_status take_sql(mindrecord_db *db, sli_text *sql, sqlite3_stmt **statement_out)
{
    const sluice_status st = sql->failed             ? sli_fail(SLUICE_E_NO_MEMORY, "a table")
                             : statement_out != NULL ? prepare(db, sql->data, statement_out)
                                                     : run_sql(db, sql->data);

    sli_text_free(sql);
    return st;
}

static sluice_status create_rows(mindrecord_db *db, const char *const *columns)
{
    sli_text sql = {0};

    sli_text_add(&sql, "CREATE TABLE INDEXES(");
    for (uint32_t i = 0; i < POSITIONS; i++) {
        sli_text_add(&sql, "%s%s INT NOT NULL", i > 0 ? ", " : "", position_names[i]);
    }
    for (uint32_t i = 0; i < db->count; i++) {
        sli_text_add(&sql, ", INC_%u INT, %s_0 INTEGER", i, columns[i]);
    }
    sli_text_add(&sql, ", PRIMARY KEY(ROW_ID");
    for (uint32_t i = 0; i < db->count; i++) {
        sli_text_add(&sql, ", INC_%u", i);
    }
    sli_text_add(&sql, "));");
    return take_sql(db, &sql, NULL);
}

static sluice_status prepare_insert(mindrecord_db *db, const char *const *columns)
{
    sli_text sql = {0};

    sli_text_add(&sql, "INSERT INTO INDEXES(");
    for (uint32_t i = 0; i < POSITIONS; i++) {
        sli_text_add(&sql, "%s%s", i > 0 ? ", " : "", position_names[i]);
    }
    for (uint32_t i = 0; i < db->count; i++) {
        sli_text_add(&sql, ", INC_%u, %s_0", i, columns[i]);
    }
    sli_text_add(&sql, ") VALUES(?");
    for (uint32_t i = 1; i < POSITIONS; i++) {
        sli_text_add(&sql, ", ?");
    }
    for (uint32_t i = 0; i < db->count; i++) {
        sli_text_add(&sql, ", 0, ?");
    }
    sli_text_add(&sql, ");");
    return take_sql(db, &sql, &db->insert);
}

static sluice_status add_name(mindrecord_db *db, const char *name)
{
    sqlite3_stmt *statement = NULL;
    sluice_status st = run_sql(db, "CREATE TABLE SHARD_NAME(NAME TEXT NOT NULL);");

    st = st == SLUICE_OK ? prepare(db, "INSERT INTO SHARD_NAME(NAME) VALUES(?);", &statement) : st;
    if (st == SLUICE_OK) {
        const int result = calls.sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);

        st = result == SQLITE_OK ? run_step(db, statement) : fail_db(db, result, "write");
    }
    (void)calls.sqlite3_finalize(statement);
    return st;
}

sluice_status mindrecord_db_create(const char *path, const char *name, const char *const *columns,
                                   uint32_t count, mindrecord_db **db_out)
{
    mindrecord_db *db;
    int result;
    sluice_status st = mindrecord_db_check();

    *db_out = NULL;
    if (st != SLUICE_OK) {
        return st;
    }
    db = sli_calloc(1, sizeof(*db));
    if (db == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the index of a MindRecord file");
    }
    db->count = count;
    result = calls.sqlite3_open_v2(path, &db->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    st = result == SQLITE_OK ? SLUICE_OK : fail_db(db, result, "create");
    /* The file gets its name when it is complete, so it needs no journal. */
    st = st == SLUICE_OK ? run_sql(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
                                       "BEGIN EXCLUSIVE;")
                         : st;
    st = st == SLUICE_OK ? create_rows(db, columns) : st;
    st = st == SLUICE_OK ? add_name(db, name) : st;
    st = st == SLUICE_OK ? prepare_insert(db, columns) : st;
    if (st != SLUICE_OK) {
        mindrecord_db_close(db);
        return st;
    }
    *db_out = db;
    return SLUICE_OK;
}

sluice_status mindrecord_db_add(mindrecord_db *db, const mindrecord_position *position,
                                const int64_t *numbers)
{
    const uint64_t places[POSITIONS] = {
        position->row,   position->raw_page,  position->raw_begin,  position->raw_end,
        position->group, position->blob_page, position->blob_begin, position->blob_end};
    int result = SQLITE_OK;

    for (int i = 0; i < POSITIONS && result == SQLITE_OK; i++) {
        result = calls.sqlite3_bind_int64(db->insert, i + 1, (sqlite3_int64)places[i]);
    }
    for (int i = 0; i < (int)db->count && result == SQLITE_OK; i++) {
        result = calls.sqlite3_bind_int64(db->insert, POSITIONS + i + 1, numbers[i]);
    }
    return result == SQLITE_OK ? run_step(db, db->insert) : fail_db(db, result, "write");
}

sluice_status mindrecord_db_finish(mindrecord_db *db)
{
    return run_sql(db, "COMMIT;");
}

void mindrecord_db_close(mindrecord_db *db)
{
    if (db != NULL) {
        (void)calls.sqlite3_finalize(db->insert);
        (void)calls.sqlite3_close(db->db);
        sli_free(db);
    }
}
