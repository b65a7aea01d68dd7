/* SPDX-License-Identifier: Apache-2.0 */
/* Detects the compression format of a whole file, by magic number or suffix. */
#ifndef SLUICE_COMPRESSION_H
#define SLUICE_COMPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum compression {
    COMPRESSION_NONE,
    COMPRESSION_GZIP,
    COMPRESSION_ZLIB,
    COMPRESSION_ZSTD,
    COMPRESSION_XZ,
    COMPRESSION_BZIP2,
    COMPRESSION_COUNT
} compression;

/*
 * Number of bytes at the beginning of a file that suffice to identify each format, and to rule out
 * a tar archive and a TFRecord file.
 */
enum { COMPRESSION_MAGIC = 10 };

/* Detects the format by the magic number at the beginning of a file. */
compression compression_of(const uint8_t *bytes, size_t size);

/* True if the path has the suffix of a compressed file, such as .gz or .tbz. */
bool compression_has_suffix(const char *path);

/* Returns the name of a format, for example "gzip". */
const char *compression_name(compression format);

#endif
