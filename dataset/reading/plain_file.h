/* SPDX-License-Identifier: Apache-2.0 */
/* Regular files that are read in parts, by pread(). Errors leave out the path, which the caller
 * adds. */
#ifndef SLUICE_PLAIN_FILE_H
#define SLUICE_PLAIN_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

#include "descriptor_int.h"

/*
 * Opens a file for reading, and gives its descriptor, which the caller closes, and its size.
 * `interrupt` ends a wait for a free descriptor; NULL: nothing does. E_IO; E_UNSUPPORTED: it is no
 * regular file.
 */
sluice_status plain_file_open(const char *path, const sli_interrupt *interrupt, int *fd_out,
                              uint64_t *size_out);

/* Reads `size` bytes at an offset; *got_out is smaller where the file ends before them. E_IO. */
sluice_status plain_file_read(int fd, uint64_t offset, void *bytes, size_t size, size_t *got_out);

#endif
