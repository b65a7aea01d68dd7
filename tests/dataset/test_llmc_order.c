/* SPDX-License-Identifier: Apache-2.0 */
/* The order of llm.c's data loader. */
#include <stdlib.h>
#include <string.h>

#include <sluice/llmc.h>

#include "alloc_int.h"
#include "dataset_kit.h"
#include "engine_kit.h"
#include "llmc_order.h"
#include "llmc_orders.h"
#include "plan_kit.h"
#include "source_kit.h"
#include "testing.h"
#include "tokens_kit.h"
#include "train_state.h"

static void write_files(const char *folder)
{
    for (uint32_t i = 0; i < LLMC_FILES; i++) {
        char name[20];

        snprintf(name, sizeof(name), "t_%u.bin", i);
        tokens_write(folder, name, 2, 1, 0, llmc_tokens[i]);
    }
}

static sluice_dataset *dataset_of(const char *folder, bool shuffled, uint32_t batch)
{
    char text[600];

    snprintf(text, sizeof(text), "tokens %s/t_*.bin %d order=%s | batch %u", folder, LLMC_SEQ,
             shuffled ? "llmc" : "llmc_sequential", batch);
    return parsed(text);
}

enum { ORDERS = (int)(sizeof(llmc_orders) / sizeof(llmc_orders[0])) };

static uint64_t sample_of(const sli_plan *plan, uint64_t batch, uint64_t row)
{
    batch_span span;
    uint64_t sample;
    uint64_t pass;

    plan_locate(plan, batch, &span);
    T_TRUE(span.first + row < span.length);
    order_at(span.order, span.pass, span.first + row, &sample, &pass);
    return sample;
}

static void orders_are_those_of_the_original(void)
{
    const char *folder = t_folder();

    write_files(folder);
    for (int i = 0; i < ORDERS; i++) {
        const llmc_expected *want = &llmc_orders[i];
        const sli_run_settings settings = {
            .seed = (uint64_t)i, .rank = want->rank, .world = want->world};
        sluice_dataset *dataset = dataset_of(folder, want->shuffled, want->batch);
        sli_plan *plan = open_plan(dataset, &settings);
        uint64_t hash = llmc_hash_begin;

        for (uint64_t batch = 0; batch < LLMC_BATCHES; batch++) {
            const uint64_t first = sample_of(plan, batch, 0);

            hash = llmc_hash(hash, first);
            T_EQ(sample_of(plan, batch, want->batch - 1), first + want->batch - 1);
        }
        T_EQ(hash, want->hash);
        close_plan(plan, dataset);
    }
}

/* The numbers 1 and 10000 of the generator with seed 5489 are in many tables. */
static void the_generator_is_mt19937(void)
{
    sli_mt19937 generator;

    sli_mt19937_seed(&generator, 5489);
    T_EQ(sli_mt19937_draw(&generator), 3499211612u);
    for (int i = 2; i < 10000; i++) {
        sli_mt19937_draw(&generator);
    }
    T_EQ(sli_mt19937_draw(&generator), 4123659995u);
}

static void a_run_can_begin_at_any_batch(void)
{
    static const uint64_t begins[] = {1, 57, 113, 114, 451, 452, 453, 2000};
    const sli_run_settings settings = {.rank = 1, .world = 2};
    const char *folder = t_folder();
    sluice_dataset *dataset;
    sli_plan *whole;

    write_files(folder);
    dataset = dataset_of(folder, true, 2);
    whole = open_plan(dataset, &settings);
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        const sli_position position = sli_plan_position(whole, begins[i]);
        sli_plan *rest = open_plan(dataset, &settings);

        T_OK(sli_plan_begin(rest, &position, 1));
        for (uint64_t batch = 0; batch < 1000; batch++) {
            T_EQ(sample_of(rest, batch, 1), sample_of(whole, begins[i] + batch, 1));
        }
        sli_plan_close(rest);
    }
    close_plan(whole, dataset);
}

static void every_worker_count_makes_the_same(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    tape one;
    tape four;

    write_files(folder);
    dataset = dataset_of(folder, true, 1);
    one = record(dataset, &(run_options){.workers = 1, .batches = 4000});
    four = record(dataset, &(run_options){.workers = 4, .slots = 64, .batches = 4000});
    T_TRUE(one.size == four.size && memcmp(one.bytes, four.bytes, one.size) == 0);
    free(one.bytes);
    free(four.bytes);
    sluice_dataset_destroy(dataset);
}

