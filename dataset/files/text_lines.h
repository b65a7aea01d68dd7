/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a text in memory. They end in LF or CRLF; UTF-8's byte order mark at the beginning
 * of the text is skipped, and so are blanks around a line.
 */
#ifndef SLUICE_TEXT_LINES_H
#define SLUICE_TEXT_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct text_lines {
    const char *at; /* the next line */
    const char *end;
    uint64_t number; /* of the last line, from 1 */
} text_lines;

static inline text_lines text_lines_of(const char *text, size_t size)
{
    const bool has_mark = size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0;

    return (text_lines){.at = text + (has_mark ? 3 : 0), .end = text + size};
}

static inline bool text_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Goes to the next line, which is [*line_out, *end_out). False: there is none. */
static inline bool text_lines_next(text_lines *lines, const char **line_out, const char **end_out)
{
    const char *line = lines->at;
    const char *stop;

    if (line == lines->end) {
        return false;
    }
    stop = memchr(line, '\n', (size_t)(lines->end - line));
    stop = stop != NULL ? stop : lines->end;
    lines->at = stop < lines->end ? stop + 1 : stop;
    lines->number++;
    while (line < stop && text_is_blank(*line)) {
        line++;
    }
    while (stop > line && text_is_blank(stop[-1])) {
        stop--;
    }
    *line_out = line;
    *end_out = stop;
    return true;
}

#endif
