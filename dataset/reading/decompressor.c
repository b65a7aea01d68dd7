/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decompresses with one libarchive filter. libarchive must not detect filters by itself: it would
 * nest them as long as the output is also compressed, and so endlessly for a file that decompresses
 * to itself.
 */
#include "decompressor.h"

#include <errno.h>
#include <string.h>

#include "alloc_int.h"
#include "archive_calls.h"
#include "status_int.h"

enum { BUFFER = 1 << 16 };

/*
 * Limit on consecutive compressed bytes that produce no output. libarchive buffers a gzip header up
 * to the end of the file name in it, and that end may be missing.
 */
static const uint64_t MAX_WITHOUT_OUTPUT = UINT64_C(1) << 24;

static const int filters[COMPRESSION_COUNT] = {[COMPRESSION_GZIP] = ARCHIVE_FILTER_GZIP,
                                               [COMPRESSION_ZSTD] = ARCHIVE_FILTER_ZSTD,
                                               [COMPRESSION_XZ] = ARCHIVE_FILTER_XZ,
                                               [COMPRESSION_BZIP2] = ARCHIVE_FILTER_BZIP2};

struct decompressor {
    raw_feed *raw;
    compression format;
    struct archive *archive;
    sluice_status status;    /* result of the last read of compressed bytes */
    uint64_t without_output; /* compressed bytes read since the last output */
    bool ended;
    size_t first; /* bytes that decompressor_open() copied to buffer */
    uint8_t buffer[BUFFER];
};

/* Makes the next compressed bytes available in buffer. */
static sluice_status read_raw(decompressor *d, size_t *got_out)
{
    sluice_status st = SLUICE_OK;

    *got_out = d->first;
    d->first = 0;
    if (*got_out == 0) {
        st = raw_feed_read(d->raw, d->buffer, BUFFER, got_out);
    }
    if (st == SLUICE_OK && d->without_output > MAX_WITHOUT_OUTPUT) {
        st = sli_fail(SLUICE_E_CORRUPT,
                      "cannot decompress %s: %llu bytes of its %s data decompress to nothing",
                      d->raw->path, (unsigned long long)d->without_output,
                      compression_name(d->format));
    }
    d->without_output += *got_out;
    return st;
}

/* libarchive's read callback. */
static la_ssize_t give_raw(struct archive *archive, void *arg, const void **bytes_out)
{
    decompressor *d = arg;
    size_t got = 0;

    d->status = read_raw(d, &got);
    if (d->status != SLUICE_OK) {
        archive_library->archive_set_error(archive, EIO, "it cannot be read");
        return -1;
    }
    *bytes_out = d->buffer;
    return (la_ssize_t)got;
}

/*
 * Returns the status after a libarchive call. Its return value alone does not suffice: it reports
 * some failed reads as the end of the data.
 */
static sluice_status status_of(const decompressor *d, bool failed)
{
    const char *why = archive_library->archive_error_string(d->archive);

    if (d->status != SLUICE_OK || !failed) {
        return d->status; /* read_raw() has set the error text */
    }
    return archive_library->archive_errno(d->archive) == ENOMEM
               ? sli_fail(SLUICE_E_NO_MEMORY, "cannot decompress %s", d->raw->path)
               : sli_fail(SLUICE_E_CORRUPT, "cannot decompress %s: %.200s", d->raw->path,
                          why != NULL ? why : "it is damaged, or libarchive lacks memory");
}

static sluice_status begin_input(decompressor *d)
{
    struct archive_entry *entry;
    int answer = archive_library->archive_read_append_filter(d->archive, filters[d->format]);

    if (answer >= ARCHIVE_WARN) { /* libarchive warns if its filter runs an external program */
        archive_library->archive_read_support_format_raw(d->archive);
        archive_library->archive_read_support_format_empty(d->archive);
        answer = archive_library->archive_read_open(d->archive, d, NULL, give_raw, NULL);
    }
    if (answer == ARCHIVE_OK) {
        answer = archive_library->archive_read_next_header(d->archive, &entry);
    }
    d->ended = answer == ARCHIVE_EOF;
    return status_of(d, answer != ARCHIVE_OK && !d->ended);
}

sluice_status decompressor_open(raw_feed *raw, compression format, const uint8_t *bytes,
                                size_t size, decompressor **decompressor_out)
{
    sluice_status st = archive_calls_load();
    decompressor *d;

    if (st != SLUICE_OK) {
        return st;
    }
    d = sli_calloc(1, sizeof(*d));
    if (d != NULL) {
        d->archive = archive_library->archive_read_new();
    }
    if (d == NULL || d->archive == NULL) {
        sli_free(d);
        return sli_fail(SLUICE_E_NO_MEMORY, "a buffer for %s", raw->path);
    }
    d->raw = raw;
    d->format = format;
    d->first = size < BUFFER ? size : BUFFER;
    memcpy(d->buffer, bytes, d->first);
    st = begin_input(d);
    if (st != SLUICE_OK) {
        decompressor_close(d);
        return st;
    }
    *decompressor_out = d;
    return SLUICE_OK;
}

sluice_status decompressor_read(decompressor *d, void *to, size_t size, size_t *got_out)
{
    la_ssize_t got = 0;

    /*
     * A few compressed bytes can become gigabytes. No raw bytes are read meanwhile, so the stop
     * request is polled here as well.
     */
    if (raw_feed_is_stopped(d->raw)) {
        return SLUICE_CLOSED;
    }
    if (!d->ended) {
        got = archive_library->archive_read_data(d->archive, to, size);
    }
    d->without_output = got > 0 ? 0 : d->without_output;
    *got_out = got > 0 ? (size_t)got : 0;
    return got > 0 ? SLUICE_OK : status_of(d, got < 0);
}

void decompressor_close(decompressor *d)
{
    if (d != NULL) {
        archive_library->archive_read_free(d->archive);
        sli_free(d);
    }
}
