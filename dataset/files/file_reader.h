/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a whole file into a worker's buffer. */
#ifndef SLUICE_FILE_READER_H
#define SLUICE_FILE_READER_H

#include "source.h"

/*
 * Reads folder_fd/path (folder_fd may be AT_FDCWD) into io->bytes, and sets bytes and size of
 * data_out. E_IO: the file cannot be opened or read, is not a regular file, or is
 * larger than 1 GiB. Error texts do not name the path; the caller adds it.
 */
sluice_status file_read(int folder_fd, const char *path, sample_io *io, sample_data *data_out);

/* The same with a limit on the size. */
sluice_status file_read_most(int folder_fd, const char *path, uint64_t most, sample_io *io,
                             sample_data *data_out);

#endif
