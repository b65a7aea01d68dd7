/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_train(): opens a run, does the mode check, runs epochs and the actions between sinks,
 * reports, and closes the run. */
#include "boundary.h"
#include "checkpointing.h"
#include "epoch.h"
#include "error_int.h"
#include "log_int.h"
#include "mode_check.h"
#include "pass_epochs.h"
#include "run_failure.h"
#include "run_open.h"
#include "run_report.h"
#include "sink_modes.h"
#include "stall_monitor.h"
#include "validation.h"

/* ---- the run --------------------------------------------------------------------------------- */

/* Writes a checkpoint between two sinks of an epoch, if due. END_OF_PASS: the epoch has ended. */
static sluice_status write_between(train_run *run)
{
    const sluice_status st = train_await_pass(run);

    return st == SLUICE_OK ? checkpointing_write(run, false) : st;
}

/* Runs one sink of an epoch: writes a checkpoint if due, runs the sink, validates if due. */
static sluice_status run_sink(train_run *run, const step_span *epoch)
{
    sluice_status st = run->progress.step > epoch->first ? write_between(run) : SLUICE_OK;

    if (st == SLUICE_OK) {
        st = epoch_run_sink(run);
    } else if (st == SLUICE_END_OF_PASS) {
        pass_epochs_end(run);
        st = SLUICE_OK;
    }
    if (st == SLUICE_OK && run->progress.step > epoch->first) {
        st = boundary_validate(run, false);
        if (st == SLUICE_OK && run->progress.validation_step == run->progress.step) {
            st = train_meet_ranks(run); /* a hook may have requested a stop */
        }
    }
    return st;
}

static sluice_status run_epoch(train_run *run)
{
    step_span epoch;
    sluice_status st = epoch_begin(run, &epoch);

    while (st == SLUICE_OK && epoch_goes_on(run, &epoch)) {
        st = run_sink(run, &epoch);
    }
    return epoch_end(run, &epoch, st);
}

/* Runs the hooks and validations that are due before the first step. */
static sluice_status run_start(train_run *run)
{
    sluice_status st = train_begin(run);

    if (st == SLUICE_OK && !outcome_is_stop(&run->outcome) && run->origin.early) {
        st = boundary_finish(run);
    }
    if (st == SLUICE_OK && !outcome_is_stop(&run->outcome)) {
        st = boundary_resumed_pass(run);
    }
    if (st == SLUICE_OK && !outcome_is_stop(&run->outcome) && run->validation.at_start) {
        st = boundary_validate(run, true);
    }
    return st == SLUICE_OK ? train_meet_ranks(run) : st;
}

static sluice_status run_epochs(train_run *run)
{
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && run->progress.step < run->plan.sinks.end_step) {
        st = train_watch(run);
        if (!outcome_goes_on(&run->outcome)) {
            break;
        }
        st = st == SLUICE_OK ? run_epoch(run) : st;
        if (st == SLUICE_OK) {
            st = checkpointing_write(run, false);
        }
    }
    return st == SLUICE_OK && train_is_stopped(run) ? SLUICE_STOPPED : st;
}

/* A complete run that is started again runs no step, which would look like a failure. */
static void say_complete(const train_run *run)
{
    if (run->origin.resumed && run->counts.steps == 0 && run->config.rank == 0 &&
        run->progress.step >= run->plan.sinks.end_step) {
        sli_log(SLUICE_LOG_WARN,
                "complete at step %llu; nothing to do (for more steps, raise epochs or "
                "total_steps)",
                (unsigned long long)run->progress.step);
    }
}

/* Runs from the hook train_begin to train_end. train_end is called in any case. */
static sluice_status run_with_hooks(train_run *run)
{
    sluice_status st = run_start(run);
    sluice_status ended;

    if (st == SLUICE_OK) {
        st = run_epochs(run);
    }
    if (st == SLUICE_OK) {
        say_complete(run);
    }
    if (st >= 0) {
        ended = boundary_at_end(run);
        st = ended < 0 ? ended : st;
    }
    if (st >= 0) {
        ended = agree_barrier(&run->ranks);
        st = ended < 0 ? ended : st;
    }
    return train_end(run, st);
}

/* Opens the resources of a run, up to its program. Calls no user callback except load and agree. */
static sluice_status open_run(train_run *run)
{
    sluice_status st = train_open_feed(run);

    if (st == SLUICE_OK) {
        st = checkpointing_resume(run);
    }
    if (st == SLUICE_OK) {
        st = train_plan(run);
    }
    if (st == SLUICE_OK) {
        st = validation_check(run);
    }
    return st == SLUICE_OK ? train_make_program(run) : st;
}

/* ---- the call ------------------------------------------------------------------------------- */

/* Opens the run, does the mode check, runs, reports and closes. Returns the first error with its
 * text.
 */
static sluice_status train(train_run *run, sluice_report **report_out)
{
    sli_error error;
    sluice_status st = open_run(run);
    sluice_status reported;

    if (st == SLUICE_OK) {
        st = mode_check_run(run);
    }
    if (st == SLUICE_OK) {
        st = train_start(run);
    }
    if (st == SLUICE_OK) {
        st = boundary_counted_passes(run);
    }
    if (st == SLUICE_OK) {
        st = run_with_hooks(run);
    }
    sli_error_take(st, &error);
    train_part(run, &error);
    if (run->feed.plan != NULL) {
        feed_stop(&run->feed);
    }
    reported = run_report_make(run, &error, report_out);
    train_close(run);
    return st >= 0 && reported < 0 ? reported : sli_error_raise(&error);
}

/* Reports the error of a run that could not be created, also to the other ranks. */
static sluice_status refuse(sluice_status st, const sluice_train_config *config,
                            sluice_report **report_out)
{
    train_run run;
    sli_error error;

    sli_error_take(st, &error);
    train_init_refused(config, &run);
    train_part(&run, &error);
    (void)run_report_make(&run, &error, report_out);
    train_close_refused(&run);
    return sli_error_raise(&error);
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
    st = train_create(device, model, dataset, config, &run);
    return st == SLUICE_OK ? train(run, report_out) : refuse(st, config, report_out);
}
