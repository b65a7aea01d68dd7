/* SPDX-License-Identifier: Apache-2.0 */
/* The order of concat, mix and zip. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "order_kit.h"
#include "plan_kit.h"
#include "testing.h"

enum { MOST = 400 };

static const sli_run_settings alone = {.seed = 7, .world = 1};

typedef struct opened_plan {
    sluice_dataset *dataset;
    sli_plan *plan;
} opened_plan;

static opened_plan plan_of(const char *stages, const sli_run_settings *settings)
{
    char text[900];
    opened_plan made;

    snprintf(text, sizeof(text), "%s | batch 3", stages);
    made.dataset = parsed(text);
    made.plan = open_plan(made.dataset, settings);
    return made;
}

/* The sample at a position of this rank's order. */
static uint64_t at(const opened_plan *p, uint64_t pass, uint64_t position)
{
    return sample_at(&p->plan->details->orders.rank, pass, position);
}

static uint64_t length_of(const opened_plan *p)
{
    return p->plan->details->orders.rank.length;
}

static void concat_has_the_parts_one_after_another(void)
{
    opened_plan p = plan_of("concat (synthetic 3 1,1,1) (synthetic 9 1,1,1 | take 0) "
                            "(synthetic 10 1,1,1 | skip 8) (synthetic 2 1,1,1 | repeat 2)",
                            &alone);
    static const uint64_t want[] = {0, 1, 2, 20, 21, 22, 23, 22, 23};

    T_EQ(p.dataset->source_count, 24);
    T_EQ(length_of(&p), 9);
    for (uint64_t i = 0; i < 9; i++) {
        T_EQ(at(&p, 5, i), want[i]);
    }
    close_plan(p.plan, p.dataset);
}

/* Each pass of a part is a permutation, which differs between parts and between passes. */
static void each_part_has_a_shuffle_of_its_own(void)
{
    opened_plan p = plan_of("concat (synthetic 40 1,1,1 | shuffle) (synthetic 40 1,1,1 | shuffle) "
                            "(synthetic 40 1,1,1 | shuffle 3) (synthetic 40 1,1,1 | shuffle 3)",
                            &alone);
    int same = 0;

    for (uint64_t pass = 0; pass < 3; pass++) {
        uint8_t seen[160] = {0};

        for (uint64_t i = 0; i < 160; i++) {
            const uint64_t sample = at(&p, pass, i);

            T_TRUE(sample / 40 == i / 40);
            T_EQ(seen[sample]++, 0);
        }
        for (uint64_t i = 0; i < 40; i++) {
            same += at(&p, pass, i) == at(&p, pass, 40 + i) - 40;
            same += at(&p, pass, i) == at(&p, pass + 1, i);
            T_EQ(at(&p, pass, 80 + i) - 80, at(&p, pass, 120 + i) - 120); /* as asked: seed 3 */
        }
    }
    T_TRUE(same < 30);
    close_plan(p.plan, p.dataset);
}

/* Parts of 10, 4 and 5 samples, in turns of 2, 1 and 1. */
#define MIXED "mix 2:(synthetic 10 1,1,1%s) 1:(synthetic 4 1,1,1%s) 1:%s(synthetic 5 1,1,1%s)"

static opened_plan mixed(const char *shuffle, const char *mark, const char *after)
{
    char text[400];
    char whole[500];

    snprintf(text, sizeof(text), MIXED, shuffle, shuffle, mark, shuffle);
    snprintf(whole, sizeof(whole), "%s%s", text, after);
    return plan_of(whole, &alone);
}

/* Compares with the pass and position of each part, counted turn by turn through all passes. */
static void each_part_goes_on_where_it_was(void)
{
    static const uint64_t sizes[] = {10, 4, 5};
    static const uint64_t firsts[] = {0, 10, 14};

    for (int marked = 0; marked < 2; marked++) {
        opened_plan p = mixed("", marked ? "end:" : "", "");
        uint64_t turns[3] = {0};
        const uint64_t length = length_of(&p);

        /* 10 of 2 in 4 take 20 positions or 19; 5 of 1 in 4 as many; 4 of 1 in 4 take 16 or less */
        T_TRUE(length >= 17 && length <= 20);
        for (uint64_t pass = 0; pass < 12; pass++) {
            for (uint64_t i = 0; i < length; i++) {
                const uint64_t sample = at(&p, pass, i);
                const uint32_t k = sample < 10 ? 0 : sample < 14 ? 1 : 2;

                T_EQ(sample, firsts[k] + turns[k]++ % sizes[k]);
            }
        }
        T_TRUE(turns[1] > 12 * 4); /* it began again before the others had ended */
        close_plan(p.plan, p.dataset);
    }
}

