/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that publish on one board how often they have called agree. */
#include "rank_board_int.h"

#include <sys/mman.h>
#include <unistd.h>

#include "ranks_kit.h"
#include "testing.h"

enum { WORLD = 4 };

/* What each rank has seen of each. */
typedef struct seen {
    sli_rank_progress of[WORLD][WORLD];
    bool entered[WORLD];
} seen;

static int board_fd = -1;

static void barrier(ranks_member *me)
{
    int64_t most;

    (void)!ranks_agree(0, &most, me);
}

static void look(ranks_member *me)
{
    seen *all = me->shared;

    barrier(me);
    for (uint32_t r = 0; r < me->world; r++) {
        all->of[me->rank][r] = sli_rank_board_get(r);
    }
    barrier(me);
}

/* Rank r calls agree r times, the last time at step 10 r. Rank 3 fails. */
static int count_calls(ranks_member *me)
{
    seen *all = me->shared;

    (void)sli_rank_board_open(board_fd, me->rank, me->world);
    all->entered[me->rank] = sli_rank_board_enter_run();
    for (uint32_t i = 1; i <= me->rank; i++) {
        sli_rank_board_count(10 * i);
    }
    if (me->rank == 3) {
        sli_rank_board_fail();
    }
    look(me);
    sli_rank_board_leave_run();
    sli_rank_board_close();
    return 0;
}

/* Rank 1 is in its second run, rank 2 has two runs at once, rank 3 has none. */
static int other_runs(ranks_member *me)
{
    (void)sli_rank_board_open(board_fd, me->rank, me->world);
    if (me->rank < 3) {
        (void)sli_rank_board_enter_run();
    }
    if (me->rank == 1) {
        sli_rank_board_leave_run();
        (void)sli_rank_board_enter_run();
    }
    if (me->rank == 2) {
        (void)sli_rank_board_enter_run();
    }
    sli_rank_board_count(1);
    look(me);
    return 0;
}

static const seen *run(ranks_kit *ranks, int (*body)(ranks_member *me))
{
    ranks_start(ranks, WORLD, sizeof(seen), body);
    T_TRUE(ranks_join(ranks));
    for (uint32_t r = 0; r < WORLD; r++) {
        T_EQ(ranks->exits[r], 0);
    }
    return ranks->shared;
}

static void ranks_that_called_agree_less_often_are_behind(void)
{
    ranks_kit ranks;
    const seen *all;

    board_fd = sli_rank_board_make(WORLD);
    T_TRUE(board_fd >= 0);
    all = run(&ranks, count_calls);
    for (uint32_t r = 0; r < WORLD; r++) {
        T_TRUE(all->entered[r]);
        for (uint32_t other = 0; other < WORLD; other++) {
            const sli_rank_progress *p = &all->of[r][other];

            T_EQ(p->place, other < r ? SLI_RANK_BEHIND : SLI_RANK_CAME);
            T_EQ(p->step, 10 * other);
            T_EQ(p->failed, other == 3);
        }
    }
    ranks_end(&ranks);
    close(board_fd);
}

static void ranks_in_another_run_are_unknown(void)
{
    ranks_kit ranks;
    const seen *all;

    board_fd = sli_rank_board_make(WORLD);
    all = run(&ranks, other_runs);
    for (uint32_t r = 0; r < WORLD; r++) {
        for (uint32_t other = 0; other < WORLD; other++) {
            T_EQ(all->of[r][other].place, r == other && r < 2 ? SLI_RANK_CAME : SLI_RANK_UNKNOWN);
            T_TRUE(!all->of[r][other].failed);
        }
    }
    ranks_end(&ranks);
    close(board_fd);
}

static void memory_that_is_no_board_is_not_used(void)
{
    const int unsealed = memfd_create("unsealed", MFD_CLOEXEC);
    const int short_one = sli_rank_board_make(1);

    T_EQ(ftruncate(unsealed, 65536), 0);
    T_TRUE(!sli_rank_board_open(unsealed, 0, 2));
    T_TRUE(!sli_rank_board_open(short_one, 0, 2));
    T_TRUE(!sli_rank_board_open(short_one, 1, 1));
    T_TRUE(!sli_rank_board_open(-1, 0, 2));
    T_TRUE(!sli_rank_board_enter_run());
    sli_rank_board_count(1); /* does nothing */
    sli_rank_board_fail();
    T_EQ(sli_rank_board_get(0).place, SLI_RANK_UNKNOWN);
    T_TRUE(sli_rank_board_open(short_one, 0, 1));
    T_TRUE(sli_rank_board_enter_run());
    T_EQ(sli_rank_board_get(0).place, SLI_RANK_CAME);
    T_EQ(sli_rank_board_get(1).place, SLI_RANK_UNKNOWN);
    sli_rank_board_leave_run();
    sli_rank_board_close();
    T_EQ(sli_rank_board_get(0).place, SLI_RANK_UNKNOWN);
    close(unsealed);
    close(short_one);
}

const t_test rank_board_tests[] = {
    T_TEST(ranks_that_called_agree_less_often_are_behind),
    T_TEST(ranks_in_another_run_are_unknown),
    T_TEST(memory_that_is_no_board_is_not_used),
    T_END,
};
