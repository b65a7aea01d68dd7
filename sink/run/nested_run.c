/* SPDX-License-Identifier: Apache-2.0 */
#include "nested_run.h"

#include "epoch.h"
#include "error_int.h"
#include "run_open.h"
#include "stall_monitor.h"

static sluice_status run_epochs(train_run *run)
{
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && run->progress.step < run->plan.sinks.end_step) {
        step_span epoch;

        st = train_watch(run);
        if (st != SLUICE_OK || !outcome_goes_on(&run->outcome)) {
            break;
        }
        st = epoch_begin(run, &epoch);
        while (st == SLUICE_OK && epoch_goes_on(run, &epoch)) {
            st = epoch_run_sink(run);
        }
        st = epoch_end(run, &epoch, st);
    }
    return st == SLUICE_OK && train_is_stopped(run) ? SLUICE_STOPPED : st;
}

/* Runs from the hook train_begin to train_end. train_end is called in any case. */
static sluice_status run_with_hooks(train_run *run)
{
    sluice_status st = train_begin(run);

    if (st == SLUICE_OK) {
        st = run_epochs(run);
    }
    return train_end(run, st);
}

static sluice_status open_feed(train_run *run)
{
    const sluice_status st = train_open_feed(run);

    return st == SLUICE_OK ? train_plan(run) : st;
}

static void find_errors(const train_run *run, nested_errors *errors_out)
{
    sli_engine_errors errors;

    if (run->feed.engine == NULL || errors_out == NULL) {
        return;
    }
    sli_engine_errors_get(run->feed.engine, &errors);
    errors_out->count = errors.replaced + errors.zeroed;
    if (errors.count > 0) {
        errors_out->first = errors.first[0];
    }
}

/* Closes the run and returns st with its error text unchanged. */
static sluice_status close_run(train_run *run, sluice_status st)
{
    sli_error error;

    sli_error_take(st, &error);
    if (run->feed.plan != NULL) {
        feed_stop(&run->feed);
    }
    train_close(run);
    return sli_error_raise(&error);
}

sluice_status nested_run(sluice_device *device, const sluice_model *model, sluice_dataset *dataset,
                         const sluice_train_config *config, nested_errors *errors_out)
{
    train_run *run = NULL;
    sluice_status st = train_create(device, model, dataset, config, &run);

    if (st != SLUICE_OK) {
        return st;
    }
    run->nested = true;
    st = open_feed(run);
    if (st == SLUICE_OK) {
        st = train_make_program(run);
    }
    if (st == SLUICE_OK) {
        st = train_start(run);
    }
    if (st == SLUICE_OK) {
        st = run_with_hooks(run);
        find_errors(run, errors_out);
    }
    return close_run(run, st);
}

sluice_status nested_run_check(sluice_device *device, const sluice_model *model,
                               sluice_dataset *dataset, const sluice_train_config *config)
{
    train_run *run = NULL;
    sluice_status st = train_create(device, model, dataset, config, &run);

    if (st != SLUICE_OK) {
        return st;
    }
    run->nested = true;
    return close_run(run, open_feed(run));
}
