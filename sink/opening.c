/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a run: the channel, where it begins, what it will do, the program; and closing it. */
#include <stdio.h>

#include "agree.h"
#include "alloc_int.h"
#include "log_int.h"
#include "train_run.h"

/* What the process's surroundings say of the run. A run within another has it from there. */
static sluice_status look_around(train_run *run)
{
    sluice_status st = run->nested ? SLUICE_OK : overrides_find_report(run->report_path);

    if (st == SLUICE_OK) {
        st = train_find_ranks(run);
    }
    if (st == SLUICE_OK && !run->nested) {
        st = overrides_of_run(&run->config, run->overridden);
    }
    return st;
}

static sluice_status open_channel(train_run *run)
{
    const sluice_train_config *config = &run->config;
    const channel_config channel = {
        .device = run->device,
        .dataset = run->channel.config.dataset,
        .settings = {config->seed, config->rank, config->world, (sli_error_policy)config->on_error,
                     false},
        .workers = config->workers,
        .slots = config->slots,
        .memory_bytes = config->memory_bytes,
        .history = config->record_samples && run->device->caps.kernels
                       ? (uint64_t)config->output_capacity * config->micro_batches
                       : 0,
    };

    return overrides_explain(channel_open(&channel, &run->channel), run->overridden);
}

static sluice_status plan_sinks(train_run *run)
{
    const sli_plan *plan = run->channel.plan;
    const sluice_validating *validation = &run->config.validation;
    const sink_request request = {
        .batches_per_pass = plan->batches_per_pass,
        .micro_batches = run->config.micro_batches,
        .sink_mode = run->config.dataset_sink_mode,
        .sink_size = run->config.sink_size,
        .epochs = run->config.epochs,
        .initial_epoch = run->config.initial_epoch,
        .start_step = run->config.start_step,
        .max_steps = run->config.max_steps,
        .resumed = run->resumed,
        .pass = plan->begin.pass,
        .batches = plan->begin_batches,
        .borders = {{validation->every_steps, validation->every_epochs},
                    {run->config.checkpoint.every_steps, run->config.checkpoint.every_epochs}}};

    return sink_plan_make(&request, &run->plan);
}

/* Where the run begins, in the data and in steps: a checkpoint says both, else steps say where. */
static sluice_status make_plan(train_run *run)
{
    const sluice_train_config *config = &run->config;
    const bool epochs_are_passes = !config->dataset_sink_mode || config->sink_size < 0;
    const uint32_t group = epochs_are_passes ? config->micro_batches : 1;
    sli_plan *plan = run->channel.plan;
    sluice_status st = sli_plan_begin(plan, &run->state.place, group);

    if (st == SLUICE_OK) {
        st = plan_sinks(run);
    }
    if (st == SLUICE_OK && !run->resumed) {
        const sli_place place = sli_plan_place(plan, run->plan.first_step * config->micro_batches);

        st = sli_plan_begin(plan, &place, group);
    }
    return st;
}

/* The longest launch: what must be recorded between two collects. */
static uint32_t record_capacity(const train_run *run)
{
    uint64_t most = run->plan.steps_per_epoch;

    if (run->mode == SLUICE_MODE_DIRECT ||
        (run->mode == SLUICE_MODE_DATA && !run->device->caps.kernels)) {
        most = 1; /* the host looks at each */
    }
    return most < run->config.output_capacity ? (uint32_t)most : run->config.output_capacity;
}

static sluice_status make_program(train_run *run)
{
    const program_ops *ops = program_ops_of(run->device);
    const bool several = run->config.world > 1; /* they stop where they agree */
    const program_config config = {
        .channel = &run->channel,
        .model = &run->model,
        .plan = &run->plan,
        .token = several ? NULL : run->config.stop,
        .runs_on = several,
        .micro_batches = run->config.micro_batches,
        .capacity = record_capacity(run),
        .mode = run->mode,
        .check = run->config.check,
        .may_weaken = run->config.dataset_sink_mode && run->config.mode == SLUICE_MODE_AUTO,
        .digest = run->config.digest,
        .record_samples = run->config.record_samples,
        .nan_guard = several && run->config.nan_guard == SLUICE_NAN_STOP ? SLUICE_NAN_COUNT
                                                                         : run->config.nan_guard,
        .learning_rate = run->config.learning_rate,
        .seed = run->config.seed};

    const sluice_status st = ops->create(&config, &run->program);

    run->config.output_capacity = config.capacity;
    if (st == SLUICE_OK && run->program->mode != run->mode) {
        run->mode = run->program->mode;
        run->mode_reason = run->program->mode_reason;
    }
    return st;
}

