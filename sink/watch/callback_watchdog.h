/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warns of a user callback that hangs: a hook, save, load, agree, or the step in mode data. The
 * trainer cannot warn because it is inside the call. Instead it stores the call beforehand, and a
 * thread of the run polls the stored values. (The trainer itself polls steps that run on the
 * device's thread: stall_monitor.c.)
 */
#ifndef SLUICE_CALLBACK_WATCHDOG_H
#define SLUICE_CALLBACK_WATCHDOG_H

#include <stdatomic.h>

#include "event_int.h"
#include "polled_time.h"
#include "thread_int.h"

/* Logs that a call has lasted for `seconds`. `detail`, from watchdog_enter(), identifies the
 * callback. */
typedef void (*watchdog_warning)(uint64_t detail, double seconds);

typedef struct watchdog {
    int64_t warning_ns; /* longer calls cause a warning; set before the start */
    sli_thread thread;
    sli_event event; /* notified when `ends` is set */
    _Atomic bool ends;

    uint64_t calls;                    /* calls so far; used by the trainer only */
    _Atomic(watchdog_warning) warning; /* `warning` and `detail` belong to the latest call */
    _Atomic uint64_t detail;
    _Atomic uint64_t call; /* number of the call that the trainer is in; 0: none */

    /* The fields below are used only by the thread that calls watchdog_poll(). */
    uint64_t seen;     /* `call` as of the last poll */
    polled_time still; /* time in the call `seen` */
    bool warned;       /* a warning of the call `seen` was logged */
} watchdog;

/* Starts the thread, which polls a few times within warning_ms. Returns E_NO_MEMORY if an
 * allocation fails. */
sluice_status watchdog_start(watchdog *w, int64_t warning_ms);

/* Ends the thread immediately; a no-op if it was never started. */
void watchdog_stop(watchdog *w);

/* One poll. Warns once of a call that, by the polls so far, has lasted longer than warning_ns. */
void watchdog_poll(watchdog *w, int64_t now_ns);

/* Call when the trainer begins a call. A poll that reads `warning` and `detail` of two different
 * calls discards them. */
static inline void watchdog_enter(watchdog *w, watchdog_warning warning, uint64_t detail)
{
    /* Pair with the acquire loads in warn_of_call(): a poll that reads these values also sees that
     * the previous call has ended. */
    atomic_store_explicit(&w->warning, warning, memory_order_release);
    atomic_store_explicit(&w->detail, detail, memory_order_release);
    atomic_store_explicit(&w->call, ++w->calls, memory_order_release);
}

static inline void watchdog_leave(watchdog *w)
{
    atomic_store_explicit(&w->call, 0, memory_order_relaxed);
}

#endif
