/* SPDX-License-Identifier: Apache-2.0 */
#include "mindrecord_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "alloc_int.h"
#include "bytes_int.h"
#include "descriptor_int.h"
#include "mindrecord_db.h"
#include "mindrecord_encode.h"
#include "status_int.h"

enum { USUAL_HEADER = 1 << 24, USUAL_PAGE = 1 << 25 };

struct mindrecord_writer {
    int fd;
    mindrecord_layout layout;
    mindrecord_row row;
    mindrecord_header header; /* its sizes, its description, its pages and its row groups */
    mindrecord_db *db;
    uint64_t rows;
    uint64_t blob_pages;
    size_t raw_page; /* where rows are appended, if there is a row */
    size_t blob_page;
};

sluice_status mindrecord_writer_check(void)
{
    return mindrecord_db_check();
}

static sluice_status set_sizes(const mindrecord_schema *schema, mindrecord_header *header)
{
    header->header_size = schema->header_size > 0 ? schema->header_size : USUAL_HEADER;
    header->page_size = schema->page_size > 0 ? schema->page_size : USUAL_PAGE;
    if (header->header_size < MINDRECORD_LEAST_HEADER ||
        header->header_size > MINDRECORD_MOST_HEADER || header->header_size % 4 != 0 ||
        header->page_size < MINDRECORD_LEAST_PAGE || header->page_size > MINDRECORD_MOST_PAGE ||
        header->page_size % 4 != 0) {
        return sli_fail(SLUICE_E_INVALID,
                        "a header of %" PRIu64 " and pages of %" PRIu64 " bytes must be multiples "
                        "of 4, from %d to %d and from %d to %d",
                        header->header_size, header->page_size, MINDRECORD_LEAST_HEADER,
                        MINDRECORD_MOST_HEADER, MINDRECORD_LEAST_PAGE, MINDRECORD_MOST_PAGE);
    }
    header->description = sli_strdup(schema->description != NULL ? schema->description : "");
    return header->description != NULL ? SLUICE_OK
                                       : sli_fail(SLUICE_E_NO_MEMORY, "a MindRecord file");
}

sluice_status mindrecord_writer_begin(const mindrecord_schema *schema, int fd, const char *name,
                                      const char *index_path, mindrecord_writer **writer_out)
{
    mindrecord_writer *writer = sli_calloc(1, sizeof(*writer));
    const char *indexed[SLUICE_MAX_COLUMNS];
    sluice_status st;

    *writer_out = NULL;
    if (writer == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a MindRecord file");
    }
    writer->fd = fd;
    st = mindrecord_layout_make(schema, &writer->layout);
    st = st == SLUICE_OK ? set_sizes(schema, &writer->header) : st;
    if (st == SLUICE_OK) {
        for (uint32_t i = 0; i < writer->layout.indexed_count; i++) {
            indexed[i] = writer->layout.columns[writer->layout.indexed[i]].name;
        }
        st = mindrecord_db_create(index_path, name, indexed, writer->layout.indexed_count,
                                  &writer->db);
    }
    if (st != SLUICE_OK) {
        mindrecord_writer_close(writer);
        return st;
    }
    *writer_out = writer;
    return SLUICE_OK;
}

void mindrecord_writer_close(mindrecord_writer *writer)
{
    if (writer != NULL) {
        mindrecord_db_close(writer->db);
        mindrecord_layout_free(&writer->layout);
        mindrecord_row_free(&writer->row);
        mindrecord_header_free(&writer->header);
        sli_free(writer);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static sluice_status add_page(mindrecord_writer *writer, bool is_raw, size_t *page_out)
{
    mindrecord_header *header = &writer->header;
    mindrecord_page *grown =
        sli_grow(header->pages, &header->page_capacity, header->page_count + 1, sizeof(*grown));

    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%zu pages", header->page_count + 1);
    }
    header->pages = grown;
    grown[header->page_count] = (mindrecord_page){.is_raw = is_raw,
                                                  .type_id = is_raw ? 0 : writer->blob_pages++,
                                                  .first_row = is_raw ? 0 : writer->rows,
                                                  .end_row = is_raw ? 0 : writer->rows,
                                                  .first_group = header->group_count};
    *page_out = header->page_count++;
    return SLUICE_OK;
}

/* Begins the row group of a new blob page, in the raw page. */
static sluice_status add_group(mindrecord_writer *writer)
{
    mindrecord_header *header = &writer->header;
    mindrecord_page *raw = &header->pages[writer->raw_page];
    mindrecord_group *grown =
        sli_grow(header->groups, &header->group_capacity, header->group_count + 1, sizeof(*grown));

    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%zu row groups", header->group_count + 1);
    }
    header->groups = grown;
    grown[header->group_count++] =
        (mindrecord_group){header->pages[writer->blob_page].type_id, raw->size};
    raw->group_count++;
    return SLUICE_OK;
}

