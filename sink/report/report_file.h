/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the report to the file that the environment variable SLUICE_REPORT names. */
#ifndef SLUICE_REPORT_FILE_H
#define SLUICE_REPORT_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include <sluice/report.h>

enum { REPORT_PATH_SIZE = 4096 };

/* Stores the value of SLUICE_REPORT, unexpanded; "" if no report file is requested. Returns
 * E_INVALID if the value is too long. */
sluice_status report_file_find(char path_out[REPORT_PATH_SIZE]);

/* Returns the path with each %r replaced by the rank. Without %r, if several ranks would write the
 * same file, ".RANK" is appended, before the ending .json or .csv. The caller frees it by
 * sluice_string_free(); NULL if out of memory. */
char *report_file_expand(const char *path, uint32_t rank, uint32_t world);

/* Opens a file for writing. A pipe that no process reads is an error (ENXIO), not a wait. */
FILE *report_file_open(const char *path);

/* Warns if the file cannot be written, as far as that is known before the run has a report. rank
 * and world as below. */
void report_file_check(const char *path, uint32_t rank, uint32_t world);

/* True if the path is of a regular file, or of one to be made: such a file is renewed while a run
 * goes on. Pipes and devices get one report, at the end. */
bool report_file_is_renewable(const char *path, uint32_t rank, uint32_t world);

/* Writes the report; on failure logs a warning with the reason. If there are several ranks and the
 * path has no %r and is not "-", the rank is appended, before the ending .json. report NULL: out of
 * memory. */
void report_file_write(const char *path, uint32_t rank, uint32_t world,
                       const sluice_report *report);

#endif
