/* SPDX-License-Identifier: Apache-2.0 */
/* A locale with a decimal comma, which needs none to be installed. */
#ifndef SLUICE_COMMA_LOCALE_H
#define SLUICE_COMMA_LOCALE_H

#include <stdbool.h>

/* Sets it for numbers. False: the C library does not read files of locales as glibc does. */
bool kit_comma_begin(void);

void kit_comma_end(void);

#endif
