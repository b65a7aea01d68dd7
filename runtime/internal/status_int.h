/* SPDX-License-Identifier: Apache-2.0 */
/* Recording errors. The function that detects an error calls sli_fail(); callers propagate it. */
#ifndef SLUICE_STATUS_INT_H
#define SLUICE_STATUS_INT_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* Longest error text, with its final zero; longer ones are truncated. */
enum { SLI_ERROR_SIZE = 1024 };

/*
 * Sets this thread's last error, logs it at level debug, and returns status. Here and below, a text
 * of E_NO_MEMORY gets the prefix "out of memory: " unless it already has it.
 */
sluice_status sli_fail(sluice_status status, const char *format, ...) SLUICE_PRINTF(2, 3);

/*
 * sli_fail() with the text of an errno value appended: "cannot open x: No such file". ENOMEM is
 * returned as E_NO_MEMORY; EMFILE appends the limit.
 */
sluice_status sli_fail_errno(sluice_status status, int error, const char *format, ...)
    SLUICE_PRINTF(3, 4);

/* sli_fail() that stores an errno value but does not append its text. */
sluice_status sli_fail_with(sluice_status status, int error, const char *format, ...)
    SLUICE_PRINTF(3, 4);

/*
 * sli_fail() for a text that quotes this thread's last error: sluice_last_error() is one of the
 * arguments. Keeps the errno value of that error, by which faults of the machine are known
 * (fault_int.h): nothing that may fail may come between.
 */
sluice_status sli_fail_quoting(sluice_status status, const char *format, ...) SLUICE_PRINTF(2, 3);

/* The errno value of this thread's last error; 0: no errno value. */
int sli_last_errno(void);

/* The number of errors set in this thread; sampled before a user callback. */
uint64_t sli_fail_count(void);

/*
 * sli_fail() for a user callback that failed. Appends the last error if it was set since the count
 * was `before`: "step 3: the step function returned E_IO: cannot open x".
 */
sluice_status sli_fail_from(sluice_status status, uint64_t before, const char *format, ...)
    SLUICE_PRINTF(3, 4);

/*
 * Sets this thread's last error and its errno value (0: no errno value) from a copy, unchanged and
 * without logging it again. Only for sli_error_raise() (error_int.h); call that function instead.
 */
sluice_status sli_fail_kept(sluice_status status, int error, const char *text);

#endif
