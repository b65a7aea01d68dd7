/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a run ends, as one ordered value: cancellation token, time limit, hooks, steps, programs and
 * ranks raise it, and it never falls. Any thread may call these.
 */
#ifndef SLUICE_OUTCOME_H
#define SLUICE_OUTCOME_H

#include <stdatomic.h>
#include <stdbool.h>

#include "stop_int.h"

typedef enum outcome {
    OUTCOME_GOES_ON,
    OUTCOME_TIME_IS_OVER, /* max_seconds: no more steps, and all else as planned */
    OUTCOME_STOP,         /* requested, by the token, a hook or a step */
    OUTCOME_NAN,          /* the NAN guard met a non-finite output */
    OUTCOME_FAILED
} outcome;

/* Of one run; zeroed it goes on. The first two are set before the start. */
typedef struct run_outcome {
    const sluice_stop *token; /* may be NULL */
    bool is_agreed;        /* several ranks: a request holds once they agree on it, at a boundary */
    _Atomic int requested; /* by this rank */
    _Atomic int reached;   /* no further step begins above GOES_ON */
} run_outcome;

static inline void outcome_raise_value(_Atomic int *value, outcome to)
{
    int now = atomic_load_explicit(value, memory_order_relaxed);

    /* Pairs with the acquire load in outcome_reached(): seeing the outcome, it sees what was
     * written before it, by whoever requested a stop, too. */
    while (now < (int)to && !atomic_compare_exchange_weak_explicit(
                                value, &now, (int)to, memory_order_acq_rel, memory_order_relaxed)) {
    }
}

/* Raises the outcome that the run ends with: an error, or what the ranks have agreed on. */
static inline void outcome_raise(run_outcome *o, outcome to)
{
    outcome_raise_value(&o->reached, to);
}

/* Requests it for this rank: it holds at once for a single rank, else once the ranks agree. */
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

/* May another step begin? */
static inline bool outcome_goes_on(const run_outcome *o)
{
    return outcome_reached(o) == OUTCOME_GOES_ON;
}

/* The same, after a poll of the token. */
static inline bool outcome_poll(run_outcome *o)
{
    if (sli_stop_is_requested(o->token)) {
        outcome_request(o, OUTCOME_STOP);
    }
    return outcome_goes_on(o);
}

/* Has a stop, or what is above it, ended the run? What is left of a boundary is left out then. */
static inline bool outcome_is_stop(const run_outcome *o)
{
    return outcome_reached(o) >= OUTCOME_STOP;
}

#endif
