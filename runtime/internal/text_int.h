/* SPDX-License-Identifier: Apache-2.0 */
/* A string builder, for reports, descriptions and JSON. */
#ifndef SLUICE_TEXT_INT_H
#define SLUICE_TEXT_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* Initialize to {0}. After an allocation failure further additions are no-ops. */
typedef struct sli_text {
    char *data;
    size_t length;
    size_t capacity;
    bool failed;
} sli_text;

void sli_text_add(sli_text *text, const char *format, ...) SLUICE_PRINTF(2, 3);

/* Line width of reports, in columns; words are not split. */
enum { SLI_COLUMNS = 80 };

/* Adds a line, wrapped at spaces, but not between a number and its unit; continuation lines are
 * indented by `indent` spaces. */
void sli_text_add_wrapped(sli_text *text, const char *line, uint32_t indent);

/* Formats and adds a line of a report, wrapped, continuation lines indented by four spaces. */
void sli_text_add_line(sli_text *text, const char *format, ...) SLUICE_PRINTF(2, 3);

/* Adds a JSON string with its quotes, control characters escaped; bytes that are not UTF-8 become
 * U+FFFD. */
void sli_text_add_json(sli_text *text, const char *value);

/* Adds a name on one line; escapes control characters and invalid UTF-8 bytes. */
void sli_text_add_printable(sli_text *text, const char *value);

/* Adds a finite number as its shortest round-trip decimal, independent of the locale. */
void sli_text_add_real(sli_text *text, double value);

/* Adds a JSON number; a non-finite one becomes null. */
void sli_text_add_number(sli_text *text, double value);

/* Parses a whole text as a finite decimal number, independent of the locale. */
bool sli_parse_real(const char *text, double *value_out);

void sli_text_free(sli_text *text);

/* Transfers ownership of the string, to be freed by sluice_string_free(). E_NO_MEMORY: an addition
 * failed. */
sluice_status sli_text_take(sli_text *text, char **text_out);

#endif
