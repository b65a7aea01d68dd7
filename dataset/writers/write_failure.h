/* SPDX-License-Identifier: Apache-2.0 */
/* Failures of writing the files of a format. */
#ifndef SLUICE_WRITE_FAILURE_H
#define SLUICE_WRITE_FAILURE_H

#include <sluice/status.h>

/* Fails because a file cannot be written, with its name, errno, and what to do if space is short.
 * Returns E_IO. */
sluice_status sample_write_failed(const char *file, int error);

#endif
