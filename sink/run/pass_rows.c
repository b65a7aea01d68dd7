/* SPDX-License-Identifier: Apache-2.0 */
#include "pass_rows.h"

#include "run_waits.h"

/* Number of batches of the run at which a pass ends; UINT64_MAX: not known yet. */
static uint64_t end_of_pass(const sli_plan *plan, uint64_t pass)
{
    return sli_plan_uncounted(plan) != NULL
               ? sli_plan_pass_end(plan, pass)
               : plan->begin_batches + (pass - plan->begin.pass) * plan->batches_per_pass;
}

/* Time in which the trainer ran steps or waited for them: without hooks, checkpoints, validations,
 * agree and a replay, which would hide how passes differ. */
static int64_t sink_ns(const train_run *run)
{
    const uint64_t now = sli_ticks();
    const double sink_s = train_seconds_of(run, host_clock_ticks(&run->watch.host, HOST_SINK, now));
    const double replay_s = train_seconds_of(run, sli_engine_replay_ticks(run->feed.engine, now));

    return (int64_t)((sink_s - replay_s) * 1e9);
}

static void add_row(train_run *run, uint64_t batches, uint64_t passes)
{
    sli_engine_errors errors;

    sli_engine_errors_get(run->feed.engine, &errors);
    run_series_add(&run->watch.passes,
                   (run_series_row){.batches = batches,
                                    .wait_s = train_wait_seconds_so_far(run),
                                    .passes = passes,
                                    .bad = errors.replaced + errors.zeroed},
                   sink_ns(run));
}

static void look(train_run *run, bool always)
{
    const sli_plan *plan = run->feed.plan;
    run_series *rows = &run->watch.passes;
    uint64_t batches;
    uint64_t passes;

    if (run->nested || run->feed.engine == NULL) {
        return;
    }
    batches = program_progress_of(run->program).batches_done;
    passes = rows->count > 0 ? rows->last.passes : plan->begin.pass;
    if (rows->count == 0) {
        rows->by_pass = true;
        add_row(run, 0, passes);
    }
    while (batches >= end_of_pass(plan, passes)) {
        passes++;
    }
    if (always || passes > rows->last.passes) {
        add_row(run, batches, passes);
    }
}

void pass_rows_poll(train_run *run)
{
    look(run, false);
}

void pass_rows_add(train_run *run)
{
    look(run, true);
}
