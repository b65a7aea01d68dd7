/* SPDX-License-Identifier: Apache-2.0 */
/* Decompression in sequence: one layer of one format. */
#ifndef SLUICE_DECOMPRESSOR_H
#define SLUICE_DECOMPRESSOR_H

#include "compression.h"
#include "raw_feed.h"

typedef struct decompressor decompressor;

/*
 * Decompresses `bytes`, which are copied and begin with the magic number of the format, followed by
 * the bytes of raw, which must outlive the decompressor. Output that is itself compressed is
 * returned as it is. E_UNSUPPORTED: this build has no libarchive; E_CORRUPT, E_IO, E_NO_MEMORY,
 * CLOSED.
 */
sluice_status decompressor_open(raw_feed *raw, compression format, const uint8_t *bytes,
                                size_t size, decompressor **decompressor_out);

/* Reads at most `size` bytes, 0 at the end. E_CORRUPT, E_IO, E_NO_MEMORY, CLOSED. */
sluice_status decompressor_read(decompressor *d, void *to, size_t size, size_t *got_out);

/* NULL is fine. */
void decompressor_close(decompressor *d);

#endif
