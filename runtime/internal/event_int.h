/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeping until a condition that other threads make true with plain atomics: an event count on a
 * futex. Whoever changes the condition calls sli_event_notify() afterwards, which costs one atomic
 * add while nobody sleeps; whoever waits tests the condition between prepare and wait:
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

/* Tells the processor that this is a polling loop. */
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

/* Wakes every thread that waits. */
void sli_event_notify(sli_event *event);

/* Waits until ready(arg), at most timeout_ns (negative: for ever); returns its last answer. */
bool sli_event_await(sli_event *event, bool (*ready)(void *arg), void *arg, int64_t timeout_ns);

#endif
