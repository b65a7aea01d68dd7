/* SPDX-License-Identifier: Apache-2.0 */
#include "agree.h"

#include <math.h>
#include <string.h>

#include "rng_int.h"

/* A rank that fails gives this less its number: the lowest of those that fail is named. No value
 * comes near, not even the bits of a double. */
static const int64_t FAILED = INT64_MAX;
static const int64_t FAILED_LEAST = INT64_MAX - UINT32_MAX;

bool agree_asks(const train_run *run)
{
    return run->config.world > 1 && run->config.agree != NULL && !run->parted;
}

/* Calls the user's function; what it takes is no stall. */
static sluice_status ask(train_run *run, int64_t value, int64_t *most_out)
{
    const uint64_t failures = sli_fail_count();
    sluice_status st;

    watchdog_enter(&run->watchdog, WATCHED_AGREE, ++run->agree_calls, run->step);
    st = run->config.agree(value, most_out, run->config.agree_user);
    watchdog_leave(&run->watchdog);
    run->progress_ns = sli_now_ns();
    if (st < 0) {
        run->parted = true;
        return sli_fail_from(st, failures, "rank %u of %u: agree returned %s after step %llu",
                             run->config.rank, run->config.world, sluice_status_name(st),
                             (unsigned long long)run->step);
    }
    if (*most_out < value) {
        run->parted = true;
        return sli_fail(SLUICE_E_CALLBACK, "agree gave %lld as the largest, which is below %lld",
                        (long long)*most_out, (long long)value);
    }
    return SLUICE_OK;
}

sluice_status agree_most(train_run *run, int64_t value, int64_t *most_out)
{
    sluice_status st;

    *most_out = value;
    if (!agree_asks(run)) {
        return SLUICE_OK;
    }
    st = ask(run, value, most_out);
    if (st == SLUICE_OK && *most_out >= FAILED_LEAST) {
        run->parted = true;
        st = sli_fail(SLUICE_E_RANK, "rank %lld failed, so rank %u ends after step %llu; see there",
                      (long long)(FAILED - *most_out), run->config.rank,
                      (unsigned long long)run->step);
    }
    return st;
}

sluice_status agree_barrier(train_run *run)
{
    int64_t most;

    return agree_most(run, 0, &most);
}

void agree_part(train_run *run, sluice_status status)
{
    int64_t most;

    if (agree_asks(run) && status < 0) {
        (void)ask(run, FAILED - run->config.rank, &most); /* its own error is the one that counts */
    }
    run->parted = true;
}

/* ---- at the beginning ------------------------------------------------------------------------ */

static sluice_status everybody_is_there(train_run *run)
{
    for (uint32_t rank = 0; rank < run->config.world; rank++) {
        int64_t most;
        sluice_status st = agree_most(run, run->config.rank == rank, &most);

        if (st == SLUICE_OK && most == 0) {
            st = sli_fail(SLUICE_E_INVALID, "no process is rank %u of %u, so two have the same one",
                          rank, run->config.world);
        }
        if (st != SLUICE_OK) {
            return st;
        }
    }
    return SLUICE_OK;
}

/* The least and the largest of a value over all ranks. */
static sluice_status find_range(train_run *run, uint64_t value, uint64_t *least_out,
                                uint64_t *most_out)
{
    const uint64_t largest = UINT64_C(1) << 62;
    const int64_t own = (int64_t)(value < largest ? value : largest);
    int64_t most;
    int64_t least;
    sluice_status st = agree_most(run, own, &most);

    if (st == SLUICE_OK) {
        st = agree_most(run, -own, &least);
    }
    if (st == SLUICE_OK) {
        *least_out = (uint64_t)-least;
        *most_out = (uint64_t)most;
    }
    return st;
}

typedef struct agree_subject {
    const char *what;
    uint64_t value;
    bool is_hash;
} agree_subject;

static sluice_status agree_on(train_run *run, const agree_subject *subject)
{
    const uint64_t value = subject->is_hash ? subject->value >> 2 : subject->value;
    uint64_t least;
    uint64_t most;
    sluice_status st = find_range(run, value, &least, &most);

    if (st != SLUICE_OK || least == most) {
        return st;
    }
    if (subject->is_hash) {
        return sli_fail(SLUICE_E_INVALID, "the ranks do not have the same %s", subject->what);
    }
    return sli_fail(SLUICE_E_INVALID,
                    "the ranks differ in their %s: %llu on rank %u, from %llu to %llu on all",
                    subject->what, (unsigned long long)subject->value, run->config.rank,
                    (unsigned long long)least, (unsigned long long)most);
}

static sluice_status agree_on_all(train_run *run, const agree_subject *subjects, size_t count)
{
    sluice_status st = SLUICE_OK;

    for (size_t i = 0; st == SLUICE_OK && i < count; i++) {
        st = agree_on(run, &subjects[i]);
    }
    return st;
}

