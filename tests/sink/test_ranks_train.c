/* SPDX-License-Identifier: Apache-2.0 */
/* Several ranks of one training: they stop, fail and disagree together. */
#include <stdio.h>
#include <string.h>

#include "rank_runs.h"
#include "rng_int.h"
#include "testing.h"

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

/* Of the test that runs, for its children. */
static sluice_mode mode;
static sluice_stop *token;

/* 4 epochs of 10 steps. */
static void sinks_of_ten(kit *k)
{
    k->config.mode = mode;
    k->config.sink_size = 10;
    k->config.epochs = 4;
}

/* Steps that ran when something at step 13 (from 0) ends the run at the next boundary. */
static uint64_t boundary_after_13(void)
{
    return mode == SLUICE_MODE_DIRECT || mode == SLUICE_MODE_DATA ? 14 : 20;
}

static void expect_boundary(const ranks_kit *ranks, sluice_status status)
{
    rank_runs_expect(ranks, status);
    T_EQ(outcome_of(ranks, 0)->steps, boundary_after_13());
    for (uint32_t rank = 0; rank < ranks->world; rank++) {
        T_EQ(outcome_of(ranks, rank)->train_ends, 1);
    }
}

/* ---- going well ------------------------------------------------------------------------------ */

static void just_train(kit *k, ranks_member *me)
{
    (void)me;
    sinks_of_ten(k);
    k->config.sink_size = -1;
    k->config.epochs = 2;
    k->pipeline = "synthetic samples=101 shape=4,4,3 | shuffle | batch 4";
}

static void ranks_share_every_pass_by_what_the_launcher_says(void)
{
    for (uint32_t world = 1; world <= 3; world++) {
        ranks_kit ranks;

        mode = SLUICE_MODE_LOOP;
        rank_runs(&ranks, world, just_train);
        rank_runs_expect(&ranks, SLUICE_OK);
        for (size_t pass = 0; pass < 2; pass++) {
            for (size_t i = 0; i < 101; i++) {
                uint64_t seen = 0;

                for (uint32_t rank = 0; rank < world; rank++) {
                    seen += outcome_of(&ranks, rank)->seen[pass][i];
                }
                T_EQ(seen, 1);
            }
        }
        ranks_end(&ranks);
    }
}

/* ---- stopping -------------------------------------------------------------------------------- */

static void request_at_13(kit *k, const sluice_step *step)
{
    (void)k;
    if (*step->step == 13) {
        sluice_stop_request(token);
    }
}

static void stop_rank_1(kit *k, ranks_member *me)
{
    sinks_of_ten(k);
    k->config.stop = token;
    if (me->rank == 1) {
        k->in_step = request_at_13;
    }
}

static void a_token_of_one_rank_stops_all_at_a_boundary(void)
{
    T_OK(sluice_stop_create(&token));
    for (size_t m = 0; m < COUNT(modes); m++) {
        ranks_kit ranks;

        mode = modes[m];
        rank_runs(&ranks, 3, stop_rank_1);
        expect_boundary(&ranks, SLUICE_STOPPED);
        ranks_end(&ranks);
    }
    sluice_stop_destroy(token);
}

static void stopped_step(kit *k, ranks_member *me)
{
    sinks_of_ten(k);
    if (me->rank == 2) {
        k->step_at = 13;
        k->step_answer = SLUICE_STOPPED;
    }
}

static void a_step_of_one_rank_stops_all_at_a_boundary(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        ranks_kit ranks;

        mode = modes[m];
        rank_runs(&ranks, 3, stopped_step);
        expect_boundary(&ranks, SLUICE_STOPPED);
        ranks_end(&ranks);
    }
}

static sluice_status stop_after_13(sluice_hook *hook, void *user)
{
    (void)user;
    hook->stop = hook->step >= 13;
    return SLUICE_OK;
}

static void stopping_hook(kit *k, ranks_member *me)
{
    static sluice_callback callbacks[2];

    sinks_of_ten(k);
    callbacks[0] = k->callbacks[0];
    callbacks[1] = (sluice_callback){.step_end = stop_after_13};
    k->callbacks = callbacks;
    k->callback_count = me->rank == 0 ? 2 : 1;
}

static void a_hook_of_one_rank_stops_all_at_a_boundary(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        ranks_kit ranks;

        mode = modes[m];
        rank_runs(&ranks, 3, stopping_hook);
        expect_boundary(&ranks, SLUICE_STOPPED);
        ranks_end(&ranks);
    }
}

static void token_is_set(kit *k, ranks_member *me)
{
    sinks_of_ten(k);
    k->config.stop = me->rank == 1 ? token : NULL;
}

