/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "dataset_state.h"
#include "index_stages.h"
#include "order.h"
#include "plan.h"
#include "testing.h"

/* ---- helpers ------------------------------------------------------------------------------- */

static uint32_t random_state;

static uint32_t below(uint32_t range)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return (uint32_t)((uint64_t)random_state * range >> 32);
}

static sluice_dataset *opened(const char *text)
{
    sluice_dataset *dataset = NULL;
    sluice_status st = sluice_dataset_parse(text, &dataset);

    if (st == SLUICE_OK) {
        st = dataset_open(dataset);
    }
    if (st != SLUICE_OK) {
        T_FAIL_("%s: %.900s", text, sluice_last_error());
    }
    return dataset;
}

static sample_order order_of(const sluice_dataset *dataset, const order_settings *settings)
{
    sample_order order;

    T_OK(order_make(dataset, settings, &order));
    return order;
}

static uint64_t sample_at(const sample_order *order, uint64_t pass, uint64_t position)
{
    uint64_t sample;
    uint64_t sample_pass;

    order_at(order, pass, position, &sample, &sample_pass);
    return sample;
}

/* ---- a plain implementation of the index stages -------------------------------------------- */

/* What stands at each position of a pass. */
typedef struct place {
    uint64_t sample;
    uint64_t pass;
} place;

typedef struct places {
    place *at;
    size_t count;
} places;

static void add_place(places *to, place what)
{
    place *grown = realloc(to->at, (to->count + 1) * sizeof(*grown));

    T_TRUE(grown != NULL);
    to->at = grown;
    grown[to->count++] = what;
}

/* Does the split at stage i keep this position of what comes before it? */
static bool split_keeps(const sluice_dataset *dataset, uint32_t i, uint64_t position)
{
    const split_members *split = &dataset->splits[i];

    for (uint64_t k = 0; k < split->count; k++) {
        if (split->members[k] == position) {
            return true;
        }
    }
    return false;
}

/* Where the place of a shuffle of n comes from. */
static uint64_t shuffled(uint64_t n, uint64_t seed, uint32_t occurrence, uint64_t pass,
                         uint64_t position)
{
    const index_permutation p = permutation_of(n);
    uint64_t key = sli_mix_in(sli_mix_in(sli_hash_text("shuffle"), seed), occurrence);

    return permutation_at(&p, sli_mix_in(key, pass), position);
}

/* The places of a pass after stage `last`, written out. */
static places model(const sluice_dataset *dataset, uint32_t last, uint64_t pass,
                    const order_settings *settings)
{
    const dataset_stage *stage = &dataset->stages[last];
    const void *args = stage->args.bytes;
    places out = {NULL, 0};
    places in;

    if (last == 0) {
        for (uint64_t i = 0; i < dataset->source_count; i++) {
            add_place(&out, (place){i, pass});
        }
        return out;
    }
    if (stage->def->index == INDEX_REPEAT) {
        const uint64_t n = ((const count_args *)args)->n;

        for (uint64_t k = 0; k < n; k++) {
            in = model(dataset, last - 1, pass * n + k, settings);
            for (size_t i = 0; i < in.count; i++) {
                add_place(&out, in.at[i]);
            }
            free(in.at);
        }
        return out;
    }
    in = model(dataset, last - 1, pass, settings);
    for (size_t i = 0; i < in.count; i++) {
        uint64_t from = i;
        bool keep = true;

        if (stage->def->index == INDEX_TAKE) {
            keep = i < ((const count_args *)args)->n;
        } else if (stage->def->index == INDEX_SKIP) {
            keep = i >= ((const count_args *)args)->n;
        } else if (stage->def->index == INDEX_SHARD) {
            const shard_args *shard = args;
            uint32_t rank = shard->rank == SLUICE_OF_RUN ? settings->rank : shard->rank;
            uint32_t world = shard->world == SLUICE_OF_RUN ? settings->world : shard->world;

            keep = i % world == rank;
        } else if (stage->def->index == INDEX_SPLIT) {
            keep = split_keeps(dataset, last, i);
        } else if (stage->def->index == INDEX_SHUFFLE) {
            const uint64_t seed = ((const shuffle_args *)args)->seed;

            from = shuffled(in.count, seed == SLUICE_SEED_OF_RUN ? settings->seed : seed,
                            dataset_occurrence(dataset, last), pass, i);
        }
        if (keep) {
            add_place(&out, in.at[from]);
        }
    }
    free(in.at);
    return out;
}

