/* SPDX-License-Identifier: Apache-2.0 */
#include "tfrecord_format.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "bytes_int.h"
#include "crc32c_int.h"
#include "descriptor_int.h"
#include "example_values.h"
#include "first_records.h"
#include "record_columns.h"
#include "small_file_int.h"
#include "status_int.h"

/* Records below WINDOW_RECORD bytes are scanned in windows of this many bytes. */
enum { WINDOW = 1 << 16, WINDOW_RECORD = 1 << 14 };

uint32_t tfrecord_crc(const void *bytes, size_t size)
{
    const uint32_t crc = sli_crc32c(0, bytes, size);

    return (crc >> 15 | crc << 17) + 0xa282ead8;
}

/* ---- scanning -------------------------------------------------------------------------------- */

/* The part of a file that a scan has read. */
typedef struct scan_window {
    uint64_t begin;
    size_t size;
    uint8_t bytes[WINDOW];
} scan_window;

/* Reads the head of the record at an offset; the next `most` bytes are worth to be read. */
static sluice_status read_head(const record_input *file, scan_window *window, uint64_t offset,
                               size_t most, const uint8_t **head_out)
{
    ssize_t got;

    if (offset < window->begin || offset - window->begin + TFRECORD_HEAD > window->size) {
        got = sli_pread(file->fd, window->bytes, most, offset);
        if (got < 0) {
            return sli_fail_errno(SLUICE_E_IO, errno, "cannot read it at %llu",
                                  (unsigned long long)offset);
        }
        window->begin = offset;
        window->size = (size_t)got;
    }
    if (window->size < TFRECORD_HEAD) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "it ends at %llu, within the head of the record at %llu: it is truncated",
                        (unsigned long long)offset + window->size, (unsigned long long)offset);
    }
    *head_out = window->bytes + (offset - window->begin);
    return SLUICE_OK;
}

bool tfrecord_head_is_good(const uint8_t *head)
{
    return tfrecord_crc(head, 8) == sli_get_u32(head + 8);
}

/* Fails because the file does not go on with a record. */
static sluice_status no_record(uint64_t offset)
{
    return offset == 0
               ? sli_fail(SLUICE_E_CORRUPT,
                          "it is not a TFRecord file: the checksum of its first length is wrong")
               : sli_fail(SLUICE_E_CORRUPT,
                          "the checksum of the length of the record at %llu is wrong, so no later "
                          "record can be found",
                          (unsigned long long)offset);
}

/* Determines the range of the record at an offset. */
static sluice_status find_record(const record_input *file, uint64_t offset, const uint8_t *head,
                                 record_range *range_out)
{
    const uint64_t length = sli_get_u64(head);

    if (!tfrecord_head_is_good(head)) {
        return no_record(offset);
    }
    if (file->size - offset < TFRECORD_HEAD + TFRECORD_TAIL ||
        length > file->size - offset - TFRECORD_HEAD - TFRECORD_TAIL) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the record at %llu has %llu bytes, beyond the end of the file at %llu: it "
                        "is truncated",
                        (unsigned long long)offset, (unsigned long long)length,
                        (unsigned long long)file->size);
    }
    *range_out = (record_range){offset, TFRECORD_HEAD + length + TFRECORD_TAIL};
    return SLUICE_OK;
}

static sluice_status tfrecord_scan(const record_input *file, record_index *index)
{
    scan_window *window = sli_calloc(1, sizeof(*window));
    size_t most = WINDOW;
    uint64_t offset = 0;
    sluice_status st = window != NULL ? SLUICE_OK : sli_fail(SLUICE_E_NO_MEMORY, "a scan");

    while (st == SLUICE_OK && offset < file->size) {
        const uint8_t *head = NULL;
        record_range range = {0, 0};

        st = read_head(file, window, offset, most, &head);
        if (st == SLUICE_OK) {
            st = find_record(file, offset, head, &range);
        }
        if (st == SLUICE_OK) {
            st = record_index_add(index, &range);
        }
        offset += range.size;
        most = range.size < WINDOW_RECORD ? WINDOW : TFRECORD_HEAD;
    }
    sli_free(window);
    return st;
}

/* ---- the index of another tool --------------------------------------------------------------- */