static void a_token_that_is_set_already_runs_no_step_of_any_rank(void)
{
    ranks_kit ranks;

    T_OK(sluice_stop_create(&token));
    sluice_stop_request(token);
    mode = SLUICE_MODE_LOOP;
    rank_runs(&ranks, 2, token_is_set);
    rank_runs_expect(&ranks, SLUICE_STOPPED);
    T_EQ(outcome_of(&ranks, 0)->steps, 0);
    ranks_end(&ranks);
    sluice_stop_destroy(token);
}

static void no_time(kit *k, ranks_member *me)
{
    sinks_of_ten(k);
    k->config.epochs = 0;
    k->config.max_seconds = me->rank == 2 ? 1e-9 : 1e9;
}

static void the_end_of_one_ranks_time_is_that_of_all(void)
{
    ranks_kit ranks;

    mode = SLUICE_MODE_LOOP;
    rank_runs(&ranks, 3, no_time);
    rank_runs_expect(&ranks, SLUICE_OK);
    ranks_end(&ranks);
}

static sluice_dataset *judged;

/* 2 of 4 epochs are enough: validation gives the same each time. */
static void stopping_early(kit *k, ranks_member *me)
{
    static const char *const names[] = {"label", "one"};
    static sluice_callback callbacks[2];
    sluice_callback *made = NULL;

    sinks_of_ten(k);
    k->validation.dataset = judged;
    k->model.eval = kit_eval;
    k->model.result_names = names;
    k->model.result_count = 2;
    callbacks[0] = k->callbacks[0];
    k->callbacks = callbacks;
    if (me->rank == 1 && sluice_early_stopping("one", false, 0, 1, &made) == SLUICE_OK) {
        callbacks[1] = *made;
        k->callback_count = 2;
    }
}

static void early_stopping_of_one_rank_stops_all_where_it_judged(void)
{
    T_OK(sluice_dataset_parse("synthetic samples=7 shape=4,4,3 | batch 2", &judged));
    for (size_t m = 0; m < COUNT(modes); m++) {
        ranks_kit ranks;

        mode = modes[m];
        rank_runs(&ranks, 2, stopping_early);
        rank_runs_expect(&ranks, SLUICE_STOPPED);
        T_EQ(outcome_of(&ranks, 0)->steps, 20);
        ranks_end(&ranks);
    }
    sluice_dataset_destroy(judged);
}

static sluice_status stop_now(sluice_hook *hook, void *user)
{
    (void)user;
    hook->stop = true;
    return SLUICE_OK;
}

static void stopping_epoch(kit *k, ranks_member *me)
{
    static sluice_callback callbacks[2];

    sinks_of_ten(k);
    callbacks[0] = k->callbacks[0];
    callbacks[1] = (sluice_callback){.epoch_end = stop_now};
    k->callbacks = callbacks;
    k->callback_count = me->rank == 1 ? 2 : 1;
}

static void a_stop_at_the_end_of_an_epoch_is_that_of_all(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        ranks_kit ranks;

        mode = modes[m];
        rank_runs(&ranks, 3, stopping_epoch);
        rank_runs_expect(&ranks, SLUICE_STOPPED);
        T_EQ(outcome_of(&ranks, 0)->steps, 10);
        ranks_end(&ranks);
    }
}

/* ---- failing --------------------------------------------------------------------------------- */

static void nan_at_13(kit *k, const sluice_step *step)
{
    (void)k;
    if (*step->step == 13) {
        step->outputs[0] = (float)(1e300 * 1e300);
    }
}

static void nan_on_rank_1(kit *k, ranks_member *me)
{
    sinks_of_ten(k);
    if (me->rank == 1) {
        k->in_step = nan_at_13;
    }
}

static void a_nan_of_one_rank_ends_all_at_a_boundary(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        ranks_kit ranks;

        mode = modes[m];
        rank_runs(&ranks, 2, nan_on_rank_1);
        expect_boundary(&ranks, SLUICE_E_NAN);
        T_CONTAINS(outcome_of(&ranks, 1)->error, "step 13: an output was not finite; rank 1");
        T_CONTAINS(outcome_of(&ranks, 0)->error, "an output was not finite on another rank");
        ranks_end(&ranks);
    }
}

static void expect_rank_1_failed(const ranks_kit *ranks, sluice_status status, const char *why)
{
    for (uint32_t rank = 0; rank < ranks->world; rank++) {
        const rank_outcome *o = outcome_of(ranks, rank);

        T_EQ(o->status, rank == 1 ? status : SLUICE_E_RANK);
        T_CONTAINS(o->error, rank == 1 ? why : "rank 1 failed");
        T_EQ(o->agreed, outcome_of(ranks, 0)->agreed);
    }
}

