/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular files that are read in parts, by pread(). Error texts do not name the path; the caller
 * adds it.
 */
#ifndef SLUICE_PLAIN_FILE_H
#define SLUICE_PLAIN_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

#include "descriptor_int.h"

/*
 * Opens a file for reading and returns its descriptor, which the caller closes, and its size.
 * `interrupt` can end a wait for a free descriptor; it may be NULL. E_IO; E_UNSUPPORTED: not a
 * regular file.
 */
sluice_status plain_file_open(const char *path, const sli_interrupt *interrupt, int *fd_out,
                              uint64_t *size_out);

/* Reads `size` bytes at an offset; *got_out is smaller if the file ends first. E_IO. */
sluice_status plain_file_read(int fd, uint64_t offset, void *bytes, size_t size, size_t *got_out);

#endif
