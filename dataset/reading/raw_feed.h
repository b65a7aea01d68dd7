/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as a descriptor delivers them. A stop request ends a wait for bytes. Bytes that were read
 * may be dropped from the page cache.
 */
#ifndef SLUICE_RAW_FEED_H
#define SLUICE_RAW_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

typedef struct raw_feed {
    int fd;
    int stop_fd; /* readable: every call returns CLOSED */
    const char *path;
    bool drops;       /* drops bytes that were read from the page cache */
    uint64_t at;      /* bytes read so far */
    uint64_t dropped; /* bytes dropped so far */
} raw_feed;

/* Reads at least one byte, none at the end. E_IO, CLOSED. */
sluice_status raw_feed_read(raw_feed *raw, void *to, size_t size, size_t *got_out);

/* Is a stop requested? Never waits. */
bool raw_feed_is_stopped(const raw_feed *raw);

/* Drops bytes that were read from the page cache, if `drops`; ended: up to the end of the file. */
void raw_feed_drop(raw_feed *raw, bool ended);

#endif
