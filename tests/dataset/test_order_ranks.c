/* SPDX-License-Identifier: Apache-2.0 */
/* Who of several ranks has which samples of a pass. */
#include <stdlib.h>

#include "order_kit.h"
#include "plan.h"
#include "testing.h"

static void a_shard_is_added_at_the_end_for_several_ranks(void)
{
    const order_settings settings = {7, 2, 3, false, 0, NULL};

    random_state = 2;
    for (int i = 0; i < 200; i++) {
        char with[420];
        char without[400];
        sluice_dataset *datasets[2];
        sample_order orders[2];

        random_pipeline(without, sizeof(without), false);
        snprintf(with, sizeof(with), "%s | shard", without);
        datasets[0] = opened(with);
        datasets[1] = opened(without);
        orders[0] = order_of(datasets[0], &settings);
        orders[1] = order_of(datasets[1], &settings);
        T_EQ(orders[1].length, orders[0].length);
        T_EQ(orders[1].longest, orders[0].longest);
        T_EQ(orders[1].shortest, orders[0].shortest);
        for (uint64_t k = 0; k < orders[0].length; k++) {
            T_EQ(sample_at(&orders[1], 3, k), sample_at(&orders[0], 3, k));
        }
        sluice_dataset_destroy(datasets[0]);
        sluice_dataset_destroy(datasets[1]);
    }
}

static void shard_none_gives_every_rank_everything(void)
{
    const order_settings settings = {7, 2, 3, false, 0, NULL};
    sluice_dataset *dataset = opened("synthetic 10 1,1,1 | shard none");
    const sample_order order = order_of(dataset, &settings);

    T_EQ(order.length, 10);
    T_EQ(order.shortest, 10);
    for (uint64_t i = 0; i < 10; i++) {
        T_EQ(sample_at(&order, 0, i), i);
    }
    sluice_dataset_destroy(dataset);
}

/* The plan of one rank. */
static sli_plan *plan_of(sluice_dataset *dataset, uint32_t rank, uint32_t world)
{
    const sli_run_settings settings = {.seed = 11, .rank = rank, .world = world};
    sli_plan *plan = NULL;

    T_OK(sli_plan_open(dataset, &settings, &plan));
    return plan;
}

/* Rank r, row i of global batch g is position g * W * B + i * W + r of the pass. */
static void check_world(sluice_dataset *dataset, uint32_t world, uint32_t batch, uint64_t pass)
{
    sli_plan *whole = plan_of(dataset, 0, 1);
    const uint64_t total = whole->samples_per_pass;
    uint32_t *seen = calloc(total, sizeof(*seen));
    uint64_t batches = 0;

    T_TRUE(seen != NULL);
    for (uint32_t rank = 0; rank < world; rank++) {
        sli_plan *plan = plan_of(dataset, rank, world);
        const sample_order *order = &plan->details->orders.rank;

        batches = rank == 0 ? plan->batches_per_pass : batches;
        T_EQ(plan->batches_per_pass, batches);
        T_EQ(plan->samples_per_pass, total);
        for (uint64_t g = 0; g < batches; g++) {
            for (uint64_t i = 0; i < batch; i++) {
                uint64_t position = g * world * batch + i * world + rank;

                if (g * batch + i >= order->length) {
                    T_TRUE(position >= total && !plan->drop_remainder);
                    continue;
                }
                T_TRUE(position < total);
                T_EQ(sample_at(order, pass, g * batch + i),
                     sample_at(&whole->details->orders.rank, pass, position));
                seen[position]++;
            }
        }
        sli_plan_close(plan);
    }
    for (uint64_t i = 0; i < total; i++) {
        T_EQ(seen[i], !whole->drop_remainder || i < batches * batch * world);
    }
    free(seen);
    sli_plan_close(whole);
}

static void ranks_share_every_pass_by_the_rule(void)
{
    random_state = 3;
    for (int i = 0; i < 150; i++) {
        const uint32_t batch = 1 + below(9);
        const uint32_t world = 1 + (uint32_t)i % 7;
        char text[400];
        sluice_dataset *dataset;

        do {
            random_pipeline(text, sizeof(text), false);
            snprintf(text + strlen(text), sizeof(text) - strlen(text),
                     " | batch %u drop_remainder=%s", batch, i % 3 == 0 ? "true" : "false");
            dataset = opened(text);
            /* Enough for a batch of every rank. */
            if (order_of(dataset, &(order_settings){.world = 1}).length >= batch * world) {
                break;
            }
            sluice_dataset_destroy(dataset);
        } while (true);
        check_world(dataset, world, batch, below(3));
        sluice_dataset_destroy(dataset);
    }
}

