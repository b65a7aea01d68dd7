/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "format_int.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* Returns 0 if there is no memory for it. */
static locale_t get_c_locale(void)
{
    pthread_once(&c_locale_once, make_c_locale);
    return c_locale;
}

int sli_print_args(char *text, size_t size, const char *format, va_list args)
{
    const locale_t before = uselocale(get_c_locale()); /* of this thread; 0 changes nothing */
    const int length = vsnprintf(text, size, format, args);

    uselocale(before);
    return length;
}

int sli_print(char *text, size_t size, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = sli_print_args(text, size, format, args);
    va_end(args);
    return length;
}

int sli_print_file(FILE *file, const char *format, ...)
{
    const locale_t before = uselocale(get_c_locale());
    va_list args;
    int length;

    va_start(args, format);
    length = vfprintf(file, format, args);
    va_end(args);
    uselocale(before);
    return length;
}

double sli_strtod(const char *text, char **end_out)
{
    const locale_t c = get_c_locale();

    return c != (locale_t)0 ? strtod_l(text, end_out, c) : strtod(text, end_out);
}

bool sli_same_begin(const char *a, const char *b, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (sli_lower(a[i]) != sli_lower(b[i])) {
            return false;
        }
        if (a[i] == '\0') {
            return true;
        }
    }
    return true;
}

bool sli_same_word(const char *a, const char *b)
{
    return sli_same_begin(a, b, SIZE_MAX);
}

bool sli_ends_in(const char *text, const char *end)
{
    const size_t length = strlen(text);
    const size_t size = strlen(end);

    return length >= size && memcmp(text + length - size, end, size) == 0;
}

bool sli_ends_alike(const char *text, const char *end)
{
    const size_t length = strlen(text);
    const size_t size = strlen(end);

    return length >= size && sli_same_word(text + length - size, end);
}

uint32_t sli_word_rank(const char *word, const char *list)
{
    for (uint32_t rank = 0; *list != '\0'; rank++) {
        const size_t length = strcspn(list, ",");

        if (strlen(word) == length && sli_same_begin(word, list, length)) {
            return rank;
        }
        list += length + (list[length] == ',');
    }
    return UINT32_MAX;
}
