/* SPDX-License-Identifier: Apache-2.0 */
/* Decompresses one layer of one compression format sequentially. */
#ifndef SLUICE_DECOMPRESSOR_H
#define SLUICE_DECOMPRESSOR_H

#include "compression.h"
#include "raw_feed.h"

typedef struct decompressor decompressor;

/*
 * Creates a decompressor of `bytes`, followed by the bytes of `raw`. `bytes` are copied and begin
 * with the format's magic number; `raw` must outlive the decompressor. Output that is itself
 * compressed is returned unchanged. E_UNSUPPORTED: this build lacks the format's library. Also
 * returns E_CORRUPT, E_IO, E_NO_MEMORY and CLOSED.
 */
sluice_status decompressor_open(raw_feed *raw, compression format, const uint8_t *bytes,
                                size_t size, decompressor **decompressor_out);

/*
 * Reads up to `size` bytes; 0 bytes at the end of the data, once the checksums that the format has
 * are verified. Returns E_CORRUPT, E_IO, E_NO_MEMORY or CLOSED on failure.
 */
sluice_status decompressor_read(decompressor *d, void *to, size_t size, size_t *got_out);

/* Accepts NULL. */
void decompressor_close(decompressor *d);

#endif
