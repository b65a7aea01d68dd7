/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the library of a compression format. */
#include "decompressor.h"

#include "alloc_int.h"
#include "decompressor_ops.h"
#include "status_int.h"

struct decompressor {
    const raw_feed *raw;
    const decompressor_ops *ops;
    void *state;
};

typedef struct format_library {
    const char *name;
    const decompressor_ops *ops; /* NULL: this build lacks the library */
} format_library;

/*
 * libarchive verifies no checksum of gzip, and does not read zlib streams, so zlib decompresses
 * both; it verifies the checksum and, of gzip, the length of each member.
 */
static format_library library_of(compression format)
{
    if (format == COMPRESSION_GZIP || format == COMPRESSION_ZLIB) {
#ifdef SLI_HAVE_ZLIB
        return (format_library){"zlib", &gzip_ops};
#else
        return (format_library){"zlib", NULL};
#endif
    }
#ifdef SLI_HAVE_ARCHIVE
    return (format_library){"libarchive", &archive_ops};
#else
    return (format_library){"libarchive", NULL};
#endif
}

sluice_status decompressor_open(raw_feed *raw, compression format, const uint8_t *bytes,
                                size_t size, decompressor **decompressor_out)
{
    const format_library library = library_of(format);
    decompressor *d;
    sluice_status st;

    if (library.ops == NULL) {
        return sli_fail(
            SLUICE_E_UNSUPPORTED,
            "%s is compressed by %s, and this build of Sluice cannot decompress it: it "
            "was built without %s; decompress the file, or rebuild Sluice with this library",
            raw->path, compression_name(format), library.name);
    }
    d = sli_calloc(1, sizeof(*d));
    if (d == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a buffer for %s", raw->path);
    }
    d->raw = raw;
    d->ops = library.ops;
    st = library.ops->open(raw, format, bytes, size, &d->state);
    if (st != SLUICE_OK) {
        sli_free(d);
        return st;
    }
    *decompressor_out = d;
    return SLUICE_OK;
}

sluice_status decompressor_read(decompressor *d, void *to, size_t size, size_t *got_out)
{
    /*
     * A few compressed bytes can become gigabytes. No raw bytes are read meanwhile, so the stop
     * request is polled here as well.
     */
    if (raw_feed_is_stopped(d->raw)) {
        return SLUICE_CLOSED;
    }
    return d->ops->read(d->state, to, size, got_out);
}

void decompressor_close(decompressor *d)
{
    if (d != NULL) {
        d->ops->close(d->state);
        sli_free(d);
    }
}
