/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the lines of positions in a long text, without counting from its beginning each time. */
#ifndef SLUICE_LIST_LINES_H
#define SLUICE_LIST_LINES_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* The text is borrowed. */
typedef struct list_lines {
    const char *text;
    uint64_t *before; /* number of line breaks before each block of the text */
    size_t blocks;
} list_lines;

/* E_NO_MEMORY. */
sluice_status list_lines_init(list_lines *lines, const char *text, size_t size);
void list_lines_free(list_lines *lines);

/* Returns the line and column, both from 1, of a position in the text. */
void list_lines_find(const list_lines *lines, const char *at, uint64_t *line_out,
                     uint64_t *column_out);

#endif
