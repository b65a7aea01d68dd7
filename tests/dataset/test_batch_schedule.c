/* SPDX-License-Identifier: Apache-2.0 */
/* The walk through passes, and going on in a pass that others began. */
#include <stdio.h>
#include <string.h>

#include "dataset_kit.h"
#include "plan.h"
#include "testing.h"

static sli_plan *plan_of(sluice_dataset *dataset, uint32_t rank, uint32_t world)
{
    const sli_run_settings settings = {.seed = 3, .rank = rank, .world = world};
    sli_plan *plan = NULL;

    T_OK(sli_plan_open(dataset, &settings, &plan));
    return plan;
}

static sluice_dataset *dataset_of(uint64_t samples, uint32_t batch, const char *more)
{
    char text[200];

    snprintf(text, sizeof(text), "synthetic %llu 4,4,3 | %s | batch %u",
             (unsigned long long)samples, more, batch);
    return parsed(text);
}

/* The samples of batch k of a run, UINT64_MAX where there is none. */
static void samples_of(const sli_plan *plan, uint64_t k, uint64_t *samples_out, uint64_t *pass_out)
{
    batch_span position;

    plan_locate(plan, k, &position);
    *pass_out = position.pass;
    for (uint32_t i = 0; i < plan->batch_size; i++) {
        uint64_t pass;

        samples_out[i] = UINT64_MAX;
        if (position.first + i < position.order->length) {
            order_at(position.order, position.pass, position.first + i, &samples_out[i], &pass);
        }
    }
}

static void passes_touched_are_those_that_batches_fall_into(void)
{
    for (uint64_t per_pass = 1; per_pass <= 7; per_pass++) {
        sluice_dataset *dataset = dataset_of(per_pass * 2, 2, "shuffle");
        sli_plan *plan = plan_of(dataset, 0, 1);

        for (uint64_t start = 0; start < 20; start++) {
            const sli_position position = {start / per_pass, start % per_pass * 2};

            T_OK(sli_plan_begin(plan, &position, 1));
            T_EQ(sli_plan_passes(plan, 0), 0);
            for (uint64_t batches = 1; batches < 30; batches++) {
                T_EQ(sli_plan_passes(plan, batches),
                     (start + batches - 1) / per_pass - start / per_pass + 1);
            }
        }
        sli_plan_close(plan);
        sluice_dataset_destroy(dataset);
    }
}

/* Beginning anywhere is as going on from there. */
static void a_run_that_begins_later_has_the_same_batches(void)
{
    sluice_dataset *dataset = dataset_of(23, 5, "shuffle");
    sli_plan *whole = plan_of(dataset, 1, 2);
    sli_plan *late = plan_of(dataset, 1, 2);

    for (uint64_t start = 0; start < 12; start++) {
        const sli_position position = sli_plan_position(whole, start);

        T_OK(sli_plan_begin(late, &position, 1));
        for (uint64_t k = 0; k < 12; k++) {
            uint64_t want[5], got[5], want_pass, got_pass;

            samples_of(whole, start + k, want, &want_pass);
            samples_of(late, k, got, &got_pass);
            T_EQ(memcmp(want, got, sizeof(want)), 0);
            T_EQ(got_pass, want_pass);
            T_EQ(sli_plan_position(late, k).pass, sli_plan_position(whole, start + k).pass);
            T_EQ(sli_plan_position(late, k).done, sli_plan_position(whole, start + k).done);
        }
    }
    sli_plan_close(whole);
    sli_plan_close(late);
    sluice_dataset_destroy(dataset);
}

/* Counts what all ranks of a world see in `batches` batches from `position` on; where that ends. */
static sli_position count_seen(sluice_dataset *dataset, uint32_t world, sli_position position,
                               uint64_t batches, uint8_t *seen)
{
    sli_position end = position;

    for (uint32_t rank = 0; rank < world; rank++) {
        sli_plan *plan = plan_of(dataset, rank, world);
        uint64_t samples[16], pass;

        T_OK(sli_plan_begin(plan, &position, 1));
        for (uint64_t k = 0; k < batches; k++) {
            samples_of(plan, k, samples, &pass);
            for (uint32_t i = 0; i < plan->batch_size; i++) {
                if (samples[i] != UINT64_MAX) {
                    seen[samples[i]]++;
                }
            }
        }
        end = sli_plan_position(plan, batches);
        sli_plan_close(plan);
    }
    return end;
}