static void check_against_model(const char *text, uint64_t pass, const order_settings *settings)
{
    sluice_dataset *dataset = opened(text);
    const sample_order order = order_of(dataset, settings);
    places want = model(dataset, dataset->stage_count - 1, pass, settings);

    if (order.length != want.count) {
        T_FAIL_("%s: %llu places, want %zu", text, (unsigned long long)order.length, want.count);
    }
    for (size_t i = 0; i < want.count; i++) {
        uint64_t sample;
        uint64_t sample_pass;

        order_at(&order, pass, i, &sample, &sample_pass);
        if (sample != want.at[i].sample || sample_pass != want.at[i].pass) {
            T_FAIL_("%s: place %zu of pass %llu has sample %llu of pass %llu, want %llu of %llu",
                    text, i, (unsigned long long)pass, (unsigned long long)sample,
                    (unsigned long long)sample_pass, (unsigned long long)want.at[i].sample,
                    (unsigned long long)want.at[i].pass);
        }
    }
    free(want.at);
    sluice_dataset_destroy(dataset);
}

/* One index stage; those that choose by name stand only at the front. */
static void add_random_stage(char *text, size_t size, bool front, bool shards)
{
    static const char *const split_texts[] = {"split train 0.7", "split test 0.4 3",
                                              "split val 0.5 test=.2"};
    size_t used = strlen(text);

    switch (below(front ? 3 : shards ? 6 : 5)) {
    case 0:
        snprintf(text + used, size - used, " | take %u", below(60));
        break;
    case 1:
        snprintf(text + used, size - used, " | skip %u", below(20));
        break;
    case 2:
        if (front) {
            snprintf(text + used, size - used, " | %s", split_texts[below(3)]);
        } else {
            snprintf(text + used, size - used, " | repeat %u", 1 + below(3));
        }
        break;
    case 3:
    case 4:
        snprintf(text + used, size - used, " | shuffle%s", below(2) ? " 5" : "");
        break;
    default:
        snprintf(text + used, size - used, below(2) ? " | shard %u %u" : " | shard", below(2), 2);
        break;
    }
}

static void random_pipeline(char *text, size_t size, bool shards)
{
    snprintf(text, size, "synthetic %u 1,1,1", 1 + below(60));
    for (uint32_t i = below(3); i > 0; i--) {
        add_random_stage(text, size, true, false);
    }
    for (uint32_t i = below(5); i > 0; i--) {
        add_random_stage(text, size, false, shards);
    }
}

/* ---- tests --------------------------------------------------------------------------------- */

static void compositions_are_those_of_plain_arrays(void)
{
    random_state = 1;
    for (int i = 0; i < 600; i++) {
        const uint32_t world = 1 + below(3);
        /* With a shard stage somewhere, for else one is added. */
        const order_settings settings = {below(3), below(world), world, false};
        char text[400];

        random_pipeline(text, sizeof(text), true);
        if (world > 1) {
            strcat(text, " | shard");
        }
        check_against_model(text, below(4), &settings);
    }
}

static void a_shard_is_added_at_the_end_for_several_ranks(void)
{
    const order_settings settings = {7, 2, 3, false};

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
    const order_settings settings = {7, 2, 3, false};
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
        const sample_order *order = &plan->details->order;

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
                     sample_at(&whole->details->order, pass, position));
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
    T_EQ(plan->details->order.length, 0);
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
    } cases[] = {
        {"synthetic 50 1,1,1 | shard | batch 3", 50},
        {"synthetic 50 1,1,1 | shard | shuffle | batch 3", 50},
        {"synthetic 50 1,1,1 | shuffle | shard | take 5 | batch 3", 20},
        {"synthetic 50 1,1,1 | shard | take 100 | batch 3", 50},
        {"synthetic 50 1,1,1 | shard | skip 5 | batch 3", 30},
        {"synthetic 50 1,1,1 | take 48 | shard | skip 2 | take 3 | shuffle | batch 3", 12},
        {"synthetic 50 1,1,1 | take 48 | shard | shuffle | repeat 2 | batch 3", 96},
    };

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        sluice_dataset *dataset = opened(cases[c].text);
        uint32_t seen[50] = {0};
        uint32_t all[50] = {0};

        for (uint32_t rank = 0; rank < 4; rank++) {
            sli_plan *plan = plan_of(dataset, rank, 4);
            const sample_order *order = &plan->details->order;

            T_EQ(plan->samples_per_pass, cases[c].samples);
            for (uint64_t i = 0; i < order->length; i++) {
                seen[sample_at(order, 2, i)]++;
            }
            for (uint64_t i = 0; i < plan->details->all_ranks.length && rank == 0; i++) {
                all[sample_at(&plan->details->all_ranks, 2, i)]++;
            }
            sli_plan_close(plan);
        }
        for (int i = 0; i < 50; i++) {
            T_EQ(all[i], seen[i]);
        }
        sluice_dataset_destroy(dataset);
    }
}

