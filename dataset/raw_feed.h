/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a descriptor gives them; waiting for them ends with the wish to stop. */
#ifndef SLUICE_RAW_FEED_H
#define SLUICE_RAW_FEED_H

#include <stddef.h>

#include <sluice/status.h>

typedef struct raw_feed {
    int fd;
    int stop_fd; /* readable: everything answers CLOSED */
    const char *path;
} raw_feed;

/* At least one byte, none at the end. E_IO, CLOSED. */
sluice_status raw_feed_read(raw_feed *raw, void *to, size_t size, size_t *got_out);

#endif