/* 2 ranks, then 3, then 1, each with batches of another size: every sample once in the pass. */
static void a_pass_that_is_regrouped_sees_every_sample_once(void)
{
    static const char *const stages[] = {"shuffle", "shuffle | take 61", "skip 3 | shuffle",
                                         "repeat 2 | shuffle"};

    for (size_t s = 0; s < sizeof(stages) / sizeof(stages[0]); s++) {
        for (uint64_t first = 0; first < 3; first++) {
            sluice_dataset *eight = dataset_of(67, 8, stages[s]);
            sluice_dataset *five = dataset_of(67, 5, stages[s]);
            sluice_dataset *three = dataset_of(67, 3, stages[s]);
            sli_plan *plan = plan_of(three, 0, 1);
            const uint64_t all = plan->details->orders.rank.length;
            uint8_t seen[67] = {0};
            sli_position position = {4, 0};
            uint64_t sum = 0;

            position = count_seen(eight, 2, position, first, seen);
            position = count_seen(five, 3, position, 1, seen);
            T_EQ(position.pass, 4);
            T_OK(sli_plan_begin(plan, &position, 1));
            position = count_seen(three, 1, position, plan->begin_batches, seen);
            T_EQ(position.pass, 5);
            T_EQ(position.done, 0);
            for (size_t i = 0; i < 67; i++) {
                sum += seen[i];
                T_TRUE(seen[i] <= (s == 3 ? 2 : 1));
            }
            T_EQ(sum, all);
            sli_plan_close(plan);
            sluice_dataset_destroy(eight);
            sluice_dataset_destroy(five);
            sluice_dataset_destroy(three);
        }
    }
}

/* Where a stage deals samples itself, the same ranks go on with batches of another size. */
static void a_dealt_pass_goes_on_in_other_batches(void)
{
    sluice_dataset *four = dataset_of(60, 4, "shard | shuffle");
    sluice_dataset *five = dataset_of(60, 5, "shard | shuffle");
    uint8_t seen[60] = {0};
    sli_position position = {0, 0};
    sli_plan *plan;

    position = count_seen(four, 2, position, 3, seen);
    plan = plan_of(five, 0, 2);
    T_TRUE(sli_plan_has_own_sharding(plan));
    T_OK(sli_plan_begin(plan, &position, 1));
    T_EQ(plan->begin_batches, 4);
    position = count_seen(five, 2, position, plan->begin_batches, seen);
    for (size_t i = 0; i < 60; i++) {
        T_EQ(seen[i], 1);
    }
    sli_plan_close(plan);
    sluice_dataset_destroy(four);
    sluice_dataset_destroy(five);
}

static void what_is_too_little_for_a_batch_is_left_for_the_next_pass(void)
{
    sluice_dataset *dataset = parsed("synthetic 20 4,4,3 | batch 6 drop_remainder=true");
    sli_plan *plan = plan_of(dataset, 0, 1);

    T_OK(sli_plan_begin(plan, &(sli_position){7, 15}, 1));
    T_EQ(plan->begin.pass, 8);
    T_EQ(plan->begin.done, 0);
    T_EQ(plan->begin_batches, 3);
    T_OK(sli_plan_begin(plan, &(sli_position){7, UINT64_MAX}, 1)); /* from a state that lies */
    T_EQ(plan->begin.pass, 8);
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
}

static void a_pass_holds_whole_steps(void)
{
    sluice_dataset *dataset = dataset_of(23, 2, "shuffle");
    sli_plan *plan = plan_of(dataset, 0, 1);

    T_EQ(plan->batches_per_pass, 12);
    T_OK(sli_plan_begin(plan, &(sli_position){0, 0}, 5));
    T_EQ(plan->batches_per_pass, 10);
    T_EQ(plan->begin_batches, 10);
    T_OK(sli_plan_begin(plan, &(sli_position){0, 10}, 5)); /* 13 samples are left */
    T_EQ(plan->begin_batches, 5);
    T_EQ(sli_plan_position(plan, 5).pass, 1);
    T_EQ(sli_plan_position(plan, 15).pass, 2);
    T_STATUS(sli_plan_begin(plan, &(sli_position){0, 0}, 11), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "a pass has 10 batches, a step takes 11");
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
}

static void padding_is_known(void)
{
    sluice_dataset *dataset = dataset_of(24, 4, "shuffle");
    sli_plan *plan = plan_of(dataset, 0, 2);
    bool rest = true;

    T_TRUE(!sli_plan_pads(plan, &rest));
    T_TRUE(!rest);
    T_OK(sli_plan_begin(plan, &(sli_position){0, 6}, 1));
    T_TRUE(sli_plan_pads(plan, &rest));
    T_TRUE(rest);
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
    dataset = dataset_of(25, 4, "shuffle");
    plan = plan_of(dataset, 1, 2);
    T_TRUE(sli_plan_pads(plan, &rest));
    T_TRUE(!rest);
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
}

const t_test batch_schedule_tests[] = {
    T_TEST(passes_touched_are_those_that_batches_fall_into),
    T_TEST(a_run_that_begins_later_has_the_same_batches),
    T_TEST(a_pass_that_is_regrouped_sees_every_sample_once),
    T_TEST(a_dealt_pass_goes_on_in_other_batches),
    T_TEST(what_is_too_little_for_a_batch_is_left_for_the_next_pass),
    T_TEST(a_pass_holds_whole_steps),
    T_TEST(padding_is_known),
    T_END,
};
