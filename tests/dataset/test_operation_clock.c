/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples the operations are measured of, and what their ticks count for. */
#include <stdlib.h>
#include <string.h>

#include "operation_clock.h"
#include "sample_loader.h"
#include "testing.h"

static uint64_t ticks_of(const operation_clock *clock, uint32_t operation)
{
    return atomic_load(&clock->counts.ticks[operation]);
}

static uint64_t runs_of(const operation_clock *clock, uint32_t operation)
{
    return atomic_load(&clock->counts.runs[operation]);
}

/* A clock of operations beside the clock of stages that chooses the samples. */
typedef struct clocks {
    sli_counters stage;
    sli_stage_clock stages;
    operation_clock operations;
} clocks;

/* Measures one in `gap` samples. */
static clocks *make_clocks(uint32_t gap)
{
    clocks *c = aligned_alloc(64, sizeof(*c));

    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    memset((void *)c, 0, sizeof(*c));
    sli_stage_clock_init(&c->stages);
    sli_stage_clock_replace_gap(gap);
    return c;
}

static void free_clocks(clocks *c)
{
    sli_stage_clock_replace_gap(0);
    sli_stage_clock_fini(&c->stages);
    free(c);
}

static void begin(clocks *c)
{
    sli_stage_clock_begin(&c->stages, 1, &c->stage);
    operation_clock_begin(&c->operations, &c->stages);
}

static void end(clocks *c, bool is_counted)
{
    sli_stage_clock_enter(&c->stages, NULL);
    operation_clock_end(&c->operations, is_counted);
}

static void spin(uint64_t ticks)
{
    const uint64_t start = sli_ticks();

    while (sli_ticks() - start < ticks) {
    }
}

static void each_tick_counts_for_one_operation(void)
{
    clocks *c = make_clocks(5);
    operation_clock *clock = &c->operations;
    uint64_t sum = 0;

    for (int i = 0; i < 5; i++) {
        begin(c);
        T_EQ(clock->is_on, i == 4);
        operation_enter(clock, OPERATION_FIRST);
        spin(100000);
        operation_enter(clock, OPERATION_FIRST + 1);
        operation_enter(clock, OPERATION_FIRST);
        operation_enter(clock, OPERATION_FIRST + 2);
        clock->start.cpu_ns = -1; /* no preemption is taken out */
        end(c, true);
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
    free_clocks(c);
}

/* The time that the stage clock needs at an edge is in no operation. */
static void the_stage_clock_takes_no_time_of_an_operation(void)
{
    clocks *c = make_clocks(1);
    operation_clock *clock = &c->operations;
    uint64_t before;

    begin(c);
    operation_enter(clock, OPERATION_FIRST);
    before = c->stages.spent_ticks;
    sli_stage_clock_enter(&c->stages, &c->stage);
    T_TRUE(c->stages.spent_ticks > before);
    c->stages.spent_ticks += UINT64_C(1) << 40; /* as if it had taken minutes */
    clock->since -= UINT64_C(1) << 40;
    clock->start.ticks -= UINT64_C(1) << 40;
    clock->start.cpu_ns = -1; /* no preemption is taken out */
    end(c, true);
    T_TRUE(ticks_of(clock, OPERATION_FIRST) > 0);
    T_TRUE(ticks_of(clock, OPERATION_FIRST) < UINT64_C(1) << 39);
    free_clocks(c);
}

static void a_failed_sample_does_not_count(void)
{
    clocks *c = make_clocks(1);
    operation_clock *clock = &c->operations;

    begin(c);
    operation_enter(clock, OPERATION_FIRST);
    end(c, false);
    T_EQ(runs_of(clock, OPERATION_FIRST), 0);
    T_EQ(ticks_of(clock, OPERATION_FIRST), 0);
    T_EQ(clock->is_on, false);
    free_clocks(c);
}

/* 3/4 of a sample in which the thread had no CPU are taken out of the intervals that they fell
 * into. */
static void preemption_is_taken_out_of_the_longest_intervals(void)
{
    clocks *c = make_clocks(1);
    operation_clock *clock = &c->operations;

    operation_clock_start(clock, &c->stages);
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
    free_clocks(c);
}

static void the_longest_intervals_are_kept(void)
{
    clocks *c = make_clocks(1);
    operation_clock *clock = &c->operations;

    operation_clock_start(clock, &c->stages);
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
    free_clocks(c);
}

/* A worker's loader of a pipeline without files. */
typedef struct worker {
    sli_counters counters[PLAN_PROFILED];
    sample_loader loader;
    sluice_dataset *dataset;
    sli_plan *plan;
    uint8_t image[8 * 8 * 3];
} worker;

static worker *open_worker(void)
{
    const sli_run_settings settings = {.seed = 1, .world = 1};
    worker *w = NULL;

    T_EQ(posix_memalign((void **)&w, 64, sizeof(*w)), 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(w);
    memset((void *)w, 0, sizeof(*w));
    T_OK(sluice_dataset_parse("synthetic 64 shape=16,16,3 | resize 8,8 | batch 4", &w->dataset));
    T_OK(sli_plan_open(w->dataset, &settings, &w->plan));
    T_OK(sample_loader_init(&w->loader, w->plan));
    for (uint32_t i = 0; i < PLAN_PROFILED; i++) {
        w->loader.report.counters[i] = &w->counters[i];
    }
    return w;
}

static void close_worker(worker *w)
{
    sample_loader_fini(&w->loader);
    sli_plan_close(w->plan);
    sluice_dataset_destroy(w->dataset);
    free(w);
}

static void load(worker *w, uint64_t sample)
{
    uint8_t flags = 0;
    int32_t label = 0;
    sample_row row = {.flags = &flags};

    row.columns[w->plan->image_column] = w->image;
    row.columns[w->plan->label_column] = &label;
    T_OK(sample_load(&w->loader, sample, 0, &row));
}

/* Loads a sample; true if its operations were measured. */
static bool operations_measured(worker *w, uint64_t sample)
{
    uint64_t runs = 0;

    for (uint32_t i = 0; i < PLAN_OPERATIONS; i++) {
        runs -= runs_of(&w->loader.clock, i);
    }
    load(w, sample);
    for (uint32_t i = 0; i < PLAN_OPERATIONS; i++) {
        runs += runs_of(&w->loader.clock, i);
    }
    return runs > 0;
}

/* At the gaps of a run, which are drawn: sample by sample, not by their number. */
static void operations_and_stages_are_measured_of_the_same_samples(void)
{
    worker *w = open_worker();
    uint64_t together = 0;

    for (uint64_t i = 0; i < 3000; i++) {
        const uint64_t before = atomic_load(&w->counters[PLAN_PIXELS].measured);
        const bool by_operation = operations_measured(w, i % 64);
        const bool by_stage = atomic_load(&w->counters[PLAN_PIXELS].measured) > before;

        T_EQ(by_operation, by_stage);
        together += by_operation && by_stage;
    }
    T_TRUE(together >= 16 && together < 1000);
    T_TRUE(w->loader.clock.stages == &w->loader.report.clock);
    close_worker(w);
}

const t_test operation_clock_tests[] = {
    T_TEST(each_tick_counts_for_one_operation),
    T_TEST(the_stage_clock_takes_no_time_of_an_operation),
    T_TEST(a_failed_sample_does_not_count),
    T_TEST(preemption_is_taken_out_of_the_longest_intervals),
    T_TEST(the_longest_intervals_are_kept),
    T_TEST(operations_and_stages_are_measured_of_the_same_samples),
    T_END,
};
