/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refuses compressed files, for readers that need positions in a file and so do not decompress.
 */
#ifndef SLUICE_COMPRESSED_FILE_H
#define SLUICE_COMPRESSED_FILE_H

#include <sluice/status.h>

/*
 * Fails with E_UNSUPPORTED if the file begins with the magic number of a compression format; the
 * text names the format, not the file. `path` is NULL if valid files of the reader never begin so;
 * otherwise only a file whose path has the suffix of a compressed file, too, is refused. Also
 * returns E_IO.
 */
sluice_status compressed_file_refuse(int fd, const char *path);

#endif
