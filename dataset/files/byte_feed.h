/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a file, a FIFO or standard input sequentially, and removes one layer of compression. A wait
 * for bytes ends when the stop descriptor becomes readable.
 */
#ifndef SLUICE_BYTE_FEED_H
#define SLUICE_BYTE_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

typedef struct byte_feed byte_feed;

/*
 * Opens a path; "-" is standard input, which is never closed. drops: drop the bytes of a file from
 * the page cache once they are read. Once stop_fd is readable, every call returns CLOSED. The call
 * waits for the first bytes, to detect compression. path must outlive the feed. E_UNSUPPORTED: the
 * file is compressed, and this build lacks the library for it. Also returns E_IO and E_NO_MEMORY.
 */
sluice_status byte_feed_open(const char *path, bool drops, int stop_fd, byte_feed **feed_out);
void byte_feed_close(byte_feed *feed);

/* True if a path can be read only once, as it is a pipe. */
bool byte_feed_is_once(const char *path);

/* Returns the name of a path for messages. */
const char *byte_feed_title(const char *path);

/*
 * Reads `size` bytes; reads fewer only at the end of the data. E_CORRUPT: decompression failed.
 * Also returns E_IO and CLOSED.
 */
sluice_status byte_feed_read(byte_feed *feed, void *to, size_t size, size_t *got_out);

/*
 * Skips `size` bytes; skips fewer only at the end of the data. Returns the errors of
 * byte_feed_read().
 */
sluice_status byte_feed_skip(byte_feed *feed, uint64_t size, uint64_t *skipped_out);

/*
 * Reads compressed data to their end, where their checksum is verified; other data are not read.
 * Returns the errors of byte_feed_read().
 */
sluice_status byte_feed_finish(byte_feed *feed);

#endif
