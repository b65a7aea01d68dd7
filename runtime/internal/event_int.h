/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeping until a condition is true that other threads change with plain atomics: an event count
 * on a futex. A thread that changes the condition calls sli_event_notify() afterwards, which costs
 * one atomic add while no thread sleeps. A waiter tests the condition between prepare and wait:
 *
 *     while (!condition()) {
 *         uint32_t ticket = sli_event_prepare(event);
 *         if (condition()) {
 *             sli_event_cancel(event);
 *             break;
 *         }
 *         sli_event_wait(event, ticket, timeout_ns);
 *     }
 *
 * sli_event_await() is this loop.
 *
 * If any of the waiters can do the pending work, a notifier may wake only some of them, or none
 * yet:
 *
 *     if (sli_event_has_waiters(event) && enough()) {
 *         sli_event_notify_some(event, some);
 *     }
 *
 * A waiter stores the inputs of enough() before its prepare. enough() must become true whenever
 * work is pending and no thread is awake to do it.
 */
#ifndef SLUICE_EVENT_INT_H
#define SLUICE_EVENT_INT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct sli_event {
    _Atomic uint32_t epoch;
    _Atomic uint32_t waiters;
} sli_event;

/* Spin-wait hint to the processor. */
static inline void sli_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Announces a wait. Each prepare is followed by one wait or one cancel. */
static inline uint32_t sli_event_prepare(sli_event *event)
{
    /* Both sequentially consistent: either the notifier sees the waiter, or the waiter's test of
     * the condition, which follows, sees the notifier's change. */
    atomic_fetch_add_explicit(&event->waiters, 1, memory_order_seq_cst);
    return atomic_load_explicit(&event->epoch, memory_order_seq_cst);
}

static inline void sli_event_cancel(sli_event *event)
{
    atomic_fetch_sub_explicit(&event->waiters, 1, memory_order_relaxed);
}

/* Sleeps until a notification after the prepare that returned the ticket, or for timeout_ns
 * (negative: forever). May wake early. */
void sli_event_wait(sli_event *event, uint32_t ticket, int64_t timeout_ns);

/* Wakes all waiting threads. */
void sli_event_notify(sli_event *event);

/* True if a thread is waiting. Either the waiter is seen here, with all its stores before its
 * prepare, or its test of the condition sees the caller's stores. */
static inline bool sli_event_has_waiters(sli_event *event)
{
    /* Pairs with the addition in sli_event_prepare(): one of the two comes first. */
    return atomic_fetch_add_explicit(&event->waiters, 0, memory_order_seq_cst) > 0;
}

/* Wakes up to `most` waiting threads. */
void sli_event_notify_some(sli_event *event, uint32_t most);

/* Waits until ready(arg) is true, for up to timeout_ns (negative: forever). Returns the last result
 * of ready(). */
bool sli_event_await(sli_event *event, bool (*ready)(void *arg), void *arg, int64_t timeout_ns);

#endif
