/* SPDX-License-Identifier: Apache-2.0 */
/* Escaping for terminals: file names may contain escape sequences, and bytes of any encoding. */
#ifndef SLUICE_PRINTABLE_INT_H
#define SLUICE_PRINTABLE_INT_H

#include <stdbool.h>
#include <stddef.h>

/* Length in bytes of the UTF-8 character at `text` (RFC 3629); 0: invalid UTF-8. */
size_t sli_utf8_length(const char *text);

/* True if the UTF-8 character of `length` bytes at `text` is a control character (C0, DEL or
 * C1). */
bool sli_is_control(const char *text, size_t length);

/* Which line breaks and tabs are escaped. */
typedef enum sli_lines {
    SLI_ONE_LINE,  /* for names: escapes all line breaks and tabs */
    SLI_CONTINUED, /* for messages: keeps tabs, and line breaks before four spaces; continuation
                      lines are indented, so a name cannot begin a line */
} sli_lines;

/*
 * Copies a text, truncated to size - 1 bytes; escapes control characters and bytes that are not
 * UTF-8: \n, \t, \r, \x1b, \u009b. A printable text is copied unchanged.
 */
void sli_printable(const char *raw, sli_lines lines, char *text, size_t size);

#endif
