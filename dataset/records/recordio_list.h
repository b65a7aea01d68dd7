/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list NAME.lst beside NAME.rec, from which im2rec has made the records. It is a text with a
 * line for each image:
 *
 *     id <TAB> label <TAB> ... <TAB> path
 *
 * The id is that of the record. The list is read when the first line is needed.
 */
#ifndef SLUICE_RECORDIO_LIST_H
#define SLUICE_RECORDIO_LIST_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

typedef struct recordio_list recordio_list;

/* A line; its pointers are valid as long as the list. */
typedef struct recordio_line {
    uint64_t id;
    const char *path;
    const float *labels;
    uint32_t label_count; /* at least 1 */
} recordio_line;

/* Makes the list of a file of records, without reading it. E_NO_MEMORY. */
sluice_status recordio_list_create(const char *records, recordio_list **list_out);
void recordio_list_free(recordio_list *list);

/*
 * Finds the line of an id; NULL: the list has none, or there is no list. E_CORRUPT: the list is not
 * valid; the message has its path and the line. Also returns E_IO and E_NO_MEMORY. Callable from
 * any thread.
 */
sluice_status recordio_list_find(recordio_list *list, uint64_t id, const recordio_line **line_out);

#endif
