/* SPDX-License-Identifier: Apache-2.0 */
#include "run_open.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "argument_checks.h"
#include "devices.h"
#include "format_int.h"
#include "idle_settings.h"
#include "log_int.h"
#include "pass_epochs.h"
#include "rank_board_int.h"
#include "rank_identity.h"
#include "report_request.h"
#include "run_agreement.h"
#include "series_file.h"
#include "step_threads.h"
#include "watched_model.h"

/* The default of config.agree_timeout_ms. */
enum { AGREE_TIMEOUT_MS = 60000 };

static void init_ranks(train_run *run)
{
    const int64_t timeout = run->config.agree_timeout_ms;

    run->ranks = (rank_group){.agree = run->config.agree,
                              .agree_user = run->config.agree_user,
                              .timeout_ms = timeout > 0 ? timeout : AGREE_TIMEOUT_MS,
                              .watch = &run->watch,
                              .step = &run->progress.step};
}

sluice_status train_create(sluice_device *device, const sluice_model *model,
                           sluice_dataset *dataset, const sluice_train_config *config,
                           train_run **run_out)
{
    train_run *run = sli_calloc(1, sizeof(*run));
    sluice_status st;

    if (run == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a run");
    }
    st = train_read_arguments(model, dataset, config, run);
    if (st != SLUICE_OK) {
        sli_free(run->callbacks);
        sli_free(run);
        return st;
    }
    run->device = device;
    host_clock_open(&run->watch.host);
    run->watch.requests = report_requests();
    run->progress.validation_step = UINT64_MAX;
    init_ranks(run);
    run->feed.config.dataset = dataset;
    *run_out = run;
    return SLUICE_OK;
}

void train_init_refused(const sluice_train_config *config, train_run *run)
{
    memset(run, 0, sizeof(*run));
    if (config != NULL && train_read_config(config, &run->config) != SLUICE_OK) {
        memset(&run->config, 0, sizeof(run->config));
    }
    init_ranks(run);
    if (train_find_ranks(run) == SLUICE_OK) {
        sli_log_enter_rank(run->ranks.own.rank, run->ranks.own.world);
        run->names_log = true;
    }
    (void)report_file_find(run->environment.report_path);
}

void train_close_refused(train_run *run)
{
    if (run->names_log) {
        sli_log_leave_rank();
    }
}

/* Reads the report path, the launcher's variables and the overrides from the environment. A nested
 * run has the outer run's settings. */
static sluice_status read_environment(train_run *run)
{
    sluice_status st = train_find_ranks(run); /* first: later errors are reported to other ranks */

    if (st == SLUICE_OK) {
        sli_log_enter_rank(run->ranks.own.rank, run->ranks.own.world);
        run->names_log = true;
    }
    if (st == SLUICE_OK && !run->nested) {
        st = report_file_find(run->environment.report_path);
    }
    if (st == SLUICE_OK && run->environment.report_path[0] != '\0') {
        report_file_check(run->environment.report_path, run->ranks.own.rank, run->ranks.own.world);
    }
    if (st == SLUICE_OK && !run->nested) {
        run->watch.series_file = series_file_open(run->ranks.own.rank, run->ranks.own.world);
    }
    if (st == SLUICE_OK && !run->nested) {
        st = overrides_of_run(&run->config, run->environment.overridden);
    }
    return st;
}

static sluice_status open_feed(train_run *run)
{
    const sluice_train_config *config = &run->config;
    const feed_config feed = {
        .device = run->device,
        .dataset = run->feed.config.dataset,
        .settings = {.seed = config->seed,
                     .rank = config->rank,
                     .world = config->world,
                     .on_error = (sli_error_policy)config->on_error},
        .workers = config->workers,
        .slots = config->slots,
        .memory_bytes = config->memory_bytes,
        .maps = &run->device_maps,
        .history = config->record_samples && run->device->caps.kernels
                       ? (uint64_t)config->output_capacity * config->micro_batches
                       : 0,
        .ranks = run->ranks.own,
        .cores = config->cores,
    };

    return overrides_explain(feed_open(&feed, &run->feed), run->environment.overridden);
}

