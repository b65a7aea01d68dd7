/* SPDX-License-Identifier: Apache-2.0 */
/* Where the index of a file of records comes from: a kept one, one of another tool, or a scan. */
#ifndef SLUICE_RECORD_INDEX_H
#define SLUICE_RECORD_INDEX_H

#include "record_format.h"

/*
 * Finds the records of an open file. `folder`: where indexes are kept, "none", or "auto" for
 * ${XDG_CACHE_HOME:-~/.cache}/sluice, which keeps those of files from 16 MiB on. A kept index is
 * valid for the file's size, its times of modification and of change, and its inode. Returns the
 * errors of record_format.scan().
 */
sluice_status record_index_find(const record_format *format, const record_input *file,
                                const char *folder, record_index *index);

#endif
