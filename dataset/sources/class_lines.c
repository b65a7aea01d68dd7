/* SPDX-License-Identifier: Apache-2.0 */
#include "class_lines.h"

#include <string.h>
#include <unistd.h>

#include "error_int.h"
#include "file_reader.h"
#include "status_int.h"

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Adds the name of a line, from `at` to `end`. */
static sluice_status add_line(const char *at, const char *end, box_set *set)
{
    size_t name = 0;
    sluice_status st;

    while (at < end && is_blank(*at)) {
        at++;
    }
    while (end > at && is_blank(end[-1])) {
        end--;
    }
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
    const char *end = text + size;
    sluice_status st = SLUICE_OK;

    text += size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    while (end > text && is_blank(end[-1])) {
        end--;
    }
    for (*line_out = 0; text < end && st == SLUICE_OK;) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));

        stop = stop != NULL ? stop : end;
        ++*line_out;
        st = add_line(text, stop, set);
        text = stop < end ? stop + 1 : end;
    }
    return st;
}

sluice_status class_lines_read(int root_fd, const char *path, box_set *set)
{
    sample_io io = {.lent = NULL};
    sample_data data = {.bytes = NULL};
    uint64_t line = 0;
    sli_error error;
    sluice_status st = file_read_most(root_fd, path, CLASS_LINES_MOST, &io, &data);

    if (st == SLUICE_OK) {
        st = add_lines((const char *)data.bytes, data.size, set, &line);
    }
    sample_io_free(&io);
    if (st != SLUICE_OK && st != SLUICE_E_NO_MEMORY) {
        sli_error_take(st, &error);
        st = line > 0
                 ? sli_fail(st, "%.400s:%llu: %.400s", path, (unsigned long long)line, error.text)
                 : sli_fail(st, "%.400s: %.400s", path, error.text);
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
