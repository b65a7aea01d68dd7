/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_train(): opens, runs sinks between borders, reports, closes. */
#include <stdio.h>
#include <string.h>

#include "agree.h"
#include "alloc_int.h"
#include "range_int.h"
#include "train_run.h"

const char *sluice_mode_name(sluice_mode mode)
{
    static const char *const names[] = {"auto", "direct", "data", "graph", "loop"};

    return (unsigned)mode < sizeof(names) / sizeof(names[0]) ? names[mode] : "?";
}

const sluice_tensor *sluice_step_input(const sluice_step *step, const char *name)
{
    for (uint32_t i = 0; i < step->input_count; i++) {
        if (strcmp(step->inputs[i].name, name) == 0) {
            return &step->inputs[i];
        }
    }
    return NULL;
}

double train_wait_seconds(const train_run *run)
{
    const sli_profile *profile = &run->channel.profile;
    const sli_counters *get_next = channel_counters(&run->channel, CHANNEL_GET_NEXT);
    const uint64_t ticks = atomic_load_explicit(&get_next->wait_input_ticks, memory_order_relaxed) +
                           run->host_wait_ticks;
    const double ns = (double)(sli_now_ns() - profile->start_ns);
    const double all = (double)(sli_ticks() - profile->start_ticks);

    return all > 0 ? (double)ticks * ns / all / 1e9 : 0;
}

/* ---- sinks, epochs, the run ------------------------------------------------------------------ */

/* What an *_end hook is told: the steps from `first` on, which began at start_ns. */
static void fill_end_hook(const train_run *run, uint64_t first, int64_t start_ns, double waited,
                          sluice_hook *hook)
{
    train_fill_hook(run, hook);
    hook->epoch = sink_plan_epoch(&run->plan, first);
    hook->step_count = run->step - first;
    hook->seconds = (double)(sli_now_ns() - start_ns) / 1e9;
    hook->wait_seconds = train_wait_seconds(run) - waited;
}

/* With several ranks: what any of them has been asked for by now, all do. */
static sluice_status meet_others(train_run *run)
{
    sluice_status st = agree_asks(run) ? train_watch(run) : SLUICE_OK;

    return st == SLUICE_OK ? agree_at_border(run) : st;
}

/* Runs `steps` steps with the step hooks around them. */
static sluice_status run_steps(train_run *run, uint64_t steps)
{
    const int64_t start = sli_now_ns();
    const double waited = train_wait_seconds(run);
    const uint64_t first = run->step;
    sluice_status answer = SLUICE_OK;
    sluice_status st;
    sluice_hook hook;

    run->history_count = 0;
    train_fill_hook(run, &hook);
    hook.step_count = steps;
    st = train_call_hooks(run, HOOK_STEP_BEGIN, &hook);
    if (st == SLUICE_OK && !run->stop) {
        answer = train_run_steps(run, steps);
    }
    if (st != SLUICE_OK || answer < 0 || run->step == first) {
        return st != SLUICE_OK ? st : answer;
    }
    fill_end_hook(run, first, start, waited, &hook);
    hook.step = run->step - 1;
    hook.records = run->history;
    hook.record_count = run->history_count;
    st = train_call_hooks(run, HOOK_STEP_END, &hook);
    if (st == SLUICE_OK) {
        st = meet_others(run);
    }
    return st != SLUICE_OK ? st : answer;
}

/* One sink: step hooks around all of it in graph and loop mode, around each step in the others. */
static sluice_status run_sink(train_run *run, uint64_t steps)
{
    const bool enqueued = run->program->by_batch && run->mode == SLUICE_MODE_DATA;
    const bool per_sink =
        run->mode == SLUICE_MODE_LOOP || run->mode == SLUICE_MODE_GRAPH || enqueued;
    const uint64_t end = run->step + steps;
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && run->step < end && !run->stop && !run->out_of_time) {
        st = run_steps(run, per_sink ? end - run->step : 1);
    }
    return st == SLUICE_OK ? train_end_sink(run) : st;
}

