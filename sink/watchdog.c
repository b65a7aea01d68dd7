/* SPDX-License-Identifier: Apache-2.0 */
#include "watchdog.h"

#include <stdio.h>

#include "agree.h"
#include "clock_int.h"
#include "log_int.h"
#include "train_run.h"

/* Looks are at least and at most so far apart. */
static const int64_t SHORTEST_NS = 100000000;
static const int64_t LONGEST_NS = 1000000000;

static void warn(uint64_t call, int64_t ns)
{
    const unsigned what = call & 0xFF;
    const unsigned callback = call >> 8 & 0xFFFF;
    const unsigned long long step = call >> 24;
    const double seconds = (double)ns / 1e9;

    switch (what) {
    case WATCHED_STEP:
        sli_log(SLUICE_LOG_WARN, "the step function has not returned for %.1f s (step %llu)",
                seconds, step);
        return;
    case WATCHED_SAVE:
        sli_log(SLUICE_LOG_WARN, "model.save has not returned for %.1f s (after %llu steps)",
                seconds, step);
        return;
    case WATCHED_LOAD:
        sli_log(SLUICE_LOG_WARN, "model.load has not returned for %.1f s", seconds);
        return;
    case WATCHED_AGREE:
        sli_log(
            SLUICE_LOG_WARN,
            "agree has not returned for %.1f s (after %llu steps): another rank is late, or gone",
            seconds, step);
        return;
    default:
        sli_log(SLUICE_LOG_WARN,
                "hook %s of callback %u has not returned for %.1f s (after %llu steps)",
                train_hook_name((hook_kind)(what - WATCHED_HOOK)), callback, seconds, step);
    }
}

void watchdog_look(watchdog *w, int64_t now_ns)
{
    const uint64_t call = atomic_load_explicit(&w->call, memory_order_relaxed);

    if (call != w->seen) {
        w->seen = call;
        w->since_ns = now_ns;
        w->warned = false;
    } else if (call != 0 && !w->warned && now_ns - w->since_ns >= w->warning_ns) {
        w->warned = true;
        warn(call, now_ns - w->since_ns);
    }
}

static bool has_ended(void *arg)
{
    return atomic_load_explicit(&((watchdog *)arg)->ends, memory_order_relaxed);
}

static void watch(void *arg)
{
    watchdog *w = arg;
    const int64_t often = w->warning_ns / 4;
    const int64_t pause = often < SHORTEST_NS  ? SHORTEST_NS
                          : often > LONGEST_NS ? LONGEST_NS
                                               : often;

    while (!sli_event_await(&w->event, has_ended, w, pause)) {
        watchdog_look(w, sli_now_ns());
    }
}

sluice_status watchdog_start(watchdog *w, int64_t warning_ms)
{
    w->warning_ns = warning_ms < INT64_MAX / 1000000 ? warning_ms * 1000000 : INT64_MAX;
    return sli_thread_start(&w->thread, "sluice/watchdog", NULL, watch, w);
}

void watchdog_stop(watchdog *w)
{
    atomic_store_explicit(&w->ends, true, memory_order_relaxed);
    sli_event_notify(&w->event);
    sli_thread_join(&w->thread);
}

/* ---- of a run -------------------------------------------------------------------------------- */

sluice_status train_start_watchdog(train_run *run)
{
    const sluice_train_config *config = &run->config;
    const bool calls_any = config->callback_count > 0 || config->checkpoint.folder != NULL ||
                           config->check || run->mode == SLUICE_MODE_DATA || agree_asks(run);

    return calls_any ? watchdog_start(&run->watchdog, config->stall_warning_ms) : SLUICE_OK;
}

static sluice_status save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    train_run *run = user;
    sluice_status st;

    watchdog_enter(&run->watchdog, WATCHED_SAVE, 0, run->step);
    st = run->model.save(run->model.user, folder, rank, world);
    watchdog_leave(&run->watchdog);
    return st;
}

static sluice_status load(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    train_run *run = user;
    sluice_status st;

    watchdog_enter(&run->watchdog, WATCHED_LOAD, 0, run->step);
    st = run->model.load(run->model.user, folder, rank, world);
    watchdog_leave(&run->watchdog);
    return st;
}

sluice_model train_watched_model(train_run *run)
{
    sluice_model model = run->model;

    model.save = save;
    model.load = load;
    model.user = run;
    return model;
}
