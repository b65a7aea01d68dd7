/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "alloc_int.h"
#include "mindrecord_member.h"
#include "status_int.h"

sluice_status mindrecord_get_number(const json_t *value, const char *key, uint64_t most,
                                    uint64_t *number_out)
{
    const json_int_t number = json_integer_value(value);

    if (!json_is_integer(value) || number < 0 || (uint64_t)number > most) {
        return sli_fail(SLUICE_E_CORRUPT, "%s must be a whole number from 0 to %" PRIu64, key,
                        most);
    }
    *number_out = (uint64_t)number;
    return SLUICE_OK;
}

static sluice_status get_member(const json_t *object, const char *key, uint64_t most,
                                uint64_t *number_out)
{
    return mindrecord_get_number(json_object_get(object, key), key, most, number_out);
}

/* Appends the row groups of a raw page. */
static sluice_status add_groups(mindrecord_header *header, const json_t *list,
                                mindrecord_page *page)
{
    const size_t count = json_array_size(list);
    mindrecord_group *grown = sli_grow(header->groups, &header->group_capacity,
                                       header->group_count + count, sizeof(*grown));
    sluice_status st = SLUICE_OK;

    if (grown == NULL && count > 0) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%zu row groups", count);
    }
    header->groups = grown != NULL ? grown : header->groups;
    page->first_group = header->group_count;
    page->group_count = count;
    for (size_t i = 0; i < count && st == SLUICE_OK; i++) {
        const json_t *value = json_array_get(list, i);
        mindrecord_group group = {0};

        st = get_member(value, "id", UINT32_MAX, &group.id);
        st = st == SLUICE_OK ? get_member(value, "offset", page->size, &group.offset) : st;
        if (st == SLUICE_OK) {
            header->groups[header->group_count++] = group;
        }
    }
    return st;
}

/* Reads the rows of a blob page. */
static sluice_status read_rows(const json_t *value, mindrecord_page *page)
{
    sluice_status st = get_member(value, "page_type_id", UINT32_MAX, &page->type_id);

    st = st == SLUICE_OK ? get_member(value, "start_row_id", INT64_MAX, &page->first_row) : st;
    st = st == SLUICE_OK ? get_member(value, "end_row_id", INT64_MAX, &page->end_row) : st;
    if (st == SLUICE_OK && page->end_row < page->first_row) {
        st = sli_fail(SLUICE_E_CORRUPT, "its rows end before they begin");
    }
    return st;
}

sluice_status mindrecord_page_add(mindrecord_header *header, const json_t *value)
{
    const char *type = json_string_value(json_object_get(value, "page_type"));
    const bool is_raw = type != NULL && strcmp(type, "RAW_DATA") == 0;
    mindrecord_page page = {.is_raw = is_raw};
    mindrecord_page *grown;
    uint64_t id = 0;
    sluice_status st = get_member(value, "page_id", UINT32_MAX, &id);

    st = st == SLUICE_OK ? get_member(value, "page_size", MINDRECORD_MOST_PAGE, &page.size) : st;
    if (st == SLUICE_OK && id != header->page_count) {
        st = sli_fail(SLUICE_E_CORRUPT, "the page %" PRIu64 " is number %zu in the list", id,
                      header->page_count);
    }
    if (st == SLUICE_OK && !is_raw && (type == NULL || strcmp(type, "BLOB_DATA") != 0)) {
        st = sli_fail(SLUICE_E_CORRUPT, "page_type is %.40s, and must be RAW_DATA or BLOB_DATA",
                      type != NULL ? type : "missing");
    }
    if (st != SLUICE_OK) {
        return st;
    }
    /* A raw page that was emptied names the group 0, which it does not have. */
    st = !is_raw         ? read_rows(value, &page)
         : page.size > 0 ? add_groups(header, json_object_get(value, "row_group_ids"), &page)
                         : SLUICE_OK;
    if (st != SLUICE_OK) {
        return st;
    }
    grown = sli_grow(header->pages, &header->page_capacity, header->page_count + 1, sizeof(*grown));
    if (grown == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%zu pages", header->page_count + 1);
    }
    header->pages = grown;
    header->pages[header->page_count++] = page;
    return SLUICE_OK;
}

sluice_status mindrecord_pages_check(const mindrecord_header *header, uint64_t size)
{
    uint64_t blobs = 0;
    uint64_t rows = 0;

    for (size_t i = 0; i < header->page_count; i++) {
        const mindrecord_page *page = &header->pages[i];
        const uint64_t end = mindrecord_page_offset(header, i) + page->size;

        if (page->size > header->page_size) {
            return sli_fail(SLUICE_E_CORRUPT, "the page %zu has %" PRIu64 " bytes of %" PRIu64, i,
                            page->size, header->page_size);
        }
        if (page->size > 0 && end > size) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "truncated: the page %zu ends at byte %" PRIu64
                            ", and the file has %" PRIu64,
                            i, end, size);
        }
        if (page->is_raw) {
            continue;
        }
        if (page->type_id != blobs || page->first_row != rows) {
            return sli_fail(SLUICE_E_CORRUPT,
                            "the blob page %" PRIu64 " begins with row %" PRIu64
                            ", and the page %" PRIu64 " before it ends with %" PRIu64,
                            page->type_id, page->first_row, blobs, rows);
        }
        blobs++;
        rows = page->end_row;
    }
    return SLUICE_OK;
}
