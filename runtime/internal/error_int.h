/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An error as a value: saved across cleanup, or moved from the thread that detected it to the
 * thread whose call reports it. Zeroed, it holds no error. Not synchronized: callers lock.
 */
#ifndef SLUICE_ERROR_INT_H
#define SLUICE_ERROR_INT_H

#include "status_int.h"

typedef struct sli_error {
    sluice_status status;
    int error_number; /* the errno value of the cause; 0: no errno value */
    char text[SLI_ERROR_SIZE];
} sli_error;

/* Copies the calling thread's last error. A status >= 0 is stored without a text. */
void sli_error_take(sluice_status status, sli_error *error_out);

/* Like sli_error_take(), unless `error` already holds an error: the first error is kept. */
void sli_error_take_first(sluice_status status, sli_error *error);

/* Stores a text that is not the thread's last error. NULL: the text of the status. */
void sli_error_set(sluice_status status, const char *text, sli_error *error_out);

/*
 * Sets the calling thread's last error and returns the status. Cleanup between take and raise may
 * fail:
 *
 *     sli_error_take(st, &error);
 *     close_all(run);
 *     return sli_error_raise(&error);
 *
 * A status >= 0 is returned and leaves the last error unchanged.
 */
sluice_status sli_error_raise(const sli_error *error);

#endif
