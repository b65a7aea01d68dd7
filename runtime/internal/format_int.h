/* SPDX-License-Identifier: Apache-2.0 */
/* Text that does not depend on the locale: numbers with a decimal point, words in ASCII. */
#ifndef SLUICE_FORMAT_INT_H
#define SLUICE_FORMAT_INT_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <sluice/status.h>

/* As snprintf() and vsnprintf(), but in the C locale. */
int sli_print(char *text, size_t size, const char *format, ...) SLUICE_PRINTF(3, 4);
int sli_print_args(char *text, size_t size, const char *format, va_list args) SLUICE_PRINTF(3, 0);

/* As strtod(), but in the C locale. */
double sli_strtod(const char *text, char **end_out);

/* True if the texts are equal, if ASCII letters are compared without their case. */
bool sli_same_word(const char *a, const char *b);

/* The same for the first `length` bytes, or up to the end of the texts if they are shorter. */
bool sli_same_begin(const char *a, const char *b, size_t length);

#endif
