/* SPDX-License-Identifier: Apache-2.0 */
#include "class_lines.h"

#include <string.h>
#include <unistd.h>

#include "file_reader.h"
#include "status_int.h"
#include "text_lines.h"

/* Adds the name of a line, from `at` to `end`. */
static sluice_status add_line(const char *at, const char *end, box_set *set)
{
    size_t name = 0;
    sluice_status st;

    if (at == end) {
        return sli_fail(SLUICE_E_CORRUPT, "the line is empty, and must have the name of a class");
    }
    if (end - at > CLASS_NAME_MOST || memchr(at, '\0', (size_t)(end - at)) != NULL) {
        return sli_fail(SLUICE_E_CORRUPT, "a name must have at most %d bytes, none of them zero",
                        CLASS_NAME_MOST);
    }
    st = box_set_add_name(set, at, (size_t)(end - at), &name);
    return st == SLUICE_OK ? box_set_add_class(set, name) : st;
}

/* Adds the names of a text. *line_out: the number of the last line that was read. */
static sluice_status add_lines(const char *text, size_t size, box_set *set, uint64_t *line_out)
{
    sluice_status st = SLUICE_OK;
    text_lines lines;
    const char *at;
    const char *end;

    while (size > 0 && (text_is_blank(text[size - 1]) || text[size - 1] == '\n')) {
        size--;
    }
    lines = text_lines_of(text, size);
    while (st == SLUICE_OK && text_lines_next(&lines, &at, &end)) {
        st = add_line(at, end, set);
    }
    *line_out = lines.number;
    return st;
}

sluice_status class_lines_read(int root_fd, const char *path, box_set *set)
{
    sample_io io = {.lent = NULL};
    sample_data data = {.bytes = NULL};
    uint64_t line = 0;
    sluice_status st = file_read_most(root_fd, path, CLASS_LINES_MOST, &io, &data);

    if (st == SLUICE_OK) {
        st = add_lines((const char *)data.bytes, data.size, set, &line);
    }
    sample_io_free(&io);
    if (st != SLUICE_OK && st != SLUICE_E_NO_MEMORY) {
        st = line > 0 ? sli_fail_quoting(st, "%.400s:%llu: %.400s", path, (unsigned long long)line,
                                         sluice_last_error())
                      : sli_fail_quoting(st, "%.400s: %.400s", path, sluice_last_error());
    }
    return st;
}

sluice_status class_lines_find(int root_fd, const char *const *paths, box_set *set)
{
    for (; *paths != NULL; paths++) {
        if (faccessat(root_fd, *paths, F_OK, 0) == 0) {
            return class_lines_read(root_fd, *paths, set);
        }
    }
    return SLUICE_OK;
}
