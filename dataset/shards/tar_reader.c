/* SPDX-License-Identifier: Apache-2.0 */
#include "tar_reader.h"

#include <errno.h>
#include <string.h>

#include "alloc_int.h"
#include "byte_feed.h"
#include "compression.h"
#include "descriptor_int.h"
#include "path_stage.h"
#include "status_int.h"

enum { BLOCK = TAR_BLOCK, RECORD = 20 * BLOCK };

/* Limit on the size of an extended header; it bounds memory. */
static const uint64_t MAX_RECORDS = 1 << 20;

/*
 * Limit on the bytes of a feed before its first regular file: enough for half a million folders.
 * Without it, a small compressed file could decompress to an endless sequence of folders.
 */
static const uint64_t MAX_WITHOUT_FILE = UINT64_C(1) << 28;

void tar_begin(tar_reader *reader, int fd, uint64_t file_size, const char *path)
{
    memset(reader, 0, sizeof(*reader));
    reader->fd = fd;
    reader->file_size = file_size;
    reader->path = path;
}

void tar_begin_feed(tar_reader *reader, byte_feed *feed, const char *path)
{
    tar_begin(reader, -1, UINT64_MAX, path);
    reader->feed = feed;
}

void tar_end(tar_reader *reader)
{
    sli_free(reader->next.name);
    sli_free(reader->all.name);
    sli_free(reader->records);
}

/* ---- bytes -------------------------------------------------------------------------------- */

/*
 * Implements read_at() for a feed, whose position must not be past `offset`. The size of a feed is
 * unknown until its end is reached.
 */
static sluice_status read_feed(tar_reader *reader, uint64_t offset, uint8_t *to, size_t size,
                               size_t *got_out)
{
    uint64_t skipped = 0;
    sluice_status st = byte_feed_skip(reader->feed, offset - reader->fed, &skipped);

    reader->fed += skipped;
    *got_out = 0;
    if (st == SLUICE_OK && reader->fed == offset) {
        st = byte_feed_read(reader->feed, to, size, got_out);
        reader->fed += *got_out;
    }
    if (st == SLUICE_OK && *got_out < size) {
        reader->file_size = reader->fed;
    }
    return st;
}

/* Reads up to `size` bytes; reads fewer only at the end of the file. */
static sluice_status read_at(tar_reader *reader, uint64_t offset, uint8_t *to, size_t size,
                             size_t *got_out)
{
    ssize_t got;

    if (reader->feed != NULL) {
        return read_feed(reader, offset, to, size, got_out);
    }
    got = sli_pread(reader->fd, to, size, offset);
    if (got < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot read %s at %llu", reader->path,
                              (unsigned long long)offset);
    }
    *got_out = (size_t)got;
    return SLUICE_OK;
}

/* Loads `size` bytes at an offset into the window, unless the window contains them already. */
static sluice_status load_window(tar_reader *reader, uint64_t offset, size_t size)
{
    if (offset >= reader->window_at && offset - reader->window_at <= reader->window_size &&
        reader->window_size - (size_t)(offset - reader->window_at) >= size) {
        return SLUICE_OK;
    }
    reader->window_at = offset;
    reader->window_size = 0;
    return read_at(reader, offset, reader->window,
                   reader->feed != NULL ? size : sizeof(reader->window), &reader->window_size);
}

sluice_status tar_read(tar_reader *reader, uint64_t offset, void *to, size_t size)
{
    size_t got = size;
    sluice_status st = SLUICE_OK;

    if (size <= BLOCK) {
        st = load_window(reader, offset, size);
        if (st != SLUICE_OK) {
            return st;
        }
        got = reader->window_size - (size_t)(offset - reader->window_at);
        got = got < size ? got : size;
        memcpy(to, reader->window + (offset - reader->window_at), got);
    } else {
        st = read_at(reader, offset, to, size, &got);
    }
    if (st == SLUICE_OK && got < size) {
        return reader->feed != NULL
                   ? sli_fail(SLUICE_E_CORRUPT, "%s ends at %llu, within a member: it is truncated",
                              reader->path, (unsigned long long)reader->file_size)
                   : sli_fail(SLUICE_E_CORRUPT, "%s became shorter while it was read",
                              reader->path);
    }
    return st;
}

