/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacking gzip, zstd, xz and bzip2 in sequence. */
#ifndef SLUICE_UNPACKER_H
#define SLUICE_UNPACKER_H

#include <stdbool.h>
#include <stdint.h>

#include "raw_feed.h"

/* First bytes that tell. */
enum { UNPACKER_MAGIC = 6 };

typedef struct unpacker unpacker;

/* Do these first bytes say that the rest is compressed? */
bool unpacker_knows(const uint8_t *bytes, size_t size);

/*
 * Unpacks the bytes, which are copied, and what raw gives after them; raw lives longer.
 * E_UNSUPPORTED this build cannot; E_CORRUPT, E_IO, E_NO_MEMORY, CLOSED.
 */
sluice_status unpacker_open(raw_feed *raw, const uint8_t *bytes, size_t size,
                            unpacker **unpacker_out);
sluice_status unpacker_read(unpacker *u, void *to, size_t size, size_t *got_out);

/* NULL is fine. */
void unpacker_close(unpacker *u);

#endif
