/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a checkpoint: the list `sluice_files` of the files that model.save wrote, one line
 * "CRC32C BYTES PATH" per file, and the files of the library itself. With the list a missing,
 * incomplete or changed file is detected before any file is loaded. `sluice_state` has the checksum
 * of the list.
 */
#ifndef SLUICE_CHECKPOINT_FILES_H
#define SLUICE_CHECKPOINT_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* The library's own files in a checkpoint's folder. */
#define CHECKPOINT_STATE "sluice_state"
#define CHECKPOINT_LIST  "sluice_files"
#define CHECKPOINT_DONE  "DONE"

/* What a list is checked against. */
typedef struct checkpoint_check {
    bool has_sums;  /* false: the list of a state of version 2, with lines "BYTES PATH" */
    uint64_t sum;   /* CRC-32C of the list; has_sums only */
    uint32_t rank;  /* ranks share the reading: this rank sums its part of the files ... */
    uint32_t world; /* ... but checks the sizes of all */
} checkpoint_check;

/* The lines of the files that a rank has summed, and the number of files of all ranks. Zeroed: no
 * lines. */
typedef struct checkpoint_part {
    char *lines; /* freed by sluice_string_free() */
    uint64_t files;
} checkpoint_part;

/*
 * Sums this rank's share of the files in the folder `name`, once all ranks have saved. Rank 0
 * returns its lines; the other ranks write theirs to a file there. `path`: the folder's path, for
 * error texts. Returns E_INVALID if a file's name contains a newline.
 */
sluice_status checkpoint_files_sum(int at_fd, const char *name, const char *path, uint32_t rank,
                                   uint32_t world, checkpoint_part *part);

/* On rank 0, once all ranks have summed: writes the list and returns its checksum. Sums all files
 * itself if a rank did not see a file. */
sluice_status checkpoint_files_write(int at_fd, const char *name, const char *path, uint32_t world,
                                     checkpoint_part *part, uint64_t *sum_out);

/* Checks the folder `name` against its list. Returns E_CORRUPT if a file is missing or differs, or
 * if the list is corrupt. */
sluice_status checkpoint_files_check(int at_fd, const char *name, const char *path,
                                     const checkpoint_check *check);

/* Returns E_INVALID if model.save has written one of the library's own files into the folder
 * `name`, which are DONE, sluice_state and all names that begin with sluice_files. */
sluice_status checkpoint_files_check_saved(int at_fd, const char *name, const char *path);

/* Checks that the library's file `file` in the folder fd is a regular file; stores its size.
 * Returns E_CORRUPT, also if the file is missing. */
sluice_status checkpoint_file_check(int fd, const char *path, const char *file, size_t *size_out);

/* Reads one of the library's text files of up to `most` bytes, to be freed by sli_free(). Never
 * waits for a FIFO. Returns E_CORRUPT or E_NO_MEMORY. */
sluice_status checkpoint_file_read(int fd, const char *path, const char *file, size_t most,
                                   char **text_out);

#endif