/* Sinks up to the end of an epoch; what is due between them is done between them. */
static sluice_status run_epoch(train_run *run)
{
    const uint64_t epoch = sink_plan_epoch(&run->plan, run->step);
    const int64_t start = sli_now_ns();
    const double waited = train_wait_seconds(run);
    const uint64_t first = run->step;
    sluice_status answer = SLUICE_OK;
    sluice_status st;
    sluice_hook hook;

    train_fill_hook(run, &hook);
    st = train_call_hooks(run, HOOK_EPOCH_BEGIN, &hook);
    while (st == SLUICE_OK && answer == SLUICE_OK && !run->stop && !run->out_of_time &&
           run->step < run->plan.end_step && sink_plan_epoch(&run->plan, run->step) == epoch) {
        st = run->step > first ? train_checkpoint(run, false) : SLUICE_OK;
        if (st == SLUICE_OK) {
            sli_range_begin("sink");
            answer = run_sink(run, sink_plan_length(&run->plan, run->step));
            sli_range_end();
        }
        if (answer == SLUICE_END_OF_DATA && run->channel.passes > 0) {
            sink_plan_end(&run->plan, run->step); /* the epoch was the stream */
            answer = SLUICE_OK;
        }
        if (st == SLUICE_OK && answer == SLUICE_OK && run->step > first) {
            st = train_validate(run, false);
            if (st == SLUICE_OK && run->validation_step == run->step) {
                st = meet_others(run); /* results may have made one of them stop */
            }
        }
    }
    if (st != SLUICE_OK || answer < 0 || run->step == first) {
        return st != SLUICE_OK ? st : answer;
    }
    fill_end_hook(run, first, start, waited, &hook);
    st = train_call_hooks(run, HOOK_EPOCH_END, &hook);
    if (st == SLUICE_OK) {
        st = meet_others(run);
    }
    return st != SLUICE_OK ? st : answer;
}

/* What a run that ends without an error leaves: results, and a checkpoint. */
static sluice_status at_end(train_run *run)
{
    sluice_status st = SLUICE_OK;

    if (run->config.validation.at_end && run->steps_run > 0 && !run->stop) {
        st = train_validate(run, true);
    }
    return st == SLUICE_OK ? train_checkpoint(run, true) : st;
}

/* From train_begin to train_end, which is called in any case. */
static sluice_status run_all(train_run *run)
{
    char error[SLI_ERROR_SIZE];
    sluice_status ended;
    sluice_status st;
    sluice_hook hook;

    train_fill_hook(run, &hook);
    hook.plan = run->plan_line;
    st = train_call_hooks(run, HOOK_TRAIN_BEGIN, &hook);
    if (st == SLUICE_OK && run->config.validation.at_start && !run->stop) {
        st = train_validate(run, true);
    }
    if (st == SLUICE_OK) {
        st = meet_others(run);
    }
    while (st == SLUICE_OK && run->step < run->plan.end_step) {
        st = train_watch(run);
        if (run->stop || run->out_of_time) {
            break;
        }
        st = st == SLUICE_OK ? run_epoch(run) : st;
        if (st == SLUICE_OK) {
            st = train_checkpoint(run, false);
        }
    }
    if (st == SLUICE_OK && run->stop && run->step < run->plan.end_step) {
        st = SLUICE_STOPPED;
    }
    if (st >= 0) {
        ended = at_end(run);
        st = ended < 0 ? ended : st;
    }
    if (st >= 0) {
        ended = agree_barrier(run);
        st = ended < 0 ? ended : st;
    }
    snprintf(error, sizeof(error), "%s", sluice_last_error());
    agree_part(run, st);
    fill_end_hook(run, run->plan.first_step, run->start_ns, 0, &hook);
    hook.epoch = sink_plan_epoch(&run->plan, run->step);
    ended = train_call_hooks(run, HOOK_TRAIN_END, &hook);
    if (st < 0) {
        return sli_fail_again(st, error); /* hooks may have failed at something since */
    }
    return ended < 0 ? ended : st;
}

