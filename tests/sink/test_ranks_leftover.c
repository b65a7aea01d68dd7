/* SPDX-License-Identifier: Apache-2.0 */
/* Leftover variables of an earlier job, RANK=0 WORLD_SIZE=1, in the processes of a larger job. */
#include <stdio.h>
#include <stdlib.h>

#include "rank_runs.h"
#include "testing.h"

static uint32_t leftover_ranks; /* a bit each */

static void leftover_variables(kit *k, ranks_member *me)
{
    char rank[16];

    k->config.epochs = 2;
    snprintf(rank, sizeof(rank), "%u", me->rank);
    setenv("OMPI_COMM_WORLD_RANK", rank, 1);
    setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
    if ((leftover_ranks >> me->rank & 1) != 0) {
        setenv("RANK", "0", 1);
        setenv("WORLD_SIZE", "1", 1);
        unsetenv("LOCAL_RANK");
        unsetenv("LOCAL_WORLD_SIZE");
    }
}

static void expect_leftover(const char *error)
{
    T_CONTAINS(error, "WORLD_SIZE is 1 (torchrun), so this process is rank 0 of 1, but "
                      "OMPI_COMM_WORLD_SIZE is 3 (Open MPI)");
    T_CONTAINS(error, "Unset RANK and WORLD_SIZE");
}

static void ranks_that_would_all_train_on_everything_are_refused(void)
{
    ranks_kit ranks;

    leftover_ranks = 1U << 0 | 1U << 1 | 1U << 2;
    rank_runs(&ranks, 3, leftover_variables);
    rank_runs_expect(&ranks, SLUICE_E_INVALID);
    for (uint32_t rank = 0; rank < 3; rank++) {
        expect_leftover(outcome_of(&ranks, rank)->error);
    }
    ranks_end(&ranks);
}

static void one_rank_that_would_train_on_everything_ends_all(void)
{
    ranks_kit ranks;

    leftover_ranks = 1U << 1;
    rank_runs(&ranks, 3, leftover_variables);
    T_EQ(outcome_of(&ranks, 1)->status, SLUICE_E_INVALID);
    expect_leftover(outcome_of(&ranks, 1)->error);
    for (uint32_t rank = 0; rank < 3; rank += 2) {
        T_EQ(outcome_of(&ranks, rank)->status, SLUICE_E_INVALID);
        T_CONTAINS(outcome_of(&ranks, rank)->error, "no process is rank 1 of 3");
        T_EQ(outcome_of(&ranks, rank)->agreed, outcome_of(&ranks, 1)->agreed);
    }
    ranks_end(&ranks);
}

static sluice_status of_itself(int64_t value, int64_t *most_out, void *user)
{
    ++*(unsigned *)user;
    *most_out = value;
    return SLUICE_OK;
}

static void a_process_whose_agree_reaches_no_other_trains_alone(void)
{
    static const char *const values[][2] = {{"RANK", "0"},
                                            {"WORLD_SIZE", "1"},
                                            {"OMPI_COMM_WORLD_RANK", "1"},
                                            {"OMPI_COMM_WORLD_SIZE", "3"}};
    unsigned calls = 0;
    kit k;

    kit_init(&k);
    k.config.agree = of_itself;
    k.config.agree_user = &calls;
    T_OK(kit_run(&k));
    T_EQ(calls, 0);
    for (size_t i = 0; i < COUNT(values); i++) {
        setenv(values[i][0], values[i][1], 1);
    }
    kit_log_start(NULL, NULL);
    (void)kit_run(&k);
    T_CONTAINS(kit_log_stop(), "unset RANK and WORLD_SIZE if they are left");
    for (size_t i = 0; i < COUNT(values); i++) {
        unsetenv(values[i][0]);
    }
    T_OK(k.status);
    T_EQ(calls, 2);
    T_EQ(k.count, 100);
    kit_fini(&k);
}

const t_test ranks_leftover_tests[] = {
    T_TEST(ranks_that_would_all_train_on_everything_are_refused),
    T_TEST(one_rank_that_would_train_on_everything_ends_all),
    T_TEST(a_process_whose_agree_reaches_no_other_trains_alone),
    T_END,
};
