/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of writing a file. */
#ifndef SLUICE_WRITE_FAILURE_H
#define SLUICE_WRITE_FAILURE_H

#include <sluice/status.h>

/* Returns "; " and what to do if space is short, for the end of a message; else "". */
const char *write_advice(int error);

/* Fails with E_IO: the file cannot be written, errno, and the advice. */
sluice_status file_write_failed(const char *path, int error);

#endif