static bool is_full(const mindrecord_writer *writer, size_t page, size_t size)
{
    return writer->header.pages[page].size + size > writer->header.page_size;
}

/* Refuses a row that no page has room for. The message names its largest column. */
static sluice_status check_size(const mindrecord_writer *writer, const record_value *values)
{
    const mindrecord_row *row = &writer->row;
    const size_t size = row->raw_size > row->blob_size ? row->raw_size : row->blob_size;
    uint32_t most = 0;

    if (size <= writer->header.page_size) {
        return SLUICE_OK;
    }
    for (uint32_t i = 1; i < writer->layout.count; i++) {
        most = values[i].size > values[most].size ? i : most;
    }
    return sli_fail(SLUICE_E_UNSUPPORTED,
                    "the column %.60s has %zu bytes; a row of MindRecord must have at most %" PRIu64
                    " (the size of a page), and this one has %zu",
                    writer->layout.columns[most].name, values[most].size, writer->header.page_size,
                    size);
}

/* Begins pages that have room for the row. A row group lies in one raw and one blob page. */
static sluice_status make_room(mindrecord_writer *writer)
{
    const mindrecord_header *header = &writer->header;
    const mindrecord_row *row = &writer->row;
    const bool needs_raw =
        header->page_count == 0 || is_full(writer, writer->raw_page, row->raw_size);
    const bool needs_blob = needs_raw || is_full(writer, writer->blob_page, row->blob_size);
    sluice_status st = SLUICE_OK;

    if (needs_raw) {
        st = add_page(writer, true, &writer->raw_page);
    }
    if (needs_blob) {
        st = st == SLUICE_OK ? add_page(writer, false, &writer->blob_page) : st;
        st = st == SLUICE_OK ? add_group(writer) : st;
    }
    return st;
}

/* Writes bytes at the end of a page. */
static sluice_status append(mindrecord_writer *writer, size_t page, const uint8_t *bytes,
                            size_t size)
{
    mindrecord_header *header = &writer->header;
    const uint64_t offset = mindrecord_page_offset(header, page) + header->pages[page].size;

    header->pages[page].size += size;
    return sli_pwrite(writer->fd, bytes, size, offset) == 0
               ? SLUICE_OK
               : sli_fail_errno(SLUICE_E_IO, errno, "cannot write");
}

sluice_status mindrecord_writer_add(mindrecord_writer *writer, const record_value *values)
{
    mindrecord_row *row = &writer->row;
    mindrecord_position position;
    sluice_status st = mindrecord_row_encode(&writer->layout, values, row);
    mindrecord_page *raw;
    mindrecord_page *blob;

    st = st == SLUICE_OK ? check_size(writer, values) : st;
    st = st == SLUICE_OK ? make_room(writer) : st;
    if (st != SLUICE_OK) {
        return st;
    }
    raw = &writer->header.pages[writer->raw_page];
    blob = &writer->header.pages[writer->blob_page];
    position = (mindrecord_position){.row = writer->rows,
                                     .raw_page = writer->raw_page,
                                     .raw_begin = raw->size,
                                     .raw_end = raw->size + row->raw_size,
                                     .group = blob->type_id,
                                     .blob_page = writer->blob_page,
                                     .blob_begin = blob->size,
                                     .blob_end = blob->size + row->blob_size};
    st = append(writer, writer->raw_page, row->raw.data, row->raw_size);
    st = st == SLUICE_OK ? append(writer, writer->blob_page, row->blob.data, row->blob_size) : st;
    st = st == SLUICE_OK ? mindrecord_db_add(writer->db, &position, row->indexed) : st;
    if (st == SLUICE_OK) {
        writer->rows++;
        blob->end_row++;
    }
    return st;
}

