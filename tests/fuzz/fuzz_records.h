/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of records in a format. */
#ifndef SLUICE_FUZZ_RECORDS_H
#define SLUICE_FUZZ_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "record_format.h"

/*
 * Opens and scans the file, reads all records, and lets the format choose columns. Ends the program
 * if a range is outside of the file, a value does not have the size that its count says, or the
 * chosen columns are none. Returns the number of records.
 */
uint64_t fuzz_records(const record_format *format, const uint8_t *data, size_t size,
                      const record_names *names);

#endif
