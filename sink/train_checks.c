/* SPDX-License-Identifier: Apache-2.0 */
/* What is checked before a run begins, in the order of the documentation. */
#include <string.h>

#include "plan_int.h"
#include "train_run.h"

static const char *const one_output[] = {"loss"};

/* struct_size says which version of a struct the caller knows; nothing past it may be read. */
sluice_status train_check_arguments(const sluice_model *model, const sluice_dataset *dataset,
                                    const sluice_train_config *config)
{
    if (model == NULL || dataset == NULL || config == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_train: %s is NULL",
                        model == NULL     ? "model"
                        : dataset == NULL ? "dataset"
                                          : "config");
    }
    if (config->struct_size != sizeof(*config)) {
        return sli_fail(SLUICE_E_INVALID,
                        "config.struct_size is %zu; call sluice_train_config_init() first",
                        config->struct_size);
    }
    if (model->struct_size != sizeof(*model)) {
        return sli_fail(SLUICE_E_INVALID,
                        "model.struct_size is %zu; call sluice_model_init() first",
                        model->struct_size);
    }
    return SLUICE_OK;
}

/* Names of outputs or results: as many as there are, "loss" by default. */
static sluice_status check_names(const char *what, const char *const **names, uint32_t *count)
{
    if (*count > SLUICE_MAX_OUTPUTS) {
        return sli_fail(SLUICE_E_INVALID, "model.%s_count is %u, want at most %d", what, *count,
                        SLUICE_MAX_OUTPUTS);
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

    if (config->dataset_sink_mode && (config->sink_size == 0 || config->sink_size < -1)) {
        return sli_fail(SLUICE_E_INVALID, "sink_size must be -1 or positive, got %lld",
                        (long long)config->sink_size);
    }
    if (config->epochs == 0 && config->max_steps == 0 && !(config->max_seconds > 0)) {
        return sli_fail(SLUICE_E_INVALID, "epochs, max_steps and max_seconds are all 0: nothing "
                                          "says when to end");
    }
    if (config->epochs > 0 && config->initial_epoch >= config->epochs) {
        return sli_fail(SLUICE_E_INVALID, "initial_epoch is %llu, want less than epochs, %llu",
                        (unsigned long long)config->initial_epoch,
                        (unsigned long long)config->epochs);
    }
    if (config->rank > 0 && config->rank >= config->world) {
        return sli_fail(SLUICE_E_INVALID, "rank is %u, want less than world, %u", config->rank,
                        config->world > 0 ? config->world : 1);
    }
    if (config->output_capacity > HISTORY_MOST) {
        return sli_fail(SLUICE_E_INVALID, "output_capacity is %u, want at most %d",
                        config->output_capacity, HISTORY_MOST);
    }
    if (config->callbacks == NULL && config->callback_count > 0) {
        return sli_fail(SLUICE_E_INVALID, "callbacks is NULL for %u of them",
                        config->callback_count);
    }
    return SLUICE_OK;
}

static sluice_status check_checkpoint(const train_run *run)
{
    const sluice_train_config *config = &run->config;
    const sluice_checkpointing *checkpoint = &config->checkpoint;

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
        return sli_fail(SLUICE_E_INVALID,
                        "checkpoint.every_steps and every_epochs are both set: want one of them");
    }
    if (checkpoint->resume && (config->start_step > 0 || config->initial_epoch > 0)) {
        return sli_fail(SLUICE_E_INVALID, "checkpoint.resume finds out where to go on: want "
                                          "start_step and initial_epoch 0");
    }
    if (config->world > 1 && config->agree == NULL) {
        return sli_fail(
            SLUICE_E_INVALID,
            "checkpoints of %u ranks need config.agree, by which they wait for each other",
            config->world);
    }
    return SLUICE_OK;
}

