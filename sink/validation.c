/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validation: a run of its own, of model.eval on another dataset, between two sinks of the
 * training. Its outputs are sums over samples; results are the sums of all batches divided by all
 * samples.
 */
#include <string.h>

#include "agree.h"
#include "range_int.h"

typedef struct validation_sums {
    double sums[SLUICE_MAX_OUTPUTS];
    uint32_t count;
    uint64_t samples;
} validation_sums;

static sluice_status add_records(sluice_hook *hook, void *user)
{
    validation_sums *v = user;

    for (uint64_t i = 0; i < hook->record_count; i++) {
        v->samples += hook->records[i].valid_rows;
        for (uint32_t k = 0; k < v->count; k++) {
            v->sums[k] += (double)hook->records[i].outputs[k];
        }
    }
    return SLUICE_OK;
}

/* Runs model.eval over the dataset. STOPPED: not all of it. */
static sluice_status evaluate(train_run *run, validation_sums *v)
{
    const sluice_train_config *config = &run->config;
    const sluice_callback callback = {.records = add_records, .user = v};
    sluice_train_config own;
    sluice_model model = run->model;

    v->count = run->model.result_count;
    model.step = run->model.eval;
    model.output_names = run->model.result_names;
    model.output_count = run->model.result_count;
    sluice_train_config_init(&own);
    own.epochs = 1;
    own.max_steps = config->validation.max_batches;
    own.dataset_sink_mode = config->dataset_sink_mode;
    own.mode = config->mode; /* auto may be another one for eval */
    own.output_capacity = config->output_capacity;
    own.callbacks = &callback;
    own.callback_count = 1;
    own.stop = config->world > 1 ? NULL : config->stop;
    own.stall_warning_ms = config->stall_warning_ms;
    own.stall_timeout_ms = config->stall_timeout_ms;
    own.workers = config->workers;
    own.slots = config->slots;
    own.memory_bytes = config->memory_bytes;
    own.seed = config->seed;
    own.rank = config->rank;
    own.world = config->world;
    own.on_error = config->on_error;
    own.nan_guard = SLUICE_NAN_IGNORE; /* a result that is no number is one to be told of */
    return train_nested(run->device, &model, config->validation.dataset, &own);
}

/* Sums and samples of all ranks. */
static sluice_status add_ranks(train_run *run, validation_sums *v)
{
    double sums[SLUICE_MAX_OUTPUTS + 1];
    sluice_status st;

    memcpy(sums, v->sums, sizeof(v->sums));
    sums[v->count] = (double)v->samples; /* whole numbers up to 2^53 */
    st = agree_on_sums(run, sums, v->count + 1);
    memcpy(v->sums, sums, v->count * sizeof(sums[0]));
    v->samples = (uint64_t)sums[v->count];
    return st;
}

static sluice_status tell(train_run *run, const validation_sums *v, int64_t start_ns)
{
    double results[SLUICE_MAX_OUTPUTS];
    sluice_hook hook;
    sluice_status st;

    for (uint32_t k = 0; k < v->count; k++) {
        results[k] = v->samples > 0 ? v->sums[k] / (double)v->samples : 0;
    }
    st = train_keep_best(run, results);
    if (st != SLUICE_OK) {
        return st;
    }
    train_fill_hook(run, &hook);
    hook.epoch = sink_plan_epoch(&run->plan, run->step > 0 ? run->step - 1 : 0);
    hook.seconds = (double)(sli_now_ns() - start_ns) / 1e9;
    hook.results = results;
    hook.result_names = run->model.result_names;
    hook.result_count = v->count;
    hook.result_samples = v->samples;
    return train_call_hooks(run, HOOK_VALIDATION, &hook);
}

sluice_status train_validate(train_run *run, bool always)
{
    const bool due = always || sink_plan_is_border(&run->plan, BORDER_VALIDATION, run->step);
    const int64_t start = sli_now_ns();
    validation_sums v = {.samples = 0};
    char why[SLI_ERROR_SIZE];
    sluice_status st;

    if (run->config.validation.dataset == NULL || !due || run->validation_step == run->step) {
        return SLUICE_OK;
    }
    sli_range_begin("validation");
    st = evaluate(run, &v);
    sli_range_end();
    run->progress_ns = sli_now_ns(); /* what it takes is no stall */
    if (st < 0) {
        snprintf(why, sizeof(why), "%s", sluice_last_error());
        return sli_fail(st, "validation after %llu steps: %.900s", (unsigned long long)run->step,
                        why);
    }
    if (st == SLUICE_STOPPED) {
        run->stop = true;
        return SLUICE_OK;
    }
    st = add_ranks(run, &v);
    if (st != SLUICE_OK) {
        return st;
    }
    run->validations++;
    run->validation_step = run->step;
    return tell(run, &v, start);
}
