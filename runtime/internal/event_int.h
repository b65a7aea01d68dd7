/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeping until a condition that other threads make true with plain atomics: an event count on a
 * futex. A thread that changes the condition calls sli_event_notify() afterwards, which costs one
 * atomic add while no thread sleeps; a waiting thread tests the condition between prepare and wait:
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
 * sli_event_await() is that loop.
 *
 * Where any of the threads that wait can do what there is to do, a notifier may wake some of them,
 * or none yet:
 *
 *     if (sli_event_has_waiters(event) && enough()) {
 *         sli_event_notify_some(event, some);
 *     }
 *
 * A thread that waits stores what enough() reads before its prepare. enough() must come true while
 * there is something to do and no thread is awake to do it.
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
     * the condition, which follows, sees what the notifier did. */
    atomic_fetch_add_explicit(&event->waiters, 1, memory_order_seq_cst);
    return atomic_load_explicit(&event->epoch, memory_order_seq_cst);
}

static inline void sli_event_cancel(sli_event *event)
{
    atomic_fetch_sub_explicit(&event->waiters, 1, memory_order_relaxed);
}

/* Sleeps until a notify that follows the ticket's prepare, or timeout_ns; may wake early. */
void sli_event_wait(sli_event *event, uint32_t ticket, int64_t timeout_ns);

/* Wakes all waiting threads. */
void sli_event_notify(sli_event *event);

/* Is a thread waiting? Either it is seen here, with all that it stored before its prepare, or its
 * test of the condition sees what the caller has stored. */
static inline bool sli_event_has_waiters(sli_event *event)
{
    /* Pairs with the addition in sli_event_prepare(): one of the two comes first. */
    return atomic_fetch_add_explicit(&event->waiters, 0, memory_order_seq_cst) > 0;
}

/* Wakes up to `most` waiting threads. */
void sli_event_notify_some(sli_event *event, uint32_t most);

/* Waits until ready(arg), at most timeout_ns (negative: forever); returns its last result. */
bool sli_event_await(sli_event *event, bool (*ready)(void *arg), void *arg, int64_t timeout_ns);

#endif
