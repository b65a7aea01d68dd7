/* SPDX-License-Identifier: Apache-2.0 */
#include "idx_file.h"

#include <unistd.h>

#include "alloc_int.h"
#include "byte_feed.h"
#include "compression.h"
#include "plain_file.h"
#include "status_int.h"

/* Limit on the size of a file that is loaded into memory. */
static const uint64_t MOST_LOADED = UINT64_C(1) << 32;

/*
 * Initial memory for a file that is loaded. It is then doubled as bytes arrive, since the size in
 * the header may be wrong.
 */
enum { LOADED_AT_ONCE = 1 << 20 };

/* Prepends the file's name to an error. */
static sluice_status name_error(const char *path, sluice_status status)
{
    if (status == SLUICE_OK) {
        return status;
    }
    return sli_fail_quoting(status, "%s: %.700s", path, sluice_last_error());
}

static uint64_t file_end(const idx_header *header)
{
    return header->data_at + header->data_bytes;
}

static sluice_status bad_length(const char *path, const idx_header *header, uint64_t bytes,
                                const char *behind)
{
    return sli_fail(
        SLUICE_E_CORRUPT,
        "%s: it has %llu bytes%s, and %llu by its header: it is corrupt, or not an IDX file", path,
        (unsigned long long)bytes, behind, (unsigned long long)file_end(header));
}

/* Enlarges the memory for a file that will have `end` bytes. */
static sluice_status grow_bytes(const char *path, idx_file *file, uint64_t have, uint64_t end)
{
    const uint64_t doubled = have < LOADED_AT_ONCE ? LOADED_AT_ONCE : 2 * have;
    const uint64_t size = doubled < end ? doubled : end;
    uint8_t *grown = sli_realloc_array(file->bytes, (size_t)size, 1);

    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%s: %llu bytes, decompressed", path,
                        (unsigned long long)size);
    }
    file->bytes = grown;
    file->memory = size;
    return SLUICE_OK;
}

/* Reads the header into file->bytes, and parses it. */
static sluice_status load_header(const char *path, byte_feed *feed, idx_file *file, uint64_t *have)
{
    size_t got = 0;
    sluice_status st = grow_bytes(path, file, 0, LOADED_AT_ONCE);

    if (st == SLUICE_OK) {
        st = byte_feed_read(feed, file->bytes, IDX_HEAD, &got);
    }
    if (st == SLUICE_OK) {
        st = name_error(path, idx_header_parse(file->bytes, got, &file->header));
    }
    if (st == SLUICE_OK && file_end(&file->header) < got) {
        st = bad_length(path, &file->header, got, " or more");
    }
    if (st == SLUICE_OK && file_end(&file->header) > MOST_LOADED) {
        st = sli_fail(SLUICE_E_UNSUPPORTED,
                      "%s: decompressed it has %llu bytes, more than 4 GiB; decompress the file, "
                      "and its samples are read as they are needed",
                      path, (unsigned long long)file_end(&file->header));
    }
    *have = got;
    return st;
}

static sluice_status load_feed(const char *path, byte_feed *feed, idx_file *file)
{
    uint64_t have = 0;
    uint8_t more;
    size_t got = 0;
    sluice_status st = load_header(path, feed, file, &have);
    const uint64_t end = st == SLUICE_OK ? file_end(&file->header) : 0;

    while (st == SLUICE_OK && have < end) {
        uint64_t part;

        if (have == file->memory) {
            st = grow_bytes(path, file, have, end);
        }
        if (st != SLUICE_OK) {
            return st;
        }
        part = (file->memory < end ? file->memory : end) - have;
        st = byte_feed_read(feed, file->bytes + have, (size_t)part, &got);
        have += got;
        if (st == SLUICE_OK && got < part) {
            return bad_length(path, &file->header, have, "");
        }
    }
    if (st == SLUICE_OK) {
        st = byte_feed_read(feed, &more, 1, &got);
    }
    return st == SLUICE_OK && got > 0 ? bad_length(path, &file->header, have + 1, " or more") : st;
}

/* Loads a file into memory, decompressed. */
static sluice_status load_file(const char *path, idx_file *file)
{
    byte_feed *feed = NULL;
    sluice_status st = byte_feed_open(path, false, -1, &feed);

    if (st == SLUICE_OK) {
        st = load_feed(path, feed, file);
        byte_feed_close(feed);
    }
    return st;
}

/* Opens a file and reads the bytes that hold its header. */
static sluice_status open_head(const char *path, idx_file *file, uint64_t *size, uint8_t *head,
                               size_t *got)
{
    sluice_status st = plain_file_open(path, NULL, &file->fd, size);

    if (st != SLUICE_OK) {
        file->fd = -1;
        return st;
    }
    return plain_file_read(file->fd, 0, head, IDX_HEAD, got);
}

sluice_status idx_file_open(const char *path, bool load, idx_file *file_out)
{
    uint8_t head[IDX_HEAD];
    uint64_t size = 0;
    size_t got = 0;
    idx_file file = {.fd = -1};
    sluice_status st = name_error(path, open_head(path, &file, &size, head, &got));

    if (st == SLUICE_OK && (load || compression_of(head, got) != COMPRESSION_NONE)) {
        close(file.fd);
        file.fd = -1;
        st = load_file(path, &file);
    } else if (st == SLUICE_OK) {
        st = name_error(path, idx_header_parse(head, got, &file.header));
        if (st == SLUICE_OK && file_end(&file.header) != size) {
            st = bad_length(path, &file.header, size, "");
        }
    }
    if (st != SLUICE_OK) {
        idx_file_close(&file);
        return st;
    }
    *file_out = file;
    return SLUICE_OK;
}

void idx_file_close(idx_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
    }
    sli_free(file->bytes);
    *file = (idx_file){.fd = -1};
}

const uint8_t *idx_file_rows(const idx_file *file)
{
    return file->bytes != NULL ? file->bytes + file->header.data_at : NULL;
}

sluice_status idx_file_read(const idx_file *file, uint64_t row, uint8_t *to)
{
    const size_t bytes = (size_t)file->header.row_bytes;
    size_t got = 0;
    sluice_status st =
        plain_file_read(file->fd, file->header.data_at + row * bytes, to, bytes, &got);

    return st == SLUICE_OK && got < bytes
               ? sli_fail(SLUICE_E_CORRUPT, "the file ends within the sample: it was truncated "
                                            "while in use")
               : st;
}