/* Fills in the names of results, too. */
static sluice_status check_validation(train_run *run)
{
    sluice_validating *validation = &run->config.validation;
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
        return sli_fail(SLUICE_E_INVALID,
                        "validation.every_steps and every_epochs are both set: want one of them");
    }
    if (validation->every_steps == 0 && validation->every_epochs == 0 && !validation->at_start &&
        !validation->at_end) {
        validation->every_epochs = 1;
    }
    return check_names("result", &model->result_names, &model->result_count);
}

/* The best is one of validation's results. */
static sluice_status check_best(const train_run *run)
{
    const sluice_checkpointing *checkpoint = &run->config.checkpoint;

    if (checkpoint->best == NULL) {
        return SLUICE_OK;
    }
    if (checkpoint->folder == NULL || run->config.validation.dataset == NULL) {
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
    sluice_status st = channel_find_ranks(config->rank, config->world, &run->ranks);

    config->rank = run->ranks.rank;
    config->world = run->ranks.world;
    return st;
}

static sluice_status choose_mode(train_run *run)
{
    const sluice_train_config *config = &run->config;

    if ((int)config->mode < SLUICE_MODE_AUTO || (int)config->mode > SLUICE_MODE_LOOP) {
        return sli_fail(SLUICE_E_INVALID, "mode is %d, want one of sluice_mode", (int)config->mode);
    }
    if ((int)config->on_error < SLUICE_ON_ERROR_FAIL ||
        (int)config->on_error > SLUICE_ON_ERROR_ZERO) {
        return sli_fail(SLUICE_E_INVALID, "on_error is %d, want one of sluice_on_error",
                        (int)config->on_error);
    }
    if ((int)config->nan_guard < SLUICE_NAN_STOP || (int)config->nan_guard > SLUICE_NAN_IGNORE) {
        return sli_fail(SLUICE_E_INVALID, "nan_guard is %d, want one of sluice_nan_guard",
                        (int)config->nan_guard);
    }
    if (config->learning_rate.count > 0 && config->learning_rate.table == NULL) {
        return sli_fail(SLUICE_E_INVALID, "learning_rate.table is NULL for %llu entries",
                        (unsigned long long)config->learning_rate.count);
    }
    if (config->learning_rate.count > 0 && config->learning_rate.function != NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "learning_rate has a table and a function: want one of them");
    }
    run->mode_reason = "";
    if (!config->dataset_sink_mode) {
        if (config->mode > SLUICE_MODE_DIRECT) {
            return sli_fail(SLUICE_E_INVALID, "mode %s needs dataset_sink_mode",
                            sluice_mode_name(config->mode));
        }
        run->mode = SLUICE_MODE_DIRECT;
        run->mode_reason = "dataset_sink_mode is off";
        return SLUICE_OK;
    }
    /* On a host device every mode is legal, so auto is the strongest. */
    run->mode = config->mode == SLUICE_MODE_AUTO ? SLUICE_MODE_LOOP : config->mode;
    if (config->mode != SLUICE_MODE_AUTO) {
        run->mode_reason = "asked for";
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
    if (run->config.checkpoint.keep == 0) {
        run->config.checkpoint.keep = 3;
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

static void print_column(const sluice_column *column, sli_text *text)
{
    sli_text_add(text, "%s (", sluice_dtype_name(column->dtype));
    for (uint32_t i = 0; i < column->rank; i++) {
        sli_text_add(text, "%s%llu", i > 0 ? ", " : "", (unsigned long long)column->shape[i]);
    }
    sli_text_add(text, ")");
}

static sluice_status column_differs(const sluice_column *want, const sluice_column *got)
{
    sli_text text = {0};
    char *both = NULL;
    sluice_status st;

    sli_text_add(&text, "column %s is ", want->name);
    print_column(got, &text);
    sli_text_add(&text, " in the dataset, the model wants ");
    print_column(want, &text);
    st = sli_text_take(&text, &both);
    if (st == SLUICE_OK) {
        st = sli_fail(SLUICE_E_INVALID, "%s", both);
        sluice_string_free(both);
    }
    return st;
}

static sluice_status check_input(const sli_plan *plan, const sluice_column *want)
{
    if (want->rank > SLUICE_MAX_RANK || memchr(want->name, '\0', sizeof(want->name)) == NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "an entry of model.inputs is no column: want a name of at most %d bytes "
                        "and at most %d dimensions",
                        SLUICE_NAME_SIZE - 1, SLUICE_MAX_RANK);
    }
    for (uint32_t i = 0; i < plan->column_count; i++) {
        const sluice_column *got = &plan->seen[i];

        if (strcmp(got->name, want->name) == 0) {
            bool same = got->dtype == want->dtype && got->rank == want->rank &&
                        memcmp(got->shape, want->shape, want->rank * sizeof(want->shape[0])) == 0;

            return same ? SLUICE_OK : column_differs(want, got);
        }
    }
    return sli_fail(SLUICE_E_INVALID, "the model wants column %s, which the dataset has not",
                    want->name);
}

sluice_status train_check_columns(const train_run *run)
{
    const sli_plan *plan = run->channel.plan;

    for (uint32_t i = 0; run->model.inputs != NULL && i < run->model.input_count; i++) {
        sluice_status st = check_input(plan, &run->model.inputs[i]);

        if (st != SLUICE_OK) {
            return st;
        }
    }
    if (plan->settings.on_error == SLI_ON_ERROR_ZERO && !run->model.reads_mask) {
        return sli_fail(SLUICE_E_INVALID,
                        "policy zero leaves rows without a sample and the model does not say "
                        "reads_mask; let the step look at column mask and set model.reads_mask, or "
                        "use policy replace");
    }
    return SLUICE_OK;
}

sluice_status train_check_stream(train_run *run)
{
    const sluice_train_config *config = &run->config;
    const bool passes = !config->dataset_sink_mode || config->sink_size < 0;

    if (!sli_plan_is_stream(run->channel.plan) || !passes || config->epochs == 0) {
        return SLUICE_OK;
    }
    if (config->epochs > 1 || config->initial_epoch > 0) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "epochs=%llu of a stream, whose passes nobody knows the length of: use "
                        "epochs=1, or epochs of a fixed length by sink_size=N, or max_steps alone",
                        (unsigned long long)config->epochs);
    }
    run->channel.passes = 1;
    return SLUICE_OK;
}

