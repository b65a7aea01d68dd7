/* SPDX-License-Identifier: Apache-2.0 */
/* Which rank the others waited for: found by the meetings, reported, and warned of. */
#include <stdlib.h>
#include <string.h>

#include "clock_int.h"
#include "rank_failure.h"
#include "rank_runs.h"
#include "rank_waits.h"
#include "testing.h"

enum { WORLD = 4, MS = 1000000 };

/* ---- ranks that meet at given times ---------------------------------------------------------- */

typedef struct group {
    rank_waits of[WORLD];
    int64_t now_ns; /* when all ranks have left the last meeting */
} group;

static void open_group(group *g, int64_t window_ns)
{
    memset(g, 0, sizeof(*g));
    g->now_ns = 7 * (int64_t)MS;
    for (uint32_t rank = 0; rank < WORLD; rank++) {
        T_OK(rank_waits_open(&g->of[rank], rank, WORLD));
        rank_waits_begin(&g->of[rank], g->now_ns, window_ns);
    }
}

static void close_group(group *g)
{
    for (uint32_t rank = 0; rank < WORLD; rank++) {
        rank_waits_close(&g->of[rank]);
    }
}

/* The ranks come after[] ms, and leave 1 ms after the last one. Returns the level. */
static uint32_t meet_at(group *g, const int64_t after[WORLD], const uint32_t levels[WORLD])
{
    int64_t most = INT64_MIN;
    int64_t last = 0;
    uint32_t level = 0;

    for (uint32_t rank = 0; rank < WORLD; rank++) {
        const int64_t value =
            rank_waits_send(&g->of[rank], levels[rank], g->now_ns + after[rank] * MS);

        T_TRUE(value >= 0 && value < FAILURE_LEAST);
        most = value > most ? value : most;
        last = after[rank] > last ? after[rank] : last;
    }
    for (uint32_t rank = 0; rank < WORLD; rank++) {
        rank_waits_add_round(&g->of[rank], g->now_ns + after[rank] * MS,
                             g->now_ns + (last + 1) * MS);
        T_TRUE(rank_waits_receive(&g->of[rank], most, &level));
    }
    g->now_ns += (last + 1) * MS;
    return level;
}

static void meet(group *g, int64_t a, int64_t b, int64_t c, int64_t d)
{
    T_EQ(meet_at(g, (int64_t[]){a, b, c, d}, (uint32_t[]){0, 0, 0, 0}), 0);
}

static void expect_wait(const group *g, uint32_t rank, uint32_t late, int64_t ms, uint64_t lasts)
{
    T_EQ(g->of[rank].of[late].ns, ms * MS);
    T_EQ(g->of[rank].of[late].lasts, lasts);
}

static void each_meeting_names_who_came_last_to_the_one_before(void)
{
    group g;

    open_group(&g, INT64_MAX);
    meet(&g, 5, 30, 1, 2);
    T_EQ(g.of[0].meetings, 0);
    meet(&g, 9, 8, 7, 6);
    for (uint32_t rank = 0; rank < WORLD; rank++) {
        T_EQ(g.of[rank].meetings, 1);
        expect_wait(&g, rank, 1, (const int64_t[]){25, 0, 29, 28}[rank], 1);
    }
    meet(&g, 0, 0, 0, 0);
    expect_wait(&g, 3, 0, 3, 1);
    expect_wait(&g, 0, 0, 0, 1);
    meet(&g, 1, 2, 3, 50);
    expect_wait(&g, 3, 3, 0, 1); /* all came at once: the highest rank, and no wait */
    T_EQ(g.of[2].agree_ns, (30 + 3 + 1 + 48) * MS);
    close_group(&g);
}

static void the_last_rank_says_what_delayed_it(void)
{
    group g;

    open_group(&g, INT64_MAX);
    rank_waits_add_steps(&g.of[1], 30 * MS, 20 * MS);
    meet(&g, 5, 31, 1, 2);
    rank_waits_add_steps(&g.of[2], 40 * MS, 3 * MS);
    meet(&g, 5, 5, 41, 2);
    rank_waits_add_steps(&g.of[3], 40 * MS, 39 * MS);
    meet(&g, 1, 1, 1, 90);
    meet(&g, 0, 0, 0, 0);
    T_EQ(g.of[0].of[1].after[DELAY_DATA], 1);
    T_EQ(g.of[0].of[2].after[DELAY_STEP], 1);
    T_EQ(g.of[0].of[3].after[DELAY_HOST], 1);
    T_EQ(rank_waits_delay(&g.of[0].of[1]), DELAY_DATA);
    T_EQ(rank_waits_delay(&g.of[0].of[3]), DELAY_HOST);
    close_group(&g);
}

static void waits_in_other_rounds_count_for_the_next_meeting(void)
{
    group g;

    open_group(&g, INT64_MAX);
    meet(&g, 0, 0, 0, 10);
    for (uint32_t rank = 0; rank < WORLD; rank++) { /* rank 2 comes last to a sum */
        rank_waits_add_round(&g.of[rank], g.now_ns + (rank == 2 ? 20 : 0) * MS, g.now_ns + 21 * MS);
    }
    g.now_ns += 21 * MS;
    meet(&g, 0, 0, 0, 0);
    expect_wait(&g, 0, 2, 20, 1); /* rank 3 waited 1 + 21, rank 2 11 + 1 */
    close_group(&g);
}

