/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of packs (`sluice pack`) and conversions (`sluice convert`) in the list of a source:
 * samples that are missing or wrong are an error or a warning, whatever the source.
 */
#ifndef SLUICE_PACK_FILES_H
#define SLUICE_PACK_FILES_H

#include <stdint.h>

#include "file_list.h"

/* What the folders in a list have together by their pack.json. Zeros: no folder is a complete pack
 * or conversion in the format of the source. */
typedef struct pack_totals {
    uint64_t files;
    uint64_t samples;
} pack_totals;

/*
 * Checks all files of a list, and the folders that it names as a whole. E_CORRUPT: a file lies
 * beside pack.corrupt, or a folder lacks a file that its pack.json counts, or has one more; the
 * message names it and says what to do. Files of packs that are not complete are one warning. Pipes
 * are not looked at. Also returns E_IO, E_UNSUPPORTED and E_NO_MEMORY.
 */
sluice_status pack_files_check(const file_list *list, pack_totals *totals_out);

/*
 * Compares the samples that were found in all files of a list with the totals of
 * pack_files_check(), unless the list has other files, too. E_CORRUPT: they differ; `files` is the
 * argument of the source, for the message.
 */
sluice_status pack_files_check_samples(const file_list *list, const pack_totals *totals,
                                       uint64_t samples, const char *files);

#endif
