/* SPDX-License-Identifier: Apache-2.0 */
#include "run_report.h"

#include "pass_rows.h"
#include "report_request.h"
#include "report_run.h"
#include "run_waits.h"

/* Collects the parts of a run that report_make() reads. */
static report_run reported_parts(const train_run *run, const sli_profile *profile)
{
    return (report_run){.feed = &run->feed,
                        .profile = profile,
                        .program = run->program,
                        .watchdog = &run->watch.callbacks.thread,
                        .plan = &run->plan.sinks,
                        .start = &run->progress.start,
                        .step = run->progress.step,
                        .counts = &run->counts,
                        .mode = run->plan.mode,
                        .mode_reason = run->plan.mode_reason,
                        .micro_batches = run->config.micro_batches,
                        .regrouped_batch_size = run->origin.batch_size,
                        .regrouped_world = run->origin.world,
                        .has_digest = run->config.digest,
                        .ranks = run->names_log ? &run->ranks.own : NULL,
                        .waits = &run->ranks.waits,
                        .probe = &run->watch.waits,
                        .host = &run->watch.host,
                        .series = &run->watch.series,
                        .passes = &run->watch.passes};
}

/* Creates the report. profile: the feed's, or a copy of it, with its end time set. */
static sluice_status make(const train_run *run, const sli_profile *profile, const sli_error *error,
                          sluice_report **report_out)
{
    report_run parts = reported_parts(run, profile);

    parts.is_running = profile != &run->feed.profile && error->status == SLUICE_OK;
    return run->feed.engine != NULL
               ? report_make(&parts, error->status, error->text, report_out)
               : report_make_empty(error->status, error->text, parts.ranks, report_out);
}

/* Writes the report to the file and passes it to the caller, where requested. report is NULL if it
 * could not be created. */
static void hand_out(sluice_report *report, const char *path, const sluice_ranks *ranks,
                     sluice_report **report_out)
{
    if (path[0] != '\0') {
        report_file_write(path, ranks->rank, ranks->world, report);
    }
    if (report_out != NULL) {
        *report_out = report;
    } else {
        sluice_report_destroy(report);
    }
}

/* Writes the report so far. path as in report_file_write(). */
static void write_so_far(train_run *run, const char *path)
{
    const sli_error none = {.status = SLUICE_OK};
    const uint64_t waited = run->counts.host_wait_ticks;
    sli_profile profile = run->feed.profile; /* shallow copy: the counters stay shared */
    sluice_report *report = NULL;

    pass_rows_add(run);
    sli_profile_stop(&profile);
    run->counts.host_wait_ticks += train_current_wait(run, profile.stop_ticks);
    (void)make(run, &profile, &none, &report);
    run->counts.host_wait_ticks = waited;
    hand_out(report, path, &run->ranks.own, NULL);
}

int64_t run_report_period_ns = 60 * (int64_t)1000000000;

/* Renews the file of SLUICE_REPORT, so that a run that is killed leaves a report. */
static void renew_file(train_run *run, int64_t now)
{
    const char *path = run->environment.report_path;
    const bool is_first = run->watch.renewal_ns == 0;

    if (path[0] == '\0' || now < run->watch.renewal_ns) {
        return;
    }
    run->watch.renewal_ns = now + run_report_period_ns;
    if (is_first) {
        return;
    }
    if (report_file_is_renewable(path, run->ranks.own.rank, run->ranks.own.world)) {
        write_so_far(run, path);
    } else {
        run->watch.renewal_ns = INT64_MAX;
    }
}

void run_report_answer(train_run *run, int64_t now)
{
    const uint64_t requests = report_requests();

    if (run->nested || run->feed.engine == NULL) {
        return;
    }
    if (requests != run->watch.requests) {
        run->watch.requests = requests;
        write_so_far(run, "-");
    }
    renew_file(run, now);
}

void run_report_write_early(train_run *run, const sli_error *error)
{
    sli_profile profile = run->feed.profile; /* shallow copy: the counters stay shared */
    sluice_report *report = NULL;

    if (run->environment.report_path[0] == '\0') {
        return;
    }
    if (run->feed.engine != NULL) {
        sli_profile_stop(&profile);
    }
    (void)make(run, &profile, error, &report);
    hand_out(report, run->environment.report_path, &run->ranks.own, NULL);
    run->environment.report_path[0] = '\0';
}

sluice_status run_report_make(const train_run *run, const sli_error *error,
                              sluice_report **report_out)
{
    sluice_report *report = NULL;
    sluice_status made;

    if (report_out == NULL && run->environment.report_path[0] == '\0') {
        return SLUICE_OK;
    }
    made = make(run, &run->feed.profile, error, &report);
    hand_out(report, run->environment.report_path, &run->ranks.own, report_out);
    return report_out != NULL ? made : SLUICE_OK;
}