/* Together the ranks take every window of all pieces once in a pass, and so do the draws of policy
 * replace. */
static void ranks_share_a_pass(void)
{
    enum { WORLD = 3, BATCH = 4, MOST = 2000 };
    const char *folder = t_folder();
    uint8_t seen[MOST] = {0};
    uint64_t length = 0;

    write_files(folder);
    for (uint32_t rank = 0; rank < WORLD; rank++) {
        const sli_run_settings settings = {.rank = rank, .world = WORLD};
        sluice_dataset *dataset = dataset_of(folder, true, BATCH);
        sli_plan *plan = open_plan(dataset, &settings);

        length = plan->details->orders.all_ranks.length;
        T_EQ(plan->details->orders.rank.length * WORLD, length);
        T_EQ(sli_plan_passes(plan, plan->batches_per_pass), 1);
        for (uint64_t i = 0; i < plan->details->orders.rank.length; i++) {
            const uint64_t sample = sample_of(plan, i / BATCH, i % BATCH);

            T_TRUE(sample < MOST);
            seen[sample % MOST]++;
        }
        for (uint64_t i = 0; i < length && rank == 0; i++) {
            uint64_t sample;
            uint64_t pass;

            order_at(&plan->details->orders.all_ranks, 0, i, &sample, &pass);
            T_TRUE(sample < MOST);
            seen[sample % MOST] = (uint8_t)(seen[sample % MOST] + 16);
        }
        close_plan(plan, dataset);
    }
    for (uint64_t i = 0; i < MOST; i++) {
        T_TRUE(seen[i] == 0 || seen[i] == 17);
        length -= seen[i] == 17;
    }
    T_EQ(length, 0);
}

/* ---- the order alone ------------------------------------------------------------------------- */

enum { SHARDS = 70, LARGE = 100000 };

/* Many shards of 1 to 3 pieces and two large ones, more than what is kept. */
static source_order *many_shards(const sli_llmc_begin *begin, llmc_shard shards[SHARDS])
{
    llmc_request request = {shards, SHARDS, 2, 1, 2, true, begin};
    source_order *order = NULL;
    uint64_t first = 0;

    for (uint32_t i = 0; i < SHARDS; i++) {
        shards[i] = (llmc_shard){first, i == 3 || i == 50 ? LARGE : 1 + i % 3};
        first += 4 * (uint64_t)shards[i].pieces + i % 5;
    }
    T_OK(llmc_order_make(&request, &order));
    return order;
}

/* What was forgotten is made again, the same. */
static void positions_may_be_asked_for_in_any_order(void)
{
    enum { ASKED = 300, PASSES = 9 };
    llmc_shard shards[SHARDS];
    uint64_t places[ASKED][2];
    uint64_t samples[ASKED];
    source_order *order = many_shards(NULL, shards);
    sli_draws draws = {1, 2, 3};

    for (uint32_t i = 0; i < ASKED; i++) {
        uint32_t bits[4];

        sli_draw(&draws, i, bits);
        places[i][0] = i * PASSES / ASKED;
        places[i][1] = bits[1] % order->length;
        samples[i] = order->at(order, places[i][0], places[i][1]);
    }
    for (uint32_t i = ASKED; i-- > 0; i -= i > 20 ? 20 : 0) {
        T_EQ(order->at(order, places[i][0], places[i][1]), samples[i]);
    }
    order->close(order);
    order = many_shards(NULL, shards);
    T_EQ(order->at(order, places[ASKED - 1][0], places[ASKED - 1][1]), samples[ASKED - 1]);
    T_TRUE(order->memory < 10 * 4 * LARGE + 8 * 1000000);
    order->close(order);
}

