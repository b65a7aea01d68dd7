/* SPDX-License-Identifier: Apache-2.0 */
#include "text_int.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
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

void sli_text_add(sli_text *text, const char *format, ...)
{
    va_list args;
    va_list again;
    int length;

    va_start(args, format);
    va_copy(again, args);
    length = vsnprintf(NULL, 0, format, args);
    if (length >= 0 && reserve(text, (size_t)length)) {
        vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
    va_end(args);
}

/* Bytes of the UTF-8 character that starts here (RFC 3629), 0 when it is none. */
static size_t utf8_length(const unsigned char *s)
{
    size_t length = s[0] < 0x80 ? 1 : s[0] >= 0xC2 && s[0] < 0xE0 ? 2
                    : (s[0] & 0xF0) == 0xE0                        ? 3
                    : s[0] >= 0xF0 && s[0] < 0xF5                  ? 4
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

void sli_text_add_json(sli_text *text, const char *value)
{
    const unsigned char *s = (const unsigned char *)value;

    sli_text_add(text, "\"");
    while (*s != '\0') {
        size_t length = utf8_length(s);

        if (*s == '"' || *s == '\\') {
            sli_text_add(text, "\\%c", *s);
        } else if (*s == '\n') {
            sli_text_add(text, "\\n");
        } else if (*s < 0x20) {
            sli_text_add(text, "\\u%04x", *s);
        } else if (length == 0) {
            sli_text_add(text, "\\ufffd");
        } else {
            sli_text_add(text, "%.*s", (int)length, (const char *)s);
        }
        s += length > 0 ? length : 1;
    }
    sli_text_add(text, "\"");
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
        return sli_fail(SLUICE_E_NO_MEMORY, "a text of a report");
    }
    *text_out = text->data;
    memset(text, 0, sizeof(*text));
    return SLUICE_OK;
}
