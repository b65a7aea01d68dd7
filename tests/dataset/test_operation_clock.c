/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples are measured, and what their ticks count for. */
#include <stdlib.h>

#include "operation_clock.h"
#include "testing.h"

static uint64_t ticks_of(const operation_clock *clock, uint32_t operation)
{
    return atomic_load(&clock->counts.ticks[operation]);
}

static uint64_t runs_of(const operation_clock *clock, uint32_t operation)
{
    return atomic_load(&clock->counts.runs[operation]);
}

static operation_clock *make_clock(uint32_t gap)
{
    operation_clock *clock = calloc(1, sizeof(*clock));

    CU_ASSERT_PTR_NOT_NULL_FATAL(clock);
    operation_clock_replace_gap(gap);
    operation_clock_init(clock, 7);
    return clock;
}

static void free_clock(operation_clock *clock)
{
    operation_clock_replace_gap(0);
    free(clock);
}

static void spin(uint64_t ticks)
{
    const uint64_t start = sli_ticks();

    while (sli_ticks() - start < ticks) {
    }
}

static void one_short_sample_in_64_is_measured(void)
{
    enum { SAMPLES = 64 * 1000 };
    operation_clock *clock = make_clock(0);
    uint64_t last = 0;
    uint64_t gaps[2] = {0, 0};

    for (uint64_t i = 0; i < SAMPLES; i++) {
        operation_clock_begin(clock);
        if (clock->is_on) {
            gaps[(i - last) % 2]++;
            last = i;
        }
        operation_enter(clock, OPERATION_FIRST);
        operation_clock_end(clock, true);
    }
    T_TRUE(runs_of(clock, OPERATION_FIRST) > 850 && runs_of(clock, OPERATION_FIRST) < 1250);
    T_TRUE(gaps[0] > 300 && gaps[1] > 300); /* even and odd ones: the gap is no fixed stride */
    free_clock(clock);
}

static void one_long_sample_in_8_is_measured(void)
{
    operation_clock *clock = make_clock(0);

    for (uint64_t i = 0; i < 8 * 60; i++) {
        operation_clock_begin(clock);
        operation_enter(clock, OPERATION_FIRST);
        if (clock->is_on) {
            spin(400000);
            clock->start.cpu_ns = -1; /* no preemption is taken out */
        }
        operation_clock_end(clock, true);
    }
    T_TRUE(runs_of(clock, OPERATION_FIRST) > 40 && runs_of(clock, OPERATION_FIRST) < 80);
    free_clock(clock);
}

static void each_tick_counts_for_one_operation(void)
{
    operation_clock *clock = make_clock(5);
    uint64_t sum = 0;

    for (int i = 0; i < 5; i++) {
        operation_clock_begin(clock);
        T_EQ(clock->is_on, i == 4);
        operation_enter(clock, OPERATION_FIRST);
        spin(100000);
        operation_enter(clock, OPERATION_FIRST + 1);
        operation_enter(clock, OPERATION_FIRST);
        operation_enter(clock, OPERATION_FIRST + 2);
        clock->start.cpu_ns = -1; /* no preemption is taken out */
        operation_clock_end(clock, true);
    }
    T_TRUE(ticks_of(clock, OPERATION_FIRST) >= 5 * 100000);
    for (uint32_t i = 0; i < PLAN_OPERATIONS; i++) {
        sum += clock->ticks[i];
        T_TRUE(i == OPERATION_NONE || ticks_of(clock, i) == 5 * clock->ticks[i]);
    }
    T_EQ(sum, clock->since - clock->start.ticks);
    T_EQ(runs_of(clock, OPERATION_FIRST), 1);
    T_EQ(runs_of(clock, OPERATION_FIRST + 2), 1);
    T_EQ(runs_of(clock, OPERATION_FIRST + 3), 0);
    free_clock(clock);
}

static void a_failed_sample_does_not_count(void)
{
    operation_clock *clock = make_clock(1);

    operation_clock_begin(clock);
    operation_enter(clock, OPERATION_FIRST);
    operation_clock_end(clock, false);
    T_EQ(runs_of(clock, OPERATION_FIRST), 0);
    T_EQ(ticks_of(clock, OPERATION_FIRST), 0);
    T_EQ(clock->is_on, false);
    free_clock(clock);
}

/* 3/4 of a sample in which the thread had no CPU are taken out of the intervals that they fell
 * into. */
static void preemption_is_taken_out_of_the_longest_intervals(void)
{
    operation_clock *clock = make_clock(1);

    operation_clock_start(clock);
    clock->start.ticks = 1000;
    clock->since = 2000;
    clock->ticks[OPERATION_FIRST] = 250;
    clock->ticks[OPERATION_FIRST + 1] = 750;
    clock->longest[0] = (operation_interval){700, OPERATION_FIRST + 1};
    clock->longest[1] = (operation_interval){200, OPERATION_FIRST};
    operation_clock_take_out(clock, 300, 400); /* two times */
    T_EQ(clock->ticks[OPERATION_FIRST + 1], 50);
    T_EQ(clock->ticks[OPERATION_FIRST], 200);
    clock->longest[0].ticks = 30;
    clock->longest[1].ticks = 100;
    operation_clock_take_out(clock, 500, 400); /* clocks that disagree: never below zero */
    T_EQ(clock->ticks[OPERATION_FIRST + 1], 20);
    T_EQ(clock->ticks[OPERATION_FIRST], 100);
    free_clock(clock);
}

static void the_longest_intervals_are_kept(void)
{
    operation_clock *clock = make_clock(1);

    operation_clock_start(clock);
    for (uint8_t i = 0; i < 8; i++) {
        operation_enter(clock, i);
        clock->since -= UINT64_C(1000000000) * (i % 2 == 0 ? i + 1 : 9 - i);
    }
    operation_enter(clock, OPERATION_NONE);
    for (uint32_t i = 1; i < OPERATION_LONGEST; i++) {
        T_TRUE(clock->longest[i].ticks <= clock->longest[i - 1].ticks);
    }
    T_EQ(clock->longest[0].operation, 1); /* of 1, 8, 3, 6, 5, 4, 7, 2 */
    T_EQ(clock->longest[1].operation, 6);
    T_EQ(clock->longest[2].operation, 3);
    T_EQ(clock->longest[3].operation, 4);
    free_clock(clock);
}

const t_test operation_clock_tests[] = {
    T_TEST(one_short_sample_in_64_is_measured),
    T_TEST(one_long_sample_in_8_is_measured),
    T_TEST(each_tick_counts_for_one_operation),
    T_TEST(a_failed_sample_does_not_count),
    T_TEST(preemption_is_taken_out_of_the_longest_intervals),
    T_TEST(the_longest_intervals_are_kept),
    T_END,
};