static sluice_status agree_on_identity(train_run *run, const sli_dataset_identity *data)
{
    const sluice_train_config *c = &run->config;
    const agree_subject subjects[] = {
        {"number of samples", data->samples, false},
        {"pipeline", sli_hash_text(data->stages), true},
        {"names of samples", data->names, true},
        {"batch size", run->channel.plan->batch_size, false},
        {"batches of a pass", run->channel.plan->batches_per_pass, false},
        {"seed", sli_mix64(c->seed), true},
        {"micro_batches", c->micro_batches, false},
        {"first step", run->plan.first_step, false},
        {"last step", run->plan.end_step, false},
        {"steps of an epoch", run->plan.steps_per_epoch, false},
        {"steps between validations", run->plan.borders[BORDER_VALIDATION].steps, false},
        {"steps between checkpoints", run->plan.borders[BORDER_CHECKPOINT].steps, false},
        {"mode", (uint64_t)run->mode, false},
        {"epochs between validations", run->plan.borders[BORDER_VALIDATION].epochs, false},
        {"epochs between checkpoints", run->plan.borders[BORDER_CHECKPOINT].epochs, false},
        {"validation", c->validation.dataset != NULL, false},
        {"validation at the start", c->validation.at_start, false},
        {"validation at the end", c->validation.at_end, false},
        {"number of results", run->model.result_count, false},
        {"best checkpoint", c->checkpoint.best != NULL ? sli_hash_text(c->checkpoint.best) : 0,
         true},
        {"best_is_larger", c->checkpoint.best_is_larger, false},
        {"check mode", c->check, false},
    };

    return agree_on_all(run, subjects, sizeof(subjects) / sizeof(subjects[0]));
}

sluice_status agree_on_ranks(train_run *run)
{
    const sluice_checkpointing *checkpoint = &run->config.checkpoint;
    const agree_subject subjects[] = {
        {"number of ranks", run->config.world, false},
        {"checkpoints", checkpoint->folder != NULL, false},
        {"resume", checkpoint->resume, false},
    };
    sluice_status st;

    if (!agree_asks(run)) {
        return SLUICE_OK;
    }
    st = everybody_is_there(run);
    return st == SLUICE_OK ? agree_on_all(run, subjects, sizeof(subjects) / sizeof(subjects[0]))
                           : st;
}

sluice_status agree_on_run(train_run *run)
{
    sli_dataset_identity data = {.samples = 0};
    sluice_status st;

    if (!agree_asks(run)) {
        return SLUICE_OK;
    }
    st = sli_plan_identity(run->channel.plan, &data);
    if (st == SLUICE_OK) {
        st = agree_on_identity(run, &data);
    }
    sluice_string_free(data.stages);
    return st;
}

sluice_status agree_on_step(train_run *run, uint64_t step)
{
    uint64_t least;
    uint64_t most;
    sluice_status st = find_range(run, step + 1, &least, &most);

    if (st != SLUICE_OK || least == most) {
        return st;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "the ranks do not see the same checkpoints: the newest is of step %lld on rank "
                    "%u, of step %lld on another (-1: none); the folder must be one that all share",
                    (long long)step, run->config.rank,
                    (long long)(step + 1 == most ? least - 1 : most - 1));
}

/* ---- on the way ------------------------------------------------------------------------------ */

/* The bits of a number as a value that agree may be given: every NaN is one. */
static int64_t bits_of(double number)
{
    int64_t bits;

    if (isnan(number)) {
        return INT64_C(0x7FF8000000000000);
    }
    memcpy(&bits, &number, sizeof(bits));
    return bits;
}

/* Each rank in turn tells its number, and the others say nothing: the largest is what it told. */
static sluice_status tell_in_turn(train_run *run, uint32_t rank, double own, double *told_out)
{
    int64_t bits;
    sluice_status st = agree_most(run, rank == run->config.rank ? bits_of(own) : INT64_MIN, &bits);

    if (st == SLUICE_OK) {
        memcpy(told_out, &bits, sizeof(*told_out));
    }
    return st;
}

sluice_status agree_on_sums(train_run *run, double *sums, uint32_t count)
{
    for (uint32_t i = 0; i < count && agree_asks(run); i++) {
        const double own = sums[i];
        double sum = 0;

        for (uint32_t rank = 0; rank < run->config.world; rank++) {
            double told;
            sluice_status st = tell_in_turn(run, rank, own, &told);

            if (st != SLUICE_OK) {
                return st;
            }
            sum += told;
        }
        sums[i] = sum;
    }
    return SLUICE_OK;
}

sluice_status agree_at_border(train_run *run)
{
    int64_t most;
    sluice_status st;

    if (!agree_asks(run)) {
        return SLUICE_OK;
    }
    if (run->nan_steps > 0 && run->config.nan_guard == SLUICE_NAN_STOP) {
        run->wish = AGREE_NAN;
    }
    st = agree_most(run, run->wish, &most);
    run->out_of_time = most == AGREE_TIME_IS_OVER;
    run->stop = most == AGREE_STOP;
    if (st != SLUICE_OK || most != AGREE_NAN) {
        return st;
    }
    run->parted = true; /* all know */
    return run->nan_steps > 0
               ? sli_fail(SLUICE_E_NAN, "step %llu: an output was not finite; rank %u",
                          (unsigned long long)run->first_nan_step, run->config.rank)
               : sli_fail(SLUICE_E_NAN,
                          "an output was not finite on another rank, before step %llu",
                          (unsigned long long)run->step);
}
