/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warns of a user callback that hangs: a hook, save, load, agree, the step in mode data. The
 * trainer cannot warn, for it is inside the call; a thread of the run polls what the trainer has
 * stored before the call. (Steps on the device's thread are polled by the trainer:
 * stall_monitor.c.)
 */
#ifndef SLUICE_CALLBACK_WATCHDOG_H
#define SLUICE_CALLBACK_WATCHDOG_H

#include <stdatomic.h>

#include "event_int.h"
#include "polled_time.h"
#include "thread_int.h"

/* Logs that a call has lasted for `seconds`. Names the callback, by the detail its caller gave. */
typedef void (*watchdog_warning)(uint64_t detail, double seconds);

typedef struct watchdog {
    int64_t warning_ns; /* a longer call is warned of; set before the start */
    sli_thread thread;
    sli_event event; /* for ends */
    _Atomic bool ends;

    uint64_t calls;                    /* the trainer's: calls so far */
    _Atomic(watchdog_warning) warning; /* of the latest call, as the next one */
    _Atomic uint64_t detail;
    _Atomic uint64_t call; /* number of the call that the trainer is in; 0: none */

    /* What follows is of the thread that calls watchdog_poll(). */
    uint64_t seen;     /* the call as of the last poll */
    polled_time still; /* in that call */
    bool warned;       /* of it */
} watchdog;

/* Starts the thread, which polls a few times within warning_ms. E_NO_MEMORY. */
sluice_status watchdog_start(watchdog *w, int64_t warning_ms);

/* Ends the thread at once; does nothing when it was never started. */
void watchdog_stop(watchdog *w);

/* One poll: warns once of a call that has lasted for too long, as far as polls have seen it. */
void watchdog_poll(watchdog *w, int64_t now_ns);

/* The trainer begins a call. A poll that reads these of two calls discards them (watchdog_poll()).
 */
static inline void watchdog_enter(watchdog *w, watchdog_warning warning, uint64_t detail)
{
    /* Pair with the acquire loads in a poll: seeing these, it sees that the call before has ended.
     */
    atomic_store_explicit(&w->warning, warning, memory_order_release);
    atomic_store_explicit(&w->detail, detail, memory_order_release);
    atomic_store_explicit(&w->call, ++w->calls, memory_order_release);
}

static inline void watchdog_leave(watchdog *w)
{
    atomic_store_explicit(&w->call, 0, memory_order_relaxed);
}

#endif
