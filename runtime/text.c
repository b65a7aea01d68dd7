/* SPDX-License-Identifier: Apache-2.0 */
#include "text_int.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_int.h"
#include "format_int.h"
#include "printable_int.h"
#include "status_int.h"

static bool reserve(sli_text *text, size_t more)
{
    char *grown;

    if (text->failed) {
        return false;
    }
    grown = sli_grow(text->data, &text->capacity, text->length + more + 1, 1);
    if (grown == NULL) {
        text->failed = true;
        return false;
    }
    text->data = grown;
    return true;
}

static void add_formatted(sli_text *text, const char *format, va_list args) SLUICE_PRINTF(2, 0);

static void add_formatted(sli_text *text, const char *format, va_list args)
{
    va_list again;
    int length;

    va_copy(again, args);
    length = sli_print_args(NULL, 0, format, args);
    if (length >= 0 && reserve(text, (size_t)length)) {
        sli_print_args(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void sli_text_add(sli_text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    add_formatted(text, format, args);
    va_end(args);
}

/* The width of `length` bytes in terminal columns: one per UTF-8 character. */
static uint32_t count_columns(const char *bytes, size_t length)
{
    uint32_t columns = 0;

    for (size_t i = 0; i < length; i++) {
        columns += ((unsigned char)bytes[i] & 0xC0) != 0x80;
    }
    return columns;
}

/* Bytes of the first word of a text; of a number also its unit: "100.0 %,". */
static size_t word_length(const char *text)
{
    static const char *const units[] = {"%", "us", "ms", "s", "kB", "MB", "MB/s"};
    const size_t length = strcspn(text, " ");
    const char *next = text + length + 1;

    if (length == 0 || text[length] == '\0' || text[length - 1] < '0' || text[length - 1] > '9') {
        return length;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        const size_t unit = strlen(units[i]);

        if (strncmp(next, units[i], unit) == 0 && strchr(" ,;:.)", next[unit]) != NULL) {
            return length + 1 + strcspn(next, " ");
        }
    }
    return length;
}

void sli_text_add_wrapped(sli_text *text, const char *line, uint32_t indent)
{
    uint32_t column = 0;

    while (*line != '\0') {
        const size_t blanks = strspn(line, " ");
        const size_t length = word_length(line + blanks);
        const uint32_t columns = count_columns(line + blanks, length);

        if (column > 0 && column + blanks + columns > SLI_COLUMNS) {
            /* A word too long for the indent begins earlier, if it then fits. */
            const bool early = indent + columns > SLI_COLUMNS && columns < SLI_COLUMNS;

            column = early ? SLI_COLUMNS - columns : indent;
            sli_text_add(text, "\n%*s", (int)column, "");
        } else {
            sli_text_add(text, "%*s", (int)blanks, "");
            column += (uint32_t)blanks;
        }
        sli_text_add(text, "%.*s", (int)length, line + blanks);
        column += columns;
        line += blanks + length;
    }
    sli_text_add(text, "\n");
}

void sli_text_add_line(sli_text *text, const char *format, ...)
{
    sli_text line = {0};
    va_list args;

    va_start(args, format);
    add_formatted(&line, format, args);
    va_end(args);
    if (line.data != NULL) {
        sli_text_add_wrapped(text, line.data, 4);
    }
    text->failed = text->failed || line.failed;
    sli_text_free(&line);
}

void sli_text_add_json(sli_text *text, const char *value)
{
    sli_text_add(text, "\"");
    while (*value != '\0') {
        const size_t length = sli_utf8_length(value);

        if (*value == '"' || *value == '\\') {
            sli_text_add(text, "\\%c", *value);
        } else if (*value == '\n') {
            sli_text_add(text, "\\n");
        } else if (length == 0) {
            sli_text_add(text, "\\ufffd");
        } else if (sli_is_control(value, length)) {
            sli_text_add(text, "\\u%04x",
                         (unsigned char)value[length - 1]); /* C1 controls are C2 80 to C2 9F */
        } else {
            sli_text_add(text, "%.*s", (int)length, value);
        }
        value += length > 0 ? length : 1;
    }
    sli_text_add(text, "\"");
}

void sli_text_add_printable(sli_text *text, const char *value)
{
    const size_t size = 6 * strlen(value) + 1; /* an upper bound: an escape has at most 6 bytes */

    if (reserve(text, size)) {
        sli_printable(value, SLI_ONE_LINE, text->data + text->length, size);
        text->length += strlen(text->data + text->length);
    }
}

bool sli_parse_real(const char *text, double *value_out)
{
    char *end;
    double value;

    value = sli_strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value)) {
        return false;
    }
    *value_out = value;
    return true;
}

void sli_text_add_real(sli_text *text, double value)
{
    char shortest[64] = "";
    double back;

    /* More digits may be shorter: 1e+01 has one, 10 has two. */
    for (int digits = 1; digits <= 17; digits++) {
        char number[sizeof(shortest)];

        sli_print(number, sizeof(number), "%.*g", digits, value);
        if (sli_parse_real(number, &back) && back == value &&
            (shortest[0] == '\0' || strlen(number) <= strlen(shortest))) {
            memcpy(shortest, number, strlen(number) + 1);
        }
    }
    sli_text_add(text, "%s", shortest);
}

void sli_text_add_number(sli_text *text, double value)
{
    if (isfinite(value)) {
        sli_text_add(text, "%.9g", value);
    } else {
        sli_text_add(text, "null");
    }
}

void sli_text_free(sli_text *text)
{
    sli_free(text->data);
    memset(text, 0, sizeof(*text));
}

sluice_status sli_text_take(sli_text *text, char **text_out)
{
    sli_text_add(text, "%s", "");
    if (text->failed || text->data == NULL) {
        sli_text_free(text);
        return sli_fail(SLUICE_E_NO_MEMORY, "a text");
    }
    *text_out = text->data;
    memset(text, 0, sizeof(*text));
    return SLUICE_OK;
}
