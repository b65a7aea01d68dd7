/* SPDX-License-Identifier: Apache-2.0 */
#include "validation.h"

#include <string.h>

#include "hooks.h"
#include "log_int.h"
#include "nested_run.h"
#include "nvtx_ranges_int.h"

typedef struct validation_sums {
    double sums[SLUICE_MAX_OUTPUTS];
    uint32_t count;
    uint64_t samples;
    nested_errors errors; /* of this rank */
} validation_sums;

static sluice_status add_to_sums(sluice_hook *hook, void *user)
{
    validation_sums *v = user;

    for (uint64_t i = 0; i < hook->record_count; i++) {
        v->samples += sluice_hook_record(hook, i)->valid_rows;
        for (uint32_t k = 0; k < v->count; k++) {
            v->sums[k] += (double)sluice_hook_record(hook, i)->outputs[k];
        }
    }
    return SLUICE_OK;
}

/* Fills in the model and settings of a validation's nested run, except its callbacks. */
static void describe_nested_run(const train_run *run, sluice_model *model, sluice_train_config *own)
{
    const sluice_train_config *config = &run->config;

    *model = run->model;
    model->step = run->model.eval;
    model->output_names = run->model.result_names;
    model->output_count = run->model.result_count;
    sluice_train_config_init(own);
    own->epochs = 1;
    own->max_steps = run->validation.max_batches;
    own->dataset_sink_mode = config->dataset_sink_mode;
    own->mode = config->mode; /* auto may choose another mode for eval */
    own->output_capacity = config->output_capacity;
    own->stop = config->world > 1 ? NULL : config->stop;
    own->stall_warning_ms = config->stall_warning_ms;
    own->stall_timeout_ms = config->stall_timeout_ms;
    own->workers = config->workers;
    own->slots = config->slots;
    own->memory_bytes = config->memory_bytes;
    own->seed = config->seed;
    own->rank = config->rank;
    own->world = config->world;
    own->on_error = config->on_error;
    own->device_maps = config->device_maps;
    own->device_map_count = config->device_map_count;
    own->nan_guard = SLUICE_NAN_IGNORE; /* a non-finite result is a result, and is reported */
}

/* Runs model.eval over the dataset. Returns STOPPED if a stop request ended it early. */
static sluice_status evaluate(train_run *run, validation_sums *v)
{
    sluice_callback callback = {.struct_size = sizeof(callback), .records = add_to_sums, .user = v};
    sluice_callback *const callbacks[] = {&callback};
    sluice_train_config own;
    sluice_model model;

    v->count = run->model.result_count;
    describe_nested_run(run, &model, &own);
    own.callbacks = callbacks;
    own.callback_count = 1;
    return nested_run(run->device, &model, run->validation.dataset, &own, &v->errors);
}

sluice_status validation_check(const train_run *run)
{
    sluice_train_config own;
    sluice_model model;
    sluice_status st;

    if (run->validation.dataset == NULL) {
        return SLUICE_OK;
    }
    describe_nested_run(run, &model, &own);
    st = nested_run_check(run->device, &model, run->validation.dataset, &own);
    if (st == SLUICE_OK) {
        return st;
    }
    return sli_fail_quoting(st, "validation: %.900s", sluice_last_error());
}

/* Adds up the sums and the number of samples over all ranks. */
static sluice_status add_ranks(train_run *run, validation_sums *v)
{
    double sums[SLUICE_MAX_OUTPUTS + 1];
    sluice_status st;

    memcpy(sums, v->sums, sizeof(v->sums));
    sums[v->count] = (double)v->samples; /* exact up to 2^53 */
    st = agree_on_sums(&run->ranks, sums, v->count + 1);
    memcpy(v->sums, sums, v->count * sizeof(sums[0]));
    v->samples = (uint64_t)sums[v->count];
    return st;
}

bool validation_is_due(const train_run *run, bool always)
{
    return run->validation.dataset != NULL && run->progress.validation_step != run->progress.step &&
           (always ||
            sink_plan_is_boundary(&run->plan.sinks, BOUNDARY_VALIDATION, run->progress.step));
}

/* Adds the bad samples to the run's count, and logs a warning for the first validation that has
 * any. */
static void count_errors(train_run *run, const nested_errors *errors)
{
    if (errors->count > 0 && run->counts.validation_bad_samples == 0) {
        sli_log(SLUICE_LOG_WARN,
                "validation: %llu bad samples were replaced or zeroed, so its results are not of "
                "the whole dataset; the first: %s: %s: %s",
                (unsigned long long)errors->count, errors->first.stage, errors->first.name,
                errors->first.text);
    }
    run->counts.validation_bad_samples += errors->count;
}

/* Computes the means over all ranks. */
static sluice_status find_results(train_run *run, validation_sums *v, int64_t start_ns,
                                  validation_results *results_out)
{
    const sluice_status st = add_ranks(run, v);

    if (st != SLUICE_OK) {
        return st;
    }
    run->counts.validations++;
    run->counts.validation_seconds += (double)(sli_now_ns() - start_ns) / 1e9;
    run->progress.validation_step = run->progress.step;
    for (uint32_t k = 0; k < v->count; k++) {
        results_out->means[k] = v->samples > 0 ? v->sums[k] / (double)v->samples : 0;
    }
    results_out->samples = v->samples;
    results_out->seconds = (double)(sli_now_ns() - start_ns) / 1e9;
    return SLUICE_OK;
}

static sluice_status run_validation(train_run *run, validation_results *results_out)
{
    const int64_t start = sli_now_ns();
    validation_sums v = {.samples = 0};
    sluice_status st;

    sli_range_begin("validation");
    st = evaluate(run, &v);
    sli_range_end();
    count_errors(run, &v.errors);
    polled_time_restart(&run->watch.still); /* the duration of the validation is not a stall */
    if (st < 0) {
        return sli_fail_quoting(st, "validation after %llu steps: %.900s",
                                (unsigned long long)run->progress.step, sluice_last_error());
    }
    return st == SLUICE_STOPPED ? st : find_results(run, &v, start, results_out);
}

sluice_status validation_run(train_run *run, validation_results *results_out)
{
    const host_work before = host_clock_enter(&run->watch.host, HOST_VALIDATION);
    const sluice_status st = run_validation(run, results_out);

    host_clock_leave(&run->watch.host, before);
    return st;
}

sluice_status validation_call_hooks(train_run *run, const validation_results *results)
{
    sluice_hook hook;

    train_fill_hook(run, &hook);
    hook.epoch = sink_plan_epoch_before(&run->plan.sinks, run->progress.step);
    hook.seconds = results->seconds;
    hook.results = results->means;
    hook.result_names = run->model.result_names;
    hook.result_count = run->model.result_count;
    hook.result_samples = results->samples;
    return train_call_hooks(run, HOOK_VALIDATION, &hook);
}
