/* SPDX-License-Identifier: Apache-2.0 */
/* What a decompression library does: the interface of decompressor.c to zlib and libarchive. */
#ifndef SLUICE_DECOMPRESSOR_OPS_H
#define SLUICE_DECOMPRESSOR_OPS_H

#include <errno.h>

#include "compression.h"
#include "raw_feed.h"

/* The contracts of these functions are those of decompressor.h. */
typedef struct decompressor_ops {
    sluice_status (*open)(raw_feed *raw, compression format, const uint8_t *bytes, size_t size,
                          void **state_out);
    sluice_status (*read)(void *state, void *to, size_t size, size_t *got_out);
    void (*close)(void *state);
} decompressor_ops;

extern const decompressor_ops gzip_ops;    /* zlib: gzip and zlib */
extern const decompressor_ops archive_ops; /* libarchive: zstd, xz and bzip2 */

/* Number of compressed bytes that are read at once. */
enum { DECOMPRESSOR_BUFFER = 1 << 16 };

/* The errno value of errors that say that data are corrupt, so that data before may be, too. */
#define DECOMPRESSOR_CORRUPT EBADMSG

/*
 * Reports compressed data that are corrupt, or that end too early. `library` is the reason that the
 * library gives; it may be NULL.
 */
sluice_status decompressor_fail(const raw_feed *raw, compression format, bool ended,
                                const char *library);

#endif
