/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints, resume and validation of several ranks. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rank_runs.h"
#include "tar_kit.h"
#include "testing.h"

/* Of the test that runs, for its children. */
static char folder[300];
static uint64_t max_steps;
static const char *batch;
static sluice_dataset *judged;

/* ---- a model of which each rank keeps a part ------------------------------------------------- */

static bool write_number(const char *path, uint64_t number)
{
    FILE *file = fopen(path, "wb");
    bool written = file != NULL && fprintf(file, "%llu\n", (unsigned long long)number) > 0;

    return file != NULL && fclose(file) == 0 && written;
}

static sluice_status save(void *user, const char *path, uint32_t rank, uint32_t world)
{
    kit *k = user;
    char file[600];

    snprintf(file, sizeof(file), "%s/part-%u-of-%u", path, rank, world);
    return write_number(file, (uint64_t)(k->state * 1e6F)) ? SLUICE_OK
                                                           : sluice_fail(SLUICE_E_IO, "%s", file);
}

static sluice_status load(void *user, const char *path, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)path;
    (void)rank;
    (void)world;
    return SLUICE_OK;
}

static void init(kit *k, ranks_member *me)
{
    static char pipeline[200];

    (void)me;
    snprintf(pipeline, sizeof(pipeline), "synthetic samples=203 shape=4,4,3 | shuffle | batch %s",
             batch);
    k->pipeline = pipeline;
    k->config.epochs = 3;
    k->config.max_steps = max_steps;
    k->checkpoint.folder = folder;
    k->checkpoint.every_steps = 5;
    k->checkpoint.resume = true;
    k->model.save = save;
    k->model.load = load;
}

static void begin(const char *samples, uint64_t steps)
{
    snprintf(folder, sizeof(folder), "%s/c", t_folder());
    batch = samples;
    max_steps = steps;
}

/* Runs them, and adds up what they saw. */
static void run_ranks(uint32_t world, uint64_t seen[RANK_RUNS_PASSES][RANK_RUNS_SAMPLES],
                      uint64_t regrouped)
{
    ranks_kit ranks;

    rank_runs(&ranks, world, init);
    rank_runs_expect(&ranks, SLUICE_OK);
    for (uint32_t rank = 0; rank < world; rank++) {
        T_EQ(outcome_of(&ranks, rank)->regrouped_world, regrouped);
        for (size_t i = 0; i < RANK_RUNS_PASSES * RANK_RUNS_SAMPLES; i++) {
            seen[i / RANK_RUNS_SAMPLES][i % RANK_RUNS_SAMPLES] +=
                outcome_of(&ranks, rank)->seen[i / RANK_RUNS_SAMPLES][i % RANK_RUNS_SAMPLES];
        }
    }
    ranks_end(&ranks);
}

/* 2 ranks, then 3, then 1: in every pass every sample is seen exactly once. */
static void a_training_goes_on_with_other_ranks(void)
{
    uint64_t seen[RANK_RUNS_PASSES][RANK_RUNS_SAMPLES] = {{0}};

    begin("8", 7);
    run_ranks(2, seen, 0);
    T_EQ(access(t_path(folder, "step-000000000005/part-1-of-2"), F_OK), 0);
    T_EQ(access(t_path(folder, "step-000000000007/DONE"), F_OK), 0);
    batch = "5";
    max_steps = 9;
    run_ranks(3, seen, 2);
    T_EQ(access(t_path(folder, "step-000000000016/part-2-of-3"), F_OK), 0);
    batch = "16";
    max_steps = 0;
    run_ranks(1, seen, 3);
    for (size_t pass = 0; pass < 3; pass++) {
        for (size_t i = 0; i < 203; i++) {
            T_EQ(seen[pass][i], 1);
        }
    }
    T_EQ(seen[3][0], 0);
}

