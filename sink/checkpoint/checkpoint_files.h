/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `sluice_files`, the list of a checkpoint's files, a line "BYTES PATH" each: a copy that lost one,
 * or a rank's file that somebody deleted, is noticed before anything is loaded.
 */
#ifndef SLUICE_CHECKPOINT_FILES_H
#define SLUICE_CHECKPOINT_FILES_H

#include <sluice/status.h>

/* Writes the list of all files in the folder `name`. `path` is what errors call it. */
sluice_status checkpoint_files_write(int at_fd, const char *name, const char *path);

/* E_CORRUPT: a file is missing or has another size, or the list is damaged. */
sluice_status checkpoint_files_check(int at_fd, const char *name, const char *path);

#endif
