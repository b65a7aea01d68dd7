/* SPDX-License-Identifier: Apache-2.0 */
/* The files of numpy: .npy, format version 1.0, C order. */
#ifndef SLUICE_NPY_WRITER_H
#define SLUICE_NPY_WRITER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <sluice/channel.h>

#include "safe_file.h"

/*
 * Writes the header of an array of `shape` (rank), whose bytes follow it. bf16, for which numpy has
 * no type, is u16, its bits. False, with errno set: EINVAL for a type that no array has.
 */
bool npy_write_header(FILE *file, sluice_dtype dtype, const uint64_t *shape, uint32_t rank);

/* A folder with a file for each column of batches. Zero is none. Calls say what failed. */
typedef struct npy_folder {
    const char *path; /* borrowed */
    const sluice_column *columns;
    uint32_t count;
    bool is_made; /* by us */
    safe_file files[SLUICE_MAX_COLUMNS];
} npy_folder;

/*
 * Makes the folder when it is missing, and begins the files: `rows` rows of each column of `info`,
 * which is borrowed.
 */
bool npy_folder_create(npy_folder *folder, const char *path, const sluice_channel_info *info,
                       uint64_t rows);

/* Adds all rows of a batch. */
bool npy_folder_append(npy_folder *folder, const sluice_batch *batch);

/* Ends the files. They get their names when all of them are complete. */
bool npy_folder_publish(npy_folder *folder);

/* Frees all, and deletes what is not published. */
void npy_folder_discard(npy_folder *folder);

#endif