/* How long the run is. */
static void write_length(const train_run *run, char *text, size_t size)
{
    const sli_plan *plan = run->channel.plan;
    const uint64_t steps = run->plan.end_step - run->plan.first_step;
    const uint64_t batches = steps * run->config.micro_batches;
    char micro[60] = "";

    if (run->config.micro_batches > 1) {
        snprintf(micro, sizeof(micro), " of %u micro-batches", run->config.micro_batches);
    }
    if (run->channel.passes > 0) {
        snprintf(text, size, "steps%s until the stream ends", micro);
    } else if (run->plan.end_step == UINT64_MAX) {
        snprintf(text, size, "steps without end");
    } else if (sli_plan_is_stream(plan)) {
        snprintf(text, size, "%llu steps%s from step %llu", (unsigned long long)steps, micro,
                 (unsigned long long)run->plan.first_step);
    } else {
        snprintf(text, size, "%llu steps%s from step %llu = %.1f passes (%llu touched)",
                 (unsigned long long)steps, micro, (unsigned long long)run->plan.first_step,
                 (double)batches / (double)plan->batches_per_pass,
                 (unsigned long long)sli_plan_passes(plan, batches));
    }
}

/* What a pass is. */
static void write_pass(const sli_plan *plan, char *text, size_t size)
{
    const uint64_t used = plan->batches_per_pass * plan->batch_size * plan->settings.world;
    char dropped[60] = "";

    if (sli_plan_is_stream(plan)) {
        snprintf(text, size, "batches of %u in sequence", plan->batch_size);
        return;
    }
    if (used < plan->samples_per_pass) {
        snprintf(dropped, sizeof(dropped), ", %llu of them dropped",
                 (unsigned long long)(plan->samples_per_pass - used));
    }
    snprintf(text, size, "%llu batches of %u (%llu samples a pass%s)",
             (unsigned long long)plan->batches_per_pass, plan->batch_size,
             (unsigned long long)plan->samples_per_pass, dropped);
}

/* The run in one line: what will happen, and what it takes. */
static void write_plan_line(train_run *run)
{
    const double mb = 1e6;
    char length[160];
    char pass[120];
    char sinks[60] = "one sink";

    if (run->plan.steps_per_epoch < UINT32_MAX) {
        snprintf(sinks, sizeof(sinks), "%u steps a sink at most",
                 (unsigned)run->plan.steps_per_epoch);
    }
    write_length(run, length, sizeof(length));
    write_pass(run->channel.plan, pass, sizeof(pass));
    snprintf(run->plan_line, sizeof(run->plan_line),
             "plan: %s of %s, mode %s%s%s%s, %s, %u workers, %u slots, memory %.1f MB staging + "
             "%.1f MB slots on %s",
             length, pass, sluice_mode_name(run->mode), run->mode_reason[0] != '\0' ? " (" : "",
             run->mode_reason, run->mode_reason[0] != '\0' ? ")" : "", sinks,
             run->channel.placement->worker_count, run->channel.slots,
             (double)run->channel.memory.staging_bytes / mb,
             (double)run->channel.memory.slot_bytes / mb, sluice_device_name(run->device));
    if (!run->nested && run->config.rank == 0) { /* the others' are the same */
        sli_log(SLUICE_LOG_INFO, "%s", run->plan_line);
    }
}

static sluice_status check_device(const sluice_device *device)
{
    sluice_status st = sli_device_check(device, "sluice_train");

    if (st == SLUICE_OK && program_ops_of(device) == NULL) {
        st = sli_fail(SLUICE_E_UNSUPPORTED,
                      "sluice_train: device %s: this build runs no steps on it; use host:0",
                      sluice_device_name(device));
    }
    return st;
}

sluice_status train_open(train_run *run)
{
    sluice_status st = look_around(run);

    if (st == SLUICE_OK) {
        st = check_device(run->device);
    }
    if (st == SLUICE_OK) {
        st = train_check_settings(run);
    }
    if (st == SLUICE_OK) {
        st = open_channel(run);
    }
    if (st == SLUICE_OK && !run->nested) {
        train_tell_identity(run);
    }
    if (st == SLUICE_OK) {
        st = train_check_columns(run);
    }
    if (st == SLUICE_OK) {
        st = train_check_stream(run);
    }
    if (st == SLUICE_OK) {
        st = train_start_watchdog(run);
    }
    if (st == SLUICE_OK) {
        st = agree_on_ranks(run);
    }
    if (st == SLUICE_OK) {
        st = train_resume(run);
    }
    if (st == SLUICE_OK) {
        st = make_plan(run);
    }
    if (st == SLUICE_OK) {
        st = train_check_padding(run);
    }
    if (st == SLUICE_OK) {
        st = train_check_ranks(run);
    }
    if (st == SLUICE_OK) {
        st = agree_on_run(run);
    }
    if (st == SLUICE_OK) {
        st = make_program(run);
    }
    if (st == SLUICE_OK) {
        st = train_compare_modes(run);
    }
    if (st == SLUICE_OK) {
        write_plan_line(run);
        run->step = run->plan.first_step;
        run->start_ns = sli_now_ns();
        st = channel_start(&run->channel, run->plan.end_step == UINT64_MAX
                                              ? UINT64_MAX
                                              : (run->plan.end_step - run->plan.first_step) *
                                                    run->config.micro_batches);
    }
    return st;
}

void train_close(train_run *run)
{
    watchdog_stop(&run->watchdog);
    if (run->program != NULL) {
        run->program->ops->destroy(run->program);
    }
    if (run->channel.plan != NULL) {
        channel_close(&run->channel);
    }
    train_state_free(&run->state);
    sli_free(run->history);
    sli_free(run->history_outputs);
    sli_free(run);
}
