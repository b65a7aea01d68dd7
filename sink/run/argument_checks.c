/* SPDX-License-Identifier: Apache-2.0 */
#include "argument_checks.h"

#include <string.h>

#include "alloc_int.h"
#include "expected_inputs.h"
#include "plan_int.h"
#include "step_history.h"
#include "struct_size_int.h"

static const char *const one_output[] = {"loss"};

static const sli_struct model_struct = SLI_STRUCT(sluice_model, result_names);
static const sli_struct config_struct = SLI_STRUCT(sluice_train_config, agree_user);
static const sli_struct schedule_struct = SLI_STRUCT(sluice_schedule, user);
static const sli_struct checkpointing_struct = SLI_STRUCT(sluice_checkpointing, best);
static const sli_struct validating_struct = SLI_STRUCT(sluice_validating, max_batches);
static const sli_struct callback_struct = SLI_STRUCT(sluice_callback, train_end);

/* Copies the nested structs that config points to. */
static sluice_status read_nested(const sluice_train_config *config, train_run *run)
{
    sluice_status st = sli_struct_read_optional(&schedule_struct, "sluice_train",
                                                config->learning_rate, &run->learning_rate);

    if (st == SLUICE_OK) {
        st = sli_struct_read_optional(&checkpointing_struct, "sluice_train", config->checkpoint,
                                      &run->checkpoint);
    }
    if (st == SLUICE_OK) {
        st = sli_struct_read_optional(&validating_struct, "sluice_train", config->validation,
                                      &run->validation);
    }
    return st;
}

static sluice_status read_callbacks(const sluice_train_config *config, train_run *run)
{
    const uint32_t count = config->callback_count;
    sluice_status st = SLUICE_OK;

    if (count == 0) {
        return SLUICE_OK;
    }
    if (config->callbacks == NULL) {
        return sli_fail(SLUICE_E_INVALID, "callbacks is NULL, and callback_count is %u", count);
    }
    run->callbacks = sli_calloc(count, sizeof(*run->callbacks));
    if (run->callbacks == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "%u callbacks", count);
    }
    for (uint32_t i = 0; st == SLUICE_OK && i < count; i++) {
        st = config->callbacks[i] == NULL
                 ? sli_fail(SLUICE_E_INVALID, "callbacks[%u] is NULL", i)
                 : sli_struct_read(&callback_struct, "sluice_train", config->callbacks[i],
                                   &run->callbacks[i]);
    }
    return st;
}

sluice_status train_read_config(const sluice_train_config *config, sluice_train_config *copy_out)
{
    return sli_struct_read(&config_struct, "sluice_train", config, copy_out);
}

sluice_status train_read_arguments(const sluice_model *model, const sluice_dataset *dataset,
                                   const sluice_train_config *config, train_run *run)
{
    sluice_status st;

    if (model == NULL || dataset == NULL || config == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_train: %s is NULL",
                        model == NULL     ? "model"
                        : dataset == NULL ? "dataset"
                                          : "config");
    }
    st = train_read_config(config, &run->config);
    if (st == SLUICE_OK) {
        st = sli_struct_read(&model_struct, "sluice_train", model, &run->model);
    }
    if (st == SLUICE_OK) {
        st = read_nested(&run->config, run);
    }
    return st == SLUICE_OK ? read_callbacks(&run->config, run) : st;
}

/* Checks the names of outputs or results and fills in the defaults: one output, "loss". */
static sluice_status check_names(const char *what, const char *const **names, uint32_t *count)
{
    if (*count > SLUICE_MAX_OUTPUTS) {
        return sli_fail(SLUICE_E_INVALID, "model.%s_count is %u, and must be at most %d", what,
                        *count, SLUICE_MAX_OUTPUTS);
    }
    if (*names == NULL && *count > 1) {
        return sli_fail(SLUICE_E_INVALID, "model.%s_names is NULL for %u %ss", what, *count, what);
    }
    *count = *count > 0 ? *count : 1;
    if (*names == NULL) {
        *names = one_output;
    }
    for (uint32_t i = 0; i < *count; i++) {
        if ((*names)[i] == NULL) {
            return sli_fail(SLUICE_E_INVALID, "model.%s_names[%u] is NULL", what, i);
        }
    }
    return SLUICE_OK;
}

static sluice_status check_model(train_run *run)
{
    if (run->model.step == NULL) {
        return sli_fail(SLUICE_E_INVALID, "model.step is NULL");
    }
    return check_names("output", &run->model.output_names, &run->model.output_count);
}

