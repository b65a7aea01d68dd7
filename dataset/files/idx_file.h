/* SPDX-License-Identifier: Apache-2.0 */
/* An open IDX file, whose rows are read by pread(), or from memory if the file was loaded. */
#ifndef SLUICE_IDX_FILE_H
#define SLUICE_IDX_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

#include "idx_header.h"

typedef struct idx_file {
    idx_header header;
    int fd;          /* -1: the file is in memory */
    uint8_t *bytes;  /* the whole file, decompressed; NULL: rows are read from fd */
    uint64_t memory; /* allocated bytes */
} idx_file;

/*
 * Opens a file, whose length must match its header. A compressed file, of up to 4 GiB when
 * decompressed, is loaded into memory; with `load` any file is. Errors name the file. E_IO: the
 * file cannot be read; E_CORRUPT: another length, a corrupt header, or corrupt compression;
 * E_UNSUPPORTED: not a regular file, an unsupported element type, larger than 4 GiB, or this build
 * has no libarchive; E_NO_MEMORY.
 */
sluice_status idx_file_open(const char *path, bool load, idx_file *file_out);
void idx_file_close(idx_file *file);

/* Returns the rows of a file in memory; NULL: the file is not in memory. */
const uint8_t *idx_file_rows(const idx_file *file);

/*
 * Reads a row of a file that is not in memory. Error texts do not name the file. Returns E_IO or
 * E_CORRUPT on failure.
 */
sluice_status idx_file_read(const idx_file *file, uint64_t row, uint8_t *to);

#endif
