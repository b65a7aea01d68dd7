/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libarchive functions, loaded by dlopen() on first use. libarchive depends on a dozen libraries,
 * including a C++ runtime, which a process that only trains does not need.
 */
#ifndef SLUICE_ARCHIVE_CALLS_H
#define SLUICE_ARCHIVE_CALLS_H

#include <archive.h>
#include <archive_entry.h>

#include <sluice/status.h>

#include "library_calls.h"

#define ARCHIVE_CALLS(X)                                                                           \
    X(archive_clear_error)                                                                         \
    X(archive_entry_clear)                                                                         \
    X(archive_entry_free)                                                                          \
    X(archive_entry_new)                                                                           \
    X(archive_entry_set_filetype)                                                                  \
    X(archive_entry_set_gid)                                                                       \
    X(archive_entry_set_mtime)                                                                     \
    X(archive_entry_set_pathname)                                                                  \
    X(archive_entry_set_perm)                                                                      \
    X(archive_entry_set_size)                                                                      \
    X(archive_entry_set_uid)                                                                       \
    X(archive_errno)                                                                               \
    X(archive_error_string)                                                                        \
    X(archive_read_append_filter)                                                                  \
    X(archive_read_data)                                                                           \
    X(archive_read_free)                                                                           \
    X(archive_read_new)                                                                            \
    X(archive_read_next_header)                                                                    \
    X(archive_read_open)                                                                           \
    X(archive_read_support_format_empty)                                                           \
    X(archive_read_support_format_raw)                                                             \
    X(archive_set_error)                                                                           \
    X(archive_write_close)                                                                         \
    X(archive_write_data)                                                                          \
    X(archive_write_finish_entry)                                                                  \
    X(archive_write_free)                                                                          \
    X(archive_write_header)                                                                        \
    X(archive_write_new)                                                                           \
    X(archive_write_open)                                                                          \
    X(archive_write_set_bytes_per_block)                                                           \
    X(archive_write_set_format_ustar)

/* Pointers to the functions above, each member named like its function. */
typedef struct archive_calls {
    ARCHIVE_CALLS(CALL_MEMBER)
} archive_calls;

/* Loads libarchive, once; see library_load(). */
sluice_status archive_calls_load(void);

/* The functions of the loaded library; valid after archive_calls_load() succeeded. */
extern const archive_calls *const archive_library;

#endif
