/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the rows of a run's series as they come to the CSV file that SLUICE_REPORT_SERIES names.
 */
#ifndef SLUICE_SERIES_FILE_H
#define SLUICE_SERIES_FILE_H

#include <stdio.h>

#include "run_series.h"

/* Opens the file and writes its header. NULL: none is requested, or it cannot be written, which is
 * a warning. Several ranks have a file each, as report_file_write() has it. */
FILE *series_file_open(uint32_t rank, uint32_t world);

/* Writes the last row of the series. Returns false, after a warning, if the file cannot be
 * written. */
bool series_file_add(FILE *file, const run_series *series);

#endif
