/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacking by libarchive's filters; it is not asked about archives. */
#include "unpacker.h"

#include <errno.h>
#include <string.h>

#include "alloc_int.h"
#include "archive_calls.h"
#include "status_int.h"

enum { BUFFER = 1 << 16 };

struct unpacker {
    raw_feed *raw;
    struct archive *archive;
    sluice_status status; /* of reading raw bytes */
    bool ended;
    size_t first; /* bytes that buffer holds from the beginning */
    uint8_t buffer[BUFFER];
};

/* libarchive asks for packed bytes. */
static la_ssize_t give_packed(struct archive *archive, void *arg, const void **bytes_out)
{
    unpacker *u = arg;
    size_t got = u->first;

    *bytes_out = u->buffer;
    u->first = 0;
    if (got == 0) {
        u->status = raw_feed_read(u->raw, u->buffer, BUFFER, &got);
    }
    if (u->status != SLUICE_OK) {
        archive_library->archive_set_error(archive, EIO, "it cannot be read");
        return -1;
    }
    return (la_ssize_t)got;
}

static sluice_status failed(const unpacker *u)
{
    const char *why = archive_library->archive_error_string(u->archive);

    if (u->status != SLUICE_OK) {
        return u->status; /* reported where it was found */
    }
    return archive_library->archive_errno(u->archive) == ENOMEM
               ? sli_fail(SLUICE_E_NO_MEMORY, "cannot unpack %s", u->raw->path)
               : sli_fail(SLUICE_E_CORRUPT, "cannot unpack %s: %.200s", u->raw->path,
                          why != NULL ? why : "it is damaged");
}

static sluice_status begin(unpacker *u)
{
    struct archive_entry *entry;
    int answer;

    archive_library->archive_read_support_filter_gzip(u->archive);
    archive_library->archive_read_support_filter_zstd(u->archive);
    archive_library->archive_read_support_filter_xz(u->archive);
    archive_library->archive_read_support_filter_bzip2(u->archive);
    archive_library->archive_read_support_format_raw(u->archive);
    archive_library->archive_read_support_format_empty(u->archive);
    answer = archive_library->archive_read_open(u->archive, u, NULL, give_packed, NULL);
    if (answer == ARCHIVE_OK) {
        answer = archive_library->archive_read_next_header(u->archive, &entry);
    }
    u->ended = answer == ARCHIVE_EOF;
    return answer == ARCHIVE_OK || u->ended ? SLUICE_OK : failed(u);
}

bool unpacker_knows(const uint8_t *bytes, size_t size)
{
    static const struct {
        const char *magic;
        size_t size;
    } known[] = {{"\x1f\x8b", 2}, {"\x28\xb5\x2f\xfd", 4}, {"\xfd\x37zXZ", 6}, {"BZh", 3}};

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (size >= known[i].size && memcmp(bytes, known[i].magic, known[i].size) == 0) {
            return true;
        }
    }
    return false;
}

sluice_status unpacker_open(raw_feed *raw, const uint8_t *bytes, size_t size,
                            unpacker **unpacker_out)
{
    sluice_status st = archive_calls_load();
    unpacker *u;

    if (st != SLUICE_OK) {
        return st;
    }
    u = sli_calloc(1, sizeof(*u));
    if (u != NULL) {
        u->archive = archive_library->archive_read_new();
    }
    if (u == NULL || u->archive == NULL) {
        sli_free(u);
        return sli_fail(SLUICE_E_NO_MEMORY, "a buffer for %s", raw->path);
    }
    u->raw = raw;
    u->first = size < BUFFER ? size : BUFFER;
    memcpy(u->buffer, bytes, u->first);
    st = begin(u);
    if (st != SLUICE_OK) {
        unpacker_close(u);
        return st;
    }
    *unpacker_out = u;
    return SLUICE_OK;
}

sluice_status unpacker_read(unpacker *u, void *to, size_t size, size_t *got_out)
{
    la_ssize_t got = u->ended ? 0 : archive_library->archive_read_data(u->archive, to, size);

    if (got < 0) {
        return failed(u);
    }
    *got_out = (size_t)got;
    return SLUICE_OK;
}

void unpacker_close(unpacker *u)
{
    if (u != NULL) {
        archive_library->archive_read_free(u->archive);
        sli_free(u);
    }
}
