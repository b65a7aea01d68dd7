/* SPDX-License-Identifier: Apache-2.0 */
/* Indexes of MindRecord files, in a build without sqlite3. */
#include "mindrecord_db.h"
#include "status_int.h"

sluice_status mindrecord_db_check(void)
{
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "this build has no sqlite3 to write the indexes of MindRecord files; install "
                    "libsqlite3-dev and build again");
}

sluice_status mindrecord_db_create(const char *path, const char *name, const char *const *columns,
                                   uint32_t count, mindrecord_db **db_out)
{
    (void)path, (void)name, (void)columns, (void)count;
    *db_out = NULL;
    return mindrecord_db_check();
}

sluice_status mindrecord_db_add(mindrecord_db *db, const mindrecord_position *position,
                                const int64_t *numbers)
{
    (void)db, (void)position, (void)numbers;
    return mindrecord_db_check();
}

sluice_status mindrecord_db_finish(mindrecord_db *db)
{
    (void)db;
    return mindrecord_db_check();
}

void mindrecord_db_close(mindrecord_db *db)
{
    (void)db;
}
