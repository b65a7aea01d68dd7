/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGKILL ends one rank of three, in each phase of a run. The other ranks end with an error that
 * names it, and the next job starts on what is left as if the first one had stopped there.
 */
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "rank_runs.h"
#include "testing.h"

enum { WORLD = 3, VICTIM = 1, KILL_STEP = 13, SAVE_EVERY = 10, STEPS = 34 };

typedef enum kill_phase {
    KILL_BEFORE_OPEN,
    KILL_IN_FIRST_AGREE,
    KILL_WHILE_RANKS_COMPARE, /* their settings */
    KILL_IN_STEP,
    KILL_IN_SAVE,
    KILL_IN_LAST_AGREE, /* the first one after the last step */
    KILL_AT_END,        /* after the last call of agree */
    KILL_NEVER
} kill_phase;

/* Of the test that runs, for its children. */
static kill_phase phase;
static const char *folder;
static uint64_t calls_of_agree;

static bool is_victim(kill_phase where)
{
    return phase == where && rank_of_kit(NULL)->rank == VICTIM;
}

static void kill_in(kill_phase where)
{
    if (is_victim(where)) {
        raise(SIGKILL);
    }
}

/* ---- what the ranks do ----------------------------------------------------------------------- */

static bool trained;

static sluice_status agree_until_killed(int64_t value, int64_t *most_out, void *user)
{
    calls_of_agree++;
    if (calls_of_agree == 1) {
        kill_in(KILL_IN_FIRST_AGREE);
    }
    if (calls_of_agree == WORLD + 3) {
        kill_in(KILL_WHILE_RANKS_COMPARE);
    }
    if (trained) {
        kill_in(KILL_IN_LAST_AGREE);
    }
    return ranks_agree(value, most_out, user);
}

static void step_until_killed(kit *k, const sluice_step *step)
{
    (void)k;
    if (*step->step == KILL_STEP) {
        kill_in(KILL_IN_STEP);
    }
    trained = *step->step + 1 == STEPS;
}

static sluice_status save(void *user, const char *path, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)path;
    (void)rank;
    (void)world;
    kill_in(KILL_IN_SAVE);
    return SLUICE_OK;
}

static sluice_status load(void *user, const char *path, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)path;
    (void)rank;
    (void)world;
    return SLUICE_OK;
}

static sluice_status end_train(sluice_hook *hook, void *user)
{
    (void)hook;
    (void)user;
    kill_in(KILL_AT_END);
    return SLUICE_OK;
}

static void ignore_log(sluice_log_level level, const char *message, void *user)
{
    (void)level;
    (void)message;
    (void)user;
}

static void prepare(kit *k, ranks_member *me)
{
    static sluice_callback callbacks[2];
    char name[40];

    snprintf(name, sizeof(name), "killed-%d", (int)getppid());
    setenv("SLUICE_JOB", name, 1);
    setenv("SLUICE_EXCHANGE_MS", phase == KILL_BEFORE_OPEN ? "50" : "60000", 1);
    sluice_log_set_callback(ignore_log, NULL);
    callbacks[0] = k->callbacks[0];
    callbacks[1] = (sluice_callback){.train_end = end_train};
    k->callbacks = callbacks;
    k->callback_count = 2;
    k->pipeline = "synthetic samples=204 shape=4,4,3 | shuffle | batch 2";
    k->config.agree = agree_until_killed;
    k->config.agree_user = me;
    k->in_step = step_until_killed;
    k->model.save = save;
    k->model.load = load;
    k->checkpoint.folder = folder;
    k->checkpoint.every_steps = SAVE_EVERY;
    k->checkpoint.resume = true;
    kill_in(KILL_BEFORE_OPEN);
}

/* ---- the tests ------------------------------------------------------------------------------- */

/* Counts entries of the folder that are not of a checkpoint. */
static uint32_t count_leftovers(void)
{
    DIR *opened = opendir(folder);
    uint32_t count = 0;

    for (const struct dirent *entry; opened != NULL && (entry = readdir(opened)) != NULL;) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
                 strncmp(entry->d_name, "step-", 5) != 0;
    }
    if (opened != NULL) {
        closedir(opened);
    }
    return count;
}

static void expect_next_job(void)
{
    ranks_kit ranks;

    phase = KILL_NEVER;
    rank_runs(&ranks, WORLD, prepare);
    rank_runs_expect(&ranks, SLUICE_OK);
    T_EQ(count_leftovers(), 0);
    ranks_end(&ranks);
}

/* All ranks but the victim end with this status, after a number of steps in the range. */
static void expect_ends(kill_phase where, sluice_status status, uint64_t least, uint64_t most)
{
    ranks_kit ranks;

    folder = t_folder();
    phase = where;
    rank_runs_start(&ranks, WORLD, prepare);
    T_TRUE(ranks_join(&ranks));
    T_EQ(ranks.exits[VICTIM], -SIGKILL);
    for (uint32_t rank = 0; rank < WORLD; rank += 2) {
        const rank_outcome *o = outcome_of(&ranks, rank);

        T_EQ(ranks.exits[rank], 0);
        T_STATUS(o->status, status);
        if (status != SLUICE_OK) {
            T_CONTAINS(o->error, "rank 1 is gone");
            T_CONTAINS(o->error, ": agree returned E_IO: ");
        }
        if (o->steps < least || o->steps > most) {
            T_FAIL_("rank %u ended after %llu steps, want %llu to %llu", rank,
                    (unsigned long long)o->steps, (unsigned long long)least,
                    (unsigned long long)most);
        }
    }
    ranks_end(&ranks);
    T_EQ(count_leftovers(), where == KILL_IN_SAVE); /* what was being written */
    expect_next_job();
}

static void a_rank_killed_before_its_run_opens_ends_the_others(void)
{
    expect_ends(KILL_BEFORE_OPEN, SLUICE_E_IO, 0, 0);
}

static void a_rank_killed_while_ranks_compare_settings_ends_the_others(void)
{
    expect_ends(KILL_IN_FIRST_AGREE, SLUICE_E_IO, 0, 0);
    expect_ends(KILL_WHILE_RANKS_COMPARE, SLUICE_E_IO, 0, 0);
}

static void a_rank_killed_in_a_step_ends_the_others_at_a_boundary(void)
{
    expect_ends(KILL_IN_STEP, SLUICE_E_IO, KILL_STEP, STEPS);
}

static void a_rank_killed_while_it_saves_leaves_no_half_checkpoint(void)
{
    expect_ends(KILL_IN_SAVE, SLUICE_E_IO, SAVE_EVERY, SAVE_EVERY);
}

static void a_rank_killed_after_its_last_step_ends_the_others(void)
{
    expect_ends(KILL_IN_LAST_AGREE, SLUICE_E_IO, STEPS, STEPS);
    expect_ends(KILL_AT_END, SLUICE_OK, STEPS, STEPS);
}

const t_test ranks_killed_tests[] = {
    T_TEST(a_rank_killed_before_its_run_opens_ends_the_others),
    T_TEST(a_rank_killed_while_ranks_compare_settings_ends_the_others),
    T_TEST(a_rank_killed_in_a_step_ends_the_others_at_a_boundary),
    T_TEST(a_rank_killed_while_it_saves_leaves_no_half_checkpoint),
    T_TEST(a_rank_killed_after_its_last_step_ends_the_others),
    T_END,
};
