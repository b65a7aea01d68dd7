/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in a text, one in each line. Lines end in LF or CRLF; the last one may lack it. */
#ifndef SLUICE_NUMBER_TEXT_H
#define SLUICE_NUMBER_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* The number of lines. */
uint64_t number_text_lines(const char *text, size_t size);

/*
 * Parses whole numbers below `limit` into numbers_out, which has room for number_text_lines().
 * E_CORRUPT: a line is no such number; *line_out is its number, from 1.
 */
sluice_status number_text_indices(const char *text, size_t size, uint64_t limit,
                                  uint32_t *numbers_out, uint64_t *line_out);

/* Parses finite numbers from 0 in the same way. */
sluice_status number_text_weights(const char *text, size_t size, double *numbers_out,
                                  uint64_t *line_out);

#endif
