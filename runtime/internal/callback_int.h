/* SPDX-License-Identifier: Apache-2.0 */
/* What user callbacks return. */
#ifndef SLUICE_CALLBACK_INT_H
#define SLUICE_CALLBACK_INT_H

#include <stdbool.h>
#include <stdint.h>

#include <sluice/status.h>

/* True for the numbers of enum sluice_status. */
bool sli_is_status(sluice_status status);

/*
 * Takes the status that a user callback returned; every such status passes through this function.
 * OK and results (positive statuses) are returned unchanged. For an error it sets the last error,
 * "the step function returned E_IO: cannot open x", with the text that the callback has set since
 * sli_fail_count() was `before`. E_CALLBACK: the number is not a status. The format describes the
 * callback.
 */
sluice_status sli_callback_status(sluice_status returned, uint64_t before, const char *format, ...)
    SLUICE_PRINTF(3, 4);

#endif
