/* SPDX-License-Identifier: Apache-2.0 */
#include "write_signals.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static const int raised_by_writes[] = {SIGPIPE, SIGXFSZ};

enum { RAISED = sizeof(raised_by_writes) / sizeof(raised_by_writes[0]) };

void write_signals_hold(write_signals *held_out)
{
    sigset_t set;

    sigemptyset(&set);
    for (int i = 0; i < RAISED; i++) {
        sigaddset(&set, raised_by_writes[i]);
    }
    sigpending(&held_out->pending);
    pthread_sigmask(SIG_BLOCK, &set, &held_out->mask);
}

void write_signals_release(const write_signals *held)
{
    const int error = errno;

    for (int i = 0; i < RAISED; i++) {
        sigset_t one;

        sigemptyset(&one);
        sigaddset(&one, raised_by_writes[i]);
        if (sigismember(&held->pending, raised_by_writes[i]) == 0) {
            (void)sigtimedwait(&one, NULL, &(struct timespec){0, 0});
        }
    }
    pthread_sigmask(SIG_SETMASK, &held->mask, NULL);
    errno = error;
}