static void the_same_ranks_go_on_exactly(void)
{
    uint64_t seen[RANK_RUNS_PASSES][RANK_RUNS_SAMPLES] = {{0}};

    begin("8", 17);
    run_ranks(3, seen, 0);
    max_steps = 3;
    run_ranks(3, seen, 0);
    max_steps = 0;
    run_ranks(3, seen, 0);
    for (size_t pass = 0; pass < 3; pass++) {
        for (size_t i = 0; i < 203; i++) {
            T_EQ(seen[pass][i], 1);
        }
    }
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

static void expect_all_fail(uint32_t world, void (*prepare)(kit *k, ranks_member *me),
                            uint32_t rank, sluice_status status, const char *why)
{
    ranks_kit ranks;

    rank_runs(&ranks, world, prepare);
    for (uint32_t r = 0; r < world; r++) {
        T_TRUE(outcome_of(&ranks, r)->status < 0);
    }
    T_EQ(outcome_of(&ranks, rank)->status, status);
    T_CONTAINS(outcome_of(&ranks, rank)->error, why);
    ranks_end(&ranks);
}

/* The rank that sums the file names it, the others end with that rank. */
static void expect_one_fails(uint32_t world, const char *file)
{
    ranks_kit ranks;
    uint32_t corrupt = 0;

    rank_runs(&ranks, world, init);
    for (uint32_t r = 0; r < world; r++) {
        corrupt += outcome_of(&ranks, r)->status == SLUICE_E_CORRUPT;
        T_TRUE(outcome_of(&ranks, r)->status == SLUICE_E_CORRUPT ||
               outcome_of(&ranks, r)->status == SLUICE_E_RANK);
        T_CONTAINS(outcome_of(&ranks, r)->error, file);
        T_CONTAINS(outcome_of(&ranks, r)->error, " is corrupt: ");
    }
    T_EQ(corrupt, 1);
    ranks_end(&ranks);
}

static void a_missing_file_of_a_rank_is_named(void)
{
    uint64_t seen[RANK_RUNS_PASSES][RANK_RUNS_SAMPLES] = {{0}};

    begin("8", 7);
    run_ranks(3, seen, 0);
    T_EQ(unlink(t_path(folder, "step-000000000007/part-2-of-3")), 0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        expect_all_fail(3, init, rank, SLUICE_E_CORRUPT, "part-2-of-3 is missing");
    }
    t_write_file(t_path(folder, "step-000000000007/part-2-of-3"), "", 0);
    expect_all_fail(3, init, 1, SLUICE_E_CORRUPT, "part-2-of-3 has 0 bytes, and must have 8");
}

/* Each rank sums a part of the files; a flipped bit of any file is found. */
static void a_damaged_file_of_a_rank_is_named(void)
{
    uint64_t seen[RANK_RUNS_PASSES][RANK_RUNS_SAMPLES] = {{0}};

    begin("8", 7);
    run_ranks(3, seen, 0);
    T_EQ(access(t_path(folder, "step-000000000007/sluice_files"), F_OK), 0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        char path[400];
        char bytes[9] = "";
        FILE *file;

        snprintf(path, sizeof(path), "%s/step-000000000007/sluice_files.%u", folder, rank);
        T_EQ(access(path, F_OK), -1);
        snprintf(path, sizeof(path), "%s/step-000000000007/part-%u-of-3", folder, rank);
        file = fopen(path, "rb");
        T_TRUE(file != NULL);
        T_EQ(fread(bytes, 1, sizeof(bytes), file), 8);
        fclose(file);
        bytes[3] ^= 4;
        t_write_file(path, bytes, 8);
        expect_one_fails(3, strrchr(path, '/') + 1);
        bytes[3] ^= 4;
        t_write_file(path, bytes, 8);
    }
    max_steps = 1;
    run_ranks(3, seen, 0);
}

static void folder_of_its_own(kit *k, ranks_member *me)
{
    static char own[400];

    init(k, me);
    snprintf(own, sizeof(own), "%s-%u", folder, me->rank);
    k->checkpoint.folder = own;
}

static void made_before(kit *k, ranks_member *me)
{
    folder_of_its_own(k, me);
    if (me->rank > 0) {
        mkdir(k->checkpoint.folder, 0777);
    }
}

static void a_folder_that_ranks_do_not_share_is_refused(void)
{
    begin("8", 7);
    expect_all_fail(2, folder_of_its_own, 1, SLUICE_E_IO, "cannot open");
    begin("8", 7);
    expect_all_fail(2, made_before, 1, SLUICE_E_IO, "rank 1 does not see");
}

static void one_has_checkpoints(kit *k, ranks_member *me)
{
    folder_of_its_own(k, me);
    if (me->rank == 1) {
        k->checkpoint.folder = folder;
    }
}

static void ranks_that_see_other_checkpoints_are_told(void)
{
    uint64_t seen[RANK_RUNS_PASSES][RANK_RUNS_SAMPLES] = {{0}};

    begin("8", 7);
    run_ranks(1, seen, 0);
    expect_all_fail(2, one_has_checkpoints, 1, SLUICE_E_INVALID,
                    "do not see the same checkpoints: the newest is of step 7 on rank 1, of step "
                    "-1 on another");
}

static void one_sees_an_early_one(kit *k, ranks_member *me)
{
    static char early[400];

    init(k, me);
    snprintf(early, sizeof(early), "%s-early", folder);
    k->checkpoint.folder = me->rank == 1 ? early : folder;
}

/* One would validate, and wait for the others there. */
static void ranks_that_see_other_kinds_of_checkpoints_are_told(void)
{
    uint64_t seen[RANK_RUNS_PASSES][RANK_RUNS_SAMPLES] = {{0}};

    begin("8", 7);
    run_ranks(1, seen, 0);
    shell("cp -r '%s' '%s-early' && cd '%s-early' && mv step-000000000007 early-000000000007",
          folder, folder, folder);
    expect_all_fail(2, one_sees_an_early_one, 0, SLUICE_E_INVALID,
                    "differ in their kind of checkpoint, step- (0) or early- (1): 0 on rank 0");
}

static void one_resumes(kit *k, ranks_member *me)
{
    init(k, me);
    k->checkpoint.resume = me->rank != 1;
}

static void one_has_no_folder(kit *k, ranks_member *me)
{
    init(k, me);
    if (me->rank == 1) {
        k->checkpoint = (sluice_checkpointing){.folder = NULL};
    }
}

/* Before any of them waits for the others at a checkpoint. */
static void ranks_that_differ_in_their_checkpoints_are_told(void)
{
    begin("8", 7);
    expect_all_fail(2, one_resumes, 0, SLUICE_E_INVALID, "differ in their resume");
    expect_all_fail(2, one_resumes, 1, SLUICE_E_INVALID, "differ in their resume");
    expect_all_fail(2, one_has_no_folder, 0, SLUICE_E_INVALID, "differ in their checkpoints");
    expect_all_fail(2, one_has_no_folder, 1, SLUICE_E_INVALID, "differ in their checkpoints");
}

static sluice_status fail_on_rank_1(void *user, const char *path, uint32_t rank, uint32_t world)
{
    return rank == 1 ? sluice_fail(SLUICE_E_IO, "the disk of rank 1 is full")
                     : save(user, path, rank, world);
}

static void failing_save(kit *k, ranks_member *me)
{
    init(k, me);
    k->model.save = fail_on_rank_1;
}

static void a_save_that_fails_on_one_rank_ends_all_and_leaves_nothing_that_counts(void)
{
    begin("8", 7);
    expect_all_fail(3, failing_save, 1, SLUICE_E_IO, "the disk of rank 1 is full");
    T_TRUE(access(t_path(folder, "step-000000000005"), F_OK) != 0);
    expect_all_fail(3, failing_save, 2, SLUICE_E_RANK, "rank 1 failed");
}

static void shards(kit *k, ranks_member *me)
{
    init(k, me);
    k->pipeline = "synthetic samples=203 shape=4,4,3 | shard | shuffle | batch 8";
}

static void a_pass_that_the_pipeline_deals_is_ended_by_as_many_ranks(void)
{
    ranks_kit ranks;

    begin("8", 7);
    rank_runs(&ranks, 2, shards);
    rank_runs_expect(&ranks, SLUICE_OK);
    ranks_end(&ranks);
    expect_all_fail(3, shards, 1, SLUICE_E_INVALID,
                    "a pass was begun on 2 ranks and cannot be ended on 3");
    max_steps = 0;
    rank_runs(&ranks, 2, shards);
    rank_runs_expect(&ranks, SLUICE_OK);
    ranks_end(&ranks);
}

/* ---- validation ------------------------------------------------------------------------------ */

static void validate(kit *k, ranks_member *me)
{
    static const char *const names[] = {"label", "one"};

    (void)me;
    k->pipeline = "synthetic samples=40 shape=4,4,3 | batch 4";
    k->config.epochs = 2;
    k->validation.dataset = judged;
    k->model.eval = kit_eval;
    k->model.result_names = names;
    k->model.result_count = 2;
}

/* Sizes that neither batches nor ranks divide: each sample is judged once over all ranks. */
static void validation_counts_every_sample_once_over_all_ranks(void)
{
    static const uint64_t sizes[] = {1, 7, 37, 101};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        double alone = 0;

        for (uint32_t world = 1; world <= 3; world++) {
            char text[100];
            ranks_kit ranks;

            snprintf(text, sizeof(text), "synthetic samples=%llu shape=4,4,3 | batch 5",
                     (unsigned long long)sizes[s]);
            T_OK(sluice_dataset_parse(text, &judged));
            rank_runs(&ranks, world, validate);
            rank_runs_expect(&ranks, SLUICE_OK);
            alone = world == 1 ? outcome_of(&ranks, 0)->results[0] : alone;
            for (uint32_t rank = 0; rank < world; rank++) {
                const rank_outcome *o = outcome_of(&ranks, rank);

                T_EQ(o->validations, 2);
                T_EQ(o->result_samples, sizes[s]);
                T_TRUE(o->results[0] == alone); /* sums of whole numbers */
                T_TRUE(o->results[1] == 1);
            }
            ranks_end(&ranks);
            sluice_dataset_destroy(judged);
        }
    }
}