static void the_largest_level_is_that_of_all_and_names_nobody(void)
{
    group g;

    open_group(&g, INT64_MAX);
    meet(&g, 0, 10, 0, 0);
    T_EQ(meet_at(&g, (int64_t[]){0, 0, 0, 0}, (uint32_t[]){0, 3, 1, 0}), 3);
    for (uint32_t rank = 0; rank < WORLD; rank++) {
        T_EQ(g.of[rank].meetings, 0);
    }
    T_EQ(meet_at(&g, (int64_t[]){0, 0, 0, 0},
                 (uint32_t[]){MEETING_LEVEL_MOST, MEETING_LEVEL_MOST, 0, 0}),
         MEETING_LEVEL_MOST);
    close_group(&g);
}

static void long_waits_and_large_ranks_are_below_a_failure(void)
{
    rank_waits waits = {.rank = 0};
    uint32_t level;
    int64_t value;

    T_OK(rank_waits_open(&waits, WAIT_RANKS - 1, WAIT_RANKS));
    rank_waits_begin(&waits, 0, INT64_MAX);
    (void)rank_waits_send(&waits, 0, 0);
    rank_waits_add_round(&waits, 0, INT64_MAX / 2);
    value = rank_waits_send(&waits, MEETING_LEVEL_MOST, INT64_MAX / 2);
    T_TRUE(value > 0 && value < FAILURE_LEAST);
    T_TRUE(rank_waits_receive(&waits, value, &level));
    T_EQ(level, MEETING_LEVEL_MOST);
    rank_waits_close(&waits);
}

static void in_a_larger_world_nothing_is_counted(void)
{
    rank_waits waits = {.rank = 0};
    uint32_t level = 9;

    T_OK(rank_waits_open(&waits, 5, WAIT_RANKS + 1));
    rank_waits_begin(&waits, 0, INT64_MAX);
    rank_waits_add_round(&waits, 0, MS);
    T_EQ(rank_waits_send(&waits, 0, MS), 0);
    T_TRUE(rank_waits_receive(&waits, 0, &level));
    T_EQ(level, 0);
    T_EQ(waits.agree_ns, 0);
    rank_waits_close(&waits);
}

static void values_that_no_rank_sends_are_refused(void)
{
    const int64_t wait_of_5_us = (WAIT_MOST - 5) << 23;
    const int64_t bad[] = {
        -1,
        INT64_C(8) << 57,                    /* a level that is not one */
        wait_of_5_us | (int64_t)WORLD << 3,  /* a rank that is not in this world */
        wait_of_5_us | 1 << 3 | DELAY_KINDS, /* a delay that is not one */
        (WAIT_MOST - 2000) << 23 | 1 << 3,   /* this rank has waited for less */
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        rank_waits waits = {.rank = 0};
        uint32_t level;

        T_OK(rank_waits_open(&waits, 0, WORLD));
        rank_waits_begin(&waits, 0, INT64_MAX);
        (void)rank_waits_send(&waits, 0, 0);
        rank_waits_add_round(&waits, 0, MS);
        (void)rank_waits_send(&waits, 0, MS);
        T_TRUE(!rank_waits_receive(&waits, bad[i], &level));
        T_EQ(waits.meetings, 0);
        rank_waits_close(&waits);
    }
}

/* ---- warnings -------------------------------------------------------------------------------- */

static void a_late_rank_is_warned_of_in_windows_that_grow(void)
{
    rank_lateness late;
    group g;
    int64_t warned = 0;
    int64_t at_ns[3];

    open_group(&g, 100 * MS);
    while (warned < 3) {
        meet(&g, 5, 9, 4, 5);
        if (rank_waits_check(&g.of[0], g.now_ns, &late)) {
            at_ns[warned++] = g.now_ns;
            T_EQ(late.rank, 1);
            T_TRUE(late.lasts <= late.meetings && late.lasts + 1 >= late.meetings);
            T_TRUE(late.share > 0.35 && late.share <= 0.4); /* 4 of 10 ms */
        }
    }
    T_EQ(at_ns[1] - at_ns[0], 200 * MS);
    T_EQ(at_ns[2] - at_ns[1], 400 * MS);
    close_group(&g);
}

static void short_waits_and_few_meetings_are_not_warned_of(void)
{
    rank_lateness late;
    group g;

    open_group(&g, 100 * MS);
    for (unsigned i = 0; i < 3; i++) {
        meet(&g, 0, 500, 0, 0);
        T_TRUE(!rank_waits_check(&g.of[0], g.now_ns, &late));
    }
    close_group(&g);
    open_group(&g, 100 * MS);
    for (unsigned i = 0; i < 100; i++) {
        meet(&g, 98, 99 + i % 2, 99, 98); /* at most 2 % */
        T_TRUE(!rank_waits_check(&g.of[0], g.now_ns, &late));
    }
    close_group(&g);
}

