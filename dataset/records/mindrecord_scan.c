/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>

#include "alloc_int.h"
#include "bytes_int.h"
#include "descriptor_int.h"
#include "mindrecord_rows.h"
#include "status_int.h"

/* Bytes that are read at once for the lengths of rows: several short ones, or that of a long one.
 */
enum { WINDOW_BYTES = 8192, LENGTH_BYTES = 8 };

/* The position in a page. */
typedef struct page_walk {
    int fd;
    size_t page;    /* its number */
    uint64_t at;    /* offset in the file of the next row */
    uint64_t end;   /* of the page's rows */
    uint64_t begin; /* offset in the file of the window */
    size_t held;    /* bytes in the window */
    uint8_t window[WINDOW_BYTES];
} page_walk;

/* The raw page of a row group. */
typedef struct group_place {
    size_t page;
    uint64_t offset;
    bool is_known;
} group_place;

static void walk_page(page_walk *walk, const mindrecord_header *header, size_t page,
                      uint64_t offset)
{
    walk->page = page;
    walk->at = mindrecord_page_offset(header, page) + offset;
    walk->end = mindrecord_page_offset(header, page) + header->pages[page].size;
}

/* Reads the window at the next row. */
static sluice_status read_window(page_walk *walk)
{
    const uint64_t left = walk->end - walk->at;
    const ssize_t got = sli_pread(walk->fd, walk->window,
                                  left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES, walk->at);

    if (got < 0) {
        return sli_fail_errno(SLUICE_E_IO, errno, "cannot read at byte %" PRIu64, walk->at);
    }
    if (got < LENGTH_BYTES) {
        return sli_fail(SLUICE_E_CORRUPT, "the file ends within the page %zu", walk->page);
    }
    walk->begin = walk->at;
    walk->held = (size_t)got;
    return SLUICE_OK;
}

/* Passes a row. */
static sluice_status next_row(page_walk *walk, record_range *range_out)
{
    uint64_t length;
    sluice_status st = SLUICE_OK;

    if (walk->at > walk->end || walk->end - walk->at < LENGTH_BYTES) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "the page %zu ends at byte %" PRIu64 ", before its last row", walk->page,
                        walk->end);
    }
    if (walk->at < walk->begin || walk->at + LENGTH_BYTES > walk->begin + walk->held) {
        st = read_window(walk);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    length = sli_get_u64(walk->window + (walk->at - walk->begin));
    if (length > walk->end - walk->at - LENGTH_BYTES) {
        return sli_fail(SLUICE_E_CORRUPT,
                        "a row of %" PRIu64 " bytes at byte %" PRIu64
                        " is longer than the page %zu",
                        length, walk->at, walk->page);
    }
    *range_out = (record_range){walk->at + LENGTH_BYTES, length};
    walk->at += LENGTH_BYTES + length;
    return SLUICE_OK;
}

/* Finds the raw page of each row group. */
static sluice_status place_groups(const mindrecord_header *header, group_place *places,
                                  size_t count)
{
    for (size_t i = 0; i < header->page_count; i++) {
        const mindrecord_page *page = &header->pages[i];

        for (size_t k = 0; page->is_raw && k < page->group_count; k++) {
            const mindrecord_group *group = &header->groups[page->first_group + k];

            if (group->id >= count || places[group->id].is_known) {
                return sli_fail(SLUICE_E_CORRUPT,
                                "the raw page %zu has the row group %" PRIu64 ", which has %s", i,
                                group->id, group->id >= count ? "no blob page" : "another one");
            }
            places[group->id] = (group_place){i, group->offset, true};
        }
    }
    return SLUICE_OK;
}

/* Appends the rows of a blob page. */
static sluice_status add_rows(page_walk *walks, const mindrecord_header *header, size_t page,
                              const group_place *place, record_index *index)
{
    const uint64_t rows = header->pages[page].end_row - header->pages[page].first_row;
    sluice_status st = SLUICE_OK;

    if (rows > 0 && !place->is_known) {
        return sli_fail(SLUICE_E_CORRUPT, "the blob page %zu has no raw page", page);
    }
    walk_page(&walks[MINDRECORD_BLOB], header, page, 0);
    walk_page(&walks[MINDRECORD_RAW], header, place->page, place->offset);
    for (uint64_t i = 0; i < rows && st == SLUICE_OK; i++) {
        record_range ranges[MINDRECORD_RANGES];

        st = next_row(&walks[MINDRECORD_RAW], &ranges[MINDRECORD_RAW]);
        st = st == SLUICE_OK ? next_row(&walks[MINDRECORD_BLOB], &ranges[MINDRECORD_BLOB]) : st;
        st = st == SLUICE_OK ? record_index_add(index, ranges) : st;
    }
    return st;
}

sluice_status mindrecord_scan(int fd, const mindrecord_header *header, record_index *index)
{
    page_walk *walks = sli_calloc(MINDRECORD_RANGES, sizeof(*walks));
    group_place *places = sli_calloc(header->page_count + 1, sizeof(*places));
    size_t group = 0;
    sluice_status st = walks == NULL || places == NULL
                           ? sli_fail(SLUICE_E_NO_MEMORY, "%zu pages", header->page_count)
                           : SLUICE_OK;

    for (size_t i = 0; i < header->page_count; i++) {
        group += !header->pages[i].is_raw;
    }
    st = st == SLUICE_OK ? place_groups(header, places, group) : st;
    group = 0;
    for (size_t i = 0; i < header->page_count && st == SLUICE_OK; i++) {
        if (!header->pages[i].is_raw) {
            walks[MINDRECORD_RAW].fd = fd;
            walks[MINDRECORD_BLOB].fd = fd;
            st = add_rows(walks, header, i, &places[group++], index);
        }
    }
    sli_free(walks);
    sli_free(places);
    return st;
}