/* An order that begins at a state goes on as the one that had it. */
static void an_order_can_begin_at_a_state(void)
{
    static uint32_t pieces[LARGE];
    llmc_shard shards[SHARDS];
    uint32_t list[SHARDS];
    sli_llmc_begin begin = {.shards = list, .pieces = pieces};
    source_order *whole = many_shards(NULL, shards);
    source_order *rest;
    uint64_t before = 0;

    for (uint32_t i = 0; i < SHARDS; i++) {
        list[i] = i;
    }
    sli_mt19937_seed(&begin.generator, 43);
    sli_mt19937_permute(&begin.generator, list, SHARDS);
    for (begin.slot = 0;; begin.slot++) {
        const uint32_t count = shards[list[begin.slot]].pieces;

        for (uint32_t i = 0; i < count; i++) {
            pieces[i] = i;
        }
        sli_mt19937_permute(&begin.generator, pieces, count);
        if (begin.slot == 40) {
            break;
        }
        before += 2 * (uint64_t)count;
    }
    rest = many_shards(&begin, shards);
    for (uint64_t i = before; i < 3 * whole->length; i += 1 + i % 97) {
        const uint64_t pass = i / whole->length;

        T_EQ(rest->at(rest, pass, i % whole->length), whole->at(whole, pass, i % whole->length));
    }
    T_EQ(rest->at(rest, 0, before), whole->at(whole, 0, before)); /* again */
    rest->close(rest);
    whole->close(whole);
}

/* ---- what it is bound to --------------------------------------------------------------------- */

static void stages_of_order_may_not_follow(void)
{
    static const char *const stages[] = {"shuffle", "shard 0 2", "take 4",
                                         "skip 1",  "repeat 2",  "split val 0.5"};

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        char text[100];

        snprintf(text, sizeof(text), "tokens x 8 order=llmc | %s | batch 2", stages[i]);
        check_refused(text, "cannot follow tokens order=llmc");
    }
    check_refused("tokens x 8 stride=4 order=llmc | batch 2", "leave stride out");
    check_refused("tokens x 8 order=random | batch 2", "must be one of none llmc llmc_sequential");
}

static void a_file_without_a_batch_is_refused(void)
{
    const sli_run_settings settings = {.world = 4};
    const char *folder = t_folder();
    sluice_dataset *dataset;
    sli_plan *plan = NULL;

    write_files(folder);
    dataset = dataset_of(folder, false, 16);
    T_OK(sli_plan_open(dataset, &settings, &plan)); /* 1025 is the least */
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
    dataset = dataset_of(folder, true, 17);
    T_STATUS(sli_plan_open(dataset, &settings, &plan), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "t_1.bin: it has 1026 tokens");
    T_CONTAINS(sluice_last_error(), "takes 1088 and one more");
    sluice_dataset_destroy(dataset);
}

static void steps_take_whole_passes_only(void)
{
    const sli_position begin = {0, 0};
    const sli_position within = {1, 6};
    const char *folder = t_folder();
    sluice_dataset *dataset;
    sli_plan *plan;

    write_files(folder);
    dataset = dataset_of(folder, true, 4);
    plan = open_plan(dataset, &(sli_run_settings){.world = 1});
    T_EQ(plan->batches_per_pass, 78 + 16 + 312 + 46);
    T_STATUS(sli_plan_begin(plan, &begin, 3), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "452 batches, and must have a multiple of the 3");
    T_STATUS(sli_plan_begin(plan, &within, 1), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "must be whole batches of 4");
    T_OK(sli_plan_begin(plan, &begin, 2));
    close_plan(plan, dataset);
}

/* Makes the state of a run and lets one of other arguments go on from it. */
static sluice_status compare_runs(const char *folder, const char *other, uint32_t batch,
                                  uint32_t world)
{
    const sli_run_settings settings = {.world = 2};
    const sli_run_settings others = {.world = world};
    sluice_dataset *dataset = dataset_of(folder, true, 4);
    sluice_dataset *again;
    train_state kept = {.step = 0};
    train_state mine = {.step = 0};
    sli_plan *plan = open_plan(dataset, &settings);
    sluice_status st;

    again = parsedf("tokens %s/t_?.bin %s | batch %u", folder, other, batch);
    T_OK(train_state_make(plan, &kept));
    close_plan(plan, dataset);
    plan = open_plan(again, &others);
    T_OK(train_state_make(plan, &mine));
    close_plan(plan, again);
    st = train_state_compare(&kept, &mine);
    train_state_free(&kept);
    train_state_free(&mine);
    return st;
}

