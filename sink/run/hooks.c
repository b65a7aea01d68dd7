/* SPDX-License-Identifier: Apache-2.0 */
#include "hooks.h"

#include <string.h>

#include "callback_int.h"
#include "error_int.h"
#include "log_int.h"
#include "rng_int.h"
#include "run_waits.h"
#include "stall_monitor.h"

static sluice_hook_fn hook_function(const sluice_callback *callback, hook_kind kind)
{
    switch (kind) {
    case HOOK_TRAIN_BEGIN:
        return callback->train_begin;
    case HOOK_EPOCH_BEGIN:
        return callback->epoch_begin;
    case HOOK_STEP_BEGIN:
        return callback->step_begin;
    case HOOK_RECORDS:
        return callback->records;
    case HOOK_STEP_END:
        return callback->step_end;
    case HOOK_VALIDATION:
        return callback->validation;
    case HOOK_EPOCH_END:
        return callback->epoch_end;
    case HOOK_TRAIN_END:
        return callback->train_end;
    }
    return NULL;
}

static const char *const hook_names[] = {"train_begin", "epoch_begin", "step_begin", "records",
                                         "step_end",    "validation",  "epoch_end",  "train_end"};

/* Packs a hook call for the callback watchdog: its kind in bits 0-7, the callback's index in bits
 * 8-23, the step in bits 24-63. */
static uint64_t hook_detail(hook_kind kind, uint32_t callback, uint64_t step)
{
    return (uint64_t)kind | (uint64_t)(callback & 0xFFFF) << 8 | step << 24;
}

static void warn_of_hook(uint64_t detail, double seconds)
{
    sli_log(SLUICE_LOG_WARN,
            "hook %s of callback %u has not returned for %.1f s (after %llu steps)",
            hook_names[detail & 0xFF], (unsigned)(detail >> 8 & 0xFFFF), seconds,
            (unsigned long long)(detail >> 24));
}

bool train_has_hook(const train_run *run, hook_kind kind)
{
    for (uint32_t i = 0; i < run->config.callback_count; i++) {
        if (hook_function(&run->callbacks[i], kind) != NULL) {
            return true;
        }
    }
    return false;
}

sluice_status train_call_hooks(train_run *run, hook_kind kind, sluice_hook *hook)
{
    sli_error first = {.status = SLUICE_OK};

    for (uint32_t i = 0; i < run->config.callback_count; i++) {
        const sluice_callback *callback = &run->callbacks[i];
        sluice_hook_fn function = hook_function(callback, kind);
        const uint64_t failures = sli_fail_count();
        host_work before;
        sluice_status st;

        if (function == NULL) {
            continue;
        }
        before = host_clock_enter(&run->watch.host, HOST_HOOK);
        watchdog_enter(&run->watch.callbacks, warn_of_hook,
                       hook_detail(kind, i, run->progress.step));
        st = function(hook, callback->user);
        watchdog_leave(&run->watch.callbacks);
        host_clock_leave(&run->watch.host, before);
        polled_time_restart(&run->watch.still); /* the duration of hooks is not a stall */
        if (!run->nested && (hook->stop || st == SLUICE_STOPPED)) { /* the run asks again */
            outcome_request(&run->outcome, OUTCOME_STOP);
            st = st < 0 || !sli_is_status(st) ? st : train_check_request(run);
        }
        st = sli_callback_status(st, failures, "hook %s of callback %u", hook_names[kind], i);
        if (st < 0 && first.status == SLUICE_OK) {
            sli_error_take(st, &first);
        }
    }
    /* Later hooks may have overwritten the thread's error text. */
    return sli_error_raise(&first);
}

/* Fills in the rank that this one has waited for longest. */
static void fill_late_rank(const rank_waits *waits, sluice_hook *hook)
{
    hook->late_rank = UINT64_MAX;
    if (waits->counts && waits->worst < waits->world) {
        hook->late_rank = waits->worst;
        hook->late_seconds = (double)waits->of[waits->worst].ns / 1e9;
    }
}

void train_fill_hook(const train_run *run, sluice_hook *hook)
{
    memset(hook, 0, sizeof(*hook));
    hook->struct_size = sizeof(*hook);
    hook->step = run->progress.step;
    hook->epoch = sink_plan_epoch(&run->plan.sinks, run->progress.step);
    hook->epochs = run->config.epochs;
    hook->last_step = run->feed.passes > 0 && run->progress.step < run->plan.sinks.end_step
                          ? UINT64_MAX /* the length of a stream is known only at its end */
                          : run->plan.sinks.end_step;
    hook->batch_size = run->feed.plan->batch_size;
    hook->rank = run->config.rank;
    hook->world = run->config.world;
    hook->micro_batches = run->config.micro_batches;
    hook->output_count = run->model.output_count;
    hook->output_names = run->model.output_names;
    fill_late_rank(&run->ranks.waits, hook);
}

sluice_status train_take_records(train_run *run, const program_result *result)
{
    sluice_status st = SLUICE_OK;
    sluice_hook hook;

    if (result->steps == 0) {
        return SLUICE_OK;
    }
    for (uint64_t i = 0; i < result->steps; i++) {
        run->counts.samples += result->records[i].valid_rows;
        if (run->config.digest) {
            run->counts.digest = sli_mix_in(run->counts.digest, result->records[i].digest);
        }
    }
    run->counts.nan_steps = result->nan_steps;
    run->counts.first_nan_step = result->first_nan_step;
    train_fill_hook(run, &hook);
    run->progress.step += result->steps;
    run->counts.steps += result->steps;
    if (train_has_hook(run, HOOK_RECORDS)) {
        hook.step_count = result->steps;
        hook.records = result->records;
        hook.record_count = result->steps;
        hook.seconds = (double)(sli_now_ns() - run->progress.start_ns) / 1e9;
        hook.wait_seconds = train_wait_seconds(run);
        st = train_call_hooks(run, HOOK_RECORDS, &hook);
    }
    if (st == SLUICE_OK && train_has_hook(run, HOOK_STEP_END)) {
        st = step_history_add(&run->history, result->records, result->steps,
                              run->model.output_count);
    }
    return st;
}
