/* SPDX-License-Identifier: Apache-2.0 */
/* Calling hooks, and what they are told. */
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
    case HOOK_EPOCH_END:
        return callback->epoch_end;
    case HOOK_TRAIN_END:
        return callback->train_end;
    }
    return NULL;
}

static const char *const hook_names[] = {"train_begin", "epoch_begin", "step_begin", "records",
                                         "step_end",    "epoch_end",   "train_end"};

sluice_status train_call_hooks(train_run *run, hook_kind kind, sluice_hook *hook)
{
    sluice_status first = SLUICE_OK;

    for (uint32_t i = 0; i < run->config.callback_count; i++) {
        const sluice_callback *callback = &run->config.callbacks[i];
        sluice_hook_fn function = function_of(callback, kind);
        sluice_status st = function != NULL ? function(hook, callback->user) : SLUICE_OK;

        if (st < 0 && first == SLUICE_OK) {
            first = sli_fail(st, "hook %s of callback %u returned %s", hook_names[kind], i,
                             sluice_status_name(st));
        }
    }
    run->stop = run->stop || hook->stop;
    return first;
}

void train_fill_hook(const train_run *run, sluice_hook *hook)
{
    memset(hook, 0, sizeof(*hook));
    hook->struct_size = sizeof(*hook);
    hook->step = run->step;
    hook->epoch = run->step / run->plan.steps_per_epoch;
    hook->epochs = run->config.epochs;
    hook->last_step = run->plan.end_step;
    hook->batch_size = run->channel.plan->batch_size;
    hook->output_count = run->model.output_count;
    hook->output_names = run->model.output_names;
}

/* Makes room for more records of the sink; beyond HISTORY_MOST the older half is dropped. */
static sluice_status reserve_history(train_run *run, uint64_t more)
{
    const uint32_t outputs = run->model.output_count;
    sluice_step_record *records;
    float *values;

    if (run->history_count + more > HISTORY_MOST && run->history_count > 0) {
        uint64_t kept = run->history_count / 2;

        memmove(run->history, run->history + (run->history_count - kept),
                kept * sizeof(*run->history));
        memmove(run->history_outputs, run->history_outputs + (run->history_count - kept) * outputs,
                kept * outputs * sizeof(float));
        run->history_count = kept;
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
        memcpy(run->history_outputs + run->history_count * outputs, result->records[i].outputs,
               outputs * sizeof(float));
        run->history[run->history_count] = result->records[i];
        run->history[run->history_count].samples = NULL;
        run->history_count++;
    }
    /* The arrays may have moved. */
    for (uint64_t i = 0; i < run->history_count; i++) {
        run->history[i].outputs = run->history_outputs + i * outputs;
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
    train_fill_hook(run, &hook);
    hook.step_count = result->steps;
    hook.records = result->records;
    hook.record_count = result->steps;
    run->step += result->steps;
    run->steps_run += result->steps;
    if (run->config.callback_count > 0) {
        st = train_call_hooks(run, HOOK_RECORDS, &hook);
        if (st == SLUICE_OK) {
            st = keep_history(run, result);
        }
    }
    return st;
}