static bool is_zero(const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

static const char *name_of_next(const tar_reader *reader)
{
    return reader->next.has_name  ? reader->next.name
           : reader->all.has_name ? reader->all.name
                                  : reader->header_name;
}

/* ---- errors ------------------------------------------------------------------------------- */

static sluice_status corrupt_archive(const tar_reader *reader, uint64_t at, const char *what)
{
    return sli_fail(SLUICE_E_CORRUPT, "%s, member '%.200s' at offset %llu: %s", reader->path,
                    name_of_next(reader), (unsigned long long)at, what);
}

static sluice_status too_long(const tar_reader *reader, uint64_t at, uint64_t size)
{
    return sli_fail(SLUICE_E_CORRUPT,
                    "%s, member '%.200s' at offset %llu: it has %llu bytes and reaches beyond the "
                    "end of the file, which has %llu; the shard is truncated or its header is "
                    "corrupt",
                    reader->path, name_of_next(reader), (unsigned long long)at,
                    (unsigned long long)size, (unsigned long long)reader->file_size);
}

static sluice_status compressed_archive(const tar_reader *reader, compression format)
{
    if (reader->feed != NULL) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "%s decompresses to %s data in place of a tar archive: it is compressed "
                        "more than once; decompress it by one layer",
                        reader->path, compression_name(format));
    }
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "%s is compressed (%s): samples of it cannot be read one by one; decompress it "
                    "to a plain .tar; a run can read it as it is, in sequence, by webdataset "
                    "with access=stream",
                    reader->path, compression_name(format));
}

/*
 * Reports a block that is not a header. For the first block, the message says that the file is
 * compressed, or is not a tar archive.
 */
static sluice_status not_a_header(const tar_reader *reader, const uint8_t *bytes)
{
    const compression format = compression_of(bytes, BLOCK);

    if (reader->at == 0 && format != COMPRESSION_NONE) {
        return compressed_archive(reader, format);
    }
    if (reader->at == 0) {
        char hint[400];

        return sli_fail(SLUICE_E_CORRUPT, "%s is not a tar archive%s", reader->path,
                        path_stage_hint(reader->path, "webdataset", hint, sizeof(hint)));
    }
    return sli_fail(SLUICE_E_CORRUPT, "%s: no header at offset %llu, where a member should begin%s",
                    reader->path, (unsigned long long)reader->at,
                    reader->file_size - reader->at < BLOCK
                        ? ": the file ends there, and may be truncated"
                        : "");
}

/* ---- extended headers --------------------------------------------------------------------- */

static sluice_status keep_name(tar_reader *reader, tar_extension *extension, const char *name,
                               size_t length)
{
    char *grown = sli_grow(extension->name, &extension->capacity, length + 1, 1);

    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a name in %s", reader->path);
    }
    extension->name = grown;
    memcpy(grown, name, length);
    grown[length] = '\0';
    extension->has_name = length > 0;
    return SLUICE_OK;
}

/* Parses text that consists of decimal digits only. */
static bool parse_decimal(const char *digits, size_t length, uint64_t *number_out)
{
    uint64_t number = 0;

    for (size_t i = 0; i < length; i++) {
        if (digits[i] < '0' || digits[i] > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(digits[i] - '0'), &number)) {
            return false;
        }
    }
    *number_out = number;
    return length > 0;
}

/* Applies one pax record. Unsupported keys are ignored; an empty value resets the key. */
static sluice_status take_record(tar_reader *reader, tar_extension *extension, uint64_t at,
                                 const char *key, size_t key_length, const char *value,
                                 size_t length)
{
    if (key_length == 4 && memcmp(key, "path", 4) == 0) {
        if (memchr(value, '\0', length) != NULL) {
            return corrupt_archive(reader, at,
                                   "a name in its extended header has a zero byte in it");
        }
        return keep_name(reader, extension, value, length);
    }
    if (key_length == 4 && memcmp(key, "size", 4) == 0) {
        extension->has_size = length > 0;
        if (length > 0 && !parse_decimal(value, length, &extension->size)) {
            return corrupt_archive(reader, at, "the size in its extended header is not a number");
        }
    }
    if ((key_length > 11 && memcmp(key, "GNU.sparse.", 11) == 0) ||
        (key_length == 15 && memcmp(key, "SCHILY.realsize", 15) == 0)) {
        extension->is_sparse = true;
    }
    return SLUICE_OK;
}

/* Applies pax records of the form "LENGTH KEY=VALUE\n"; LENGTH counts the whole record. */
static sluice_status take_records(tar_reader *reader, tar_extension *extension, uint64_t at,
                                  const char *records, size_t size)
{
    while (size > 0) {
        const char *blank = memchr(records, ' ', size < 21 ? size : 21);
        const char *equals;
        uint64_t length = 0;
        size_t head;
        sluice_status st;

        if (blank == NULL || !parse_decimal(records, (size_t)(blank - records), &length) ||
            length > size || length < (size_t)(blank - records) + 3 ||
            records[length - 1] != '\n') {
            return corrupt_archive(reader, at,
                                   "a record of its extended header has a wrong length");
        }
        head = (size_t)(blank + 1 - records);
        equals = memchr(blank + 1, '=', length - head);
        if (equals == NULL) {
            return corrupt_archive(reader, at, "a record of its extended header has no '='");
        }
        st = take_record(reader, extension, at, blank + 1, (size_t)(equals - blank - 1), equals + 1,
                         (size_t)(records + length - 1 - (equals + 1)));
        if (st != SLUICE_OK) {
            return st;
        }
        records += length;
        size -= length;
    }
    return SLUICE_OK;
}

