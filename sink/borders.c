/* SPDX-License-Identifier: Apache-2.0 */
/* Between sinks, where the host has the model to itself: checkpoints, and where to go on. */
#include "checkpoint.h"
#include "log_int.h"
#include "train_run.h"

static bool writes_checkpoints(const train_run *run)
{
    return run->config.checkpoint.folder != NULL;
}

/* The state is that of the checkpoint; what it was of this run's own is put back. */
static void go_on(train_run *run)
{
    const sli_plan *plan = run->channel.plan;
    train_state *state = &run->state;
    const bool regroups =
        state->batch_size != plan->batch_size || state->world != run->config.world;

    sli_log(SLUICE_LOG_INFO, "resumes at step %llu, sample %llu of pass %llu, from %s",
            (unsigned long long)state->step, (unsigned long long)state->place.done,
            (unsigned long long)state->place.pass, run->config.checkpoint.folder);
    if (regroups && state->place.done > 0) {
        run->regrouped_batch_size = (uint32_t)state->batch_size;
        run->regrouped_world = (uint32_t)state->world;
        sli_log(SLUICE_LOG_INFO,
                "regroups the rest of the pass: it was begun in batches of %u on %u ranks",
                run->regrouped_batch_size, run->regrouped_world);
    }
    state->batch_size = plan->batch_size;
    state->world = run->config.world;
    run->resumed = true;
    run->config.start_step = state->step;
    run->checkpoint_step = state->step;
}

sluice_status train_resume(train_run *run)
{
    const sluice_checkpointing *checkpoint = &run->config.checkpoint;
    const sluice_model model = train_watched_model(run);
    sluice_status st;

    if (!writes_checkpoints(run)) {
        return SLUICE_OK;
    }
    if (!checkpoint->resume && checkpoint_is_there(checkpoint->folder)) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s holds checkpoints already; set checkpoint.resume to go on from the "
                        "newest, or name another folder",
                        checkpoint->folder);
    }
    st = train_state_make(run->channel.plan, &run->state);
    if (st != SLUICE_OK || !checkpoint->resume) {
        return st;
    }
    st = checkpoint_load(checkpoint->folder, checkpoint->keep, &model, &run->state);
    if (st == SLUICE_END_OF_DATA) {
        sli_log(SLUICE_LOG_INFO, "no checkpoint in %s: begins at step 0", checkpoint->folder);
        return SLUICE_OK;
    }
    if (st == SLUICE_OK) {
        go_on(run);
    }
    return st;
}

static sluice_status write_checkpoint(train_run *run)
{
    const sluice_checkpointing *checkpoint = &run->config.checkpoint;
    const sluice_model model = train_watched_model(run);
    const int64_t start = sli_now_ns();
    sluice_status st;

    run->state.step = run->step;
    run->state.place = sli_plan_place(run->channel.plan, (run->step - run->plan.first_step) *
                                                             run->config.micro_batches);
    st = checkpoint_write(checkpoint->folder, checkpoint->keep, &model, &run->state);
    run->progress_ns = sli_now_ns(); /* what it takes is no stall */
    if (st == SLUICE_OK) {
        run->checkpoints++;
        run->checkpoint_step = run->step;
        sli_log(SLUICE_LOG_INFO, "checkpoint of step %llu in %s, %.3f s",
                (unsigned long long)run->step, checkpoint->folder,
                (double)(run->progress_ns - start) / 1e9);
    }
    return st;
}

sluice_status train_checkpoint(train_run *run, bool always)
{
    const bool due = always || sink_plan_is_border(&run->plan, BORDER_CHECKPOINT, run->step);

    return writes_checkpoints(run) && due && run->checkpoint_step != run->step
               ? write_checkpoint(run)
               : SLUICE_OK;
}