static sluice_status check_config(const train_run *run)
{
    const sluice_train_config *config = &run->config;

    if (config->independent_ranks && config->agree != NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "independent_ranks, and agree is set, by which ranks wait "
                        "for each other: leave one of them out");
    }
    if (config->dataset_sink_mode && config->sink_size < -1) {
        return sli_fail(SLUICE_E_INVALID,
                        "sink_size is %lld; it must be positive, or 0 or -1 for a pass",
                        (long long)config->sink_size);
    }
    if (config->epochs == 0 && config->total_steps == 0 && config->max_steps == 0 &&
        !(config->max_seconds > 0)) {
        return sli_fail(SLUICE_E_INVALID, "epochs, total_steps, max_steps and max_seconds are all "
                                          "0; set one of them to end the run");
    }
    if (config->epochs > 0 && config->initial_epoch >= config->epochs) {
        return sli_fail(
            SLUICE_E_INVALID, "initial_epoch is %llu, and must be less than epochs, %llu",
            (unsigned long long)config->initial_epoch, (unsigned long long)config->epochs);
    }
    if (config->rank > 0 && config->rank >= config->world) {
        return sli_fail(SLUICE_E_INVALID, "rank is %u, and must be less than world, %u",
                        config->rank, config->world > 0 ? config->world : 1);
    }
    if (config->local_rank > 0 && config->local_rank >= config->local_world) {
        return sli_fail(SLUICE_E_INVALID, "local_rank is %u, and must be less than local_world, %u",
                        config->local_rank, config->local_world);
    }
    if (config->output_capacity > STEP_HISTORY_MOST) {
        return sli_fail(SLUICE_E_INVALID, "output_capacity is %u, and must be at most %d",
                        config->output_capacity, STEP_HISTORY_MOST);
    }
    return SLUICE_OK;
}

static sluice_status check_checkpoint(const train_run *run)
{
    const sluice_train_config *config = &run->config;
    const sluice_checkpointing *checkpoint = &run->checkpoint;

    if (checkpoint->folder == NULL) {
        return !checkpoint->resume && checkpoint->every_steps == 0 && checkpoint->every_epochs == 0
                   ? SLUICE_OK
                   : sli_fail(SLUICE_E_INVALID, "checkpoint.folder is NULL");
    }
    if (run->model.save == NULL || (checkpoint->resume && run->model.load == NULL)) {
        return sli_fail(SLUICE_E_INVALID, "model.%s is NULL, which checkpoints need",
                        run->model.save == NULL ? "save" : "load");
    }
    if (checkpoint->every_steps > 0 && checkpoint->every_epochs > 0) {
        return sli_fail(
            SLUICE_E_INVALID,
            "checkpoint.every_steps and every_epochs are both set; set only one of them");
    }
    if (checkpoint->allow != NULL && !checkpoint->resume) {
        return sli_fail(SLUICE_E_INVALID, "checkpoint.allow has no effect: it is for a resumed "
                                          "run, and checkpoint.resume is false");
    }
    if (checkpoint->resume && (config->start_step > 0 || config->initial_epoch > 0)) {
        return sli_fail(SLUICE_E_INVALID, "checkpoint.resume continues from the newest checkpoint, "
                                          "so start_step and initial_epoch must be 0");
    }
    if (config->world > 1 && config->agree == NULL) {
        return sli_fail(
            SLUICE_E_INVALID,
            "checkpoints of %u ranks need config.agree, by which they wait for each other",
            config->world);
    }
    return SLUICE_OK;
}

/* Checks the settings of validation and fills in the default names of its results. */
static sluice_status check_validation(train_run *run)
{
    sluice_validating *validation = &run->validation;
    sluice_model *model = &run->model;

    if (validation->dataset == NULL) {
        return validation->every_steps == 0 && validation->every_epochs == 0 &&
                       validation->max_batches == 0 && !validation->at_start && !validation->at_end
                   ? SLUICE_OK
                   : sli_fail(SLUICE_E_INVALID, "validation.dataset is NULL");
    }
    if (model->eval == NULL) {
        return sli_fail(SLUICE_E_INVALID, "model.eval is NULL, which validation needs");
    }
    if (validation->every_steps > 0 && validation->every_epochs > 0) {
        return sli_fail(
            SLUICE_E_INVALID,
            "validation.every_steps and every_epochs are both set; set only one of them");
    }
    if (validation->every_steps == 0 && validation->every_epochs == 0 && !validation->at_start &&
        !validation->at_end) {
        validation->every_epochs = 1;
    }
    return check_names("result", &model->result_names, &model->result_count);
}

