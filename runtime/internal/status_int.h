/* SPDX-License-Identifier: Apache-2.0 */
/* Recording errors. Whoever first knows what went wrong calls sli_fail(); callers pass it on. */
#ifndef SLUICE_STATUS_INT_H
#define SLUICE_STATUS_INT_H

#include <stddef.h>
#include <stdint.h>

#include <sluice/status.h>

/* Longest error text, its final zero included; longer ones are cut. */
enum { SLI_ERROR_SIZE = 1024 };

/* Keeps the text as this thread's last error, logs it at level debug, and returns status. */
sluice_status sli_fail(sluice_status status, const char *format, ...) SLUICE_PRINTF(2, 3);

/* The same with the text of an errno value behind it: "cannot open x: No such file". */
sluice_status sli_fail_errno(sluice_status status, int error, const char *format, ...)
    SLUICE_PRINTF(3, 4);

/* How often this thread's last error was set: taken before a function of the user's is called. */
uint64_t sli_fail_count(void);

/*
 * A function of the user's has failed: sli_fail(), with the last error behind it if that was set
 * since the count was `before`: "step 3: the step function returned E_IO: cannot open x".
 */
sluice_status sli_fail_from(sluice_status status, uint64_t before, const char *format, ...)
    SLUICE_PRINTF(3, 4);

/* Hands an error that another thread met to this one. NULL text keeps what is there. */
sluice_status sli_fail_again(sluice_status status, const char *text);

#endif
