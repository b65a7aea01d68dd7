/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads uninterpreted bytes from a file descriptor. A stop request ends a wait for bytes. Bytes
 * that were read can be dropped from the page cache.
 */
#ifndef SLUICE_RAW_FEED_H
#define SLUICE_RAW_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

typedef struct raw_feed {
    int fd;
    int stop_fd; /* once it is readable, every read returns CLOSED */
    const char *path;
    bool drops;       /* drop bytes from the page cache once they are read */
    uint64_t at;      /* bytes read so far */
    uint64_t dropped; /* bytes dropped from the page cache so far */
} raw_feed;

/* Reads at least one byte, or 0 bytes at the end of the data. Returns E_IO or CLOSED on failure. */
sluice_status raw_feed_read(raw_feed *raw, void *to, size_t size, size_t *got_out);

/* True if a stop was requested; never waits. */
bool raw_feed_is_stopped(const raw_feed *raw);

/*
 * If raw->drops is set, drops the bytes that were read from the page cache. ended: drop everything
 * up to the end of the file.
 */
void raw_feed_drop(raw_feed *raw, bool ended);

#endif
