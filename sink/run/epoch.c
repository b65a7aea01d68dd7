/* SPDX-License-Identifier: Apache-2.0 */
#include "epoch.h"

#include "error_int.h"
#include "hooks.h"
#include "nvtx_ranges_int.h"
#include "pass_epochs.h"
#include "run_agreement.h"
#include "run_failure.h"
#include "run_waits.h"
#include "sink_modes.h"
#include "stall_monitor.h"

/* Fills in the arguments of a hook step_end, epoch_end or train_end, for the steps of the span. */
static void fill_end_hook(const train_run *run, const step_span *span, sluice_hook *hook)
{
    train_fill_hook(run, hook);
    hook->epoch = sink_plan_epoch(&run->plan.sinks, span->first);
    hook->step_count = run->progress.step - span->first;
    hook->seconds = (double)(sli_now_ns() - span->start_ns) / 1e9;
    hook->wait_seconds = train_wait_seconds(run) - span->waited;
}

static step_span begin_span(const train_run *run)
{
    return (step_span){run->progress.step, sli_now_ns(), train_wait_seconds(run)};
}

sluice_status train_meet_ranks(train_run *run)
{
    sluice_status st = agree_asks(&run->ranks) ? train_watch(run) : SLUICE_OK;

    return st == SLUICE_OK ? train_agree_at_boundary(run) : st;
}

/* ---- sinks ----------------------------------------------------------------------------------- */

/* train_run_steps(), and adds its time to rank_waits. */
static sluice_status run_timed(train_run *run, uint64_t steps)
{
    const step_span span = begin_span(run);
    const sluice_status st = train_run_steps(run, steps);

    rank_waits_add_steps(&run->ranks.waits, sli_now_ns() - span.start_ns,
                         (int64_t)((train_wait_seconds(run) - span.waited) * 1e9));
    return st;
}

/* Runs `steps` steps with the step hooks around them. */
static sluice_status run_steps(train_run *run, uint64_t steps)
{
    const step_span span = begin_span(run);
    sluice_status answer = SLUICE_OK;
    sluice_status st;
    sluice_hook hook;

    step_history_clear(&run->history);
    train_fill_hook(run, &hook);
    hook.step_count = steps;
    st = train_call_hooks(run, HOOK_STEP_BEGIN, &hook);
    if (st == SLUICE_OK && !outcome_is_stop(&run->outcome)) {
        answer = run_timed(run, steps);
    }
    if (st != SLUICE_OK || answer < 0 || run->progress.step == span.first) {
        return st != SLUICE_OK ? st : answer;
    }
    fill_end_hook(run, &span, &hook);
    hook.step = run->progress.step - 1;
    hook.records = run->history.records;
    hook.record_count = run->history.count;
    st = train_call_hooks(run, HOOK_STEP_END, &hook);
    if (st == SLUICE_OK) {
        st = train_meet_ranks(run);
    }
    return st != SLUICE_OK ? st : answer;
}

static sluice_status run_sink(train_run *run, uint64_t steps)
{
    const bool enqueued = run->program->by_batch && run->plan.mode == SLUICE_MODE_DATA;
    const bool per_sink =
        run->plan.mode == SLUICE_MODE_LOOP || run->plan.mode == SLUICE_MODE_GRAPH || enqueued;
    const uint64_t end = run->progress.step + steps;
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && run->progress.step < end && outcome_goes_on(&run->outcome)) {
        st = train_await_pass(run); /* so that step_begin is not called after the last step */
        if (st == SLUICE_OK) {
            st = run_steps(run, per_sink ? end - run->progress.step : 1);
        }
    }
    if (st == SLUICE_OK || st == SLUICE_END_OF_PASS) {
        const sluice_status ended = train_end_sink(run);

        st = ended != SLUICE_OK ? ended : st;
    }
    return st;
}

sluice_status epoch_run_sink(train_run *run)
{
    const host_work before = host_clock_enter(&run->watch.host, HOST_SINK);
    sluice_status st;

    sli_range_begin("sink");
    st = run_sink(run, sink_plan_length(&run->plan.sinks, run->progress.step));
    sli_range_end();
    host_clock_leave(&run->watch.host, before);
    if (st == SLUICE_END_OF_PASS || (st == SLUICE_END_OF_DATA && run->passes.unknown)) {
        pass_epochs_end(run);
        st = SLUICE_OK;
    }
    return st;
}

/* ---- epochs ---------------------------------------------------------------------------------- */

sluice_status epoch_begin(train_run *run, step_span *span_out)
{
    sluice_hook hook;

    *span_out = begin_span(run);
    train_fill_hook(run, &hook);
    return train_call_hooks(run, HOOK_EPOCH_BEGIN, &hook);
}

bool epoch_goes_on(const train_run *run, const step_span *span)
{
    return outcome_goes_on(&run->outcome) && run->progress.step < run->plan.sinks.end_step &&
           sink_plan_epoch(&run->plan.sinks, run->progress.step) ==
               sink_plan_epoch(&run->plan.sinks, span->first);
}

sluice_status epoch_end(train_run *run, const step_span *span, sluice_status st)
{
    sluice_status ended;
    sluice_hook hook;

    if (st < 0 || run->progress.step == span->first) {
        return st;
    }
    fill_end_hook(run, span, &hook);
    ended = train_call_hooks(run, HOOK_EPOCH_END, &hook);
    if (ended == SLUICE_OK) {
        ended = train_meet_ranks(run);
    }
    return ended != SLUICE_OK ? ended : st;
}

sluice_status epoch_end_before(train_run *run)
{
    const step_span span = begin_span(run);
    sluice_hook hook;

    fill_end_hook(run, &span, &hook);
    hook.epoch = sink_plan_epoch_before(&run->plan.sinks, run->progress.step);
    return train_call_hooks(run, HOOK_EPOCH_END, &hook);
}

/* ---- begin and end of the run ---------------------------------------------------------------- */

sluice_status train_begin(train_run *run)
{
    sluice_hook hook;

    train_fill_hook(run, &hook);
    hook.plan = run->plan.line;
    if (run->validation.dataset != NULL || run->nested) { /* a mode check: see mode_check.c */
        hook.result_names = run->model.result_names;
        hook.result_count = run->model.result_count;
    }
    return train_call_hooks(run, HOOK_TRAIN_BEGIN, &hook);
}

sluice_status train_end(train_run *run, sluice_status st)
{
    const step_span span = {run->plan.sinks.first_step, run->progress.start_ns, 0};
    sli_error error;
    sluice_status ended;
    sluice_hook hook;

    sli_error_take(st, &error);
    train_part(run, &error);
    fill_end_hook(run, &span, &hook);
    hook.epoch = sink_plan_epoch(&run->plan.sinks, run->progress.step);
    ended = train_call_hooks(run, HOOK_TRAIN_END, &hook);
    /* Hooks may have overwritten the thread's error text. */
    return st >= 0 && ended < 0 ? ended : sli_error_raise(&error);
}

bool train_is_stopped(const train_run *run)
{
    return outcome_reached(&run->outcome) == OUTCOME_STOP &&
           run->progress.step < run->plan.sinks.end_step;
}