static void orders_do_not_depend_on_what_was_asked_before(void)
{
    const order_settings settings = {9, 0, 1, false};
    sluice_dataset *dataset = opened("synthetic 100 1,1,1 | shuffle | take 50 | repeat 2");
    const sample_order order = order_of(dataset, &settings);
    uint64_t forward[100];

    for (uint64_t i = 0; i < 100; i++) {
        forward[i] = sample_at(&order, 4, i);
    }
    for (uint64_t i = 100; i-- > 0;) {
        sample_at(&order, 5, 99 - i);
        T_EQ(sample_at(&order, 4, i), forward[i]);
    }
    sluice_dataset_destroy(dataset);
}

static void seeds_passes_and_occurrences_give_other_orders(void)
{
    sluice_dataset *run = opened("synthetic 100 1,1,1 | shuffle");
    sluice_dataset *own = opened("synthetic 100 1,1,1 | shuffle 3");
    sluice_dataset *two = opened("synthetic 100 1,1,1 | shuffle | shuffle");
    const sample_order orders[] = {
        order_of(run, &(order_settings){1, 0, 1, false}),
        order_of(run, &(order_settings){2, 0, 1, false}),
        order_of(own, &(order_settings){1, 0, 1, false}),
        order_of(two, &(order_settings){1, 0, 1, false}),
    };
    const sample_order own_again = order_of(own, &(order_settings){2, 0, 1, false});
    const sample_order three = order_of(run, &(order_settings){3, 0, 1, false});

    for (int a = 0; a < 4; a++) {
        uint32_t same_pass = 0;

        for (int b = 0; b < a; b++) {
            uint32_t same = 0;

            for (uint64_t i = 0; i < 100; i++) {
                same += sample_at(&orders[a], 0, i) == sample_at(&orders[b], 0, i);
            }
            T_TRUE(same < 10);
        }
        for (uint64_t i = 0; i < 100; i++) {
            same_pass += sample_at(&orders[a], 0, i) == sample_at(&orders[a], 1, i);
        }
        T_TRUE(same_pass < 10);
    }
    /* A seed of its own wins over the run's, and means what the run's would. */
    for (uint64_t i = 0; i < 100; i++) {
        T_EQ(sample_at(&own_again, 0, i), sample_at(&orders[2], 0, i));
        T_EQ(sample_at(&three, 0, i), sample_at(&orders[2], 0, i));
    }
    sluice_dataset_destroy(run);
    sluice_dataset_destroy(own);
    sluice_dataset_destroy(two);
}

static void every_repetition_has_its_own_order_and_draws(void)
{
    sluice_dataset *dataset = opened("synthetic 100 1,1,1 | shuffle | repeat 3");
    const sample_order order = order_of(dataset, &(order_settings){.world = 1});
    uint64_t passes[4][300];

    for (uint64_t pass = 0; pass < 2; pass++) {
        for (uint64_t i = 0; i < 300; i++) {
            uint64_t sample;

            order_at(&order, pass, i, &sample, &passes[pass][i]);
            T_EQ(passes[pass][i], pass * 3 + i / 100);
            passes[pass + 2][i] = sample;
        }
    }
    for (int a = 0; a < 6; a++) {
        for (int b = 0; b < a; b++) {
            uint32_t same = 0;

            for (int i = 0; i < 100; i++) {
                same += passes[2 + a / 3][a % 3 * 100 + i] == passes[2 + b / 3][b % 3 * 100 + i];
            }
            T_TRUE(same < 10);
        }
    }
    sluice_dataset_destroy(dataset);
}

/* ---- split --------------------------------------------------------------------------------- */

/* An image folder of empty files; index stages look at names only. */
static void make_files(const char *folder, const char *class, int from, int to)
{
    for (int i = from; i < to; i++) {
        char name[64];

        snprintf(name, sizeof(name), "%s/img_%05d.jpg", class, i);
        t_write_file(t_path(folder, name), "", 0);
    }
}

/* Opens "image_folder FOLDER | STAGES". */
static sluice_dataset *open_folder(const char *folder, const char *stages)
{
    char text[1000];

    snprintf(text, sizeof(text), "image_folder %s | %s", folder, stages);
    return opened(text);
}