static void a_run_is_resumed_with_the_same_values(void)
{
    static const struct {
        const char *arguments;
        uint32_t batch;
        uint32_t world;
        const char *words;
    } refused[] = {
        {"16 order=llmc", 2, 2, "bound to the batch size, which was 4 and is 2 now"},
        {"16 order=llmc", 4, 1, "bound to the number of ranks, which was 2 and is 1 now"},
        {"8 order=llmc", 4, 2, "seq was 16 and is 8 now"},
        {"16 order=llmc_sequential", 4, 2, "order was llmc and is llmc_sequential now"},
        {"16", 4, 2, "order was llmc and is none now"},
    };
    const char *folder = t_folder();

    write_files(folder);
    T_OK(compare_runs(folder, "16 order=llmc", 4, 2));
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        T_STATUS(compare_runs(folder, refused[i].arguments, refused[i].batch, refused[i].world),
                 SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), refused[i].words);
    }
}

/* ---- memory that runs out -------------------------------------------------------------------- */

static sluice_status open_and_plan(const char *folder)
{
    const sli_run_settings settings = {.world = 2};
    sluice_dataset *dataset = NULL;
    sli_plan *plan = NULL;
    char text[600];
    sluice_status st;

    snprintf(text, sizeof(text), "tokens %s/t_*.bin 16 order=llmc | batch 2", folder);
    st = sluice_dataset_parse(text, &dataset);
    if (st == SLUICE_OK) {
        st = sli_plan_open(dataset, &settings, &plan);
        sli_plan_close(plan);
    }
    sluice_dataset_destroy(dataset);
    return st;
}

/* Reads two batches, of which the second was read ahead, and one that was not. */
static sluice_status open_and_read(const char *folder)
{
    static const size_t pieces[] = {0, 1, 7};
    char path[600];
    const char *paths[] = {path};
    sluice_llmc *llmc = NULL;
    sluice_status st;

    snprintf(path, sizeof(path), "%s/t_0.bin", folder);
    st = sluice_llmc_open(paths, 1, 2, LLMC_SEQ, 0, 1, &llmc);
    for (int i = 0; i < 3 && st == SLUICE_OK; i++) {
        sluice_llmc_position position;
        int *inputs = NULL;
        int *targets = NULL;

        sluice_llmc_position_init(&position);
        position.piece = pieces[i];
        position.index = i < 2 ? pieces[i] : 0; /* no state that the original can have */
        st = sluice_llmc_read(llmc, &position, &inputs, &targets);
        T_TRUE(st != SLUICE_OK ||
               (inputs[0] == (int)pieces[i] * 2 * LLMC_SEQ && targets[0] == inputs[0] + 1));
    }
    sluice_llmc_close(llmc);
    return st;
}

static void every_allocation_may_fail(void)
{
    static sluice_status (*const calls[])(const char *folder) = {open_and_plan, open_and_read};
    const char *folder = t_folder();

    write_files(folder);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        const int files = open_files();
        sluice_status st = SLUICE_E_NO_MEMORY;

        for (int64_t passes = 0; st != SLUICE_OK && passes < 10000; passes++) {
            sli_alloc_fail_after(passes);
            st = calls[i](folder);
            sli_alloc_fail_after(-1);
            T_TRUE(st == SLUICE_OK || st == SLUICE_E_NO_MEMORY);
            T_EQ(open_files(), files);
        }
        T_OK(st);
    }
}

const t_test llmc_order_tests[] = {
    T_TEST(orders_are_those_of_the_original),
    T_TEST(the_generator_is_mt19937),
    T_TEST(a_run_can_begin_at_any_batch),
    T_TEST(every_worker_count_makes_the_same),
    T_TEST(ranks_share_a_pass),
    T_TEST(positions_may_be_asked_for_in_any_order),
    T_TEST(an_order_can_begin_at_a_state),
    T_TEST(stages_of_order_may_not_follow),
    T_TEST(a_file_without_a_batch_is_refused),
    T_TEST(steps_take_whole_passes_only),
    T_TEST(a_run_is_resumed_with_the_same_values),
    T_TEST(every_allocation_may_fail),
    T_END,
};
