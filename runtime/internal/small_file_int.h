/* SPDX-License-Identifier: Apache-2.0 */
/* Files of /proc and /sys: short texts that the kernel makes when they are read. */
#ifndef SLUICE_SMALL_FILE_INT_H
#define SLUICE_SMALL_FILE_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads the first size - 1 bytes of a file into text, up to a NUL byte; does not allocate. False if
 * the file cannot be read. */
bool sli_small_file_read(const char *path, char *text, size_t size);

/* Parses decimal digits from *at on, and moves *at behind them. False: no digit, or a number above
 * INT64_MAX. */
bool sli_digits_parse(const char **at, int64_t *number_out);

#endif
