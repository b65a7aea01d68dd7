/* SPDX-License-Identifier: Apache-2.0 */
#include "record_index.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "index_file.h"
#include "status_int.h"

sluice_status record_index_add(record_index *index, const record_range *ranges)
{
    const size_t at = (size_t)index->count * index->per_record;
    record_range *grown =
        sli_grow(index->ranges, &index->capacity, at + index->per_record, sizeof(*grown));

    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "an index of %llu records",
                        (unsigned long long)index->count);
    }
    index->ranges = grown;
    memcpy(&grown[at], ranges, index->per_record * sizeof(*ranges));
    index->count++;
    return SLUICE_OK;
}

void record_index_free(record_index *index)
{
    sli_free(index->ranges);
    index->ranges = NULL;
    index->capacity = 0;
    index->count = 0;
}

/* ---- the index of another tool --------------------------------------------------------------- */

/* Fails unless the records follow one another from the first byte of a file to its last. */
static sluice_status check_cover(const record_input *file, const record_index *index)
{
    uint64_t end = 0;

    for (uint64_t i = 0; i < index->count; i++) {
        const record_range *range = &index->ranges[i * index->per_record];

        if (range->offset != end || range->size > file->size - end) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "record %llu, of %llu bytes, is at byte %llu, and must be at byte %llu "
                            "of %llu",
                            (unsigned long long)i, (unsigned long long)range->size,
                            (unsigned long long)range->offset, (unsigned long long)end,
                            (unsigned long long)file->size);
        }
        end += range->size;
    }
    return end == file->size
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT,
                          "its last record ends at byte %llu, and the file has %llu bytes",
                          (unsigned long long)end, (unsigned long long)file->size);
}

static sluice_status read_text(const char *path, char **text_out)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    sluice_status st = index_file_read(path, 1, &bytes, &size);

    if (st == SLUICE_OK) {
        *text_out = sli_calloc(1, size + 1);
        st = *text_out != NULL ? SLUICE_OK : sli_fail(SLUICE_E_NO_MEMORY, "the index %s", path);
    }
    if (st == SLUICE_OK) {
        memcpy(*text_out, bytes, size);
    }
    sli_free(bytes);
    return st;
}

static sluice_status parse_text(const record_format *format, const record_input *file,
                                const char *path, const char *text, record_index *index)
{
    sluice_status st = format->parse_index(file, text, index);

    st = st == SLUICE_OK ? check_cover(file, index) : st;
    if (st == SLUICE_OK || st == SLUICE_E_NO_MEMORY) {
        return st;
    }
    return sli_fail_quoting(st, "the index %.300s: %.500s", path, sluice_last_error());
}

sluice_status record_index_read_foreign(const record_format *format, const record_input *file,
                                        record_index *index)
{
    char path[PATH_MAX];
    char *text = NULL;
    int i = 0;
    sluice_status st;

    if (format->index_path == NULL) {
        return SLUICE_END_OF_DATA;
    }
    do {
        if (!format->index_path(file->path, i++, path, sizeof(path))) {
            return SLUICE_END_OF_DATA;
        }
    } while (access(path, F_OK) != 0);
    st = read_text(path, &text);
    if (st == SLUICE_OK) {
        st = parse_text(format, file, path, text, index);
    }
    sli_free(text);
    return st == SLUICE_E_IO ? SLUICE_E_CORRUPT : st;
}
