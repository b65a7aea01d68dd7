/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decompresses with one libarchive filter. libarchive must not detect filters by itself: it would
 * nest them as long as the output is also compressed, and so endlessly for a file that decompresses
 * to itself.
 */
#include "decompressor_ops.h"

#include <errno.h>
#include <string.h>

#include "alloc_int.h"
#include "archive_calls.h"
#include "status_int.h"

static const int filters[COMPRESSION_COUNT] = {[COMPRESSION_ZSTD] = ARCHIVE_FILTER_ZSTD,
                                               [COMPRESSION_XZ] = ARCHIVE_FILTER_XZ,
                                               [COMPRESSION_BZIP2] = ARCHIVE_FILTER_BZIP2};

typedef struct archive_stream {
    raw_feed *raw;
    compression format;
    struct archive *archive;
    sluice_status status; /* result of the last read of compressed bytes */
    bool raw_ended;       /* libarchive has asked for bytes after the end of the file */
    bool ended;
    size_t first; /* bytes that stream_open() copied to buffer */
    uint8_t buffer[DECOMPRESSOR_BUFFER];
} archive_stream;

/* libarchive's read callback. */
static la_ssize_t give_raw(struct archive *archive, void *arg, const void **bytes_out)
{
    archive_stream *stream = arg;
    size_t got = stream->first;

    stream->first = 0;
    if (got == 0) {
        stream->status = raw_feed_read(stream->raw, stream->buffer, sizeof(stream->buffer), &got);
        stream->raw_ended = stream->status == SLUICE_OK && got == 0;
    }
    if (stream->status != SLUICE_OK) {
        archive_library->archive_set_error(archive, EIO, "it cannot be read");
        return -1;
    }
    *bytes_out = stream->buffer;
    return (la_ssize_t)got;
}

/*
 * Returns the status after a libarchive call. Its return value alone does not suffice: it reports
 * some failed reads as the end of the data.
 */
static sluice_status status_of(const archive_stream *stream, bool failed)
{
    if (stream->status != SLUICE_OK || !failed) {
        return stream->status; /* raw_feed_read() has set the error text */
    }
    return archive_library->archive_errno(stream->archive) == ENOMEM
               ? sli_fail(SLUICE_E_NO_MEMORY, "cannot decompress %s", stream->raw->path)
               : decompressor_fail(stream->raw, stream->format, stream->raw_ended,
                                   archive_library->archive_error_string(stream->archive));
}

/*
 * Reads the first bytes. archive_read_open() cannot distinguish a filter that fails from one
 * without output, and succeeds; the error text distinguishes them.
 */
static sluice_status begin_input(archive_stream *stream)
{
    struct archive *archive = stream->archive;
    struct archive_entry *entry;
    int answer = archive_library->archive_read_append_filter(archive, filters[stream->format]);

    if (answer >= ARCHIVE_WARN) { /* libarchive warns if its filter runs an external program */
        archive_library->archive_clear_error(archive);
        archive_library->archive_read_support_format_raw(archive);
        archive_library->archive_read_support_format_empty(archive);
        answer = archive_library->archive_read_open(archive, stream, NULL, give_raw, NULL);
    }
    if (answer == ARCHIVE_OK && archive_library->archive_error_string(archive) != NULL) {
        answer = ARCHIVE_FATAL;
    }
    if (answer == ARCHIVE_OK) {
        answer = archive_library->archive_read_next_header(archive, &entry);
    }
    stream->ended = answer == ARCHIVE_EOF;
    return status_of(stream, answer != ARCHIVE_OK && !stream->ended);
}

static void archive_close(void *state)
{
    archive_stream *stream = state;

    archive_library->archive_read_free(stream->archive);
    sli_free(stream);
}

static sluice_status archive_open(raw_feed *raw, compression format, const uint8_t *bytes,
                                  size_t size, void **state_out)
{
    sluice_status st = archive_calls_load();
    archive_stream *stream;

    if (st != SLUICE_OK) {
        return st;
    }
    stream = sli_calloc(1, sizeof(*stream));
    if (stream != NULL) {
        stream->archive = archive_library->archive_read_new();
    }
    if (stream == NULL || stream->archive == NULL) {
        sli_free(stream);
        return sli_fail(SLUICE_E_NO_MEMORY, "a buffer for %s", raw->path);
    }
    stream->raw = raw;
    stream->format = format;
    stream->first = size < sizeof(stream->buffer) ? size : sizeof(stream->buffer);
    memcpy(stream->buffer, bytes, stream->first);
    st = begin_input(stream);
    if (st != SLUICE_OK) {
        archive_close(stream);
        return st;
    }
    *state_out = stream;
    return SLUICE_OK;
}

static sluice_status archive_read(void *state, void *to, size_t size, size_t *got_out)
{
    archive_stream *stream = state;
    const la_ssize_t got =
        stream->ended ? 0 : archive_library->archive_read_data(stream->archive, to, size);

    *got_out = got > 0 ? (size_t)got : 0;
    return got > 0 ? SLUICE_OK : status_of(stream, got < 0);
}

const decompressor_ops archive_ops = {archive_open, archive_read, archive_close};