static bool eval_fails;

/* On rank 1, in the second validation. */
static sluice_status eval_of_rank(const sluice_step *step, void *user)
{
    ranks_member *me = rank_of_kit(user);

    if (eval_fails && me->rank == 1 && rank_own_outcome(me)->validations == 1) {
        return sluice_fail(SLUICE_E_IO, "rank 1 has no test set");
    }
    return kit_eval(step, user);
}

static void validate_and_keep(kit *k, ranks_member *me)
{
    init(k, me);
    validate(k, me);
    k->model.eval = eval_of_rank;
    k->validation.every_epochs = 1;
    k->checkpoint.every_steps = 0;
    k->checkpoint.every_epochs = 1;
}

/* What a rank's failure has left of the boundary is done by all ranks of the next run. */
static void ranks_resume_where_validation_failed(void)
{
    ranks_kit ranks;

    begin("4", 0);
    T_OK(sluice_dataset_parse("synthetic samples=7 shape=4,4,3 | batch 5", &judged));
    eval_fails = true;
    expect_all_fail(2, validate_and_keep, 1, SLUICE_E_IO, "rank 1 has no test set");
    T_EQ(access(t_path(folder, "step-000000000005/DONE"), F_OK), 0);
    T_EQ(access(t_path(folder, "early-000000000010/DONE"), F_OK), 0);
    eval_fails = false;
    rank_runs(&ranks, 2, validate_and_keep);
    rank_runs_expect(&ranks, SLUICE_OK);
    for (uint32_t rank = 0; rank < 2; rank++) {
        T_EQ(outcome_of(&ranks, rank)->steps, 0);
        T_EQ(outcome_of(&ranks, rank)->validations, 1);
        T_EQ(outcome_of(&ranks, rank)->result_samples, 7);
    }
    ranks_end(&ranks);
    T_EQ(access(t_path(folder, "step-000000000010/DONE"), F_OK), 0);
    T_TRUE(access(t_path(folder, "early-000000000010"), F_OK) != 0);
    sluice_dataset_destroy(judged);
}