static void other_threads_see_the_worst_rank(void)
{
    uint32_t rank;
    uint32_t lasts;
    uint32_t meetings;
    group g;

    open_group(&g, INT64_MAX);
    T_TRUE(!rank_waits_noted(&g.of[0], &rank, &lasts, &meetings));
    meet(&g, 0, 0, 20, 0);
    meet(&g, 0, 0, 0, 5);
    meet(&g, 0, 0, 20, 0);
    meet(&g, 0, 0, 0, 0);
    T_TRUE(rank_waits_noted(&g.of[0], &rank, &lasts, &meetings));
    T_EQ(rank, 2);
    T_EQ(lasts, 2);
    T_EQ(meetings, 3);
    T_TRUE(rank_waits_noted(&g.of[2], &rank, &lasts, &meetings));
    T_EQ(rank, 3);
    close_group(&g);
}

/* ---- trainings, by a clock that the test moves ------------------------------------------------
 */

enum { LATE = 1, STEPS = 20 };

static sluice_mode mode;
static _Atomic int64_t clock_ns; /* of a child */

static int64_t read_clock(void)
{
    return atomic_load(&clock_ns);
}

static void pass_time(int64_t ms)
{
    atomic_fetch_add(&clock_ns, ms * MS);
}

/* Ranks other than LATE wait for it for 30 ms. */
static sluice_status agree_by_clock(int64_t value, int64_t *most_out, void *user)
{
    const ranks_member *me = user;

    rank_own_outcome(user)->agreed++;
    pass_time(me->rank == LATE ? 1 : 31);
    return ranks_agree(value, most_out, user);
}

/* A step takes 60 ms, and 90 on rank LATE. */
static void step_by_clock(kit *k, const sluice_step *step)
{
    (void)step;
    pass_time(rank_of_kit(k)->rank == LATE ? 90 : 60);
}

static void train_by_clock(kit *k, ranks_member *me)
{
    (void)me;
    atomic_store(&clock_ns, MS);
    sli_clock_replace(read_clock);
    k->config.mode = mode;
    k->config.max_steps = STEPS;
    k->config.agree = agree_by_clock;
    k->in_step = step_by_clock;
}

/* The profiler uses the time stamp counter, so waits for data do not follow the test's clock. */
static void a_slow_rank_is_in_the_reports_of_the_others(void)
{
    ranks_kit ranks;

    mode = SLUICE_MODE_DIRECT;
    rank_runs(&ranks, 3, train_by_clock);
    rank_runs_expect(&ranks, SLUICE_OK);
    for (uint32_t rank = 0; rank < 3; rank++) {
        const rank_outcome *o = outcome_of(&ranks, rank);
        char json[60];

        T_CONTAINS(o->report, "cores: ");
        T_CONTAINS(o->report, ", not divided among the ranks of this machine; the process may use");
        T_TRUE(o->waits.known && o->waits.meetings >= STEPS);
        T_EQ(o->late_rank, rank == LATE ? UINT64_MAX : LATE);
        if (rank == LATE) {
            T_EQ(o->waits.own_lasts, o->waits.meetings);
            T_EQ(o->waits.count, 0);
            continue;
        }
        T_TRUE(o->late_seconds > 0.03 * (STEPS - 3) && o->late_seconds <= o->waits.late[0].seconds);
        T_EQ(o->waits.own_lasts, 0);
        T_EQ(o->waits.count, 1);
        T_EQ(o->waits.late[0].rank, LATE);
        T_EQ(o->waits.late[0].lasts, o->waits.meetings);
        T_NEAR(o->waits.late[0].seconds, 0.03 * (double)o->waits.meetings, 1e-9);
        T_CONTAINS(o->report, "ranks: in agree ");
        T_CONTAINS(o->report, "of the time, to wait for rank 1: ");
        snprintf(json, sizeof(json), "\"waits\":[{\"rank\":1,\"seconds\":%.2f,",
                 0.03 * (double)o->waits.meetings);
        T_CONTAINS(o->ranks_json, json);
    }
    ranks_end(&ranks);
}

const t_test rank_waits_tests[] = {
    T_TEST(each_meeting_names_who_came_last_to_the_one_before),
    T_TEST(the_last_rank_says_what_delayed_it),
    T_TEST(waits_in_other_rounds_count_for_the_next_meeting),
    T_TEST(the_largest_level_is_that_of_all_and_names_nobody),
    T_TEST(long_waits_and_large_ranks_are_below_a_failure),
    T_TEST(in_a_larger_world_nothing_is_counted),
    T_TEST(values_that_no_rank_sends_are_refused),
    T_TEST(a_late_rank_is_warned_of_in_windows_that_grow),
    T_TEST(short_waits_and_few_meetings_are_not_warned_of),
    T_TEST(other_threads_see_the_worst_rank),
    T_TEST(a_slow_rank_is_in_the_reports_of_the_others),
    T_END,
};