/* Shuffled parts, too: each pass of a part has each of its samples once. */
static void each_pass_of_a_part_has_all_its_samples(void)
{
    static const uint64_t sizes[] = {10, 4, 5};
    opened_plan p = mixed(" | shuffle", "", "");
    uint32_t counts[19] = {0};
    uint64_t turns[3] = {0};
    uint64_t last[19] = {0};
    uint64_t moved = 0;

    for (uint64_t pass = 0; pass < 20; pass++) {
        for (uint64_t i = 0; i < length_of(&p); i++) {
            const uint64_t sample = at(&p, pass, i);
            const uint32_t k = sample < 10 ? 0 : sample < 14 ? 1 : 2;

            T_EQ(counts[sample]++, turns[k] / sizes[k]);
            moved += last[sample] != turns[k] % sizes[k];
            last[sample] = turns[k]++ % sizes[k];
        }
    }
    T_TRUE(moved > 200);
    close_plan(p.plan, p.dataset);
}

static void a_pass_ends_with_the_longest_or_the_marked_part(void)
{
    static const struct {
        const char *text;
        uint64_t length;
    } cases[] = {
        {"mix (synthetic 3 1,1,1) (synthetic 7 1,1,1)", 14},
        {"mix end:(synthetic 3 1,1,1) (synthetic 7 1,1,1)", 5},
        {"mix end:(synthetic 3 1,1,1) end:(synthetic 7 1,1,1)", 5},
        {"mix 3:(synthetic 9 1,1,1) 1:(synthetic 2 1,1,1)", 11},
        {"mix 3:(synthetic 9 1,1,1) 1:(synthetic 9 1,1,1)", 36},
        {"mix (synthetic 5 1,1,1)", 5},
        {"mix 1:(synthetic 5 1,1,1) 999999:(synthetic 5 1,1,1)", 4500000},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        opened_plan p = plan_of(cases[i].text, &alone);

        if (i == 6) { /* the turn of the rare part is anywhere in its period */
            T_TRUE(length_of(&p) > 4000000 && length_of(&p) <= 5000000);
        } else if (length_of(&p) != cases[i].length && length_of(&p) + 1 != cases[i].length) {
            T_FAIL_("%s has %llu", cases[i].text, (unsigned long long)length_of(&p));
        }
        close_plan(p.plan, p.dataset);
    }
}

/* A sample that occurs again in a pass has other draws. */
static void no_two_rows_of_a_run_have_the_same_draws(void)
{
    opened_plan p = mixed(" | shuffle", "", " | shuffle | repeat 2");
    uint64_t samples[MOST];
    uint64_t passes[MOST];
    uint32_t count = 0;

    for (uint64_t pass = 0; pass < 5; pass++) {
        for (uint64_t i = 0; i < length_of(&p) && count < MOST; i++, count++) {
            order_at(&p.plan->details->orders.rank, pass, i, &samples[count], &passes[count]);
            for (uint32_t k = 0; k < count; k++) {
                T_TRUE(samples[k] != samples[count] || passes[k] != passes[count]);
            }
        }
    }
    T_TRUE(count >= 150);
    close_plan(p.plan, p.dataset);
}

static const char *const all_kinds[] = {
    "concat (synthetic 30 1,1,1 | shuffle) (synthetic 12 1,1,1 | shuffle | take 9)",
    "mix 0.6:(synthetic 30 1,1,1 | shuffle) 0.4:(synthetic 12 1,1,1 | shuffle | take 9) | shuffle",
    "mix 2:(concat (synthetic 8 1,1,1 | shuffle) (synthetic 9 1,1,1)) "
    "1:end:(mix (synthetic 7 1,1,1 | shuffle) (synthetic 13 1,1,1))",
    "zip (synthetic 30 1,1,1 | split train 0.7) (synthetic 30 1,1,1 | split train 0.7 | drop image "
    "| rename label y) | shuffle",
    "concat (synthetic 20 1,1,1 2 | weights label) (synthetic 20 1,1,1 2 | balance) | repeat 2",
};

/* Row i of global batch g is position g * W * B + i * W + r of the pass, as for any source. */
static void ranks_share_the_order_of_one(void)
{
    for (size_t c = 0; c < sizeof(all_kinds) / sizeof(all_kinds[0]); c++) {
        opened_plan whole = plan_of(all_kinds[c], &alone);

        for (uint32_t world = 2; world <= 5; world++) {
            for (uint32_t rank = 0; rank < world; rank++) {
                const sli_run_settings settings = {.seed = 7, .rank = rank, .world = world};
                opened_plan p = plan_of(all_kinds[c], &settings);

                for (uint64_t i = 0; i < length_of(&p); i++) {
                    T_EQ(at(&p, 3, i), at(&whole, 3, i * world + rank));
                }
                close_plan(p.plan, p.dataset);
            }
        }
        close_plan(whole.plan, whole.dataset);
    }
}

