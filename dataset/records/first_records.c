/* SPDX-License-Identifier: Apache-2.0 */
#include "first_records.h"

#include <errno.h>

#include "descriptor_int.h"
#include "status_int.h"

enum { MOST_RECORDS = 100, MOST_BYTES = 1 << 26 };

static sluice_status read_ranges(first_records *first, const record_range *ranges, uint64_t size)
{
    size_t at = 0;
    sluice_status st = image_buffer_reserve(&first->bytes, (size_t)size);

    for (uint32_t i = 0; i < first->index->per_record && st == SLUICE_OK; i++) {
        record_part *part = &first->parts[i];
        ssize_t got;

        *part = (record_part){first->bytes.data + at, (size_t)ranges[i].size};
        got = sli_pread(first->file->fd, first->bytes.data + at, part->size, ranges[i].offset);
        at += part->size;
        if (got < 0) {
            st = sli_fail_errno(SLUICE_E_IO, errno, "cannot read the record at byte %llu",
                                (unsigned long long)ranges[i].offset);
        } else if ((size_t)got < part->size) {
            st = sli_fail(SLUICE_E_IO,
                          "the file ends within the record at byte %llu: it was "
                          "truncated since it was opened",
                          (unsigned long long)ranges[i].offset);
        }
    }
    return st;
}

sluice_status first_records_next(first_records *first)
{
    const record_index *index = first->index;
    const record_range *ranges = &index->ranges[first->next * index->per_record];
    uint64_t size = 0;

    if (first->next == index->count || first->next == MOST_RECORDS) {
        return SLUICE_END_OF_DATA;
    }
    for (uint32_t i = 0; i < index->per_record; i++) {
        size += ranges[i].size; /* each is within the file */
    }
    if (size > MOST_BYTES - first->read) {
        return first->next > 0
                   ? SLUICE_END_OF_DATA
                   : sli_fail(SLUICE_E_UNSUPPORTED,
                              "its first record has %llu bytes, more than are looked at; say what "
                              "it holds by fields=",
                              (unsigned long long)size);
    }
    first->read += size;
    first->next++;
    return read_ranges(first, ranges, size);
}

bool first_records_has_more(const first_records *first)
{
    return first->next < first->index->count;
}

void first_records_free(first_records *first)
{
    image_buffer_free(&first->bytes);
}
