/* SPDX-License-Identifier: Apache-2.0 */
/* IDX files of bytes: rows are read by pread(), or from memory where the file is compressed. */
#ifndef SLUICE_IDX_FILE_H
#define SLUICE_IDX_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

#include "idx_header.h"

typedef struct idx_file {
    idx_header header;
    int fd;          /* -1: the elements are in memory */
    uint8_t *bytes;  /* the file, decompressed; NULL: it is read as needed */
    uint64_t memory; /* bytes of it */
} idx_file;

/*
 * Opens a file whose length is that of its header. A compressed one, of at most 4 GiB without
 * compression, is read into memory, and so is any with `load`. Errors name the file. E_IO;
 * E_CORRUPT: another length, a damaged header, damaged compression; E_UNSUPPORTED: no regular file,
 * a type of elements that is not read, larger than 4 GiB, or this build has no libarchive;
 * E_NO_MEMORY.
 */
sluice_status idx_file_open(const char *path, bool load, idx_file *file_out);
void idx_file_close(idx_file *file);

/* Rows that are in memory; NULL: they are not. */
const uint8_t *idx_file_rows(const idx_file *file);

/* Reads a row of a file that is not in memory. Errors do not name it. E_IO, E_CORRUPT. */
sluice_status idx_file_read(const idx_file *file, uint64_t row, uint8_t *to);

#endif
