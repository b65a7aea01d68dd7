/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores the index of a record file for later runs. All numbers are little-endian:
 *
 *     0   "SLUICERX"
 *     8   u32 version 1
 *     12  u32 ranges of each record
 *     16  u64 number of records
 *     24  u64 size of the record file
 *     32  u64 stamp of the record file
 *     40  u64 hash of the name of its format
 *     48  the ranges: u64 offset, u64 size
 *     ..  u32 CRC-32C of all bytes before it
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "bytes_int.h"
#include "crc32c_int.h"
#include "index_file.h"
#include "log_int.h"
#include "record_index.h"
#include "rng_int.h"
#include "shard_index.h"
#include "status_int.h"

enum { VERSION = 1, HEAD = 48, RANGE = 16 };

static const char magic[8] = "SLUICERX";

/* Smaller files are scanned as fast as their index is found. */
static const uint64_t KEPT_FROM = 1 << 24;

/* ---- the file of an index -------------------------------------------------------------------- */

static void put_head(uint8_t *to, const record_format *format, const record_input *file,
                     uint64_t stamp, const record_index *index)
{
    memcpy(to, magic, sizeof(magic));
    sli_put_u32(to + 8, VERSION);
    sli_put_u32(to + 12, index->per_record);
    sli_put_u64(to + 16, index->count);
    sli_put_u64(to + 24, file->size);
    sli_put_u64(to + 32, stamp);
    sli_put_u64(to + 40, sli_hash_text(format->files.source));
}

static sluice_status write_index(const record_format *format, const record_input *file,
                                 uint64_t stamp, const record_index *index, const char *path)
{
    const size_t ranges = (size_t)index->count * index->per_record;
    const size_t size = HEAD + ranges * RANGE + 4;
    uint8_t *bytes = sli_calloc(1, size);
    sluice_status st;

    if (bytes == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "an index of %zu bytes", size);
    }
    put_head(bytes, format, file, stamp, index);
    for (size_t i = 0; i < ranges; i++) {
        sli_put_u64(bytes + HEAD + i * RANGE, index->ranges[i].offset);
        sli_put_u64(bytes + HEAD + i * RANGE + 8, index->ranges[i].size);
    }
    sli_put_u32(bytes + size - 4, sli_crc32c(0, bytes, size - 4));
    st = index_file_write(path, bytes, size, false);
    sli_free(bytes);
    return st;
}

/* Adds the ranges of an index in memory. */
static sluice_status add_ranges(const uint8_t *from, uint64_t count, uint64_t file_size,
                                record_index *index)
{
    sluice_status st = SLUICE_OK;

    for (uint64_t i = 0; i < count && st == SLUICE_OK; i++) {
        record_range ranges[RECORD_MOST_RANGES];

        for (uint32_t k = 0; k < index->per_record; k++, from += RANGE) {
            ranges[k] = (record_range){sli_get_u64(from), sli_get_u64(from + 8)};
            if (ranges[k].offset > file_size || ranges[k].size > file_size - ranges[k].offset) {
                return sli_fail(SLUICE_E_CORRUPT, "it has a record outside of the file");
            }
        }
        st = record_index_add(index, ranges);
    }
    return st;
}