/* More ranks than samples: some have none, and all run the same batches all the same. */
static void ranks_without_samples_run_empty_batches(void)
{
    sluice_dataset *dataset = opened("synthetic 3 1,1,1 | batch 4");
    const sli_run_settings settings = {.rank = 6, .world = 7};
    sluice_dataset *dropping = opened("synthetic 3 1,1,1 | batch 4 drop_remainder=true");
    sli_plan *plan = NULL;

    check_world(dataset, 7, 4, 0);
    plan = plan_of(dataset, 6, 7);
    T_EQ(plan->batches_per_pass, 1);
    T_EQ(plan->details->orders.rank.length, 0);
    sli_plan_close(plan);
    plan = NULL;
    T_STATUS(sli_plan_open(dropping, &settings, &plan), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "no valid data in the dataset");
    T_CONTAINS(sluice_last_error(), "drop_remainder=false keeps what is left");
    CU_ASSERT_PTR_NULL(plan);
    sluice_dataset_destroy(dataset);
    sluice_dataset_destroy(dropping);
}

/* A shard before other stages: still every sample once over all ranks, and the samples of all ranks
 * together, which replacements are drawn from, are those. */
static void an_early_shard_leaves_every_sample_to_one_rank(void)
{
    static const struct {
        const char *text;
        uint64_t samples;
        uint32_t times; /* that each of them is seen */
    } cases[] = {
        {"synthetic 50 1,1,1 | shard | batch 3", 50, 1},
        {"synthetic 50 1,1,1 | shard | shuffle | batch 3", 50, 1},
        {"synthetic 50 1,1,1 | shuffle | shard | take 5 | batch 3", 20, 1},
        {"synthetic 50 1,1,1 | shard | take 100 | batch 3", 50, 1},
        {"synthetic 50 1,1,1 | shard | skip 5 | batch 3", 30, 1},
        {"synthetic 50 1,1,1 | take 48 | shard | skip 2 | take 3 | shuffle | batch 3", 12, 1},
        {"synthetic 50 1,1,1 | take 48 | shard | shuffle | repeat 2 | batch 3", 96, 2},
    };

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        sluice_dataset *dataset = opened(cases[c].text);
        uint32_t seen[50] = {0};
        uint32_t all[50] = {0};
        uint64_t sum = 0;

        for (uint32_t rank = 0; rank < 4; rank++) {
            sli_plan *plan = plan_of(dataset, rank, 4);
            const sample_order *order = &plan->details->orders.rank;

            T_EQ(plan->samples_per_pass, cases[c].samples);
            for (uint64_t i = 0; i < order->length; i++) {
                seen[sample_at(order, 2, i)]++;
            }
            for (uint64_t i = 0; i < plan->details->orders.all_ranks.length && rank == 0; i++) {
                all[sample_at(&plan->details->orders.all_ranks, 2, i)]++;
            }
            sli_plan_close(plan);
        }
        for (int i = 0; i < 50; i++) {
            T_EQ(all[i], seen[i]);
            T_TRUE(seen[i] == 0 || seen[i] == cases[c].times);
            sum += seen[i];
        }
        T_EQ(sum, cases[c].samples);
        sluice_dataset_destroy(dataset);
    }
}

static void ranks_beyond_the_world_are_refused(void)
{
    sluice_dataset *plain = opened("synthetic 10 1,1,1");
    sluice_dataset *fixed = opened("synthetic 10 1,1,1 | shard run 3");
    sample_order order;

    T_STATUS(order_make(plain, &(order_settings){0, 0, 0, false, 0, NULL}, &order),
             SLUICE_E_INVALID);
    T_STATUS(order_make(plain, &(order_settings){0, 3, 3, false, 0, NULL}, &order),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "rank is 3, and must be less than world, 3");
    T_STATUS(order_make(fixed, &(order_settings){0, 3, 5, false, 0, NULL}, &order),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "shard: rank=3 must be less than world=3");
    T_OK(order_make(fixed, &(order_settings){0, 2, 5, false, 0, NULL}, &order));
    T_EQ(order.length, 3);
    sluice_dataset_destroy(plain);
    sluice_dataset_destroy(fixed);
}

const t_test order_ranks_tests[] = {
    T_TEST(a_shard_is_added_at_the_end_for_several_ranks),
    T_TEST(shard_none_gives_every_rank_everything),
    T_TEST(ranks_share_every_pass_by_the_rule),
    T_TEST(ranks_without_samples_run_empty_batches),
    T_TEST(an_early_shard_leaves_every_sample_to_one_rank),
    T_TEST(ranks_beyond_the_world_are_refused),
    T_END,
};
