/* SPDX-License-Identifier: Apache-2.0 */
#include "boundary.h"

#include "checkpointing.h"
#include "epoch.h"
#include "pass_epochs.h"
#include "sink_modes.h"
#include "validation.h"

sluice_status boundary_validate(train_run *run, bool always)
{
    validation_results results;
    sluice_status st;

    if (!validation_is_due(run, always)) {
        return SLUICE_OK;
    }
    st = checkpointing_write_early(run, false);
    if (st == SLUICE_OK) {
        st = validation_run(run, &results);
    }
    if (st == SLUICE_STOPPED) {
        outcome_request(&run->outcome, OUTCOME_STOP);
        checkpointing_keep_early(run);
        return SLUICE_OK;
    }
    if (st == SLUICE_OK) {
        st = checkpointing_write_best(run, results.means);
    }
    return st == SLUICE_OK ? validation_call_hooks(run, &results) : st;
}

/*
 * If the validation was due at the end of an epoch, the hook epoch_end is also still due. For a
 * validation at_end the hook ran before the checkpoint was written.
 */
sluice_status boundary_finish(train_run *run)
{
    const bool ends_epoch =
        sink_plan_is_boundary(&run->plan.sinks, BOUNDARY_VALIDATION, run->progress.step) &&
        sink_plan_begins_epoch(&run->plan.sinks, run->progress.step);
    sluice_status st = boundary_validate(run, true);

    if (st != SLUICE_OK || outcome_is_stop(&run->outcome)) {
        return st;
    }
    if (ends_epoch) {
        st = epoch_end_before(run);
    }
    return st == SLUICE_OK ? checkpointing_write(run, true) : st;
}

sluice_status boundary_resumed_pass(train_run *run)
{
    sluice_status st;

    if (!run->passes.unknown || !run->origin.resumed || run->feed.plan->begin.done == 0 ||
        run->progress.step >= run->plan.sinks.end_step) {
        return SLUICE_OK;
    }
    run->passes.limits = true; /* also of the last epoch */
    st = train_await_pass(run);
    if (st != SLUICE_END_OF_PASS) {
        pass_epochs_begin(run);
        return st;
    }
    pass_epochs_end(run);
    st = run->validation.every_epochs > 0 ? boundary_validate(run, false) : SLUICE_OK;
    return st == SLUICE_OK ? checkpointing_write(run, false) : st;
}

sluice_status boundary_counted_passes(train_run *run)
{
    sluice_status st = SLUICE_OK;

    while (!run->origin.resumed && run->config.start_step > 0 && run->passes.limits &&
           (st = train_await_pass(run)) == SLUICE_END_OF_PASS) {
        pass_epochs_skip(run);
        st = SLUICE_OK;
    }
    return st;
}

sluice_status boundary_at_end(train_run *run)
{
    sluice_status st = SLUICE_OK;

    if (run->validation.at_end && run->counts.steps > 0 && !outcome_is_stop(&run->outcome) &&
        validation_is_due(run, true)) {
        st = checkpointing_write_early(run, true);
        if (st == SLUICE_OK) {
            st = boundary_validate(run, true);
        }
    }
    return st == SLUICE_OK ? checkpointing_write(run, true) : st;
}
