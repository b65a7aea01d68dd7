/* SPDX-License-Identifier: Apache-2.0 */
/* Exponential back-off between retries after a fault of the machine (fault_int.h). */
#ifndef SLUICE_BACKOFF_INT_H
#define SLUICE_BACKOFF_INT_H

#include <stdbool.h>
#include <stdint.h>

/* Cancellation of a long wait, polled by the waiting thread. A NULL pointer to this struct: never
 * cancelled. */
typedef struct sli_interrupt {
    bool (*is_set)(void *arg);
    void *arg;
} sli_interrupt;

/*
 * Exponential back-off: pauses of 1, 2, 4, ... ms, at most 256 ms each and limit_ns together. It
 * counts the time slept and reads no clock: time while the process is suspended does not count.
 */
typedef struct sli_backoff {
    int64_t limit_ns;
    int64_t slept_ns; /* starts as 0 */
    int64_t pause_ns; /* the last pause; starts as 0 */
} sli_backoff;

/*
 * Sleeps for the next pause. Returns false if the caller must give up: the limit is reached (then
 * it does not sleep), or the interrupt (which may be NULL) is set.
 */
bool sli_backoff_pause(sli_backoff *backoff, const sli_interrupt *interrupt);

/* Tests: replaces the sleep by a call of `sleep`; NULL: restores it. */
void sli_backoff_replace_sleep(void (*sleep)(int64_t ns, void *arg), void *arg);

#endif
