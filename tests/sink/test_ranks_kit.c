/* SPDX-License-Identifier: Apache-2.0 */
/* The kit for several ranks does what tests of several ranks rely on. */
#include <signal.h>
#include <unistd.h>

#include <sluice/ranks.h>

#include "ranks_kit.h"
#include "testing.h"
#include "train_kit.h"

typedef struct seen {
    int64_t sum;
    char error[100];
    sluice_status again;
    char error_again[100];
    uint64_t samples;
} seen;

static seen *mine(const ranks_member *me)
{
    return (seen *)me->shared + me->rank;
}

static const seen *of(const ranks_kit *ranks, uint32_t rank)
{
    return (const seen *)ranks->shared + rank;
}

static void expect_exits(const ranks_kit *ranks, int exit)
{
    for (uint32_t rank = 0; rank < ranks->world; rank++) {
        T_EQ(ranks->exits[rank], exit);
    }
}

/* ---- agreeing -------------------------------------------------------------------------------- */

enum { ROUNDS = 1000 };

/* Each rank in turn has the largest, which is below zero in the first round. */
static int agree_often(ranks_member *me)
{
    for (int64_t round = 0; round < ROUNDS; round++) {
        const int64_t value = round * 100 - 50 + (round % me->world == me->rank ? 7 : -7);
        int64_t most = 0;

        if (ranks_agree(value, &most, me) != SLUICE_OK || most != round * 100 - 43) {
            return 1;
        }
        mine(me)->sum += most;
    }
    return 0;
}

static void ranks_agree_on_the_largest(void)
{
    for (uint32_t world = 1; world <= 3; world++) {
        ranks_kit ranks;

        ranks_start(&ranks, world, world * sizeof(seen), agree_often);
        T_TRUE(ranks_join(&ranks));
        expect_exits(&ranks, 0);
        for (uint32_t rank = 0; rank < world; rank++) {
            T_EQ(of(&ranks, rank)->sum, ROUNDS * (ROUNDS - 1) / 2 * 100 - 43 * ROUNDS);
        }
        ranks_end(&ranks);
    }
}

static int know_thyself(ranks_member *me)
{
    sluice_ranks ranks = {.struct_size = sizeof(ranks)};

    return sluice_ranks_find(&ranks) == SLUICE_OK && ranks.rank == me->rank &&
                   ranks.world == me->world && ranks.local_rank == me->rank &&
                   ranks.local_world == me->world && strcmp(ranks.source, "torchrun") == 0
               ? (int)me->rank
               : 99;
}

static void each_rank_knows_who_it_is_and_its_exit_is_kept(void)
{
    ranks_kit ranks;

    ranks_start(&ranks, RANKS_MOST, 0, know_thyself);
    T_TRUE(ranks_join(&ranks));
    for (uint32_t rank = 0; rank < RANKS_MOST; rank++) {
        T_EQ(ranks.exits[rank], rank);
    }
    ranks_end(&ranks);
}

/* ---- one is gone ----------------------------------------------------------------------------- */

/* Agrees until it fails, and keeps why; 42 then. */
static int agree_until_one_is_gone(ranks_member *me)
{
    seen *s = mine(me);
    int64_t most = 0;

    for (int64_t round = 0;; round++) {
        if (round == 10) {
            ranks_tell(me);
        }
        if (ranks_agree(round, &most, me) != SLUICE_OK) {
            break;
        }
    }
    snprintf(s->error, sizeof(s->error), "%s", sluice_last_error());
    s->again = ranks_agree(0, &most, me); /* the hub may be gone by now, too */
    snprintf(s->error_again, sizeof(s->error_again), "%s", sluice_last_error());
    return 42;
}

static void expect_gone(const ranks_kit *ranks, uint32_t gone)
{
    char words[40];

    snprintf(words, sizeof(words), "rank %u is gone", gone);
    for (uint32_t rank = 0; rank < ranks->world; rank++) {
        if (rank != gone) {
            T_EQ(ranks->exits[rank], 42);
            T_STR(of(ranks, rank)->error, words);
            T_EQ(of(ranks, rank)->again, SLUICE_E_IO);
            T_STR(of(ranks, rank)->error_again, words);
        }
    }
}

static void the_others_are_told_which_rank_was_killed(void)
{
    for (uint32_t victim = 0; victim < 4; victim++) {
        ranks_kit ranks;

        ranks_start(&ranks, 4, 4 * sizeof(seen), agree_until_one_is_gone);
        T_TRUE(ranks_await(&ranks, victim));
        ranks_kill(&ranks, victim);
        T_TRUE(ranks_join(&ranks));
        T_EQ(ranks.exits[victim], -SIGKILL);
        expect_gone(&ranks, victim);
        ranks_end(&ranks);
    }
}

