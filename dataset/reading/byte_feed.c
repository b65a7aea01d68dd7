/* SPDX-License-Identifier: Apache-2.0 */
#include "byte_feed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "page_cache.h"
#include "raw_feed.h"
#include "status_int.h"
#include "unpacker.h"

/* Read at once; what is skipped goes through it, too. */
enum { BUFFER = 1 << 16 };

/* Bytes that leave the page cache together. */
enum { DROPPED_AT_ONCE = 1 << 22 };

struct byte_feed {
    raw_feed raw;
    unpacker *unpacker; /* NULL: the bytes are as they are */
    size_t at;          /* of the buffer, the first byte that was not given yet */
    size_t end;
    uint8_t buffer[BUFFER];
};

/* ---- raw bytes ----------------------------------------------------------------------------- */

/* Sleeps until there are bytes, or their end, or the wish to stop. */
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
    const sample_location read = {.fd = raw->fd,
                                  .offset = raw->dropped,
                                  .size = ended ? 0 /* all there is */ : raw->at - raw->dropped};

    if (raw->drops && (ended || read.size > 0)) {
        page_cache_drop(&read);
    }
    raw->dropped = raw->at;
}

/* ---- bytes as they are meant --------------------------------------------------------------- */

/* More into the buffer, which has been given away; none: the end. */
static sluice_status fill(byte_feed *feed)
{
    feed->at = 0;
    feed->end = 0;
    return feed->unpacker != NULL ? unpacker_read(feed->unpacker, feed->buffer, BUFFER, &feed->end)
                                  : raw_feed_read(&feed->raw, feed->buffer, BUFFER, &feed->end);
}

/* Looks at the first bytes: what they are says whether the rest is unpacked. */
static sluice_status look_at_start(byte_feed *feed)
{
    sluice_status st = SLUICE_OK;

    while (feed->end < UNPACKER_MAGIC) {
        size_t got = 0;

        st = raw_feed_read(&feed->raw, feed->buffer + feed->end, BUFFER - feed->end, &got);
        if (st != SLUICE_OK || got == 0) {
            break;
        }
        feed->end += got;
    }
    if (st == SLUICE_OK && unpacker_knows(feed->buffer, feed->end)) {
        st = unpacker_open(&feed->raw, feed->buffer, feed->end, &feed->unpacker);
        feed->end = 0;
    }
    return st;
}

const char *byte_feed_title(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

sluice_status byte_feed_open(const char *path, bool drops, int stop_fd, byte_feed **feed_out)
{
    byte_feed *feed = sli_calloc(1, sizeof(*feed));
    sluice_status st;

    if (feed == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a buffer for %s", path);
    }
    feed->raw = (raw_feed){STDIN_FILENO, stop_fd, byte_feed_title(path), drops, 0, 0};
    if (strcmp(path, "-") != 0) {
        /* Not blocking: a fifo that nobody writes to yet is waited for where a stop is seen. */
        feed->raw.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    }
    st = feed->raw.fd < 0 ? sli_fail_errno(SLUICE_E_IO, errno, "cannot open the shard %s", path)
                          : look_at_start(feed);
    if (st != SLUICE_OK) {
        byte_feed_close(feed);
        return st;
    }
    *feed_out = feed;
    return SLUICE_OK;
}

void byte_feed_close(byte_feed *feed)
{
    if (feed == NULL) {
        return;
    }
    unpacker_close(feed->unpacker);
    raw_feed_drop(&feed->raw, false);
    if (feed->raw.fd > STDIN_FILENO) {
        close(feed->raw.fd);
    }
    sli_free(feed);
}

/* Gives bytes away, to nobody where `to` is NULL. */
static sluice_status take(byte_feed *feed, uint8_t *to, uint64_t size, uint64_t *got_out)
{
    uint64_t got = 0;
    sluice_status st = SLUICE_OK;

    while (got < size) {
        size_t part = feed->end - feed->at;

        if (part == 0) {
            st = fill(feed);
            part = feed->end;
        }
        if (st != SLUICE_OK || part == 0) {
            break;
        }
        part = part < size - got ? part : (size_t)(size - got);
        if (to != NULL) {
            memcpy(to + got, feed->buffer + feed->at, part);
        }
        feed->at += part;
        got += part;
    }
    *got_out = got;
    return st;
}

sluice_status byte_feed_read(byte_feed *feed, void *to, size_t size, size_t *got_out)
{
    uint64_t got = 0;
    sluice_status st = take(feed, to, size, &got);

    *got_out = (size_t)got;
    return st;
}

sluice_status byte_feed_skip(byte_feed *feed, uint64_t size, uint64_t *skipped_out)
{
    return take(feed, NULL, size, skipped_out);
}
