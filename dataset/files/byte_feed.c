/* SPDX-License-Identifier: Apache-2.0 */
#include "byte_feed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "decompressor.h"
#include "descriptor_int.h"
#include "raw_feed.h"
#include "status_int.h"

/* Size of the buffer, and of each read; skipped bytes are also read into the buffer. */
enum { BUFFER = 1 << 16 };

struct byte_feed {
    raw_feed raw;
    decompressor *decompressor; /* NULL: the bytes are not compressed */
    size_t at;                  /* offset in buffer of the next byte to return */
    size_t end;
    uint8_t buffer[BUFFER];
};

/* Refills the empty buffer; the buffer stays empty at the end of the data. */
static sluice_status refill_buffer(byte_feed *feed)
{
    feed->at = 0;
    feed->end = 0;
    return feed->decompressor != NULL
               ? decompressor_read(feed->decompressor, feed->buffer, BUFFER, &feed->end)
               : raw_feed_read(&feed->raw, feed->buffer, BUFFER, &feed->end);
}

/* Reads the first bytes, which identify the compression format. */
static sluice_status detect_compression(byte_feed *feed)
{
    compression format;
    sluice_status st = SLUICE_OK;

    while (feed->end < COMPRESSION_MAGIC) {
        size_t got = 0;

        st = raw_feed_read(&feed->raw, feed->buffer + feed->end, BUFFER - feed->end, &got);
        if (st != SLUICE_OK || got == 0) {
            break;
        }
        feed->end += got;
    }
    format = compression_of(feed->buffer, feed->end);
    if (st == SLUICE_OK && format != COMPRESSION_NONE) {
        st = decompressor_open(&feed->raw, format, feed->buffer, feed->end, &feed->decompressor);
        feed->end = 0;
    }
    return st;
}

static bool is_stopped(void *arg)
{
    return raw_feed_is_stopped(arg);
}

static sluice_status open_path(raw_feed *raw, const char *path)
{
    const sli_interrupt interrupt = {is_stopped, raw};

    if (strcmp(path, "-") == 0) {
        raw->fd = STDIN_FILENO;
        return SLUICE_OK;
    }
    /*
     * O_NONBLOCK: open() of a FIFO without a writer would block, and a stop request could not
     * interrupt it. raw_feed.c waits for the data instead.
     */
    raw->fd = sli_openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, &interrupt);
    if (raw->fd >= 0) {
        return SLUICE_OK;
    }
    return raw_feed_is_stopped(raw)
               ? SLUICE_CLOSED
               : sli_fail_errno(SLUICE_E_IO, errno, "cannot open the file %s", path);
}

bool byte_feed_is_once(const char *path)
{
    struct stat info;

    return strcmp(path, "-") == 0 || (stat(path, &info) == 0 && S_ISFIFO(info.st_mode));
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
    feed->raw = (raw_feed){-1, stop_fd, byte_feed_title(path), drops, 0, 0};
    st = open_path(&feed->raw, path);
    if (st == SLUICE_OK) {
        st = detect_compression(feed);
    }
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
    decompressor_close(feed->decompressor);
    raw_feed_drop(&feed->raw, false);
    if (feed->raw.fd > STDIN_FILENO) {
        close(feed->raw.fd);
    }
    sli_free(feed);
}

/* Copies bytes to `to`, or skips them if `to` is NULL. */
static sluice_status take_bytes(byte_feed *feed, uint8_t *to, uint64_t size, uint64_t *got_out)
{
    uint64_t got = 0;
    sluice_status st = SLUICE_OK;

    while (got < size) {
        size_t part = feed->end - feed->at;

        if (part == 0) {
            st = refill_buffer(feed);
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
    sluice_status st = take_bytes(feed, to, size, &got);

    *got_out = (size_t)got;
    return st;
}

sluice_status byte_feed_skip(byte_feed *feed, uint64_t size, uint64_t *skipped_out)
{
    return take_bytes(feed, NULL, size, skipped_out);
}

sluice_status byte_feed_finish(byte_feed *feed)
{
    uint64_t rest = 0;

    return feed->decompressor != NULL ? byte_feed_skip(feed, UINT64_MAX, &rest) : SLUICE_OK;
}