static bool has_name(const sluice_dataset *dataset, const char *name)
{
    const split_members *split = &dataset->splits[1];

    for (uint64_t i = 0; i < split->count; i++) {
        char member[256];

        dataset_source(dataset)->name(dataset->source, split->members[i], member, sizeof(member));
        if (strcmp(member, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Parts that are 1 together share nothing and leave nothing, whatever their decimals. */
static void parts_of_a_split_are_disjoint_and_everything(void)
{
    static const struct {
        const char *parts[3];
        double fractions[3];
    } cases[] = {
        {{"split train 0.7", "split val 0.2 test=0.1", "split test 0.1"}, {0.7, 0.2, 0.1}},
        {{"split train 0.8 9", "split val 0.1 9 test=0.1", "split test 0.1 9"}, {0.8, 0.1, 0.1}},
        {{"split train 0.333333333", "split val 0.333333333 test=0.333333334",
          "split test 0.333333334"},
         {1 / 3.0, 1 / 3.0, 1 / 3.0}},
        {{"split train 0.9", "split test 0.1", "take 0"}, {0.9, 0.1, 0}},
    };

    for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        static uint8_t seen[20000];

        memset(seen, 0, sizeof(seen));
        for (int part = 0; part < 3; part++) {
            char text[200];
            sluice_dataset *dataset;
            sample_order order;

            snprintf(text, sizeof(text), "synthetic 20000 1,1,1 | %s", cases[c].parts[part]);
            dataset = opened(text);
            order = order_of(dataset, &(order_settings){.world = 1});
            T_NEAR(order.length, 20000 * cases[c].fractions[part], 350);
            for (uint64_t i = 0; i < order.length; i++) {
                T_EQ(seen[sample_at(&order, 0, i)]++, 0);
                T_TRUE(i == 0 || sample_at(&order, 0, i) > sample_at(&order, 0, i - 1));
            }
            sluice_dataset_destroy(dataset);
        }
        for (size_t i = 0; i < sizeof(seen); i++) {
            T_EQ(seen[i], 1);
        }
    }
}

/* Every possible place of a hash is in one part: the borders of decimal fractions coincide. */
static void shares_of_decimal_fractions_add_up(void)
{
    for (uint32_t thousandths = 1; thousandths < 1000; thousandths++) {
        double part = thousandths / 1000.0;

        T_EQ(split_share(part) + split_share(1 - part), SPLIT_WHOLE);
        T_EQ(split_share(part), (uint64_t)thousandths * (SPLIT_WHOLE / 1000));
    }
    T_EQ(split_share(1), SPLIT_WHOLE);
    T_EQ(split_share(1e-9), 1);
    T_EQ(split_share(1e-10), 0);
}

static void splits_stay_when_files_are_added(void)
{
    const char *folder = t_folder();
    sluice_dataset *before;
    sluice_dataset *after;

    make_files(folder, "cat", 0, 200);
    make_files(folder, "dog", 0, 200);
    before = open_folder(folder, "split train 0.7");
    make_files(folder, "ant", 0, 50); /* every index and class number moves */
    make_files(folder, "cat", 200, 250);
    after = open_folder(folder, "split train 0.7");
    T_EQ(after->source_count, 500);
    T_TRUE(before->splits[1].count > 240 && before->splits[1].count < 320);
    for (uint64_t i = 0; i < before->source_count; i++) {
        char name[256];

        dataset_source(before)->name(before->source, i, name, sizeof(name));
        T_EQ(has_name(after, name), has_name(before, name));
    }
    sluice_dataset_destroy(before);
    sluice_dataset_destroy(after);
}

static void another_seed_splits_in_another_way(void)
{
    sluice_dataset *a = opened("synthetic 1000 1,1,1 | split train 0.5");
    sluice_dataset *b = opened("synthetic 1000 1,1,1 | split train 0.5 seed=1");
    uint32_t both = 0;

    for (uint64_t i = 0; i < 1000; i++) {
        both += split_keeps(a, 1, i) && split_keeps(b, 1, i);
    }
    T_NEAR(both, 250, 80);
    sluice_dataset_destroy(a);
    sluice_dataset_destroy(b);
}

/* A split of a split keeps of the first what the second would keep of all. */
static void splits_of_splits_are_intersections(void)
{
    sluice_dataset *two = opened("synthetic 1000 1,1,1 | split train 0.5 | split test 0.5 seed=1");
    sluice_dataset *a = opened("synthetic 1000 1,1,1 | split train 0.5");
    sluice_dataset *b = opened("synthetic 1000 1,1,1 | split test 0.5 seed=1");
    const sample_order order = order_of(two, &(order_settings){.world = 1});
    uint64_t next = 0;

    for (uint64_t i = 0; i < 1000; i++) {
        if (split_keeps(a, 1, i) && split_keeps(b, 1, i)) {
            T_TRUE(next < order.length);
            T_EQ(sample_at(&order, 0, next++), i);
        }
    }
    T_EQ(order.length, next);
    sluice_dataset_destroy(two);
    sluice_dataset_destroy(a);
    sluice_dataset_destroy(b);
}

/* ---- too much ------------------------------------------------------------------------------ */

static void sizes_beyond_counting_are_refused(void)
{
    static const char *const texts[] = {
        "synthetic 1000000000000000 1,1,1 | repeat 1000000000 | batch 1",
        "synthetic 1000 1,1,1 | repeat 1000000000 | repeat 1000000000 | batch 1",
        "synthetic 1000000000000000 1,1,1 | repeat 4612 | batch 1",
    };
    sluice_dataset *dataset;
    sample_order order;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const order_settings settings = {0, 0, 4000000000U, false};

        dataset = opened(texts[i]);
        T_STATUS(order_make(dataset, &settings, &order), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "more samples than can be counted");
        sluice_dataset_destroy(dataset);
    }
    dataset = opened("synthetic 1000000000000000 1,1,1 | repeat 4611 | shuffle | batch 1");
    order = order_of(dataset, &(order_settings){0, 3999999998U, 4000000000U, false});
    T_TRUE(order.length == UINT64_C(4611000000000000000) / 4000000000U);
    T_TRUE(sample_at(&order, 1, order.length - 1) < UINT64_C(1000000000000000));
    sluice_dataset_destroy(dataset);

    dataset = NULL;
    T_OK(sluice_dataset_parse("synthetic 1000000000000000 | split train 0.5", &dataset));
    T_STATUS(dataset_open(dataset), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "1000000000000000 samples are more than it can list");
    sluice_dataset_destroy(dataset);
}

static void nothing_left_is_no_position(void)
{
    static const char *const texts[] = {
        "synthetic 5 1,1,1 | take 0 | shuffle | repeat 3",
        "synthetic 5 1,1,1 | skip 5 | shuffle",
        "synthetic 5 1,1,1 | skip 18446744073709551615 | repeat 2 | shuffle | skip 1",
        "synthetic 5 1,1,1 | take 3 | skip 3 | shard 0 1",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        sluice_dataset *dataset = opened(texts[i]);
        sluice_dataset_info info = {.struct_size = sizeof(info)};

        T_EQ(order_of(dataset, &(order_settings){.world = 1}).length, 0);
        T_OK(sluice_dataset_batch(dataset, 2, false));
        T_STATUS(sluice_dataset_inspect(dataset, &info), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "no valid data in the dataset");
        sluice_dataset_destroy(dataset);
    }
}

static void ranks_beyond_the_world_are_refused(void)
{
    sluice_dataset *plain = opened("synthetic 10 1,1,1");
    sluice_dataset *fixed = opened("synthetic 10 1,1,1 | shard run 3");
    sample_order order;

    T_STATUS(order_make(plain, &(order_settings){0, 0, 0, false}, &order), SLUICE_E_INVALID);
    T_STATUS(order_make(plain, &(order_settings){0, 3, 3, false}, &order), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "rank 3 of world 3");
    T_STATUS(order_make(fixed, &(order_settings){0, 3, 5, false}, &order), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "shard: rank 3 of world 3");
    T_OK(order_make(fixed, &(order_settings){0, 2, 5, false}, &order));
    T_EQ(order.length, 3);
    sluice_dataset_destroy(plain);
    sluice_dataset_destroy(fixed);
}

const t_test order_tests[] = {
    T_TEST(compositions_are_those_of_plain_arrays),
    T_TEST(a_shard_is_added_at_the_end_for_several_ranks),
    T_TEST(shard_none_gives_every_rank_everything),
    T_TEST(ranks_share_every_pass_by_the_rule),
    T_TEST(ranks_without_samples_run_empty_batches),
    T_TEST(an_early_shard_leaves_every_sample_to_one_rank),
    T_TEST(orders_do_not_depend_on_what_was_asked_before),
    T_TEST(seeds_passes_and_occurrences_give_other_orders),
    T_TEST(every_repetition_has_its_own_order_and_draws),
    T_TEST(parts_of_a_split_are_disjoint_and_everything),
    T_TEST(shares_of_decimal_fractions_add_up),
    T_TEST(splits_stay_when_files_are_added),
    T_TEST(another_seed_splits_in_another_way),
    T_TEST(splits_of_splits_are_intersections),
    T_TEST(sizes_beyond_counting_are_refused),
    T_TEST(nothing_left_is_no_position),
    T_TEST(ranks_beyond_the_world_are_refused),
    T_END,
};