static sluice_status plan_sinks(train_run *run)
{
    const sli_plan *plan = run->feed.plan;
    const sluice_validating *validation = &run->validation;
    const sink_request request = {
        .batches_per_pass = plan->batches_per_pass,
        .micro_batches = run->config.micro_batches,
        .sink_mode = run->config.dataset_sink_mode,
        .sink_size = run->config.sink_size,
        .epochs = run->config.epochs,
        .initial_epoch = run->config.initial_epoch,
        .start_step = run->config.start_step,
        .max_steps = run->config.max_steps,
        .total_steps = run->config.total_steps,
        .resumed = run->origin.resumed,
        .pass = plan->begin.pass,
        .batches = plan->begin_batches,
        .unknown = run->passes.unknown,
        .within = plan->begin.done > 0 || (!run->origin.resumed && run->config.start_step > 0),
        .boundaries = {{validation->every_steps, validation->every_epochs},
                       {run->checkpoint.every_steps, run->checkpoint.every_epochs}}};

    return sink_plan_make(&request, &run->plan.sinks);
}

/* Sets the run's first step and its position in the data, from a checkpoint or else from
 * start_step. */
static sluice_status make_plan(train_run *run)
{
    const sluice_train_config *config = &run->config;
    const bool epochs_are_passes =
        sink_epochs_are_passes(config->dataset_sink_mode, config->sink_size);
    const uint32_t group = epochs_are_passes ? config->micro_batches : 1;
    sli_plan *plan = run->feed.plan;
    sluice_status st = sli_plan_begin(plan, &run->progress.state.position, group);

    if (st == SLUICE_OK) {
        st = plan_sinks(run);
    }
    if (st == SLUICE_OK && !run->origin.resumed) {
        st = sli_plan_begin_after(plan, run->plan.sinks.first_step * config->micro_batches, group);
    }
    pass_epochs_begin(run);
    return st;
}

/* Maximum number of step records that accumulate before the host collects them. */
static uint32_t record_capacity(const train_run *run)
{
    uint64_t most = run->plan.sinks.steps_per_epoch;

    if (run->plan.mode == SLUICE_MODE_DIRECT ||
        (run->plan.mode == SLUICE_MODE_DATA && !run->device->caps.kernels)) {
        most = 1; /* the host collects after each step */
    }
    return most < run->config.output_capacity ? (uint32_t)most : run->config.output_capacity;
}

sluice_status train_make_program(train_run *run)
{
    const program_ops *ops = device_programs(run->device);
    const bool several = train_ranks_wait(run); /* a single rank must not end the run by itself:
                                                   ranks agree at boundaries (run_agreement.c) */
    sluice_model model = run->model;
    const program_config config = {
        .feed = &run->feed,
        .model = &model,
        .mapped = run->device_maps.count > 0 ? &run->mapped : NULL,
        .plan = &run->plan.sinks,
        .outcome = &run->outcome,
        .micro_batches = run->config.micro_batches,
        .capacity = record_capacity(run),
        .mode = run->plan.mode,
        .check = run->config.check,
        .may_weaken = run->config.dataset_sink_mode && run->config.mode == SLUICE_MODE_AUTO,
        .digest = run->config.digest,
        .record_samples = run->config.record_samples,
        .nan_guard = several && run->config.nan_guard == SLUICE_NAN_STOP ? SLUICE_NAN_COUNT
                                                                         : run->config.nan_guard,
        .learning_rate = run->learning_rate,
        .seed = run->config.seed};
    sluice_status st;

    if (config.mapped != NULL) {
        run->mapped =
            (mapped_step){.maps = &run->device_maps, .step = model.step, .user = model.user};
        model.step = mapped_step_call;
        model.user = &run->mapped;
    }
    st = ops->create(&config, &run->program);
    run->config.output_capacity = config.capacity;
    if (st == SLUICE_OK && run->program->mode != run->plan.mode) {
        run->plan.mode = run->program->mode;
        run->plan.mode_reason = run->program->mode_reason;
    }
    return st;
}

/* Formats the steps as epochs if epochs are not passes: " (9 epochs of 30 steps)", else "". */
static void write_epochs(const train_run *run, uint64_t steps, char *text, size_t size)
{
    const uint64_t each = run->plan.sinks.steps_per_epoch;

    text[0] = '\0';
    if (!sink_epochs_are_passes(run->config.dataset_sink_mode, run->config.sink_size) &&
        run->config.epochs > 0 && steps % each == 0) {
        snprintf(text, size, " (%llu epochs of %llu steps)", (unsigned long long)(steps / each),
                 (unsigned long long)each);
    }
}