sluice_status train_check_padding(const train_run *run)
{
    const sli_plan *plan = run->channel.plan;
    bool rest;

    if (run->model.reads_valid_rows || !sli_plan_pads(plan, &rest)) {
        return SLUICE_OK;
    }
    if (sli_plan_is_stream(plan)) {
        return sli_fail(SLUICE_E_INVALID,
                        "the last batch of a stream may be padded and the model does not say "
                        "reads_valid_rows; use batch %u drop_remainder=true, or let the step look "
                        "at *valid_rows and set model.reads_valid_rows",
                        plan->batch_size);
    }
    return sli_fail(SLUICE_E_INVALID,
                    "the last batch of %s is padded (%llu samples in batches of %u) and the "
                    "model does not say reads_valid_rows; use batch %u drop_remainder=true, or "
                    "let the step look at *valid_rows and set model.reads_valid_rows",
                    rest ? "what is left of the pass" : "a pass",
                    (unsigned long long)(rest ? sli_plan_left(plan) : plan->samples_per_pass),
                    plan->batch_size, plan->batch_size);
}

/* Ranks that stop one step apart wait for ever in their next collective. */
sluice_status train_check_ranks(const train_run *run)
{
    const sluice_train_config *config = &run->config;
    const char *what = config->stop != NULL                   ? "config.stop"
                       : config->max_seconds > 0              ? "max_seconds"
                       : config->nan_guard == SLUICE_NAN_STOP ? "nan_guard stop"
                                                              : NULL;

    if (config->world <= 1 || config->agree != NULL || what == NULL) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "%s would end one of %u ranks (%s) before the others, which would wait for it: "
                    "set config.agree%s",
                    what, config->world, run->ranks.source,
                    config->stop == NULL && config->max_seconds <= 0
                        ? ", or nan_guard to count or ignore"
                        : "");
}
