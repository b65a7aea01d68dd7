/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's outcome: the reason why it ends, as one ordered value that never decreases. The
 * cancellation token, the time limit, hooks, steps, programs and ranks raise it. Any thread may
 * call these functions.
 */
#ifndef SLUICE_OUTCOME_H
#define SLUICE_OUTCOME_H

#include <stdatomic.h>
#include <stdbool.h>

#include "stop_int.h"

typedef enum outcome {
    OUTCOME_GOES_ON,
    OUTCOME_TIME_IS_OVER, /* max_seconds: no more steps; boundary actions run as planned */
    OUTCOME_STOP,         /* requested by the token, a hook or a step */
    OUTCOME_NAN,          /* the NaN guard detected a non-finite output */
    OUTCOME_FAILED
} outcome;

/* The outcome of one run. A zeroed struct means that the run continues. token and is_agreed are set
 * before the start. */
typedef struct run_outcome {
    const sluice_stop *token; /* may be NULL */
    bool is_agreed; /* several ranks: a request takes effect once they agree on it, at a boundary */
    _Atomic int requested; /* outcome that this rank has requested */
    _Atomic int reached;   /* outcome in effect; no further step begins if it is above GOES_ON */
} run_outcome;

static inline void outcome_raise_value(_Atomic int *value, outcome to)
{
    int now = atomic_load_explicit(value, memory_order_relaxed);

    /* Pairs with the acquire load in outcome_reached(): a reader of the outcome also sees what was
     * written before this store, and before the request of a stop. */
    while (now < (int)to && !atomic_compare_exchange_weak_explicit(
                                value, &now, (int)to, memory_order_acq_rel, memory_order_relaxed)) {
    }
}

/* Raises the outcome in effect, after an error or an agreement of the ranks. */
static inline void outcome_raise(run_outcome *o, outcome to)
{
    outcome_raise_value(&o->reached, to);
}

/* Requests an outcome for this rank. It takes effect immediately on a single rank, otherwise once
 * the ranks agree. */
static inline void outcome_request(run_outcome *o, outcome to)
{
    outcome_raise_value(&o->requested, to);
    if (!o->is_agreed) {
        outcome_raise(o, to);
    }
}

static inline outcome outcome_requested(const run_outcome *o)
{
    return (outcome)atomic_load_explicit(&o->requested, memory_order_relaxed);
}

static inline outcome outcome_reached(const run_outcome *o)
{
    return (outcome)atomic_load_explicit(&o->reached, memory_order_acquire);
}

/* True if another step may begin. */
static inline bool outcome_goes_on(const run_outcome *o)
{
    return outcome_reached(o) == OUTCOME_GOES_ON;
}

/* Polls the token, then returns outcome_goes_on(). */
static inline bool outcome_poll(run_outcome *o)
{
    if (sli_stop_is_requested(o->token)) {
        outcome_request(o, OUTCOME_STOP);
    }
    return outcome_goes_on(o);
}

/* True if the outcome is STOP or above; the remaining actions of a boundary are then skipped. */
static inline bool outcome_is_stop(const run_outcome *o)
{
    return outcome_reached(o) >= OUTCOME_STOP;
}

#endif
