/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a record file: a stored one, that of another tool, or a scan. */
#ifndef SLUICE_RECORD_INDEX_H
#define SLUICE_RECORD_INDEX_H

#include "record_format.h"

/*
 * Finds the records of an open file. `folder` is where indexes are stored, "none", or "auto":
 * ${XDG_CACHE_HOME:-~/.cache}/sluice for files of 16 MiB or more, none for smaller ones. A stored
 * index is used if the file's size, times of modification and change, and inode are the same.
 * Returns the errors of record_format.scan().
 */
sluice_status record_index_find(const record_format *format, const record_input *file,
                                const char *folder, record_index *index);

/*
 * Reads the index that another tool has written beside a file. END_OF_DATA: there is none.
 * E_CORRUPT: it cannot be read, or its records do not cover the whole file; the message has its
 * path. Also returns E_NO_MEMORY.
 */
sluice_status record_index_read_foreign(const record_format *format, const record_input *file,
                                        record_index *index);

#endif