/* Reads the body of an extended header: pax records, or a GNU tar long name. */
static sluice_status take_extension(tar_reader *reader, uint8_t type, uint64_t at, uint64_t data,
                                    uint64_t size)
{
    char *grown;
    sluice_status st;

    if (size > MAX_RECORDS) {
        return corrupt_archive(reader, at, "its extended header is larger than 1 MiB");
    }
    grown = sli_grow(reader->records, &reader->records_capacity, (size_t)size + 1, 1);
    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "an extended header of %s", reader->path);
    }
    reader->records = grown;
    st = tar_read(reader, data, grown, (size_t)size);
    if (st != SLUICE_OK) {
        return st;
    }
    if (type == 'L') {
        return keep_name(reader, &reader->next, grown, strnlen(grown, (size_t)size));
    }
    return take_records(reader, type == 'g' ? &reader->all : &reader->next, at, grown,
                        (size_t)size);
}

/* Fails if a feed has no regular file in its first MAX_WITHOUT_FILE bytes. */
static sluice_status check_start(const tar_reader *reader)
{
    if (reader->feed == NULL || reader->has_file || reader->at <= MAX_WITHOUT_FILE) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_CORRUPT,
                    "%s has no plain file in its first %llu MiB, only folders, links, sparse files "
                    "and headers: it is not a shard of samples, or it is corrupt",
                    reader->path, (unsigned long long)(MAX_WITHOUT_FILE >> 20));
}

/* ---- members ------------------------------------------------------------------------------ */

/* True if a member of this type has no contents, whatever its size field says. */
static bool has_no_bytes(uint8_t type)
{
    return type >= '1' && type <= '6';
}

static bool is_plain(uint8_t type, const char *name)
{
    size_t length = strlen(name);

    return (type == '0' || type == '\0' || type == '7') && (length == 0 || name[length - 1] != '/');
}

static bool is_extension(uint8_t type)
{
    return type == 'x' || type == 'g' || type == 'L' || type == 'X';
}

/* Skips the blocks of a sparse member's map that follow its header; advances *data. */
static sluice_status skip_sparse_map(tar_reader *reader, const uint8_t *header, uint64_t at,
                                     uint64_t *data)
{
    bool more = header[TAR_AT_GNU_MORE] != 0;

    while (more) {
        uint8_t byte;
        sluice_status st;

        if (reader->file_size - *data < BLOCK) {
            return too_long(reader, at, BLOCK);
        }
        st = tar_read(reader, *data + TAR_AT_SPARSE_MORE, &byte, 1);
        if (st != SLUICE_OK) {
            return st;
        }
        more = byte != 0;
        *data += BLOCK;
    }
    return SLUICE_OK;
}

static void count_skipped(tar_reader *reader, uint8_t type, bool is_sparse)
{
    if (is_sparse) {
        reader->sparse++;
    } else if (type == '1' || type == '2') {
        reader->links++;
    } else if (type != '5' && type != '\0' && type != '0' && type != 'D' && type != 'K' &&
               type != 'V') {
        reader->specials++;
    }
}

/*
 * Processes a header block, and moves reader->at to the next one. Sets *is_file and *member for a
 * regular file.
 */
