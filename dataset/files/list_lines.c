/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "list_lines.h"

#include <string.h>

#include "alloc_int.h"
#include "status_int.h"

enum { BLOCK = 4096 };

/* Returns the number of line breaks in [from, end). */
static uint64_t count_breaks(const char *from, const char *end)
{
    uint64_t count = 0;

    while (from < end && (from = memchr(from, '\n', (size_t)(end - from))) != NULL) {
        count++;
        from++;
    }
    return count;
}

sluice_status list_lines_init(list_lines *lines, const char *text, size_t size)
{
    const size_t blocks = size / BLOCK + 1; /* a position may be the end of the text */

    *lines = (list_lines){
        .text = text, .before = sli_calloc(blocks, sizeof(*lines->before)), .blocks = blocks};
    if (lines->before == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the lines of a list of %zu bytes", size);
    }
    for (size_t i = 1; i < blocks; i++) {
        lines->before[i] =
            lines->before[i - 1] + count_breaks(text + (i - 1) * BLOCK, text + i * BLOCK);
    }
    return SLUICE_OK;
}

void list_lines_free(list_lines *lines)
{
    sli_free(lines->before);
    *lines = (list_lines){.text = NULL};
}

void list_lines_find(const list_lines *lines, const char *at, uint64_t *line_out,
                     uint64_t *column_out)
{
    const size_t offset = (size_t)(at - lines->text);
    const size_t block = offset / BLOCK;
    const char *last = memrchr(lines->text, '\n', offset);
    const char *line = last != NULL ? last + 1 : lines->text;

    *line_out = lines->before[block] + count_breaks(lines->text + block * BLOCK, at) + 1;
    *column_out = (uint64_t)(at - line) + 1;
}
