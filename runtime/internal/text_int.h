/* SPDX-License-Identifier: Apache-2.0 */
/* A text that grows while it is written: reports, descriptions, JSON. */
#ifndef SLUICE_TEXT_INT_H
#define SLUICE_TEXT_INT_H

#include <stdbool.h>
#include <stddef.h>

#include <sluice/status.h>

/* Starts as {0}. Running out of memory is remembered; later additions then do nothing. */
typedef struct sli_text {
    char *data;
    size_t length;
    size_t capacity;
    bool failed;
} sli_text;

void sli_text_add(sli_text *text, const char *format, ...) SLUICE_PRINTF(2, 3);

/* Adds a JSON string with its quotes; bytes that are no UTF-8 become U+FFFD. */
void sli_text_add_json(sli_text *text, const char *value);

/* Adds a finite number by the fewest digits that read back, with a point, whatever the locale. */
void sli_text_add_real(sli_text *text, double value);

/* Adds a JSON number; what is no finite number becomes null. */
void sli_text_add_number(sli_text *text, double value);

/* Reads a whole text as a finite number with a point, whatever the locale. */
bool sli_parse_real(const char *text, double *value_out);

void sli_text_free(sli_text *text);

/* Hands the text over (for sluice_string_free()); E_NO_MEMORY when any addition failed. */
sluice_status sli_text_take(sli_text *text, char **text_out);

#endif