static sluice_status take_header(tar_reader *reader, const uint8_t *header, bool *is_file,
                                 tar_member *member)
{
    const uint8_t type = header[TAR_AT_TYPE];
    const uint64_t at = reader->at;
    uint64_t data = at + BLOCK;
    uint64_t size = 0;
    uint64_t padding;
    uint64_t left;
    bool is_sparse;
    sluice_status st = SLUICE_OK;

    tar_header_name(header, reader->header_name);
    if (!tar_parse_number(header + TAR_AT_SIZE, TAR_NUMBER_SIZE, &size)) {
        return corrupt_archive(reader, at, "its size is not a number");
    }
    if (!is_extension(type) && type != 'K') {
        size = reader->next.has_size  ? reader->next.size
               : reader->all.has_size ? reader->all.size
                                      : size;
    }
    size = has_no_bytes(type) ? 0 : size;
    if (type == 'S') {
        st = skip_sparse_map(reader, header, at, &data);
    }
    if (st == SLUICE_OK && size > reader->file_size - data) {
        st = too_long(reader, at, size);
    }
    if (st == SLUICE_OK && is_extension(type)) {
        st = take_extension(reader, type, at, data, size);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    padding = (BLOCK - size % BLOCK) % BLOCK;
    left = reader->file_size - data - size; /* the last member may lack its padding */
    reader->at = data + size + (padding < left ? padding : left);
    if (is_extension(type) || type == 'K') {
        return SLUICE_OK;
    }
    is_sparse = type == 'S' || reader->next.is_sparse || reader->all.is_sparse;
    *is_file = !is_sparse && is_plain(type, name_of_next(reader));
    if (!*is_file) {
        count_skipped(reader, type, is_sparse);
        reader->next.has_name = false;
    }
    *member = (tar_member){name_of_next(reader), data, size};
    reader->next.has_size = false;
    reader->next.is_sparse = false;
    return SLUICE_OK;
}

/* Checks for nonzero bytes after the end of the archive, as in concatenated archives. */
static sluice_status check_trailing_bytes(tar_reader *reader)
{
    for (uint64_t at = reader->at; at < reader->file_size && at - reader->at <= RECORD;
         at += BLOCK) {
        uint8_t block[BLOCK];
        sluice_status st = reader->feed != NULL ? load_window(reader, at, BLOCK) : SLUICE_OK;
        const uint64_t left = reader->file_size - at; /* also valid for a feed: if the feed ends
                                                         here, load_window() has detected its end */
        const size_t size = left < BLOCK ? (size_t)left : BLOCK;

        if (st == SLUICE_OK) {
            st = tar_read(reader, at, block, size);
        }
        if (st != SLUICE_OK) {
            return st;
        }
        if (!is_zero(block, size)) {
            reader->has_more = true;
            break;
        }
    }
    return SLUICE_OK;
}

/*
 * Moves to the next header. Reports a feed that ends here as truncated: since its size is unknown,
 * only the zero blocks at the end of an archive show that it is complete.
 */
static sluice_status reach_header(tar_reader *reader)
{
    sluice_status st = reader->feed != NULL ? load_window(reader, reader->at, BLOCK) : SLUICE_OK;

    if (st == SLUICE_OK && reader->file_size == 0) {
        return sli_fail(SLUICE_E_CORRUPT, "%s is empty%s", reader->path,
                        reader->feed != NULL ? ", or decompresses to nothing" : "");
    }
    if (st == SLUICE_OK && reader->feed != NULL && reader->at > 0 &&
        (reader->file_size < reader->at || reader->file_size - reader->at < BLOCK)) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "%s ends at %llu, behind the member '%.200s', without the zeros that end "
                        "an archive: it is truncated",
                        reader->path, (unsigned long long)reader->file_size, name_of_next(reader));
    }
    return st;
}

/* Reads the next header, or detects the end of the archive. */
static sluice_status next_header(tar_reader *reader, uint8_t *header)
{
    sluice_status st = reach_header(reader);
    const uint64_t left = reader->file_size - reader->at;

    memset(header, 0, BLOCK);
    if (st != SLUICE_OK) {
        return st;
    }
    st = tar_read(reader, reader->at, header, left < BLOCK ? (size_t)left : BLOCK);
    if (st != SLUICE_OK) {
        return st;
    }
    if (is_zero(header, BLOCK)) {
        reader->ended = true;
        reader->lacks_end = left < BLOCK;
        st = check_trailing_bytes(reader);
        return st == SLUICE_OK && reader->feed != NULL ? byte_feed_finish(reader->feed) : st;
    }
    return left >= BLOCK && tar_checksum_holds(header) ? SLUICE_OK : not_a_header(reader, header);
}

sluice_status tar_next(tar_reader *reader, tar_member *member_out)
{
    uint8_t header[BLOCK];
    tar_member member = {0};
    bool is_file = false;
    sluice_status st = SLUICE_OK;

    reader->next.has_name = false;
    while (!reader->ended && !is_file) {
        st = next_header(reader, header);
        if (st == SLUICE_OK && !reader->ended) {
            st = take_header(reader, header, &is_file, &member);
            reader->has_file = reader->has_file || is_file;
        }
        if (st == SLUICE_OK && !reader->ended) {
            st = check_start(reader);
        }
        if (st != SLUICE_OK) {
            return st;
        }
    }
    if (!is_file) {
        return reader->next.has_name || reader->next.has_size || reader->next.is_sparse
                   ? corrupt_archive(reader, reader->at, "no member follows its extended header")
                   : SLUICE_END_OF_DATA;
    }
    *member_out = member;
    return SLUICE_OK;
}
