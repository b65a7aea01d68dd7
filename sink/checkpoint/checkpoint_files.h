/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice_files`, the list of a checkpoint's files, one line "BYTES PATH" per file. With the list a
 * missing file or a wrong size, e.g. after an incomplete copy, is detected before any file is
 * loaded.
 */
#ifndef SLUICE_CHECKPOINT_FILES_H
#define SLUICE_CHECKPOINT_FILES_H

#include <sluice/status.h>

/* Writes the list of all files in the folder `name`. `path`: the folder's path, for error texts. */
sluice_status checkpoint_files_write(int at_fd, const char *name, const char *path);

/* Checks the folder `name` against its list. Returns E_CORRUPT if a file is missing or has another
 * size, or if the list is damaged. */
sluice_status checkpoint_files_check(int at_fd, const char *name, const char *path);

#endif
