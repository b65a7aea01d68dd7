/* SPDX-License-Identifier: Apache-2.0 */
/* Names in the text files of a pack, with escapes so that each fits in a field of a line. */
#ifndef SLUICE_ESCAPED_TEXT_H
#define SLUICE_ESCAPED_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

#include "text_int.h"

/* Adds a name: tab, newline, carriage return and backslash are written as \t, \n, \r and \\. */
void escaped_text_add(sli_text *text, const char *name);

/* Replaces the escapes of a name that ends at `end`, in place, and ends it with a zero. `end` must
 * be writable. */
void escaped_text_undo(char *name, const char *end);

/*
 * Divides `size` bytes, with a zero after them, into names, a line each; the last one may lack its
 * line feed. The names are in `text`; *names_out is freed by the caller. E_CORRUPT: one of the
 * bytes is zero; E_NO_MEMORY.
 */
sluice_status escaped_text_lines(char *text, size_t size, char ***names_out, uint32_t *count_out);

#endif
