/* SPDX-License-Identifier: Apache-2.0 */
#include "callback_watchdog.h"

#include "clock_int.h"

/* Bounds of the interval between two polls. */
static const int64_t SHORTEST_NS = 100000000;
static const int64_t LONGEST_NS = 1000000000;

static int64_t poll_interval(const watchdog *w)
{
    const int64_t often = w->warning_ns / 4;

    return often < SHORTEST_NS ? SHORTEST_NS : often > LONGEST_NS ? LONGEST_NS : often;
}

/* Warns that the call is slow. A no-op if the call has returned, since the values read here may
 * then belong to a later call. */
static void warn_of_call(watchdog *w, uint64_t call, int64_t ns)
{
    /* Pair with the release stores in watchdog_enter(). */
    const watchdog_warning warning = atomic_load_explicit(&w->warning, memory_order_acquire);
    const uint64_t detail = atomic_load_explicit(&w->detail, memory_order_acquire);

    if (atomic_load_explicit(&w->call, memory_order_relaxed) == call) {
        w->warned = true;
        warning(detail, (double)ns / 1e9);
    }
}

void watchdog_poll(watchdog *w, int64_t now_ns)
{
    /* Pairs with the release store in watchdog_enter(), so the call's warning is visible, too. */
    const uint64_t call = atomic_load_explicit(&w->call, memory_order_acquire);
    int64_t still_ns;

    if (call != w->seen) {
        w->seen = call;
        w->warned = false;
        polled_time_restart(&w->still);
    }
    w->still.interval_ns = poll_interval(w);
    still_ns = polled_time_poll(&w->still, now_ns);
    if (call != 0 && !w->warned && still_ns >= w->warning_ns) {
        warn_of_call(w, call, still_ns);
    }
}

static bool watchdog_ends(void *arg)
{
    return atomic_load_explicit(&((watchdog *)arg)->ends, memory_order_relaxed);
}

static void poll_calls(void *arg)
{
    watchdog *w = arg;

    while (!sli_event_await(&w->event, watchdog_ends, w, poll_interval(w))) {
        watchdog_poll(w, sli_now_ns());
    }
}

sluice_status watchdog_start(watchdog *w, int64_t warning_ms)
{
    w->warning_ns = warning_ms < INT64_MAX / 1000000 ? warning_ms * 1000000 : INT64_MAX;
    return sli_thread_start(&w->thread, "sluice/watchdog", NULL, poll_calls, w);
}

void watchdog_stop(watchdog *w)
{
    atomic_store_explicit(&w->ends, true, memory_order_relaxed);
    sli_event_notify(&w->event);
    sli_thread_join(&w->thread);
}
