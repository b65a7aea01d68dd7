/* SPDX-License-Identifier: Apache-2.0 */
#include "run_agreement.h"

#include <sys/random.h>
#include <unistd.h>

#include <sluice/version.h>

#include "clock_int.h"
#include "log_int.h"
#include "ranks_int.h"
#include "report_waits.h"
#include "rng_int.h"
#include "train_run.h"

static sluice_status agree_on_settings(train_run *run, const sli_dataset_identity *data)
{
    const sluice_train_config *c = &run->config;
    const agree_subject subjects[] = {
        {"number of samples", data->samples, false},
        {"pipeline", sli_hash_text(data->stages), true},
        {"source", sli_hash_text(data->source), true},
        {"names of samples", data->names, true},
        {"batch size", run->feed.plan->batch_size, false},
        {"batches of a pass", run->feed.plan->batches_per_pass, false},
        {"seed", sli_mix64(c->seed), true},
        {"micro_batches", c->micro_batches, false},
        {"first step", run->plan.sinks.first_step, false},
        {"last step", run->plan.sinks.end_step, false},
        {"steps of an epoch", run->plan.sinks.steps_per_epoch, false},
        {"steps between validations", run->plan.sinks.boundaries[BOUNDARY_VALIDATION].steps, false},
        {"steps between checkpoints", run->plan.sinks.boundaries[BOUNDARY_CHECKPOINT].steps, false},
        {"mode", (uint64_t)run->plan.mode, false},
        {"epochs between validations", run->plan.sinks.boundaries[BOUNDARY_VALIDATION].epochs,
         false},
        {"epochs between checkpoints", run->plan.sinks.boundaries[BOUNDARY_CHECKPOINT].epochs,
         false},
        {"validation", run->validation.dataset != NULL, false},
        {"validation at the start", run->validation.at_start, false},
        {"validation at the end", run->validation.at_end, false},
        {"number of results", run->model.result_count, false},
        {"best checkpoint", run->checkpoint.best != NULL ? sli_hash_text(run->checkpoint.best) : 0,
         true},
        {"best_is_larger", run->checkpoint.best_is_larger, false},
        {"check mode", c->check, false},
        {"epochs", run->passes.unknown ? c->epochs : 0, false},
        {"device maps", device_maps_identity(&run->device_maps), true},
    };

    return agree_on_all(&run->ranks, subjects, sizeof(subjects) / sizeof(subjects[0]));
}

/* Returns a random number, so that processes have different ones. */
static uint64_t make_nonce(void)
{
    uint64_t nonce = 0;

    if (getrandom(&nonce, sizeof(nonce), GRND_NONBLOCK) != (ssize_t)sizeof(nonce)) {
        nonce = sli_mix_in(sli_mix64((uint64_t)sli_now_ns()), (uint64_t)getpid());
    }
    return nonce;
}

/*
 * If an inner launcher says that this process is rank 0 of 1, but an outer launcher started more
 * processes, checks that agree reaches no other process: otherwise each would train on all samples
 * by itself.
 */
static sluice_status check_alone(train_run *run)
{
    sli_outer_launcher l;
    bool alone;
    sluice_status st;

    if (run->nested || run->config.agree == NULL || run->ranks.own.world != 1 ||
        !sli_ranks_find_outer(&run->ranks.own, &l)) {
        return SLUICE_OK;
    }
    st = agree_alone(&run->ranks, make_nonce(), &alone);
    if (st != SLUICE_OK || alone) {
        return st;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "%s is 1 (%s), so this process is rank 0 of 1, but %s is %u (%s), and "
                    "config.agree reaches other processes: each would train on all samples by "
                    "itself. Unset %s and %s if they are left from another job, or set "
                    "config.rank and config.world",
                    l.inner_world, l.inner, l.world_name, l.world, l.name, l.inner_rank,
                    l.inner_world);
}

sluice_status train_agree_on_ranks(train_run *run)
{
    const sluice_checkpointing *checkpoint = &run->checkpoint;
    const agree_subject subjects[] = {
        {"version of the library", sli_hash_text(sluice_version()), true},
        {"number of ranks", run->config.world, false},
        {"checkpoints", checkpoint->folder != NULL, false},
        {"resume", checkpoint->resume, false},
    };
    sluice_status st;

    if (!agree_asks(&run->ranks)) {
        return check_alone(run);
    }
    st = agree_on_members(&run->ranks);
    return st == SLUICE_OK
               ? agree_on_all(&run->ranks, subjects, sizeof(subjects) / sizeof(subjects[0]))
               : st;
}

sluice_status train_agree_on_run(train_run *run)
{
    sli_dataset_identity data = {.samples = 0};
    sluice_status st;

    if (!agree_asks(&run->ranks)) {
        return SLUICE_OK;
    }
    st = sli_plan_identity(run->feed.plan, &data);
    if (st == SLUICE_OK) {
        st = agree_on_settings(run, &data);
    }
    sli_dataset_identity_free(&data);
    return st;
}

/* Logs which rank the others wait for: on rank 0, or on rank 1 if it is rank 0. */
static void warn_of_late_rank(train_run *run)
{
    rank_lateness late;

    if (rank_waits_check(&run->ranks.waits, sli_now_ns(), &late) &&
        run->ranks.own.rank == (late.rank == 0 ? 1 : 0)) {
        sli_log(SLUICE_LOG_WARN,
                "ranks wait for rank %u: %.0f %% of the last %.1f s; it came last %llu of %llu "
                "times (%s)",
                late.rank, 100 * late.share, late.seconds, (unsigned long long)late.lasts,
                (unsigned long long)late.meetings, report_delay_text(late.delay));
    }
}

sluice_status train_agree_at_boundary(train_run *run)
{
    uint32_t most;
    sluice_status st;

    if (!agree_asks(&run->ranks)) {
        return SLUICE_OK;
    }
    if (run->counts.nan_steps > 0 && run->config.nan_guard == SLUICE_NAN_STOP) {
        outcome_request(&run->outcome, OUTCOME_NAN);
    }
    st = agree_meet(&run->ranks, outcome_requested(&run->outcome), &most);
    if (st != SLUICE_OK) {
        return st;
    }
    warn_of_late_rank(run);
    outcome_raise(&run->outcome, (outcome)most);
    if (most != OUTCOME_NAN) {
        return SLUICE_OK;
    }
    run->ranks.parted = true; /* all ranks return this result, so no rank needs to report it */
    run->ranks.failure_is_known = true;
    return run->counts.nan_steps > 0
               ? sli_fail(SLUICE_E_NAN, "step %llu: an output was not finite; rank %u",
                          (unsigned long long)run->counts.first_nan_step, run->config.rank)
               : sli_fail(SLUICE_E_NAN,
                          "an output was not finite on another rank, before step %llu",
                          (unsigned long long)run->progress.step);
}
