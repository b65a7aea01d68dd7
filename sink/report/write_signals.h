/* SPDX-License-Identifier: Apache-2.0 */
/* A write to a pipe that no process reads raises SIGPIPE, and one beyond the limit on file sizes
 * SIGXFSZ; both end a process by default. A report must not end a run. */
#ifndef SLUICE_WRITE_SIGNALS_H
#define SLUICE_WRITE_SIGNALS_H

#include <signal.h>

typedef struct write_signals {
    sigset_t mask;    /* of the thread, before */
    sigset_t pending; /* before */
} write_signals;

/* Blocks both signals in this thread: writes then fail with EPIPE and EFBIG alone. */
void write_signals_hold(write_signals *held_out);

/* Discards those that writes have raised since, and restores the mask of the thread. errno stays.
 */
void write_signals_release(const write_signals *held);

#endif
