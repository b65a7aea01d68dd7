/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells of a function of the user's that does not return to the trainer: a hook, save, load, agree,
 * the step in mode data. The trainer cannot, for it is in there; a thread of the run looks from
 * outside at what the trainer wrote down before the call. (Steps on the device's thread are the
 * trainer's to watch: watch.c.)
 */
#ifndef SLUICE_WATCHDOG_H
#define SLUICE_WATCHDOG_H

#include <stdatomic.h>

#include "event_int.h"
#include "thread_int.h"

/* In which function the trainer is; hooks follow, WATCHED_HOOK + hook_kind. */
enum { WATCHED_STEP = 1, WATCHED_SAVE = 2, WATCHED_LOAD = 3, WATCHED_AGREE = 4, WATCHED_HOOK = 5 };

typedef struct watchdog {
    int64_t warning_ns; /* longer than this is told; set before the start */
    sli_thread thread;
    sli_event event; /* for ends */
    _Atomic bool ends;
    _Atomic uint64_t call; /* the trainer's; 0: it is in none */

    /* What follows is of whoever calls watchdog_look(): the thread. */
    uint64_t seen; /* the call as of the last look */
    int64_t since_ns;
    bool warned; /* of that call */
} watchdog;

/* Starts the thread, which looks a few times within warning_ms. E_NO_MEMORY. */
sluice_status watchdog_start(watchdog *w, int64_t warning_ms);

/* Ends it at once; nothing to do when it was never started. */
void watchdog_stop(watchdog *w);

/* One look: warns once of a call that has been there for too long, as far as it was seen. */
void watchdog_look(watchdog *w, int64_t now_ns);

/*
 * The trainer calls the function, after `step` steps: what in bits 0-7, its callback in 8-23, the
 * step in 24-63. No function is called twice at a step (agree is, and gives a count of its calls in
 * place of a callback), so each call has a number of its own, and
 * one store says all; nothing else is read by it, so relaxed is enough.
 */
static inline void watchdog_enter(watchdog *w, unsigned what, uint32_t callback, uint64_t step)
{
    atomic_store_explicit(&w->call, what | (uint64_t)(callback & 0xFFFF) << 8 | step << 24,
                          memory_order_relaxed);
}

static inline void watchdog_leave(watchdog *w)
{
    atomic_store_explicit(&w->call, 0, memory_order_relaxed);
}

#endif
