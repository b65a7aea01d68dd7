/* SPDX-License-Identifier: Apache-2.0 */
/* Values of JSON, and lists in JSON lines, in a build without jansson. */
#include "json_lines.h"
#include "status_int.h"

sluice_status json_fields_check(void)
{
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "this build has no jansson to read JSON; install libjansson-dev and build "
                    "again");
}

sluice_status json_fields_add_column(list_columns *columns, const char *declaration,
                                     const char *path, json_paths *paths)
{
    (void)columns, (void)declaration, (void)path, (void)paths;
    return json_fields_check();
}

sluice_status json_fields_convert(const char *text, size_t size, const char *what,
                                  const list_columns *columns, const json_paths *paths,
                                  sli_text *record)
{
    (void)text, (void)size, (void)what, (void)columns, (void)paths, (void)record;
    return json_fields_check();
}

sluice_status json_lines_columns(const char *fields, const char *text, size_t size,
                                 list_columns *columns, json_paths *paths_out, char *others,
                                 size_t others_size)
{
    (void)fields, (void)text, (void)size, (void)columns, (void)paths_out, (void)others;
    (void)others_size;
    return json_fields_check();
}

sluice_status json_lines_convert(const char *text, size_t size, const list_columns *columns,
                                 const json_paths *paths, json_records *records)
{
    (void)text, (void)size, (void)columns, (void)paths, (void)records;
    return json_fields_check();
}
