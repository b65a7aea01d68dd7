/* SPDX-License-Identifier: Apache-2.0 */
#include "last_call.h"

#include "alloc_int.h"
#include "callback_int.h"
#include "clock_int.h"
#include "event_int.h"
#include "log_int.h"
#include "polled_time.h"
#include "status_int.h"
#include "thread_int.h"

/* Longest time between two polls of the clock. */
static const int64_t SLICE_NS = 100000000;

typedef struct last_call last_call;
struct last_call {
    rank_failure own;
    sluice_agree_fn agree;
    void *user;
    sli_thread thread;
    sli_event event; /* notified when `done` is set */
    _Atomic bool done;
    last_call *next;
};

/* Calls that have timed out. They are never freed, since their threads may still use them. */
static _Atomic(last_call *) abandoned;

/* A sluice_agree_fn for rank_failure_exchange(); user: a last_call. */
static sluice_status call_agree(int64_t value, int64_t *most_out, void *user)
{
    const last_call *c = user;
    const uint64_t failures = sli_fail_count();

    return sli_callback_status(c->agree(value, most_out, c->user), failures, "agree");
}

static void send_failure(last_call *c)
{
    rank_failure first;
    int64_t most = INT64_MIN;

    if (call_agree(rank_failure_value(&c->own), &most, c) >= 0 && most >= FAILURE_LEAST) {
        (void)rank_failure_exchange(most, &c->own, call_agree, c, &first);
    }
}

static void run_call(void *arg)
{
    last_call *c = arg;

    send_failure(c);
    atomic_store_explicit(&c->done, true, memory_order_relaxed);
    sli_event_notify(&c->event);
}

static bool is_done(void *arg)
{
    return atomic_load_explicit(&((last_call *)arg)->done, memory_order_relaxed);
}

/* Detaches the thread of a call. The list keeps the call reachable for leak checkers. */
static void abandon(last_call *c)
{
    last_call *head = atomic_load_explicit(&abandoned, memory_order_relaxed);

    (void)pthread_detach(c->thread.handle);
    do {
        c->next = head;
    } while (!atomic_compare_exchange_weak_explicit(&abandoned, &head, c, memory_order_relaxed,
                                                    memory_order_relaxed));
}

/* Waits until the call is done. Returns false after timeout_ms, without time in which the process
 * was suspended. */
static bool await_call(last_call *c, int64_t timeout_ms)
{
    const int64_t timeout_ns = timeout_ms < INT64_MAX / 1000000 ? timeout_ms * 1000000 : INT64_MAX;
    polled_time waited = {.interval_ns = timeout_ns < SLICE_NS ? timeout_ns : SLICE_NS};

    (void)polled_time_poll(&waited, sli_now_ns());
    while (!sli_event_await(&c->event, is_done, c, waited.interval_ns)) {
        if (polled_time_poll(&waited, sli_now_ns()) >= timeout_ns) {
            return false;
        }
    }
    return true;
}

bool last_call_make(const rank_failure *own, sluice_agree_fn agree, void *user, int64_t timeout_ms)
{
    last_call here = {.own = *own, .agree = agree, .user = user};
    last_call *c = sli_calloc(1, sizeof(*c));

    if (c != NULL) {
        *c = here;
    }
    if (c == NULL || sli_thread_start(&c->thread, "sluice/agree", NULL, run_call, c) != SLUICE_OK) {
        sli_log(SLUICE_LOG_WARN, "no memory for a thread to tell the other ranks of the failure, "
                                 "so this one does, and waits for them as long as agree does");
        sli_free(c);
        send_failure(&here);
        return true;
    }
    if (!await_call(c, timeout_ms)) {
        abandon(c);
        return false;
    }
    sli_thread_join(&c->thread);
    sli_free(c);
    return true;
}