/* ---- warnings -------------------------------------------------------------------------------- */

static sluice_status keep_all(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    (void)sample;
    (void)user;
    *keep_out = 1;
    return SLUICE_OK;
}

static void count_unversioned(const char *message, void *user)
{
    rank_outcome *o = user;

    o->messages += strstr(message, "filter mine has no version") != NULL;
}

/* A filter without a version. */
static void init_unversioned(kit *k, ranks_member *me)
{
    sluice_dataset *dataset = NULL;
    sluice_filter filter;

    init(k, me);
    sluice_filter_init(&filter);
    filter.name = "mine";
    filter.filter = keep_all;
    if (sluice_dataset_parse("synthetic samples=203 shape=4,4,3", &dataset) == SLUICE_OK &&
        sluice_dataset_filter(dataset, &filter) == SLUICE_OK &&
        sluice_dataset_add(dataset, "batch 8") == SLUICE_OK) {
        k->dataset = dataset;
    }
    kit_log_start(count_unversioned, rank_own_outcome(me));
}

static void one_rank_warns_of_functions_without_a_version(void)
{
    begin("8", 5);
    for (uint64_t round = 0; round < 2; round++) {
        ranks_kit ranks;

        rank_runs(&ranks, 2, init_unversioned);
        rank_runs_expect(&ranks, SLUICE_OK);
        T_EQ(outcome_of(&ranks, 0)->messages, round);
        T_EQ(outcome_of(&ranks, 1)->messages, 0);
        ranks_end(&ranks);
    }
}

const t_test ranks_checkpoint_tests[] = {
    T_TEST(a_training_goes_on_with_other_ranks),
    T_TEST(the_same_ranks_go_on_exactly),
    T_TEST(a_missing_file_of_a_rank_is_named),
    T_TEST(a_damaged_file_of_a_rank_is_named),
    T_TEST(a_folder_that_ranks_do_not_share_is_refused),
    T_TEST(ranks_that_see_other_checkpoints_are_told),
    T_TEST(ranks_that_see_other_kinds_of_checkpoints_are_told),
    T_TEST(ranks_that_differ_in_their_checkpoints_are_told),
    T_TEST(a_save_that_fails_on_one_rank_ends_all_and_leaves_nothing_that_counts),
    T_TEST(a_pass_that_the_pipeline_deals_is_ended_by_as_many_ranks),
    T_TEST(validation_counts_every_sample_once_over_all_ranks),
    T_TEST(ranks_resume_where_validation_failed),
    T_TEST(one_rank_warns_of_functions_without_a_version),
    T_END,
};
