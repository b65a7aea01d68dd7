/* SPDX-License-Identifier: Apache-2.0 */
/* The samples of a pass: index stages against plain arrays, seeds, repetitions, and the bounds. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "order_kit.h"
#include "rng_int.h"
#include "testing.h"

/* ---- a plain implementation of the index stages ---------------------------------------------- */

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
            uint32_t rank = shard->rank == PARAM_RANK_RUN ? settings->rank : shard->rank;
            uint32_t world = shard->world == PARAM_RANK_RUN ? settings->world : shard->world;

            keep = i % world == rank;
        } else if (stage->def->index == INDEX_SPLIT) {
            keep = expect_kept(dataset, last, i);
        } else if (stage->def->index == INDEX_SHUFFLE) {
            const uint64_t seed = ((const shuffle_args *)args)->seed;

            from = shuffled(in.count, seed == PARAM_SEED_RUN ? settings->seed : seed,
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

/* ---- compositions ---------------------------------------------------------------------------- */

static void compositions_are_those_of_plain_arrays(void)
{
    random_state = 1;
    for (int i = 0; i < 600; i++) {
        const uint32_t world = 1 + below(3);
        /* With a shard stage somewhere, for else one is added. */
        const order_settings settings = {below(3), below(world), world, false, 0, NULL};
        char text[400];

        random_pipeline(text, sizeof(text), true);
        if (world > 1) {
            strcat(text, " | shard");
        }
        check_against_model(text, below(4), &settings);
    }
}

static void orders_do_not_depend_on_what_was_asked_before(void)
{
    const order_settings settings = {9, 0, 1, false, 0, NULL};
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
        order_of(run, &(order_settings){1, 0, 1, false, 0, NULL}),
        order_of(run, &(order_settings){2, 0, 1, false, 0, NULL}),
        order_of(own, &(order_settings){1, 0, 1, false, 0, NULL}),
        order_of(two, &(order_settings){1, 0, 1, false, 0, NULL}),
    };
    const sample_order own_again = order_of(own, &(order_settings){2, 0, 1, false, 0, NULL});
    const sample_order three = order_of(run, &(order_settings){3, 0, 1, false, 0, NULL});

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

/* ---- too much, and nothing ------------------------------------------------------------------- */

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
        const order_settings settings = {0, 0, 4000000000U, false, 0, NULL};

        dataset = opened(texts[i]);
        T_STATUS(order_make(dataset, &settings, &order), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "more samples than can be counted");
        sluice_dataset_destroy(dataset);
    }
    dataset = opened("synthetic 1000000000000000 1,1,1 | repeat 4611 | shuffle | batch 1");
    order = order_of(dataset, &(order_settings){0, 3999999998U, 4000000000U, false, 0, NULL});
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
        sluice_dataset_destroy(dataset);
        dataset = parsed(texts[i]);
        T_OK(sluice_dataset_add(dataset, "batch 2"));
        T_STATUS(sluice_dataset_inspect(dataset, &info), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "no valid data in the dataset");
        sluice_dataset_destroy(dataset);
    }
}

const t_test order_passes_tests[] = {
    T_TEST(compositions_are_those_of_plain_arrays),
    T_TEST(orders_do_not_depend_on_what_was_asked_before),
    T_TEST(seeds_passes_and_occurrences_give_other_orders),
    T_TEST(every_repetition_has_its_own_order_and_draws),
    T_TEST(sizes_beyond_counting_are_refused),
    T_TEST(nothing_left_is_no_position),
    T_END,
};