/* The number of samples in `batches` batches per rank, summed over all ranks, without padding. The
 * stages shard and repeat can make ranks differ by more than a batch, so each pass is clamped to
 * its number of samples. */
static uint64_t count_samples(const sli_plan *plan, uint64_t batches)
{
    const uint64_t rows = (uint64_t)plan->batch_size * plan->settings.world;
    const uint64_t full = plan->batches_per_pass * rows;
    const uint64_t pass = full < plan->samples_per_pass ? full : plan->samples_per_pass;
    const uint64_t rest = batches % plan->batches_per_pass * rows;

    return batches / plan->batches_per_pass * pass + (rest < pass ? rest : pass);
}

/* Formats the length of the run in steps, samples and passes. */
static void write_length(const train_run *run, char *text, size_t size)
{
    const sli_plan *plan = run->feed.plan;
    const uint64_t steps = run->plan.sinks.end_step - run->plan.sinks.first_step;
    const uint64_t batches = steps * run->config.micro_batches;
    char micro[60] = "";
    char epochs[80];

    write_epochs(run, steps, epochs, sizeof(epochs));
    if (run->config.micro_batches > 1) {
        snprintf(micro, sizeof(micro), " of %u micro-batches", run->config.micro_batches);
    }
    if (run->feed.passes > 1) {
        snprintf(text, size, "steps%s until %llu passes end", micro,
                 (unsigned long long)run->feed.passes);
    } else if (run->feed.passes > 0) {
        snprintf(text, size, "steps%s until %s ends", micro,
                 sli_plan_is_stream(plan) ? "the stream" : "the pass");
    } else if (run->plan.sinks.end_step == UINT64_MAX) {
        snprintf(text, size, "steps without end");
    } else if (sli_plan_uncounted(plan) != NULL) {
        snprintf(text, size, "%llu steps%s from step %llu%s", (unsigned long long)steps, micro,
                 (unsigned long long)run->plan.sinks.first_step, epochs);
    } else {
        sli_print(text, size,
                  "%llu steps%s from step %llu%s = %llu samples = %.1f passes (%llu touched)",
                  (unsigned long long)steps, micro, (unsigned long long)run->plan.sinks.first_step,
                  epochs, (unsigned long long)count_samples(plan, batches),
                  (double)batches / (double)plan->batches_per_pass,
                  (unsigned long long)sli_plan_passes(plan, batches));
    }
}