static void failing_step(kit *k, ranks_member *me)
{
    sinks_of_ten(k);
    if (me->rank == 1) {
        k->step_at = 13;
        k->step_answer = SLUICE_E_CALLBACK;
    }
}

static void a_step_that_fails_on_one_rank_ends_all(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        ranks_kit ranks;

        mode = modes[m];
        rank_runs(&ranks, 3, failing_step);
        expect_rank_1_failed(&ranks, SLUICE_E_CALLBACK, "step 13: the step function returned");
        T_EQ(outcome_of(&ranks, 0)->steps, boundary_after_13());
        ranks_end(&ranks);
    }
}

static void missing_folder(kit *k, ranks_member *me)
{
    just_train(k, me);
    if (me->rank == 1) {
        k->pipeline = "image_folder /nowhere/at/all | decode | batch 4";
    }
}

static void a_dataset_that_one_rank_cannot_open_ends_all(void)
{
    ranks_kit ranks;

    mode = SLUICE_MODE_LOOP;
    rank_runs(&ranks, 3, missing_folder);
    for (uint32_t rank = 0; rank < 3; rank++) {
        T_TRUE(outcome_of(&ranks, rank)->status < 0);
        T_EQ(outcome_of(&ranks, rank)->train_ends, 0);
    }
    T_EQ(outcome_of(&ranks, 0)->status, SLUICE_E_RANK);
    T_CONTAINS(outcome_of(&ranks, 1)->error, "/nowhere/at/all");
    ranks_end(&ranks);
}

static void work_until_killed(kit *k, const sluice_step *step)
{
    ranks_member *me = rank_of_kit(k);

    if (*step->step == 25) {
        ranks_tell(me);
    }
}

static void train_for_ever(kit *k, ranks_member *me)
{
    (void)me;
    sinks_of_ten(k);
    k->config.epochs = 0;
    k->config.max_seconds = 1e9;
    k->in_step = work_until_killed;
}

/* What MPI's launchers do too, and what the out-of-memory killer does without them. */
static void eight_ranks_end_when_one_is_killed(void)
{
    for (uint32_t victim = 0; victim < 8; victim += 5) {
        ranks_kit ranks;
        char words[40];

        mode = SLUICE_MODE_LOOP;
        rank_runs_start(&ranks, 8, train_for_ever);
        T_TRUE(ranks_await(&ranks, victim));
        ranks_kill(&ranks, victim);
        T_TRUE(ranks_join(&ranks));
        snprintf(words, sizeof(words), "rank %u is gone", victim);
        for (uint32_t rank = 0; rank < 8; rank++) {
            if (rank != victim) {
                T_EQ(ranks.exits[rank], 0);
                T_EQ(outcome_of(&ranks, rank)->status, SLUICE_E_IO);
                T_CONTAINS(outcome_of(&ranks, rank)->error, words);
                T_CONTAINS(outcome_of(&ranks, rank)->error, ": agree returned E_IO: ");
                T_EQ(outcome_of(&ranks, rank)->train_ends, 1);
            }
        }
        ranks_end(&ranks);
    }
}

/* ---- disagreeing ----------------------------------------------------------------------------- */

static const char *other_pipeline;
static void (*change)(kit *k);

static void differ(kit *k, ranks_member *me)
{
    just_train(k, me);
    if (me->rank == 1 && other_pipeline != NULL) {
        k->pipeline = other_pipeline;
    }
    if (me->rank == 1 && change != NULL) {
        change(k);
    }
}

static void other_seed(kit *k)
{
    k->config.seed = 9;
}

static void other_epochs(kit *k)
{
    k->config.epochs = 3;
}

static void other_check(kit *k)
{
    k->config.check = true;
}

/* Sends what a library of another version sends: it differs in the hash of its version. */
static sluice_status agree_of_other_version(int64_t value, int64_t *most_out, void *user)
{
    const int64_t version = (int64_t)(sli_hash_text(sluice_version()) >> 2);

    rank_own_outcome(user)->agreed++;
    return ranks_agree(value == version    ? version + 1
                       : value == -version ? -version - 1
                                           : value,
                       most_out, user);
}

static void other_version(kit *k)
{
    k->config.agree = agree_of_other_version;
}

