/* SPDX-License-Identifier: Apache-2.0 */
#include "raw_feed.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "page_cache.h"
#include "status_int.h"

/* Number of bytes that one call drops from the page cache. */
enum { DROPPED_AT_ONCE = 1 << 22 };

/* Waits until bytes, the end of the data, or a stop request arrive. */
static sluice_status await_bytes(const raw_feed *raw)
{
    struct pollfd fds[2] = {{.fd = raw->fd, .events = POLLIN},
                            {.fd = raw->stop_fd, .events = POLLIN}};

    while (poll(fds, 2, -1) < 0) {
        if (errno != EINTR) {
            return sli_fail_errno(SLUICE_E_IO, errno, "cannot wait for bytes of %s", raw->path);
        }
    }
    return (fds[1].revents & POLLIN) != 0 ? SLUICE_CLOSED : SLUICE_OK;
}

bool raw_feed_is_stopped(const raw_feed *raw)
{
    struct pollfd stop = {.fd = raw->stop_fd, .events = POLLIN};

    return poll(&stop, 1, 0) > 0 && (stop.revents & POLLIN) != 0;
}

sluice_status raw_feed_read(raw_feed *raw, void *to, size_t size, size_t *got_out)
{
    for (;;) {
        ssize_t got;
        sluice_status st = await_bytes(raw);

        if (st != SLUICE_OK) {
            return st;
        }
        got = read(raw->fd, to, size);
        if (got >= 0) {
            raw->at += (uint64_t)got;
            if (got == 0 || raw->at - raw->dropped >= DROPPED_AT_ONCE) {
                raw_feed_drop(raw, got == 0);
            }
            *got_out = (size_t)got;
            return SLUICE_OK;
        }
        if (errno != EINTR && errno != EAGAIN) {
            return sli_fail_errno(SLUICE_E_IO, errno, "cannot read %s", raw->path);
        }
    }
}

void raw_feed_drop(raw_feed *raw, bool ended)
{
    const sample_location read = {
        .fd = raw->fd,
        .offset = raw->dropped,
        .size = ended ? 0 /* 0: up to the end of the file */ : raw->at - raw->dropped};

    if (raw->drops && (ended || read.size > 0)) {
        page_cache_drop(&read);
    }
    raw->dropped = raw->at;
}