/* Formats the batches and samples of a pass. */
static void write_pass(const sli_plan *plan, char *text, size_t size)
{
    const uint64_t used = plan->batches_per_pass * plan->batch_size * plan->settings.world;
    char dropped[60] = "";

    if (sli_plan_uncounted(plan) != NULL) {
        snprintf(text, size, "batches of %u %s", plan->batch_size, sli_plan_rows(plan));
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

/* Writes the plan line: steps, batches, mode, and the memory of the run. */
static void write_plan_line(train_run *run)
{
    const double mb = 1e6;
    char length[320];
    char pass[120];
    char sinks[60] = "one sink";
    char maps[40] = "";
    char samples[60] = "";
    sli_text cuts = {0};
    sli_text idle = {0};

    if (run->feed.map_bytes > 0) {
        sli_print(maps, sizeof(maps), " + %.1f MB device maps", (double)run->feed.map_bytes / mb);
    }
    if (run->feed.stream_bytes > 0) {
        sli_print(samples, sizeof(samples), " + up to %.1f MB of the stream's samples",
                  (double)run->feed.stream_bytes / mb);
    }
    if (run->feed.passes > 1) {
        snprintf(sinks, sizeof(sinks), "one sink for each pass");
    } else if (run->plan.sinks.steps_per_epoch < UINT32_MAX) {
        snprintf(sinks, sizeof(sinks), "%u steps a sink at most",
                 (unsigned)run->plan.sinks.steps_per_epoch);
    }
    write_length(run, length, sizeof(length));
    write_pass(run->feed.plan, pass, sizeof(pass));
    if (!run->nested) {
        idle_settings_cuts(run, &cuts);
        idle_settings_list(run, &idle);
    }
    sli_print(run->plan.line, sizeof(run->plan.line),
              "plan: %s of %s, mode %s%s%s%s, %s%s, %u workers, %u slots, memory %.1f MB staging + "
              "%.1f MB slots%s%s on %s%s%s",
              length, pass, sluice_mode_name(run->plan.mode),
              run->plan.mode_reason[0] != '\0' ? " (" : "", run->plan.mode_reason,
              run->plan.mode_reason[0] != '\0' ? ")" : "", sinks,
              cuts.data != NULL ? cuts.data : "", run->feed.placement->worker_count,
              run->feed.slots, (double)run->feed.memory.staging_bytes / mb,
              (double)run->feed.memory.slot_bytes / mb, maps, samples,
              sluice_device_name(run->device), idle.data != NULL ? "; without effect: " : "",
              idle.data != NULL ? idle.data : "");
    sli_text_free(&cuts);
    sli_text_free(&idle);
    if (!run->nested && run->config.rank == 0) { /* the line is the same on all ranks */
        sli_log(SLUICE_LOG_INFO, "%s", run->plan.line);
    }
}

static sluice_status check_device(const sluice_device *device)
{
    sluice_status st = sli_device_check(device, "sluice_train");

    if (st == SLUICE_OK && device_programs(device) == NULL) {
        st = sli_fail(SLUICE_E_UNSUPPORTED,
                      "sluice_train: device %s: this build runs no steps on it; use host:0",
                      sluice_device_name(device));
    }
    return st;
}

sluice_status train_open_feed(train_run *run)
{
    sluice_status st = read_environment(run);

    if (st == SLUICE_OK) {
        st = check_device(run->device);
    }
    if (st == SLUICE_OK) {
        st = train_check_settings(run);
    }
    if (st == SLUICE_OK) {
        st = device_maps_read(run->config.device_maps, run->config.device_map_count, "sluice_train",
                              &run->device_maps);
    }
    if (st == SLUICE_OK) {
        run->outcome.token = run->config.stop;
        run->outcome.is_agreed = train_ranks_wait(run);
        st = open_feed(run);
    }
    if (st == SLUICE_OK && !run->nested) {
        rank_identity_log(&run->ranks.own, &run->feed);
        step_threads_warn_of_binding(run->feed.topology);
    }
    if (st == SLUICE_OK) {
        st = train_check_columns(run);
    }
    if (st == SLUICE_OK) {
        st = train_check_epochs(run);
    }
    if (st == SLUICE_OK && !run->nested && agree_asks(&run->ranks)) {
        run->ranks.on_board = sli_rank_board_enter_run();
        st = rank_waits_open(&run->ranks.waits, run->ranks.own.rank, run->ranks.own.world);
    }
    if (st == SLUICE_OK) {
        st = train_start_watchdog(run);
    }
    return st == SLUICE_OK ? train_agree_on_ranks(run) : st;
}

sluice_status train_plan(train_run *run)
{
    sluice_status st = make_plan(run);

    if (st == SLUICE_OK) {
        st = train_check_padding(run);
    }
    if (st == SLUICE_OK) {
        st = train_check_ranks(run);
    }
    return st == SLUICE_OK ? train_agree_on_run(run) : st;
}

sluice_status train_start(train_run *run)
{
    const uint64_t steps = run->plan.sinks.end_step - run->plan.sinks.first_step;

    write_plan_line(run);
    run->progress.step = run->plan.sinks.first_step;
    run->progress.start_ns = sli_now_ns();
    rank_waits_begin(&run->ranks.waits, run->progress.start_ns,
                     run->config.stall_warning_ms < INT64_MAX / 1000000
                         ? run->config.stall_warning_ms * 1000000
                         : INT64_MAX);
    if (!run->nested) {
        start_clocks_read(&run->progress.start, run->feed.topology, run->program,
                          &run->watch.callbacks.thread);
    }
    host_clock_start(&run->watch.host);
    return feed_start(&run->feed, run->plan.sinks.end_step == UINT64_MAX
                                      ? UINT64_MAX
                                      : steps * run->config.micro_batches);
}

void train_close(train_run *run)
{
    watchdog_stop(&run->watch.callbacks);
    if (run->names_log) {
        sli_log_leave_rank();
    }
    if (run->program != NULL) {
        run->program->ops->destroy(run->program);
    }
    if (run->feed.plan != NULL) {
        feed_close(&run->feed);
    }
    device_maps_close(&run->device_maps);
    train_state_free(&run->progress.state);
    rank_waits_close(&run->ranks.waits);
    if (run->ranks.on_board) {
        sli_rank_board_leave_run();
    }
    step_history_free(&run->history);
    series_file_close(run->watch.series_file);
    sli_free(run->callbacks);
    sli_free(run);
}
