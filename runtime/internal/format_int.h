/* SPDX-License-Identifier: Apache-2.0 */
/* Text that does not depend on the locale: numbers with a decimal point, words in ASCII. */
#ifndef SLUICE_FORMAT_INT_H
#define SLUICE_FORMAT_INT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <sluice/status.h>

/* As snprintf(), vsnprintf() and fprintf(), but in the C locale. */
int sli_print(char *text, size_t size, const char *format, ...) SLUICE_PRINTF(3, 4);
int sli_print_args(char *text, size_t size, const char *format, va_list args) SLUICE_PRINTF(3, 0);
int sli_print_file(FILE *file, const char *format, ...) SLUICE_PRINTF(2, 3);

/* As strtod(), but in the C locale. */
double sli_strtod(const char *text, char **end_out);

/* As tolower(), but in the C locale. */
static inline char sli_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* As strcasecmp() and strncasecmp() == 0, but in the C locale. */
bool sli_same_word(const char *a, const char *b);
bool sli_same_begin(const char *a, const char *b, size_t length);

/* True if a text, such as a path, ends in another one; in the case as written. */
bool sli_ends_in(const char *text, const char *end);

/* The same in any case, as for extensions that users write: x.CSV. */
bool sli_ends_alike(const char *text, const char *end);

/* Returns the position of a word in a comma-separated list, from 0, or UINT32_MAX if it is not in
 * the list; case-insensitive, as sli_same_word(). */
uint32_t sli_word_rank(const char *word, const char *list);

#endif