/* Checks that checkpoint.best names a result of validation. */
static sluice_status check_best(const train_run *run)
{
    const sluice_checkpointing *checkpoint = &run->checkpoint;

    if (checkpoint->best == NULL) {
        return SLUICE_OK;
    }
    if (checkpoint->folder == NULL || run->validation.dataset == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s is NULL, which checkpoint.best needs",
                        checkpoint->folder == NULL ? "checkpoint.folder" : "validation.dataset");
    }
    for (uint32_t i = 0; i < run->model.result_count; i++) {
        if (strcmp(run->model.result_names[i], checkpoint->best) == 0) {
            return SLUICE_OK;
        }
    }
    return sli_fail(SLUICE_E_INVALID,
                    "checkpoint.best is %.100s, and validation has no such result",
                    checkpoint->best);
}

sluice_status train_find_ranks(train_run *run)
{
    sluice_train_config *config = &run->config;
    sluice_ranks *own = &run->ranks.own;
    const sluice_ranks set = {.rank = config->rank,
                              .world = config->world,
                              .local_rank = config->local_rank,
                              .local_world = config->local_world};
    sluice_status st = feed_find_ranks(&set, own);

    config->rank = own->rank;
    config->world = own->world;
    if (st == SLUICE_OK && config->local_world > config->world) {
        st = sli_fail(SLUICE_E_INVALID, "local_world is %u, and must be at most world, %u",
                      config->local_world, config->world);
    }
    return st;
}

static sluice_status choose_mode(train_run *run)
{
    const sluice_train_config *config = &run->config;

    if ((int)config->mode < SLUICE_MODE_AUTO || (int)config->mode > SLUICE_MODE_LOOP) {
        return sli_fail(SLUICE_E_INVALID, "mode is %d, and must be one of sluice_mode",
                        (int)config->mode);
    }
    if ((int)config->on_error < SLUICE_ON_ERROR_FAIL ||
        (int)config->on_error > SLUICE_ON_ERROR_ZERO) {
        return sli_fail(SLUICE_E_INVALID, "on_error is %d, and must be one of sluice_on_error",
                        (int)config->on_error);
    }
    if ((int)config->nan_guard < SLUICE_NAN_STOP || (int)config->nan_guard > SLUICE_NAN_IGNORE) {
        return sli_fail(SLUICE_E_INVALID, "nan_guard is %d, and must be one of sluice_nan_guard",
                        (int)config->nan_guard);
    }
    if (run->learning_rate.count > 0 && run->learning_rate.table == NULL) {
        return sli_fail(SLUICE_E_INVALID, "learning_rate.table is NULL for %llu entries",
                        (unsigned long long)run->learning_rate.count);
    }
    if (run->learning_rate.count > 0 && run->learning_rate.function != NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "learning_rate has a table and a function; set only one of them");
    }
    run->plan.mode_reason = "";
    if (!config->dataset_sink_mode) {
        if (config->mode > SLUICE_MODE_DIRECT) {
            return sli_fail(SLUICE_E_INVALID, "mode %s needs dataset_sink_mode",
                            sluice_mode_name(config->mode));
        }
        run->plan.mode = SLUICE_MODE_DIRECT;
        run->plan.mode_reason = "dataset_sink_mode is off";
        return SLUICE_OK;
    }
    /* On a host device every mode is possible, so auto is the strongest mode. */
    run->plan.mode = config->mode == SLUICE_MODE_AUTO ? SLUICE_MODE_LOOP : config->mode;
    if (config->mode != SLUICE_MODE_AUTO) {
        run->plan.mode_reason = "asked for";
    }
    return SLUICE_OK;
}

sluice_status train_check_settings(train_run *run)
{
    sluice_status st = check_model(run);

    if (st == SLUICE_OK) {
        st = check_config(run);
    }
    if (st == SLUICE_OK) {
        st = check_checkpoint(run);
    }
    if (st == SLUICE_OK) {
        st = check_validation(run);
    }
    if (st == SLUICE_OK) {
        st = check_best(run);
    }
    if (st == SLUICE_OK) {
        st = choose_mode(run);
    }
    if (run->checkpoint.keep == 0) {
        run->checkpoint.keep = 3;
    }
    if (run->config.world == 0) {
        run->config.world = 1;
    }
    if (run->config.micro_batches == 0) {
        run->config.micro_batches = 1;
    }
    if (run->config.output_capacity == 0) {
        run->config.output_capacity = 4096;
    }
    if (run->config.stall_warning_ms <= 0) {
        run->config.stall_warning_ms = 30000;
    }
    if (run->config.stall_timeout_ms <= 0) {
        run->config.stall_timeout_ms = 300000;
    }
    return st;
}

