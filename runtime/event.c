/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "event_int.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "clock_int.h"

static long futex(_Atomic uint32_t *word, int operation, uint32_t value,
                  const struct timespec *timeout)
{
    return syscall(SYS_futex, word, operation, value, timeout, NULL, 0);
}

void sli_event_wait(sli_event *event, uint32_t ticket, int64_t timeout_ns)
{
    struct timespec timeout = {.tv_sec = timeout_ns / 1000000000,
                               .tv_nsec = timeout_ns % 1000000000};

    futex(&event->epoch, FUTEX_WAIT_PRIVATE, ticket, timeout_ns < 0 ? NULL : &timeout);
    atomic_fetch_sub_explicit(&event->waiters, 1, memory_order_relaxed);
}

void sli_event_notify(sli_event *event)
{
    atomic_fetch_add_explicit(&event->epoch, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&event->waiters, memory_order_seq_cst) > 0) {
        futex(&event->epoch, FUTEX_WAKE_PRIVATE, INT_MAX, NULL);
    }
}

void sli_event_notify_some(sli_event *event, uint32_t most)
{
    atomic_fetch_add_explicit(&event->epoch, 1, memory_order_seq_cst);
    futex(&event->epoch, FUTEX_WAKE_PRIVATE, most < INT_MAX ? most : INT_MAX, NULL);
}

bool sli_event_await(sli_event *event, bool (*ready)(void *arg), void *arg, int64_t timeout_ns)
{
    int64_t deadline = timeout_ns < 0 ? INT64_MAX : sli_now_ns() + timeout_ns;

    while (!ready(arg)) {
        uint32_t ticket = sli_event_prepare(event);
        int64_t left = timeout_ns < 0 ? -1 : deadline - sli_now_ns();

        if (ready(arg)) {
            sli_event_cancel(event);
            return true;
        }
        if (timeout_ns >= 0 && left <= 0) {
            sli_event_cancel(event);
            return false;
        }
        sli_event_wait(event, ticket, left);
    }
    return true;
}
