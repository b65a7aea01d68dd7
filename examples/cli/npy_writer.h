/* SPDX-License-Identifier: Apache-2.0 */
/* Writes numpy's .npy files: format version 1.0, C order. */
#ifndef SLUICE_NPY_WRITER_H
#define SLUICE_NPY_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <sluice/channel.h>

#include "safe_file.h"

/* Writes the header of an array of `shape` (rank); the caller writes the elements after it. numpy
 * has no bf16, so the bits of bf16 are written as u16. Returns false with errno set; EINVAL if
 * numpy has no type for dtype.
 */
bool npy_write_header(FILE *file, sluice_dtype dtype, const uint64_t *shape, uint32_t rank);

/* A folder with one .npy file per column of the batches. A zeroed struct is empty. Functions that
 * return false have printed an error. */
typedef struct npy_folder {
    const char *path; /* borrowed */
    const sluice_column *columns;
    uint32_t count;
    bool is_made; /* created by npy_folder_create() */
    safe_file files[SLUICE_MAX_COLUMNS];
} npy_folder;

/*
 * Creates the folder if it is missing, and begins the files: `rows` rows of each column of `info`,
 * which is borrowed.
 */
bool npy_folder_create(npy_folder *folder, const char *path, const sluice_channel_info *info,
                       uint64_t rows);

/* Adds all rows of a batch. */
bool npy_folder_append(npy_folder *folder, const sluice_batch *batch);

/* Completes the files. They are renamed to their final names once all are complete. */
bool npy_folder_publish(npy_folder *folder);

/* Frees everything, and deletes files that are not published. */
void npy_folder_discard(npy_folder *folder);

#endif
