/* SPDX-License-Identifier: Apache-2.0 */
#include "printable_int.h"

#include <stdio.h>
#include <string.h>

/* Size of the longest escape, "\u009b", with its final zero. */
enum { ESCAPE_SIZE = 8 };

size_t sli_utf8_length(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    const size_t length = s[0] < 0x80                   ? 1
                          : s[0] >= 0xC2 && s[0] < 0xE0 ? 2
                          : (s[0] & 0xF0) == 0xE0       ? 3
                          : s[0] >= 0xF0 && s[0] < 0xF5 ? 4
                                                        : 0;

    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    if ((s[0] == 0xE0 && s[1] < 0xA0) || (s[0] == 0xED && s[1] >= 0xA0) ||
        (s[0] == 0xF0 && s[1] < 0x90) || (s[0] == 0xF4 && s[1] >= 0x90)) {
        return 0; /* overlong, a surrogate, or beyond U+10FFFF */
    }
    return length;
}

bool sli_is_control(const char *text, size_t length)
{
    const unsigned char *s = (const unsigned char *)text;

    return (length == 1 && (s[0] < 0x20 || s[0] == 0x7F)) ||
           (length == 2 && s[0] == 0xC2 && s[1] < 0xA0);
}

static bool is_kept(const char *text, sli_lines lines)
{
    return lines == SLI_CONTINUED &&
           (*text == '\t' || (*text == '\n' && strncmp(text + 1, "    ", 4) == 0));
}

/* Writes the escape of the character or byte at `text`. Returns the number of bytes it replaces. */
static size_t escape_char(const char *text, size_t length, char escaped[ESCAPE_SIZE])
{
    static const char named[] = "\a\b\t\n\v\f\r";
    static const char names[] = "abtnvfr";
    const unsigned char *s = (const unsigned char *)text;
    const char *name = length == 1 ? strchr(named, *text) : NULL;

    if (name != NULL) {
        snprintf(escaped, ESCAPE_SIZE, "\\%c", names[name - named]);
    } else if (length == 2) {
        snprintf(escaped, ESCAPE_SIZE, "\\u%04x", s[1]); /* C1: 0xC2 and the code point */
    } else {
        snprintf(escaped, ESCAPE_SIZE, "\\x%02x", s[0]);
    }
    return length > 0 ? length : 1;
}

void sli_printable(const char *raw, sli_lines lines, char *text, size_t size)
{
    size_t used = 0;

    while (*raw != '\0') {
        const size_t length = sli_utf8_length(raw);
        const bool plain = length > 0 && (!sli_is_control(raw, length) || is_kept(raw, lines));
        char escaped[ESCAPE_SIZE];
        const size_t taken = plain ? length : escape_char(raw, length, escaped);
        const size_t more = plain ? length : strlen(escaped);

        if (more >= size - used) {
            break; /* characters and escapes are never split */
        }
        memcpy(text + used, plain ? raw : escaped, more);
        used += more;
        raw += taken;
    }
    text[used] = '\0';
}