static void ranks_that_differ_are_told_in_what(void)
{
    static const struct {
        const char *pipeline;
        void (*change)(kit *k);
        const char *why;
    } cases[] = {
        {"synthetic samples=102 shape=4,4,3 | shuffle | batch 4", NULL,
         "differ in their number of samples: 102 on rank 1, from 101 to 102 on all"},
        {"synthetic samples=101 shape=4,4,3 | batch 4", NULL, "the same pipeline"},
        {"synthetic samples=101 shape=4,4,3 | shuffle | batch 5", NULL,
         "differ in their batch size: 5 on rank 1, from 4 to 5"},
        {NULL, other_seed, "the same seed"},
        {NULL, other_epochs, "differ in their last step"},
        {NULL, other_check, "differ in their check mode"},
        {NULL, other_version, "the same version of the library"},
    };

    mode = SLUICE_MODE_LOOP;
    for (size_t i = 0; i < COUNT(cases); i++) {
        ranks_kit ranks;

        other_pipeline = cases[i].pipeline;
        change = cases[i].change;
        rank_runs(&ranks, 3, differ);
        rank_runs_expect(&ranks, SLUICE_E_INVALID);
        T_CONTAINS(outcome_of(&ranks, 1)->error, cases[i].why);
        ranks_end(&ranks);
    }
}

static void same_rank(kit *k, ranks_member *me)
{
    just_train(k, me);
    k->config.world = 3;
    k->config.rank = me->rank == 2 ? 1 : me->rank;
}

static void a_rank_that_is_there_twice_is_told(void)
{
    ranks_kit ranks;

    rank_runs(&ranks, 3, same_rank);
    rank_runs_expect(&ranks, SLUICE_E_INVALID);
    T_CONTAINS(outcome_of(&ranks, 0)->error, "no process is rank 2 of 3");
    ranks_end(&ranks);
}

/* ---- without agree --------------------------------------------------------------------------- */

static sluice_status smaller(int64_t value, int64_t *most_out, void *user)
{
    (void)user;
    *most_out = value - 1;
    return SLUICE_OK;
}

static void without_agree_nothing_may_stop_one_rank(void)
{
    sluice_stop *stop;
    kit k;

    T_OK(sluice_stop_create(&stop));
    kit_init(&k);
    k.config.world = 2;
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "nan_guard stop would end one of 2 ranks");
    k.config.nan_guard = SLUICE_NAN_COUNT;
    T_OK(kit_run(&k));
    k.config.stop = stop;
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "config.stop would end one of 2 ranks");
    k.config.stop = NULL;
    k.config.max_seconds = 1;
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "max_seconds would end one of 2 ranks");
    k.config.max_seconds = 0;
    k.act_in = KIT_STEP_END;
    k.act_stops = true;
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "asked to stop one of 2 ranks");
    k.act_stops = false;
    k.step_at = 3;
    k.step_answer = SLUICE_STOPPED;
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "asked to stop one of 2 ranks");
    k.config.independent_ranks = true;
    T_STATUS(kit_run(&k), SLUICE_STOPPED);
    k.step_at = UINT64_MAX;
    k.config.stop = stop;
    k.config.max_seconds = 100;
    T_OK(kit_run(&k));
    k.config.agree = smaller;
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_CONTAINS(k.error, "independent_ranks, and agree is set");
    kit_fini(&k);
    sluice_stop_destroy(stop);
}

static void an_agree_that_cannot_be_is_refused(void)
{
    kit k;

    kit_init(&k);
    k.config.world = 2;
    k.config.agree = smaller;
    T_STATUS(kit_run(&k), SLUICE_E_CALLBACK);
    T_CONTAINS(k.error, "agree returned 0, and must return the largest");
    kit_fini(&k);
}

const t_test ranks_train_tests[] = {
    T_TEST(ranks_share_every_pass_by_what_the_launcher_says),
    T_TEST(a_token_of_one_rank_stops_all_at_a_boundary),
    T_TEST(a_step_of_one_rank_stops_all_at_a_boundary),
    T_TEST(a_hook_of_one_rank_stops_all_at_a_boundary),
    T_TEST(a_token_that_is_set_already_runs_no_step_of_any_rank),
    T_TEST(the_end_of_one_ranks_time_is_that_of_all),
    T_TEST(early_stopping_of_one_rank_stops_all_where_it_judged),
    T_TEST(a_stop_at_the_end_of_an_epoch_is_that_of_all),
    T_TEST(a_nan_of_one_rank_ends_all_at_a_boundary),
    T_TEST(a_step_that_fails_on_one_rank_ends_all),
    T_TEST(a_dataset_that_one_rank_cannot_open_ends_all),
    T_TEST(eight_ranks_end_when_one_is_killed),
    T_TEST(ranks_that_differ_are_told_in_what),
    T_TEST(a_rank_that_is_there_twice_is_told),
    T_TEST(without_agree_nothing_may_stop_one_rank),
    T_TEST(an_agree_that_cannot_be_is_refused),
    T_END,
};
