/* SPDX-License-Identifier: Apache-2.0 */
/* Calling hooks, and what they are told. */
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "rng_int.h"
#include "train_run.h"

static sluice_hook_fn function_of(const sluice_callback *callback, hook_kind kind)
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

const char *train_hook_name(hook_kind kind)
{
    return (size_t)kind < sizeof(hook_names) / sizeof(hook_names[0]) ? hook_names[kind] : "?";
}

bool train_has_hook(const train_run *run, hook_kind kind)
{
    for (uint32_t i = 0; i < run->config.callback_count; i++) {
        if (function_of(&run->config.callbacks[i], kind) != NULL) {
            return true;
        }
    }
    return false;
}

sluice_status train_call_hooks(train_run *run, hook_kind kind, sluice_hook *hook)
{
    sluice_status first = SLUICE_OK;
    char error[SLI_ERROR_SIZE];

    for (uint32_t i = 0; i < run->config.callback_count; i++) {
        const sluice_callback *callback = &run->config.callbacks[i];
        sluice_hook_fn function = function_of(callback, kind);
        const uint64_t failures = sli_fail_count();
        sluice_status st;

        if (function == NULL) {
            continue;
        }
        watchdog_enter(&run->watchdog, WATCHED_HOOK + kind, i, run->step);
        st = function(hook, callback->user);
        watchdog_leave(&run->watchdog);
        run->progress_ns = sli_now_ns(); /* what hooks take is no stall */
        if (hook->stop || st == SLUICE_STOPPED) {
            st = train_wants_to_stop(run, st);
        }
        if (st < 0 && first == SLUICE_OK) {
            first = sli_fail_from(st, failures, "hook %s of callback %u returned %s",
                                  hook_names[kind], i, sluice_status_name(st));
            snprintf(error, sizeof(error), "%s", sluice_last_error());
        }
    }
    /* Those behind it may have failed at something since. */
    return first == SLUICE_OK ? SLUICE_OK : sli_fail_again(first, error);
}

void train_fill_hook(const train_run *run, sluice_hook *hook)
{
    memset(hook, 0, sizeof(*hook));
    hook->struct_size = sizeof(*hook);
    hook->step = run->step;
    hook->epoch = sink_plan_epoch(&run->plan, run->step);
    hook->epochs = run->config.epochs;
    hook->last_step = run->channel.passes > 0 && run->step < run->plan.end_step
                          ? UINT64_MAX /* a stream tells at its end */
                          : run->plan.end_step;
    hook->batch_size = run->channel.plan->batch_size;
    hook->rank = run->config.rank;
    hook->world = run->config.world;
    hook->micro_batches = run->config.micro_batches;
    hook->output_count = run->model.output_count;
    hook->output_names = run->model.output_names;
}

/* Records point at their outputs, which may have moved. */
static void point_at_outputs(train_run *run)
{
    for (uint64_t i = 0; i < run->history_count; i++) {
        run->history[i].outputs = run->history_outputs + i * run->model.output_count;
    }
}

/* Makes room for `more` records, of at most HISTORY_MOST: the oldest go, half of them at least. */
static void drop_oldest(train_run *run, uint64_t more)
{
    const uint32_t outputs = run->model.output_count;
    const uint64_t half = run->history_count / 2;
    const uint64_t kept = half < HISTORY_MOST - more ? half : HISTORY_MOST - more;
    const uint64_t from = run->history_count - kept;

    memmove(run->history, run->history + from, kept * sizeof(*run->history));
    memmove(run->history_outputs, run->history_outputs + from * outputs,
            kept * outputs * sizeof(float));
    run->history_count = kept;
    point_at_outputs(run);
}

static sluice_status reserve_history(train_run *run, uint64_t more)
{
    const uint32_t outputs = run->model.output_count;
    const size_t before = run->outputs_capacity;
    sluice_step_record *records;
    float *values;

    if (run->history_count + more > HISTORY_MOST) {
        drop_oldest(run, more);
    }
    records =
        sli_grow(run->history, &run->history_capacity, run->history_count + more, sizeof(*records));
    if (records != NULL) {
        run->history = records;
    }
    values = sli_grow(run->history_outputs, &run->outputs_capacity,
                      (run->history_count + more) * outputs, sizeof(*values));
    if (values != NULL) {
        run->history_outputs = values;
    }
    if (run->outputs_capacity != before) {
        point_at_outputs(run);
    }
    return records != NULL && values != NULL ? SLUICE_OK
                                             : sli_fail(SLUICE_E_NO_MEMORY, "records of a sink");
}

static sluice_status keep_history(train_run *run, const program_result *result)
{
    const uint32_t outputs = run->model.output_count;
    sluice_status st = reserve_history(run, result->steps);

    if (st != SLUICE_OK) {
        return st;
    }
    for (uint64_t i = 0; i < result->steps; i++) {
        sluice_step_record *record = &run->history[run->history_count];
        float *values = run->history_outputs + run->history_count * outputs;

        memcpy(values, result->records[i].outputs, outputs * sizeof(float));
        *record = result->records[i];
        record->outputs = values;
        record->samples = NULL;
        run->history_count++;
    }
    return SLUICE_OK;
}

sluice_status train_take_records(train_run *run, const program_result *result)
{
    sluice_status st = SLUICE_OK;
    sluice_hook hook;

    if (result->steps == 0) {
        return SLUICE_OK;
    }
    for (uint64_t i = 0; i < result->steps; i++) {
        run->samples += result->records[i].valid_rows;
        if (run->config.digest) {
            run->digest = sli_mix_in(run->digest, result->records[i].digest);
        }
    }
    run->nan_steps = result->nan_steps;
    run->first_nan_step = result->first_nan_step;
    train_fill_hook(run, &hook);
    run->step += result->steps;
    run->steps_run += result->steps;
    if (train_has_hook(run, HOOK_RECORDS)) {
        hook.step_count = result->steps;
        hook.records = result->records;
        hook.record_count = result->steps;
        hook.seconds = (double)(sli_now_ns() - run->start_ns) / 1e9;
        hook.wait_seconds = train_wait_seconds(run);
        st = train_call_hooks(run, HOOK_RECORDS, &hook);
    }
    if (st == SLUICE_OK && train_has_hook(run, HOOK_STEP_END)) {
        st = keep_history(run, result);
    }
    return st;
}
