/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the report to the file that the environment variable SLUICE_REPORT names. */
#ifndef SLUICE_REPORT_FILE_H
#define SLUICE_REPORT_FILE_H

#include <sluice/report.h>

enum { REPORT_PATH_SIZE = 4096 };

/* Stores the value of SLUICE_REPORT, unexpanded; "" if no report file is requested. Returns
 * E_INVALID if the value is too long. */
sluice_status report_file_find(char path_out[REPORT_PATH_SIZE]);

/* Writes the report; on failure logs a warning with the reason. If there are several ranks and the
 * path has no %r and is not "-", the rank is appended, before the ending .json. report NULL: out of
 * memory. */
void report_file_write(const char *path, uint32_t rank, uint32_t world,
                       const sluice_report *report);

#endif
