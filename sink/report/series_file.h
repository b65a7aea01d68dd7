/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the rows of a run's series as they come to the CSV file that SLUICE_REPORT_SERIES names.
 */
#ifndef SLUICE_SERIES_FILE_H
#define SLUICE_SERIES_FILE_H

#include <stdint.h>

#include "run_series.h"

typedef struct series_file series_file;

/* Opens the file and writes its header. NULL: none is requested, or it cannot be written, which is
 * a warning. Several ranks have a file each, as report_file_write() has it. */
series_file *series_file_open(uint32_t rank, uint32_t world);

/* Writes the last row of the series. A file that cannot be written gets no further row, after a
 * warning; so does a pipe whose reader has gone or does not keep up: the run never waits for it.
 * series NULL: none. */
void series_file_add(series_file *series, const run_series *rows);

/* series NULL: none. */
void series_file_close(series_file *series);

#endif