static int leave_early(ranks_member *me)
{
    int64_t most = 0;

    if (me->rank != 2) {
        return agree_until_one_is_gone(me);
    }
    return ranks_agree(1, &most, me) == SLUICE_OK ? 7 : 1;
}

static void the_others_are_told_which_rank_has_left(void)
{
    ranks_kit ranks;

    ranks_start(&ranks, 4, 4 * sizeof(seen), leave_early);
    T_TRUE(ranks_join(&ranks));
    T_EQ(ranks.exits[2], 7);
    expect_gone(&ranks, 2);
    ranks_end(&ranks);
}

/* Rank 1 lives and says nothing; only rank 0 is impatient. */
static int say_nothing(ranks_member *me)
{
    int status;

    if (me->rank == 1) {
        pause();
    }
    me->timeout_ms = me->rank == 0 ? 50 : RANKS_AGREE_MS;
    status = agree_until_one_is_gone(me);
    ranks_tell(me);
    return status;
}

static void a_rank_that_says_nothing_counts_as_gone(void)
{
    ranks_kit ranks;

    ranks_start(&ranks, 3, 3 * sizeof(seen), say_nothing);
    T_TRUE(ranks_await(&ranks, 0));
    T_TRUE(ranks_await(&ranks, 2));
    ranks_kill(&ranks, 1);
    T_TRUE(ranks_join(&ranks));
    expect_gone(&ranks, 1);
    ranks_end(&ranks);
}

/* ---- training -------------------------------------------------------------------------------- */

/* Trains on its share: a child may open devices and start threads. */
static int train(ranks_member *me)
{
    int64_t most = -1;
    kit k;

    kit_init(&k);
    k.config.rank = me->rank;
    k.config.world = me->world;
    k.config.nan_guard = SLUICE_NAN_COUNT;
    if (kit_run(&k) != SLUICE_OK) {
        fprintf(stderr, "rank %u: %s\n", me->rank, k.error);
        return 1;
    }
    mine(me)->samples = k.report->stats.samples;
    kit_fini(&k);
    return ranks_agree((int64_t)me->rank, &most, me) == SLUICE_OK && most == me->world - 1 ? 0 : 2;
}

static void each_rank_can_train(void)
{
    uint64_t samples = 0;
    ranks_kit ranks;

    ranks_start(&ranks, 2, 2 * sizeof(seen), train);
    T_TRUE(ranks_join(&ranks));
    expect_exits(&ranks, 0);
    for (uint32_t rank = 0; rank < 2; rank++) {
        samples += of(&ranks, rank)->samples;
    }
    T_EQ(samples, 200);
    ranks_end(&ranks);
}

/* Opens a channel to this rank's share, which nobody but the launcher says. */
static int open_channel(ranks_member *me)
{
    sluice_channel_config config;
    sluice_channel_info info = {.struct_size = sizeof(info)};
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;
    sluice_channel *channel = NULL;
    bool fine;

    sluice_channel_config_init(&config);
    fine =
        sluice_device_open("host:0", &device) == SLUICE_OK &&
        sluice_dataset_parse("synthetic samples=70 shape=4,4,3 | batch 8", &dataset) == SLUICE_OK &&
        sluice_channel_open(device, dataset, &config, &channel) == SLUICE_OK &&
        sluice_channel_inspect(channel, &info) == SLUICE_OK;
    mine(me)->samples = info.batches;
    sluice_channel_close(channel);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    return fine ? 0 : 1;
}

static void a_channel_is_of_the_rank_that_the_launcher_says(void)
{
    ranks_kit ranks;

    ranks_start(&ranks, 2, 2 * sizeof(seen), open_channel);
    T_TRUE(ranks_join(&ranks));
    expect_exits(&ranks, 0);
    for (uint32_t rank = 0; rank < 2; rank++) {
        T_EQ(of(&ranks, rank)->samples, 5); /* 35 samples in batches of 8 */
    }
    ranks_end(&ranks);
}

const t_test ranks_kit_tests[] = {
    T_TEST(ranks_agree_on_the_largest),
    T_TEST(each_rank_knows_who_it_is_and_its_exit_is_kept),
    T_TEST(the_others_are_told_which_rank_was_killed),
    T_TEST(the_others_are_told_which_rank_has_left),
    T_TEST(a_rank_that_says_nothing_counts_as_gone),
    T_TEST(each_rank_can_train),
    T_TEST(a_channel_is_of_the_rank_that_the_launcher_says),
    T_END,
};