sluice_status train_check_columns(train_run *run)
{
    const sli_plan *plan = run->feed.plan;
    const sluice_status st =
        expected_inputs_check(run->device_maps.columns, run->device_maps.column_count,
                              run->model.inputs, run->model.input_count, "model");

    if (st == SLUICE_OK && plan->settings.on_error == SLI_ON_ERROR_ZERO && !run->model.reads_mask) {
        return sli_fail(SLUICE_E_INVALID,
                        "policy zero leaves rows without a sample and the model does not say "
                        "reads_mask; let the step look at column mask and set model.reads_mask, or "
                        "use policy replace");
    }
    return st;
}

sluice_status train_check_epochs(train_run *run)
{
    const sluice_train_config *config = &run->config;
    const sli_plan *plan = run->feed.plan;
    const bool passes = sink_epochs_are_passes(config->dataset_sink_mode, config->sink_size);
    const char *what = sli_plan_uncounted(plan);

    if (what == NULL || !passes || config->epochs == 0) {
        return SLUICE_OK;
    }
    if (config->initial_epoch > 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "initial_epoch=%llu of %s, whose passes have no known length: resume from "
                        "a checkpoint, or set start_step, or the length of an epoch by sink_size=N",
                        (unsigned long long)config->initial_epoch, what);
    }
    if (config->epochs > 1 && config->micro_batches > 1) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "epochs=%llu of %s, whose passes have no known length, in steps of %u "
                        "micro-batches: a pass may end within a step; use epochs=1, or epochs of "
                        "a fixed length by sink_size=N",
                        (unsigned long long)config->epochs, what, config->micro_batches);
    }
    if (config->epochs > 1 && sli_plan_reads_once(plan)) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "epochs=%llu of a stream that can be read only once, a pipe or a stream "
                        "without open_pass(); use epochs=1",
                        (unsigned long long)config->epochs);
    }
    run->passes.unknown = true;
    return SLUICE_OK;
}

sluice_status train_check_padding(const train_run *run)
{
    const sli_plan *plan = run->feed.plan;
    bool rest;

    if (run->model.reads_valid_rows || !sli_plan_pads(plan, &rest)) {
        return SLUICE_OK;
    }
    if (sli_plan_uncounted(plan) != NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "the last batch of %s may be padded and the model does not say "
                        "reads_valid_rows; use batch %u drop_remainder=true, or let the step look "
                        "at *valid_rows and set model.reads_valid_rows",
                        sli_plan_uncounted(plan), plan->batch_size);
    }
    return sli_fail(SLUICE_E_INVALID,
                    "the last batch of %s is padded (%llu samples in batches of %u) and the "
                    "model does not say reads_valid_rows; use batch %u drop_remainder=true, or "
                    "let the step look at *valid_rows and set model.reads_valid_rows",
                    rest ? "what is left of the pass" : "a pass",
                    (unsigned long long)(rest ? sli_plan_left(plan) : plan->samples_per_pass),
                    plan->batch_size, plan->batch_size);
}

bool train_ranks_wait(const train_run *run)
{
    return run->config.world > 1 && !run->config.independent_ranks;
}

/* Checks that a run with several ranks has config.agree if a rank could stop early: ranks that stop
 * one step apart would deadlock in their next collective. */
sluice_status train_check_ranks(const train_run *run)
{
    const sluice_train_config *config = &run->config;
    const char *what = config->stop != NULL                   ? "config.stop"
                       : config->max_seconds > 0              ? "max_seconds"
                       : config->nan_guard == SLUICE_NAN_STOP ? "nan_guard stop"
                                                              : NULL;

    if (!train_ranks_wait(run) || config->agree != NULL || what == NULL) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "%s would end one of %u ranks (%s) before the others, which would wait for it: "
                    "set config.agree, or config.independent_ranks if none waits%s",
                    what, config->world, run->ranks.own.source,
                    config->stop == NULL && config->max_seconds <= 0
                        ? ", or nan_guard to count or ignore"
                        : "");
}
