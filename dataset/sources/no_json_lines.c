/* SPDX-License-Identifier: Apache-2.0 */
/* Lists in JSON lines in a build without jansson. */
#include "json_lines.h"
#include "status_int.h"

sluice_status json_lines_columns(const char *fields, const char *text, size_t size,
                                 list_columns *columns, json_paths *paths_out, char *others,
                                 size_t others_size)
{
    (void)fields, (void)text, (void)size, (void)columns, (void)paths_out, (void)others;
    (void)others_size;
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "this build has no jansson to read JSON lines; install libjansson-dev and "
                    "build again");
}

sluice_status json_lines_convert(const char *text, size_t size, const list_columns *columns,
                                 const json_paths *paths, json_records *records)
{
    (void)text, (void)size, (void)columns, (void)paths, (void)records;
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "this build has no jansson to read JSON lines; install libjansson-dev and "
                    "build again");
}
