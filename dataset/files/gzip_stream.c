/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decompresses gzip (RFC 1952) and zlib streams (RFC 1950) by zlib. A file has one or more members;
 * zlib verifies the checksum at the end of each, and of gzip the length. Zeros may follow the last
 * member, as on tapes; other bytes there are an error, since they may be a member whose header is
 * corrupt.
 */
#include "decompressor_ops.h"

#include <string.h>
#include <zlib.h>

#include "alloc_int.h"
#include "status_int.h"

/* windowBits of inflateInit2(): the largest window, with a header and trailer of each format. */
enum { ZLIB_WINDOW = 15, GZIP_WINDOW = 15 + 16 };

/* The first byte of a member. */
enum { ZLIB_FIRST_BYTE = 0x78, GZIP_FIRST_BYTE = 0x1F };

/* The largest output that one call asks zlib for, whose sizes are unsigned int. */
enum { MOST_AT_ONCE = 1 << 30 };

typedef struct gzip_stream {
    raw_feed *raw;
    compression format; /* COMPRESSION_GZIP or COMPRESSION_ZLIB */
    z_stream zlib;      /* next_in and avail_in are the rest of buffer */
    bool is_between;    /* a member has ended, and no other one has begun */
    bool ended;
    uint64_t members; /* that have ended */
    uint8_t buffer[DECOMPRESSOR_BUFFER];
} gzip_stream;

/* Reads the next compressed bytes into the empty buffer; it stays empty at the end of the file. */
static sluice_status fill_buffer(gzip_stream *gzip)
{
    size_t got = 0;
    sluice_status st = raw_feed_read(gzip->raw, gzip->buffer, sizeof(gzip->buffer), &got);

    gzip->zlib.next_in = gzip->buffer;
    gzip->zlib.avail_in = st == SLUICE_OK ? (uInt)got : 0;
    return st;
}

/* Skips zeros, and leaves the buffer empty if the file ends with them. */
static sluice_status skip_zeros(gzip_stream *gzip)
{
    z_stream *zlib = &gzip->zlib;
    sluice_status st = SLUICE_OK;

    do {
        while (zlib->avail_in > 0 && *zlib->next_in == 0) {
            zlib->next_in++;
            zlib->avail_in--;
        }
        if (zlib->avail_in > 0) {
            return SLUICE_OK;
        }
        st = fill_buffer(gzip);
    } while (st == SLUICE_OK && zlib->avail_in > 0);
    return st;
}

/* Begins the next member, or detects the end of the file. */
static sluice_status begin_member(gzip_stream *gzip)
{
    const uint8_t first = gzip->format == COMPRESSION_GZIP ? GZIP_FIRST_BYTE : ZLIB_FIRST_BYTE;
    z_stream *zlib = &gzip->zlib;
    sluice_status st = skip_zeros(gzip);

    if (st != SLUICE_OK || zlib->avail_in == 0) {
        gzip->ended = st == SLUICE_OK;
        return st;
    }
    if (*zlib->next_in != first) {
        return sli_fail_with(
            SLUICE_E_CORRUPT, DECOMPRESSOR_CORRUPT,
            "cannot decompress %s: byte %llu, after %s member %llu, is 0x%02x, and must be 0x%02x, "
            "where another member begins, or 0; the file is corrupt, or other data are appended to "
            "it",
            gzip->raw->path, (unsigned long long)(gzip->raw->at - zlib->avail_in),
            compression_name(gzip->format), (unsigned long long)gzip->members, *zlib->next_in,
            first);
    }
    gzip->is_between = false;
    inflateReset(zlib);
    return SLUICE_OK;
}

/* Decompresses bytes of the current member, perhaps none. */
static sluice_status inflate_some(gzip_stream *gzip)
{
    sluice_status st = gzip->zlib.avail_in == 0 ? fill_buffer(gzip) : SLUICE_OK;
    int answer;

    if (st != SLUICE_OK) {
        return st;
    }
    if (gzip->zlib.avail_in == 0) {
        return decompressor_fail(gzip->raw, gzip->format, true, "the checksum is missing");
    }
    answer = inflate(&gzip->zlib, Z_NO_FLUSH);
    if (answer == Z_MEM_ERROR) {
        return sli_fail(SLUICE_E_NO_MEMORY, "cannot decompress %s", gzip->raw->path);
    }
    if (answer != Z_OK && answer != Z_STREAM_END) {
        return decompressor_fail(gzip->raw, gzip->format, false, gzip->zlib.msg);
    }
    gzip->is_between = answer == Z_STREAM_END;
    gzip->members += gzip->is_between;
    return SLUICE_OK;
}

static sluice_status gzip_read(void *state, void *to, size_t size, size_t *got_out)
{
    gzip_stream *gzip = state;
    const uInt most = size < MOST_AT_ONCE ? (uInt)size : MOST_AT_ONCE;
    sluice_status st = SLUICE_OK;

    gzip->zlib.next_out = to;
    gzip->zlib.avail_out = most;
    while (st == SLUICE_OK && !gzip->ended && gzip->zlib.avail_out == most) {
        st = gzip->is_between ? begin_member(gzip) : inflate_some(gzip);
    }
    *got_out = most - gzip->zlib.avail_out;
    return st;
}

static sluice_status gzip_open(raw_feed *raw, compression format, const uint8_t *bytes, size_t size,
                               void **state_out)
{
    gzip_stream *gzip = sli_calloc(1, sizeof(*gzip));

    if (gzip == NULL ||
        inflateInit2(&gzip->zlib, format == COMPRESSION_GZIP ? GZIP_WINDOW : ZLIB_WINDOW) != Z_OK) {
        sli_free(gzip);
        return sli_fail(SLUICE_E_NO_MEMORY, "a buffer for %s", raw->path);
    }
    gzip->raw = raw;
    gzip->format = format;
    gzip->zlib.next_in = gzip->buffer;
    gzip->zlib.avail_in = (uInt)(size < sizeof(gzip->buffer) ? size : sizeof(gzip->buffer));
    memcpy(gzip->buffer, bytes, gzip->zlib.avail_in);
    *state_out = gzip;
    return SLUICE_OK;
}

static void gzip_close(void *state)
{
    gzip_stream *gzip = state;

    inflateEnd(&gzip->zlib);
    sli_free(gzip);
}

const decompressor_ops gzip_ops = {gzip_open, gzip_read, gzip_close};
