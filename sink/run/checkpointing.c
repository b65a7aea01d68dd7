/* SPDX-License-Identifier: Apache-2.0 */
#include "checkpointing.h"

#include <math.h>
#include <string.h>

#include "checkpoint.h"
#include "log_int.h"
#include "nvtx_ranges_int.h"
#include "pass_epochs.h"
#include "rng_int.h"
#include "watched_model.h"

/* The run's checkpoint store. `model` is from train_watched_model(), so save and load are under the
 * callback watchdog. */
static checkpoint_store checkpoints_of(train_run *run, const sluice_model *model)
{
    const sluice_checkpointing *checkpoint = &run->checkpoint;

    return (checkpoint_store){checkpoint->folder, checkpoint->keep, &run->ranks, model};
}

static bool writes_checkpoints(const train_run *run)
{
    return run->checkpoint.folder != NULL;
}

/* Call after a load, when progress.state is the checkpoint's state. Stores where the run begins,
 * then restores this run's own batch size and world size in the state. */
static void take_resumed_state(train_run *run)
{
    sli_plan *plan = run->feed.plan;
    train_state *state = &run->progress.state;
    const sluice_log_level level = /* rank 0 logs for all ranks */
        run->config.rank == 0 ? SLUICE_LOG_INFO : SLUICE_LOG_DEBUG;
    const bool regroups =
        state->batch_size != plan->batch_size || state->world != run->config.world;

    if (run->config.rank == 0) {
        sli_stages_warn_unversioned(state->data.stages);
        device_maps_warn_unversioned(&run->device_maps);
    }
    sli_log(level, "resumes at step %llu, sample %llu of pass %llu, from %s",
            (unsigned long long)state->step, (unsigned long long)state->position.done,
            (unsigned long long)state->position.pass, run->checkpoint.folder);
    if (regroups && state->position.done > 0) {
        run->origin.batch_size = (uint32_t)state->batch_size;
        run->origin.world = (uint32_t)state->world;
        sli_log(level, "regroups the rest of the pass: it was begun in batches of %u on %u ranks",
                run->origin.batch_size, run->origin.world);
    }
    if (state->keeps_stored) {
        sli_plan_keep_stored(plan);
    }
    state->batch_size = plan->batch_size;
    state->world = run->config.world;
    run->origin.resumed = true;
    run->config.start_step = state->step;
    if (run->origin.early) {
        run->progress.early_step = state->step;
    } else {
        run->progress.checkpoint_step = state->step;
    }
}

sluice_status checkpointing_resume(train_run *run)
{
    const sluice_checkpointing *checkpoint = &run->checkpoint;
    const sluice_model model = train_watched_model(run);
    const checkpoint_store store = checkpoints_of(run, &model);
    sluice_status st;

    if (!writes_checkpoints(run)) {
        return SLUICE_OK;
    }
    if (!checkpoint->resume && checkpoint_is_there(checkpoint->folder)) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s holds checkpoints already; set checkpoint.resume to continue from the "
                        "newest, or name another folder",
                        checkpoint->folder);
    }
    st = train_state_make(run->feed.plan, &run->progress.state);
    if (st == SLUICE_OK) {
        st = train_state_add_maps(&run->progress.state, &run->device_maps);
    }
    if (st == SLUICE_OK) {
        st = train_state_allow(&run->progress.state, checkpoint->allow);
    }
    if (st != SLUICE_OK || !checkpoint->resume) {
        return st;
    }
    st = checkpoint_load(&store, &run->progress.state, &run->origin.early);
    if (st == SLUICE_END_OF_DATA) {
        sli_log(SLUICE_LOG_INFO, "no checkpoint in %s: begins at step 0", checkpoint->folder);
        return SLUICE_OK;
    }
    if (st == SLUICE_OK) {
        take_resumed_state(run);
    }
    return st;
}

static sluice_status write_checkpoint(train_run *run, checkpoint_kind kind)
{
    const sluice_model model = train_watched_model(run);
    const checkpoint_store store = checkpoints_of(run, &model);
    train_state *state = &run->progress.state;
    const int64_t start = sli_now_ns();
    const host_work before = host_clock_enter(&run->watch.host, HOST_CHECKPOINT);
    sluice_status st;

    state->step = run->progress.step;
    state->position = pass_epochs_position(run);
    sli_range_begin("checkpoint");
    st = checkpoint_write(&store, kind, state);
    sli_range_end();
    host_clock_leave(&run->watch.host, before);
    polled_time_restart(&run->watch.still); /* the duration of the load is not a stall */
    if (st == SLUICE_OK) {
        sli_log(SLUICE_LOG_INFO, "checkpoint of step %llu%s in %s, %.3f s",
                (unsigned long long)run->progress.step,
                kind == CHECKPOINT_EARLY ? ", before validation," : "", run->checkpoint.folder,
                (double)(sli_now_ns() - start) / 1e9);
    }
    return st;
}

sluice_status checkpointing_write(train_run *run, bool always)
{
    const bool due =
        always || sink_plan_is_boundary(&run->plan.sinks, BOUNDARY_CHECKPOINT, run->progress.step);
    sluice_status st;

    if (!writes_checkpoints(run) || !due || run->progress.checkpoint_step == run->progress.step) {
        return SLUICE_OK;
    }
    st = write_checkpoint(run, CHECKPOINT_STEP);
    if (st == SLUICE_OK) {
        run->counts.checkpoints++;
        run->progress.checkpoint_step = run->progress.step;
    }
    return st;
}

sluice_status checkpointing_write_early(train_run *run, bool always)
{
    const bool due =
        always || sink_plan_is_boundary(&run->plan.sinks, BOUNDARY_CHECKPOINT, run->progress.step);
    sluice_status st;

    if (!writes_checkpoints(run) || !due || run->counts.steps == 0 ||
        run->progress.checkpoint_step == run->progress.step ||
        run->progress.early_step == run->progress.step) {
        return SLUICE_OK;
    }
    st = write_checkpoint(run, CHECKPOINT_EARLY);
    if (st == SLUICE_OK) {
        run->progress.early_step = run->progress.step;
    }
    return st;
}

void checkpointing_keep_early(train_run *run)
{
    if (run->progress.early_step == run->progress.step) {
        run->progress.checkpoint_step = run->progress.step; /* only one per step */
    }
}

/* True if this result is better than the best so far; always false for NaN. */
static bool is_better(const train_run *run, uint64_t name, double result)
{
    const double sign = run->checkpoint.best_is_larger ? 1 : -1;
    double best;

    memcpy(&best, &run->progress.state.best_value, sizeof(best));
    return !isnan(result) && (run->progress.state.best_name != name || sign * result > sign * best);
}

sluice_status checkpointing_write_best(train_run *run, const double *results)
{
    const char *name = run->checkpoint.best;
    const uint64_t hash = name != NULL ? sli_hash_text(name) | 1 : 0; /* 0: no result */
    uint32_t i = 0;

    if (name == NULL) {
        return SLUICE_OK;
    }
    while (strcmp(run->model.result_names[i], name) != 0) {
        i++; /* argument_checks.c has checked that the name exists */
    }
    if (!is_better(run, hash, results[i])) {
        return SLUICE_OK;
    }
    run->progress.state.best_name = hash;
    run->progress.state.best_step = run->progress.step;
    memcpy(&run->progress.state.best_value, &results[i], sizeof(run->progress.state.best_value));
    return write_checkpoint(run, CHECKPOINT_BEST);
}