/* Parses a number of an index, and moves behind it and `end`. */
static bool take_number(const char **at, char end, uint64_t *number_out)
{
    int64_t number;

    if (!sli_digits_parse(at, &number) || **at != end) {
        return false;
    }
    ++*at;
    *number_out = (uint64_t)number;
    return true;
}

/* Appends the records of lines "OFFSET SIZE". */
static sluice_status tfrecord_parse_index(const record_input *file, const char *text,
                                          record_index *index)
{
    sluice_status st = SLUICE_OK;

    (void)file;
    while (*text != '\0' && st == SLUICE_OK) {
        record_range range;

        if (!take_number(&text, ' ', &range.offset) || !take_number(&text, '\n', &range.size) ||
            range.size < TFRECORD_HEAD + TFRECORD_TAIL) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "line %llu must be the offset and the size of a record",
                            (unsigned long long)index->count + 1);
        }
        st = record_index_add(index, &range);
    }
    return st;
}

/* FILE.idx, or NAME.idx in place of the extension. */
static bool tfrecord_index_path(const char *file, int i, char *path, size_t size)
{
    const char *slash = strrchr(file, '/');
    const char *dot = strrchr(slash != NULL ? slash : file, '.');
    const int length = i == 0 || dot == NULL ? (int)strlen(file) : (int)(dot - file);

    return i < 2 && snprintf(path, size, "%.*s.idx", length, file) < (int)size;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Checks lengths and checksums of a record in memory. */
static sluice_status check_record(const record_part *part)
{
    const uint8_t *bytes = part->bytes;
    const size_t around = TFRECORD_HEAD + TFRECORD_TAIL;
    size_t size;

    if (part->size < around || !tfrecord_head_is_good(bytes)) {
        return sli_fail(SLUICE_E_CORRUPT, "no record begins there: the checksum of its length is "
                                          "wrong");
    }
    size = part->size - around;
    if (sli_get_u64(bytes) != size) {
        return sli_fail(SLUICE_E_CORRUPT, "its data have %llu bytes, and %zu by the index",
                        (unsigned long long)sli_get_u64(bytes), size);
    }
    return tfrecord_crc(bytes + TFRECORD_HEAD, size) == sli_get_u32(bytes + TFRECORD_HEAD + size)
               ? SLUICE_OK
               : sli_fail(SLUICE_E_CORRUPT, "the checksum of its %zu bytes is wrong", size);
}

static sluice_status tfrecord_parse(const void *state, const record_part *parts,
                                    const record_names *wanted, image_buffer *scratch,
                                    record_value *values_out)
{
    const sluice_status st = check_record(&parts[0]);

    (void)state;
    return st == SLUICE_OK ? example_parse(parts[0].bytes + TFRECORD_HEAD,
                                           parts[0].size - TFRECORD_HEAD - TFRECORD_TAIL, wanted,
                                           scratch, values_out)
                           : st;
}

/* ---- columns --------------------------------------------------------------------------------- */

static sluice_status note_feature(void *user, const example_feature *feature)
{
    record_columns_note(user, feature->name, feature->name_length, &feature->value, false);
    return SLUICE_OK;
}

static sluice_status tfrecord_choose(const record_input *file, const record_index *index,
                                     sli_text *fields, bool *guessed_out)
{
    first_records first = {.file = file, .index = index};
    record_columns *columns = NULL;
    sluice_status st = record_columns_create("tfrecord", &columns);

    while (st == SLUICE_OK && (st = first_records_next(&first)) == SLUICE_OK) {
        const record_part *part = &first.parts[0];

        st = check_record(part);
        if (st == SLUICE_OK) {
            record_columns_begin(columns);
            st = example_visit(part->bytes + TFRECORD_HEAD,
                               part->size - TFRECORD_HEAD - TFRECORD_TAIL, note_feature, columns);
        }
        st = st == SLUICE_E_CORRUPT && first_records_has_more(&first) ? SLUICE_OK : st;
    }
    *guessed_out = true;
    if (st == SLUICE_END_OF_DATA) {
        st = record_columns_print(columns, fields);
    }
    record_columns_free(columns);
    first_records_free(&first);
    return st;
}

const record_format record_tfrecord = {
    .files = {"tfrecord", ".tfrecord", true},
    .ranges = 1,
    .scan = tfrecord_scan,
    .index_path = tfrecord_index_path,
    .parse_index = tfrecord_parse_index,
    .choose = tfrecord_choose,
    .parse = tfrecord_parse,
};
