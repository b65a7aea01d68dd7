/* SPDX-License-Identifier: Apache-2.0 */
/* Between sinks, where the host has the model to itself: checkpoints, and where to go on. */
#include <math.h>
#include <string.h>

#include "checkpoint.h"
#include "log_int.h"
#include "range_int.h"
#include "rng_int.h"

static bool writes_checkpoints(const train_run *run)
{
    return run->config.checkpoint.folder != NULL;
}

/* The state is that of the checkpoint; what it was of this run's own is put back. */
static void go_on(train_run *run)
{
    const sli_plan *plan = run->channel.plan;
    train_state *state = &run->state;
    const sluice_log_level level = /* rank 0 tells for all */
        run->config.rank == 0 ? SLUICE_LOG_INFO : SLUICE_LOG_DEBUG;
    const bool regroups =
        state->batch_size != plan->batch_size || state->world != run->config.world;

    sli_log(level, "resumes at step %llu, sample %llu of pass %llu, from %s",
            (unsigned long long)state->step, (unsigned long long)state->place.done,
            (unsigned long long)state->place.pass, run->config.checkpoint.folder);
    if (regroups && state->place.done > 0) {
        run->regrouped_batch_size = (uint32_t)state->batch_size;
        run->regrouped_world = (uint32_t)state->world;
        sli_log(level, "regroups the rest of the pass: it was begun in batches of %u on %u ranks",
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
    st = checkpoint_load(run, &model);
    if (st == SLUICE_END_OF_DATA) {
        sli_log(SLUICE_LOG_INFO, "no checkpoint in %s: begins at step 0", checkpoint->folder);
        return SLUICE_OK;
    }
    if (st == SLUICE_OK) {
        go_on(run);
    }
    return st;
}

static sluice_status write_checkpoint(train_run *run, checkpoint_kind kind)
{
    const sluice_model model = train_watched_model(run);
    const int64_t start = sli_now_ns();
    sluice_status st;

    run->state.step = run->step;
    run->state.place = sli_plan_place(run->channel.plan, (run->step - run->plan.first_step) *
                                                             run->config.micro_batches);
    sli_range_begin("checkpoint");
    st = checkpoint_write(run, kind, &model);
    sli_range_end();
    run->progress_ns = sli_now_ns(); /* what it takes is no stall */
    if (st == SLUICE_OK) {
        sli_log(SLUICE_LOG_INFO, "checkpoint of step %llu in %s, %.3f s",
                (unsigned long long)run->step, run->config.checkpoint.folder,
                (double)(run->progress_ns - start) / 1e9);
    }
    return st;
}

sluice_status train_checkpoint(train_run *run, bool always)
{
    const bool due = always || sink_plan_is_border(&run->plan, BORDER_CHECKPOINT, run->step);
    sluice_status st;

    if (!writes_checkpoints(run) || !due || run->checkpoint_step == run->step) {
        return SLUICE_OK;
    }
    st = write_checkpoint(run, CHECKPOINT_STEP);
    if (st == SLUICE_OK) {
        run->checkpoints++;
        run->checkpoint_step = run->step;
    }
    return st;
}

/* Is this result better than the best so far? One that is no number never is. */
static bool is_better(const train_run *run, uint64_t name, double result)
{
    const double sign = run->config.checkpoint.best_is_larger ? 1 : -1;
    double best;

    memcpy(&best, &run->state.best_value, sizeof(best));
    return !isnan(result) && (run->state.best_name != name || sign * result > sign * best);
}

sluice_status train_keep_best(train_run *run, const double *results)
{
    const char *name = run->config.checkpoint.best;
    const uint64_t hash = name != NULL ? sli_hash_text(name) | 1 : 0; /* 0 is nobody's */
    uint32_t i = 0;

    if (name == NULL) {
        return SLUICE_OK;
    }
    while (strcmp(run->model.result_names[i], name) != 0) {
        i++; /* it is there: that was checked */
    }
    if (!is_better(run, hash, results[i])) {
        return SLUICE_OK;
    }
    run->state.best_name = hash;
    run->state.best_step = run->step;
    memcpy(&run->state.best_value, &results[i], sizeof(run->state.best_value));
    return write_checkpoint(run, CHECKPOINT_BEST);
}
