/* SPDX-License-Identifier: Apache-2.0 */
#include "archive_calls.h"

_Static_assert(ARCHIVE_VERSION_NUMBER >= 3000000 && ARCHIVE_VERSION_NUMBER < 4000000,
               "libarchive.so.13 is libarchive 3, all its releases");

static archive_calls calls;
static const library_call call_table[] = {ARCHIVE_CALLS(CALL_ENTRY)};
static loaded_library libarchive = {.file = "libarchive.so.13",
                                    .name = "libarchive",
                                    .package = "libarchive13",
                                    .calls = call_table,
                                    .count = sizeof(call_table) / sizeof(call_table[0])};

const archive_calls *const archive_library = &calls;

sluice_status archive_calls_load(void)
{
    return library_load(&libarchive);
}
