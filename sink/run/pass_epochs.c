/* SPDX-License-Identifier: Apache-2.0 */
#include "pass_epochs.h"

/* Sets the current pass. Unless it is the last one, the data do not end with it. */
static void set_pass(train_run *run, uint64_t pass)
{
    run->passes.pass = pass;
    run->passes.limits = run->passes.unknown && pass + 1 < run->config.epochs;
}

void pass_epochs_begin(train_run *run)
{
    const uint64_t pass = run->feed.plan->begin.pass;

    set_pass(run, pass);
    if (run->passes.unknown) {
        run->feed.passes = run->config.epochs > pass ? run->config.epochs - pass : 1;
    }
}

uint64_t pass_epochs_left(const train_run *run, uint64_t seq)
{
    const uint64_t end = sli_plan_pass_end(run->feed.plan, run->passes.pass);

    return end == UINT64_MAX ? UINT64_MAX : end - (seq - 1);
}

void pass_epochs_end(train_run *run)
{
    if (run->passes.pass + 1 < run->config.epochs) {
        sink_plan_end_epoch(&run->plan.sinks, run->progress.step);
    } else {
        sink_plan_end(&run->plan.sinks, run->progress.step);
    }
    set_pass(run, run->passes.pass + 1);
}

void pass_epochs_skip(train_run *run)
{
    const uint64_t pass = run->passes.pass + 1;

    sink_plan_begin_in(&run->plan.sinks, pass,
                       sli_plan_position_in(run->feed.plan, pass, 0).done > 0);
    set_pass(run, pass);
}

sli_position pass_epochs_position(const train_run *run)
{
    const uint64_t steps = run->progress.step - run->plan.sinks.first_step;

    return run->passes.unknown
               ? sli_plan_position_in(run->feed.plan, run->passes.pass,
                                      steps * run->config.micro_batches)
               : sli_plan_position(run->feed.plan, steps * run->config.micro_batches);
}
