/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads parts of regular files with pread(). Error texts do not name the path; the caller adds it.
 */
#ifndef SLUICE_PLAIN_FILE_H
#define SLUICE_PLAIN_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

#include "descriptor_int.h"

/*
 * Opens a file for reading. Returns its size and its descriptor, which the caller closes.
 * `interrupt` can end a wait for a free descriptor; it may be NULL. E_UNSUPPORTED: the file is not
 * a regular file. Also returns E_IO.
 */
sluice_status plain_file_open(const char *path, const sli_interrupt *interrupt, int *fd_out,
                              uint64_t *size_out);

/*
 * Reads `size` bytes at an offset; *got_out is smaller if the file ends earlier. Returns E_IO on
 * failure.
 */
sluice_status plain_file_read(int fd, uint64_t offset, void *bytes, size_t size, size_t *got_out);

#endif
