/* SPDX-License-Identifier: Apache-2.0 */
#include "stall_monitor.h"

#include "argument_checks.h"
#include "clock_int.h"
#include "log_int.h"
#include "pass_rows.h"
#include "peer_states.h"
#include "run_report.h"
#include "run_waits.h"
#include "series_file.h"
#include "step_threads.h"

const int64_t TRAIN_POLL_NS = 10000000;

/* True if the next step waits for its batch; false if a step is running. */
static bool is_starved(const train_run *run)
{
    const program_progress progress = program_progress_of(run->program);

    return progress.waits_for_data || progress.batches_done + 1 == run->progress.awaited_seq;
}

/* Describes a likely cause of a slow step: more threads than CPUs. */
static void describe_step(const train_run *run, sli_text *text)
{
    step_threads threads;
    char cpus[200];

    step_threads_find(run->program, run->plan.mode, &threads);
    if (step_threads_take_turns(&threads)) {
        sli_text_add(text, " in %u threads, which take turns on CPU %s", threads.count,
                     sli_cpus_format(&threads.cpus, cpus, sizeof(cpus)));
    }
}

/* Describes in one line why no step ended: missing data or the step function. */
static void describe_stall(const train_run *run, bool starved, sli_text *text)
{
    const uint64_t done = program_progress_of(run->program).batches_done;
    const unsigned long long step = run->plan.sinks.first_step + done / run->config.micro_batches;

    sli_text_add(text, "no step ended for %.1f s: ", (double)run->watch.still.ns / 1e9);
    if (!starved) {
        sli_text_add(text, "the step function is running (step %llu)", step);
        describe_step(run, text);
        if (run->config.world > 1) {
            peer_states_describe(run->ranks.own.rank, text);
        }
        return;
    }
    sli_text_add(text, "step %llu waits for data; ", step);
    sli_engine_describe_wait(run->feed.engine, done + 1, text);
}

/* Reports that no step has ended for a long time. Warns once per stall; if too_long, returns
 * E_STALLED.
 */
static sluice_status report_stall(train_run *run, bool starved, bool too_long)
{
    sli_text text = {0};
    const char *what;
    sluice_status st = SLUICE_OK;

    describe_stall(run, starved, &text);
    what = text.failed || text.data == NULL ? "stalled" : text.data;
    if (!run->watch.stall_warned) {
        run->watch.stall_warned = true;
        sli_log(SLUICE_LOG_WARN, "%s", what);
    }
    if (too_long) {
        st = sli_fail(SLUICE_E_STALLED, "%s", what);
    }
    sli_text_free(&text);
    return st;
}

static sluice_status watch_for_stalls(train_run *run, int64_t now)
{
    const sluice_train_config *config = &run->config;
    const uint64_t progress =
        program_progress_of(run->program).batches_done + sli_engine_replayed(run->feed.engine);
    const bool starved = is_starved(run); /* read once: right after a yield it is briefly false */
    int64_t still_ms;
    bool too_long;

    run->watch.still.interval_ns = TRAIN_POLL_NS;
    if (progress != run->watch.progress) {
        run->watch.progress = progress;
        polled_time_restart(&run->watch.still);
        run->watch.stall_warned = false;
    }
    still_ms = polled_time_poll(&run->watch.still, now) / 1000000;
    too_long = still_ms >= config->stall_timeout_ms && starved;
    if (too_long || (still_ms >= config->stall_warning_ms && !run->watch.stall_warned)) {
        return report_stall(run, starved, too_long);
    }
    return SLUICE_OK;
}

sluice_status train_check_request(const train_run *run)
{
    if (!train_ranks_wait(run) || agree_asks(&run->ranks)) {
        return SLUICE_OK;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "a hook or the step asked to stop one of %u ranks, and the others would "
                    "wait for it; %s",
                    run->config.world,
                    run->nested ? "in a check or a validation none may stop" : "set config.agree");
}

/* Polls the cancellation token and the time limit. */
static void poll_outcome(train_run *run, int64_t now)
{
    const double limit = run->config.max_seconds;

    if (limit > 0 && (double)(now - run->progress.start_ns) / 1e9 >= limit) {
        outcome_request(&run->outcome, OUTCOME_TIME_IS_OVER);
    }
    if (!outcome_poll(&run->outcome)) {
        program_stop(run->program);
    }
}

/* Adds a row to the series, once a second, and to its file. */
static void add_to_series(train_run *run, int64_t now)
{
    run_watch *watch = &run->watch;

    if (run->feed.engine == NULL || !run_series_is_due(&watch->series, now)) {
        return;
    }
    run_series_add(&watch->series,
                   (run_series_row){.batches = program_progress_of(run->program).batches_done,
                                    .wait_s = train_wait_seconds_so_far(run),
                                    .cpu_ns = sli_process_cpu_ns()},
                   now);
    series_file_add(watch->series_file, &watch->series);
}

sluice_status train_watch(train_run *run)
{
    const int64_t now = sli_now_ns();

    run_report_answer(run, now);
    poll_outcome(run, now);
    if (!run->nested) {
        wait_probe_poll(&run->watch.waits, run->feed.engine, now);
        add_to_series(run, now);
        pass_rows_poll(run);
    }
    return watch_for_stalls(run, now);
}