/* ---- the call ------------------------------------------------------------------------------- */

/* Gives a report to those who want it, the environment and the caller; NULL: none could be made. */
static void hand_out(sluice_report *report, const char *path, uint32_t rank,
                     sluice_report **report_out)
{
    if (path[0] != '\0') {
        overrides_write_report(path, rank, report);
    }
    if (report_out != NULL) {
        *report_out = report;
    } else {
        sluice_report_destroy(report);
    }
}

/* Makes the report, if anybody wants it. An error counts where it is the caller. */
static sluice_status report_run(const train_run *run, sluice_status st, const char *error,
                                sluice_report **report_out)
{
    sluice_report *report = NULL;
    sluice_status made;

    if (report_out == NULL && run->report_path[0] == '\0') {
        return SLUICE_OK;
    }
    made = run->channel.engine != NULL ? train_make_report(run, st, error, &report)
                                       : train_make_empty_report(st, error, &report);
    hand_out(report, run->report_path, run->config.rank, report_out);
    return report_out != NULL ? made : SLUICE_OK;
}

/* Opens, runs, reports, closes; an error's text outlives all that follows it. */
static sluice_status train(train_run *run, sluice_report **report_out)
{
    char error[SLI_ERROR_SIZE];
    sluice_status st = train_open(run);
    sluice_status reported;

    if (st == SLUICE_OK) {
        st = run_all(run);
    }
    snprintf(error, sizeof(error), "%s", st < 0 ? sluice_last_error() : "");
    agree_part(run, st);
    if (run->channel.plan != NULL) {
        channel_stop(&run->channel);
    }
    reported = report_run(run, st, error, report_out);
    train_close(run);
    return st < 0 ? sli_fail_again(st, error) : reported < 0 ? reported : st;
}

/* A run with nothing in it yet. */
static sluice_status make_run(sluice_device *device, const sluice_model *model,
                              sluice_dataset *dataset, const sluice_train_config *config,
                              train_run **run_out)
{
    sluice_status st = train_check_arguments(model, dataset, config);
    train_run *run = NULL;

    if (st != SLUICE_OK) {
        return st;
    }
    run = sli_calloc(1, sizeof(*run));
    if (run == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a run");
    }
    run->device = device;
    run->model = *model;
    run->config = *config;
    run->validation_step = UINT64_MAX;
    run->channel.config.dataset = dataset;
    *run_out = run;
    return SLUICE_OK;
}

sluice_status train_nested(sluice_device *device, const sluice_model *model,
                           sluice_dataset *dataset, const sluice_train_config *config)
{
    train_run *run = NULL;
    sluice_status st = make_run(device, model, dataset, config, &run);

    if (st != SLUICE_OK) {
        return st;
    }
    run->nested = true;
    return train(run, NULL);
}

/* A run that could not even be made has a report that says why. */
static sluice_status refuse(sluice_status st, sluice_report **report_out)
{
    sluice_ranks ranks = {.struct_size = sizeof(ranks)};
    uint32_t rank;
    char path[OVERRIDES_PATH_SIZE];
    char error[SLI_ERROR_SIZE];
    sluice_report *report = NULL;

    snprintf(error, sizeof(error), "%s", sluice_last_error());
    (void)overrides_find_report(path);
    rank = sluice_ranks_find(&ranks) == SLUICE_OK ? ranks.rank : 0;
    (void)train_make_empty_report(st, error, &report);
    hand_out(report, path, rank, report_out);
    return sli_fail_again(st, error);
}

sluice_status sluice_train(sluice_device *device, const sluice_model *model,
                           sluice_dataset *dataset, const sluice_train_config *config,
                           sluice_report **report_out)
{
    train_run *run = NULL;
    sluice_status st;

    if (report_out != NULL) {
        *report_out = NULL;
    }
    st = make_run(device, model, dataset, config, &run);
    return st == SLUICE_OK ? train(run, report_out) : refuse(st, report_out);
}