static sluice_status read_index(const record_format *format, const record_input *file,
                                uint64_t stamp, const char *path, record_index *index)
{
    uint8_t head[HEAD] = {0};
    uint8_t *bytes = NULL;
    size_t size = 0;
    uint64_t count;
    sluice_status st = index_file_read(path, HEAD + 4, &bytes, &size);

    if (st != SLUICE_OK) {
        return st;
    }
    put_head(head, format, file, stamp, index);
    count = sli_get_u64(bytes + 16);
    memcpy(head + 16, bytes + 16, 8);
    if (sli_get_u32(bytes + size - 4) != sli_crc32c(0, bytes, size - 4) ||
        count != (size - HEAD - 4) / RANGE / index->per_record ||
        size != HEAD + 4 + count * index->per_record * RANGE) {
        st = sli_fail(SLUICE_E_CORRUPT, "it is corrupt");
    } else if (memcmp(bytes, head, HEAD) != 0) {
        st = sli_fail(SLUICE_E_CORRUPT, "it is of another file, or of another version of it");
    } else {
        st = add_ranges(bytes + HEAD, count, file->size, index);
    }
    sli_free(bytes);
    return st;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Reads the index of another tool; without one that covers the file, scans the file. */
static sluice_status make_index(const record_format *format, const record_input *file,
                                bool *is_scan_out, record_index *index)
{
    sluice_status st = record_index_read_foreign(format, file, index);

    if (st == SLUICE_E_CORRUPT) {
        sli_log(SLUICE_LOG_WARN, "%s %.400s: %s; it is not used, and the file is scanned",
                format->files.source, file->path, sluice_last_error());
        st = SLUICE_END_OF_DATA;
    }
    *is_scan_out = st == SLUICE_END_OF_DATA;
    if (*is_scan_out) {
        record_index_free(index);
        st = format->scan(file, index);
    }
    return st;
}

/* Keeps the index of a file, unless that has changed meanwhile. */
static void keep_index(const record_format *format, const record_input *file, uint64_t stamp,
                       const record_index *index, char *folder, const char *path)
{
    struct stat now;

    if (fstat(file->fd, &now) != 0 || shard_stamp(&now) != stamp) {
        sli_log(SLUICE_LOG_WARN,
                "%s was changed while its index was built: the index is not stored, and samples of "
                "this run may be wrong; start again when the file is complete",
                file->path);
        return;
    }
    index_make_folders(folder);
    if (write_index(format, file, stamp, index, path) != SLUICE_OK) {
        sli_log(SLUICE_LOG_INFO, "%s", sluice_last_error());
        return;
    }
    sli_log(SLUICE_LOG_INFO, "the index of %s, %llu records, is kept in %s", file->path,
            (unsigned long long)index->count, path);
}

static sluice_status find_kept(const record_format *format, const record_input *file, char *folder,
                               const char *path, record_index *index)
{
    struct stat info;
    bool is_scan = false;
    sluice_status st = SLUICE_E_CORRUPT;

    if (fstat(file->fd, &info) != 0) {
        return sli_fail(SLUICE_E_IO, "cannot stat it");
    }
    if (access(path, F_OK) == 0) {
        st = read_index(format, file, shard_stamp(&info), path, index);
        if (st == SLUICE_OK || st == SLUICE_E_NO_MEMORY) {
            return st;
        }
        sli_log(SLUICE_LOG_INFO, "the index %s is not used: %s", path, sluice_last_error());
        record_index_free(index);
    }
    index_await_tick(&info);
    st = make_index(format, file, &is_scan, index);
    if (st == SLUICE_OK && is_scan) {
        keep_index(format, file, shard_stamp(&info), index, folder, path);
    }
    return st;
}

sluice_status record_index_find(const record_format *format, const record_input *file,
                                const char *folder, record_index *index)
{
    const bool is_auto = strcmp(folder, "auto") == 0;
    char *own = NULL;
    char *path = NULL;
    bool is_scan;
    sluice_status st = SLUICE_OK;

    index->per_record = format->ranges;
    if (strcmp(folder, "none") == 0 || (is_auto && file->size < KEPT_FROM)) {
        return make_index(format, file, &is_scan, index);
    }
    if (is_auto) {
        st = index_cache_folder(&own);
    } else {
        own = sli_strdup(folder);
        st = own != NULL ? SLUICE_OK : sli_fail(SLUICE_E_NO_MEMORY, "the index of a file");
    }
    if (st == SLUICE_OK && own[0] == '\0') {
        st = make_index(format, file, &is_scan, index);
    } else if (st == SLUICE_OK) {
        st = index_path_in(own, file->path, sli_hash_text(format->files.source), &path);
        if (st == SLUICE_OK) {
            st = find_kept(format, file, own, path, index);
        }
    }
    sli_free(own);
    sli_free(path);
    return st;
}
