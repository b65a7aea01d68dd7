/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of a file, a fifo or the standard input in sequence, unpacked where they are
 * compressed. Waiting for bytes ends when a descriptor says so.
 */
#ifndef SLUICE_BYTE_FEED_H
#define SLUICE_BYTE_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

typedef struct byte_feed byte_feed;

/*
 * Opens a path, "-" the standard input, which stays open. drops: what was read of a file leaves the
 * page cache. Once stop_fd is readable everything answers CLOSED. Waits until it is known whether
 * the bytes are compressed. path lives as long as the feed. E_IO; E_UNSUPPORTED compressed, and
 * this build has no libarchive; E_NO_MEMORY.
 */
sluice_status byte_feed_open(const char *path, bool drops, int stop_fd, byte_feed **feed_out);
void byte_feed_close(byte_feed *feed);

/* What messages call a path. */
const char *byte_feed_title(const char *path);

/* Gives `size` bytes, fewer only at the end. E_IO, E_CORRUPT what cannot be unpacked, CLOSED. */
sluice_status byte_feed_read(byte_feed *feed, void *to, size_t size, size_t *got_out);

/* The same without the bytes. */
sluice_status byte_feed_skip(byte_feed *feed, uint64_t size, uint64_t *skipped_out);

#endif
