/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a descriptor gives them; waiting for them ends with the wish to stop. What was read may
 * leave the page cache behind it. */
#ifndef SLUICE_RAW_FEED_H
#define SLUICE_RAW_FEED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

typedef struct raw_feed {
    int fd;
    int stop_fd; /* readable: everything answers CLOSED */
    const char *path;
    bool drops;       /* from the page cache */
    uint64_t at;      /* bytes that were read */
    uint64_t dropped; /* the first of them that were dropped */
} raw_feed;

/* At least one byte, none at the end. E_IO, CLOSED. */
sluice_status raw_feed_read(raw_feed *raw, void *to, size_t size, size_t *got_out);

/* Drops what was read and is still there, if it is to be dropped; ended: up to the file's end. */
void raw_feed_drop(raw_feed *raw, bool ended);

#endif
