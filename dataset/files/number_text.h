/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses a text with one number per line. Lines end in LF or CRLF; the last line needs no line
 * break. The text may begin with UTF-8's byte order mark.
 */
#ifndef SLUICE_NUMBER_TEXT_H
#define SLUICE_NUMBER_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

uint64_t number_text_lines(const char *text, size_t size);

/*
 * Parses integers below `limit` into numbers_out, which must have space for number_text_lines()
 * numbers. E_CORRUPT: a line is not such an integer; *line_out is the number of the line, from 1.
 * E_UNSUPPORTED: `limit` does not fit into 32 bits.
 */
sluice_status number_text_indices(const char *text, size_t size, uint64_t limit,
                                  uint32_t *numbers_out, uint64_t *line_out);

/* Like number_text_indices(), but for finite numbers that are at least 0. */
sluice_status number_text_weights(const char *text, size_t size, double *numbers_out,
                                  uint64_t *line_out);

#endif
