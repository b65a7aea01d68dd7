/* SPDX-License-Identifier: Apache-2.0 */
#include "number_text.h"

#include <stdbool.h>
#include <string.h>

#include "status_int.h"
#include "text_int.h"

/* Size of the line buffer. A longer line is not a valid number. */
enum { LINE_SIZE = 64 };

/* The lines that have not been read yet. */
typedef struct line_cursor {
    const char *at;
    const char *end;
} line_cursor;

uint64_t number_text_lines(const char *text, size_t size)
{
    uint64_t lines = size > 0 && text[size - 1] != '\n';

    for (size_t i = 0; i < size; i++) {
        lines += text[i] == '\n';
    }
    return lines;
}

/* The whole text, without UTF-8's byte order mark at its beginning. */
static line_cursor first_line(const char *text, size_t size)
{
    const bool has_mark = size > 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0;

    return (line_cursor){text + (has_mark ? 3 : 0), text + size};
}

/*
 * Copies the next line, or "" if the line is too long or contains a zero byte. False: no line is
 * left.
 */
static bool take_line(line_cursor *cursor, char line[LINE_SIZE])
{
    const char *stop;
    size_t length;

    if (cursor->at == cursor->end) {
        return false;
    }
    stop = memchr(cursor->at, '\n', (size_t)(cursor->end - cursor->at));
    length = (size_t)((stop != NULL ? stop : cursor->end) - cursor->at);
    line[0] = '\0';
    if (length > 0 && cursor->at[length - 1] == '\r') {
        length--;
    }
    if (length < LINE_SIZE && memchr(cursor->at, '\0', length) == NULL) {
        memcpy(line, cursor->at, length);
        line[length] = '\0';
    }
    cursor->at = stop != NULL ? stop + 1 : cursor->end;
    return true;
}

static bool parse_index(const char *line, uint64_t limit, uint64_t *number_out)
{
    uint64_t number = 0;

    if (*line == '\0') {
        return false;
    }
    for (; *line >= '0' && *line <= '9'; line++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*line - '0'), &number)) {
            return false;
        }
    }
    *number_out = number;
    return *line == '\0' && number < limit;
}

sluice_status number_text_indices(const char *text, size_t size, uint64_t limit,
                                  uint32_t *numbers_out, uint64_t *line_out)
{
    line_cursor cursor = first_line(text, size);
    char line[LINE_SIZE];
    uint64_t count = 0;

    if (limit > UINT32_MAX) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the source has %llu samples, and a file can list those of a source of at "
                        "most %u",
                        (unsigned long long)limit, UINT32_MAX);
    }
    while (take_line(&cursor, line)) {
        uint64_t number;

        if (!parse_index(line, limit, &number)) {
            *line_out = count + 1;
            return sli_fail(SLUICE_E_CORRUPT, "'%s' must be a sample number from 0 to %llu", line,
                            (unsigned long long)(limit - 1));
        }
        numbers_out[count++] = (uint32_t)number;
    }
    return SLUICE_OK;
}

sluice_status number_text_weights(const char *text, size_t size, double *numbers_out,
                                  uint64_t *line_out)
{
    line_cursor cursor = first_line(text, size);
    char line[LINE_SIZE];
    uint64_t count = 0;

    while (take_line(&cursor, line)) {
        if (!sli_parse_real(line, &numbers_out[count]) || !(numbers_out[count] >= 0)) {
            *line_out = count + 1;
            return sli_fail(SLUICE_E_CORRUPT, "'%s' must be a finite number of at least 0", line);
        }
        count++;
    }
    return SLUICE_OK;
}