static void a_run_may_begin_anywhere_in_a_pass(void)
{
    for (size_t c = 0; c < sizeof(all_kinds) / sizeof(all_kinds[0]); c++) {
        opened_plan whole = plan_of(all_kinds[c], &alone);
        opened_plan late = plan_of(all_kinds[c], &alone);
        const uint64_t batches = whole.plan->batches_per_pass;

        for (uint64_t start = 1; start < 2 * batches; start++) {
            const sli_position position = sli_plan_position(whole.plan, start);
            batch_span want;
            batch_span got;

            T_OK(sli_plan_begin(late.plan, &position, 1));
            for (uint64_t k = 0; k < batches; k++) {
                plan_locate(whole.plan, start + k, &want);
                plan_locate(late.plan, k, &got);
                T_EQ(got.pass, want.pass);
                T_EQ(sample_at(got.order, got.pass, got.first),
                     sample_at(want.order, want.pass, want.first));
            }
        }
        close_plan(whole.plan, whole.dataset);
        close_plan(late.plan, late.dataset);
    }
}

/* split, weights and balance after a group see its samples. */
static void stages_that_look_at_all_samples_may_follow(void)
{
    static const char *const texts[] = {
        "concat (synthetic 20 1,1,1 1) (synthetic 60 1,1,1 1 | skip 40) | split train 0.5",
        "concat (synthetic 20 1,1,1 2) (synthetic 60 1,1,1 2) | balance | shuffle",
        "concat (synthetic 20 1,1,1 2) (synthetic 60 1,1,1 2) | weights label",
        "zip (synthetic 20 1,1,1 2) (synthetic 25 | skip 5 | rename label y | drop image)",
    };

    for (size_t c = 0; c < sizeof(texts) / sizeof(texts[0]); c++) {
        opened_plan p = plan_of(texts[c], &alone);
        uint32_t odd = 0;

        for (uint64_t i = 0; i < length_of(&p); i++) {
            const uint64_t sample = at(&p, 1, i);

            T_TRUE(sample < p.dataset->source_count);
            T_TRUE(c != 0 || sample < 20 || sample >= 60);
            odd += (uint32_t)(sample % 2);
        }
        T_TRUE(c != 1 || odd == 40);
        T_TRUE(c != 2 || odd == 80); /* even samples have weight 0 */
        close_plan(p.plan, p.dataset);
    }
}

/* The identity of a run contains all parts, without their paths. */
static void the_identity_has_the_parts(void)
{
    opened_plan p = plan_of("mix 0.5:(synthetic 6 1,1,1 | take 5) (concat (synthetic 8 1,1,1)) | "
                            "shuffle",
                            &alone);
    opened_plan other = plan_of("mix 0.5:(synthetic 6 1,1,1 | take 5) (concat (synthetic 8 1,1,1)) "
                                "| shuffle",
                                &alone);
    sli_dataset_identity one;
    sli_dataset_identity two;

    T_OK(sli_plan_identity(p.plan, &one));
    T_OK(sli_plan_identity(other.plan, &two));
    T_STR(one.stages, "mix 1:(synthetic | take n=5) 2:(concat (synthetic)) | shuffle seed=run "
                      "buffer=1000");
    T_STR(one.stages, two.stages);
    T_EQ(one.names, two.names);
    T_EQ(one.samples, 14);
    sli_dataset_identity_free(&one);
    sli_dataset_identity_free(&two);
    close_plan(p.plan, p.dataset);
    close_plan(other.plan, other.dataset);
}

static void explain_tells_what_a_pass_has_of_each_part(void)
{
    opened_plan p = mixed("", "end:", "");
    char *text = explained(p.plan);

    T_CONTAINS(text, "part 1: 2 in 4 turns, ");
    T_CONTAINS(text,
               "part 3: 1 in 4 turns, 5 in a pass of the group: 1.00 passes of its own of 5 ");
    sluice_string_free(text);
    close_plan(p.plan, p.dataset);
    p = plan_of("concat (synthetic 3 1,1,1) (synthetic 9 1,1,1 | take 4)", &alone);
    text = explained(p.plan);
    T_CONTAINS(text, "part 2: 4 samples, from position 3 on");
    sluice_string_free(text);
    close_plan(p.plan, p.dataset);
}

const t_test group_orders_tests[] = {
    T_TEST(concat_has_the_parts_one_after_another),
    T_TEST(each_part_has_a_shuffle_of_its_own),
    T_TEST(each_part_goes_on_where_it_was),
    T_TEST(each_pass_of_a_part_has_all_its_samples),
    T_TEST(a_pass_ends_with_the_longest_or_the_marked_part),
    T_TEST(no_two_rows_of_a_run_have_the_same_draws),
    T_TEST(ranks_share_the_order_of_one),
    T_TEST(a_run_may_begin_anywhere_in_a_pass),
    T_TEST(stages_that_look_at_all_samples_may_follow),
    T_TEST(the_identity_has_the_parts),
    T_TEST(explain_tells_what_a_pass_has_of_each_part),
    T_END,
};
