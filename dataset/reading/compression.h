/* SPDX-License-Identifier: Apache-2.0 */
/* Compression formats of whole files. */
#ifndef SLUICE_COMPRESSION_H
#define SLUICE_COMPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum compression {
    COMPRESSION_NONE,
    COMPRESSION_GZIP,
    COMPRESSION_ZSTD,
    COMPRESSION_XZ,
    COMPRESSION_BZIP2,
    COMPRESSION_COUNT
} compression;

/*
 * Bytes at the beginning of a file that suffice to identify each format, and to rule out a tar
 * archive.
 */
enum { COMPRESSION_MAGIC = 10 };

/* Detects the format by the magic number at the beginning of a file. */
compression compression_of(const uint8_t *bytes, size_t size);

/* Does the path end in the suffix of a compressed file, such as .gz or .tbz? */
bool compression_has_suffix(const char *path);

/* The name of a format, for example "gzip". */
const char *compression_name(compression format);

#endif
