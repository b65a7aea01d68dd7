/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "text_int.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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
    size_t length = s[0] < 0x80                   ? 1
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

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

bool sli_parse_real(const char *text, double *value_out)
{
    char *end;
    double value;

    pthread_once(&c_locale_once, make_c_locale);
    value = c_locale != (locale_t)0 ? strtod_l(text, &end, c_locale) : strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(value)) {
        return false;
    }
    *value_out = value;
    return true;
}

/* Writes a finite number with a point in place of the locale's separator. */
static void write_real(char *number, size_t size, double value, int digits)
{
    char *c;
    size_t separator;

    snprintf(number, size, "%.*g", digits, value);
    c = number + strspn(number, "-0123456789");
    separator = strcspn(c, "0123456789e");
    if (separator > 0) {
        *c = '.';
        memmove(c + 1, c + separator, strlen(c + separator) + 1);
    }
}

void sli_text_add_real(sli_text *text, double value)
{
    char number[64];
    double back;

    for (int digits = 1; digits <= 17; digits++) {
        write_real(number, sizeof(number), value, digits);
        if (sli_parse_real(number, &back) && back == value) {
            break;
        }
    }
    sli_text_add(text, "%s", number);
}

void sli_text_add_number(sli_text *text, double value)
{
    char number[64];

    if (isfinite(value)) {
        write_real(number, sizeof(number), value, 9);
        sli_text_add(text, "%s", number);
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