/* ---- the header ------------------------------------------------------------------------------ */

/* Appends a page. MindSpore writes the row group 0 for pages that have none. */
static void print_page(const mindrecord_writer *writer, size_t number, uint32_t shard,
                       sli_text *text)
{
    const mindrecord_header *header = &writer->header;
    const mindrecord_page *page = &header->pages[number];

    sli_text_add(text,
                 "%s{\"end_row_id\":%llu,\"page_id\":%zu,\"page_size\":%llu,\"page_type\":\"%s\","
                 "\"page_type_id\":%llu,\"row_group_ids\":[",
                 number > 0 ? "," : "", (unsigned long long)page->end_row, number,
                 (unsigned long long)page->size, page->is_raw ? "RAW_DATA" : "BLOB_DATA",
                 (unsigned long long)page->type_id);
    for (size_t i = 0; i < page->group_count; i++) {
        const mindrecord_group *group = &header->groups[page->first_group + i];

        sli_text_add(text, "%s{\"id\":%llu,\"offset\":%llu}", i > 0 ? "," : "",
                     (unsigned long long)group->id, (unsigned long long)group->offset);
    }
    sli_text_add(text, "%s],\"shard_id\":%u,\"start_row_id\":%llu}",
                 page->group_count == 0 ? "{\"id\":0,\"offset\":0}" : "", shard,
                 (unsigned long long)page->first_row);
}

static void print_header(const mindrecord_writer *writer, const char *const *files, uint32_t count,
                         uint32_t shard, sli_text *text)
{
    const mindrecord_header *header = &writer->header;
    const int64_t saved = writer->row.saved;

    sli_text_add(text, "{\"compression_size\":%lld,\"header_size\":%llu,",
                 (long long)(saved > 0 ? saved : 0), (unsigned long long)header->header_size);
    sli_text_add(text, "\"page\":[");
    for (size_t i = 0; i < header->page_count; i++) {
        print_page(writer, i, shard, text);
    }
    sli_text_add(text, "],\"page_size\":%llu,", (unsigned long long)header->page_size);
    mindrecord_layout_print(&writer->layout, header->description, text);
    sli_text_add(text, ",\"shard_addresses\":[");
    for (uint32_t i = 0; i < count; i++) {
        sli_text_add(text, "%s", i > 0 ? "," : "");
        sli_text_add_json(text, files[i]);
    }
    sli_text_add(text, "],\"shard_id\":%u,\"statistics\":[],\"version\":\"%s\"}", shard,
                 MINDRECORD_VERSION);
}

/* Writes the header in its place, and makes the file as long as MindSpore does. */
static sluice_status write_header(mindrecord_writer *writer, const sli_text *text)
{
    const uint64_t size = writer->header.header_size;
    uint8_t length[MINDRECORD_LENGTH_BYTES];

    if (text->length + sizeof(length) > size) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "a header of %zu bytes does not fit into %" PRIu64 "; write more files",
                        text->length, size);
    }
    sli_put_u64(length, text->length);
    if (sli_pwrite(writer->fd, length, sizeof(length), 0) != 0 ||
        sli_pwrite(writer->fd, text->data, text->length, sizeof(length)) != 0 ||
        (writer->rows == 0 && ftruncate(writer->fd, (off_t)size) != 0)) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot write");
    }
    return SLUICE_OK;
}

sluice_status mindrecord_writer_finish(mindrecord_writer *writer, const char *const *files,
                                       uint32_t count, uint32_t shard)
{
    sli_text text = {0};
    sluice_status st;

    print_header(writer, files, count, shard, &text);
    st = text.failed ? sli_fail(SLUICE_E_NO_MEMORY, "the header of a MindRecord file")
                     : write_header(writer, &text);
    sli_text_free(&text);
    return st == SLUICE_OK ? mindrecord_db_finish(writer->db) : st;
}
