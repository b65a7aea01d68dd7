/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the report to the file that the environment variable SLUICE_REPORT names. */
#ifndef SLUICE_REPORT_FILE_H
#define SLUICE_REPORT_FILE_H

#include <sluice/report.h>

enum { REPORT_PATH_SIZE = 4096 };

/* The value of SLUICE_REPORT, unexpanded; "": no file. E_INVALID: it is too long. */
sluice_status report_file_find(char path_out[REPORT_PATH_SIZE]);

/* Writes the report, or logs a warning with the reason. report may be NULL if there was no memory
 * for it. */
void report_file_write(const char *path, uint32_t rank, const sluice_report *report);

#endif
