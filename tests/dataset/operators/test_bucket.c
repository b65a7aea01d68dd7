/* SPDX-License-Identifier: Apache-2.0 */
/* The stage bucket: the batches of a run with several workers and ranks, also resumed. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "document_kit.h"
#include "engine_kit.h"
#include "filter_kit.h"
#include "log_kit.h"
#include "plan_int.h"
#include "testing.h"

enum { BUCKETS = 4, ROWS_MOST = 1000 };

#define EDGES "4,9,17"
static const uint64_t edges[BUCKETS - 1] = {4, 9, 17};

typedef struct bucket_case {
    const char *stages; /* before bucket */
    const char *length; /* the column of lengths after them */
    bool filters;       /* drops documents whose number is divisible by 3 */
    uint32_t batch;
    bool drop;
    uint32_t world;
} bucket_case;

static uint32_t bucket_of(uint64_t sample)
{
    uint32_t bucket = 0;

    while (bucket < BUCKETS - 1 && document_length(sample) > edges[bucket]) {
        bucket++;
    }
    return bucket;
}

static sluice_dataset *bucketed(const bucket_case *c)
{
    sluice_dataset *dataset = document_dataset();

    T_OK(sluice_dataset_add(dataset, c->stages));
    if (c->filters) {
        add_filter(dataset, "third", keep_by_label, "label", NULL);
    }
    T_OK(sluice_dataset_addf(dataset, "bucket %s " EDGES " | batch %u drop_remainder=%s", c->length,
                             c->batch, c->drop ? "true" : "false"));
    return dataset;
}

/* The samples of this rank's rows; UINT64_MAX: padding. */
typedef struct expected {
    uint64_t samples[ROWS_MOST];
    uint64_t rows;
} expected;

/* Adds the batch of a bucket to the rows of a rank. */
static void expect_batch(const bucket_case *c, const uint64_t *samples, uint64_t count,
                         uint32_t rank, expected *e)
{
    for (uint64_t i = 0; i < c->batch; i++) {
        const uint64_t turn = i * c->world + rank;

        T_TRUE(e->rows < ROWS_MOST);
        e->samples[e->rows++] = turn < count ? samples[turn] : UINT64_MAX;
    }
}

/* Adds the batches of a pass, of which the first `done` are left out. */
static void expect_pass(const bucket_case *c, uint64_t pass, uint64_t done, uint32_t rank,
                        expected *e)
{
    const sli_run_settings settings = {.seed = 5, .world = 1};
    uint64_t waiting[BUCKETS][4 * DOCUMENTS];
    uint64_t counts[BUCKETS] = {0};
    const uint64_t before = e->rows;
    sluice_dataset *dataset = document_dataset();
    sli_plan *plan;

    T_OK(sluice_dataset_add(dataset, c->stages));
    T_OK(sluice_dataset_add(dataset, "batch 1"));
    T_OK(sli_plan_open(dataset, &settings, &plan));
    for (uint64_t i = 0; i < plan->details->orders.rank.length; i++) {
        uint64_t sample;
        uint64_t sample_pass;
        uint32_t bucket;

        order_at(&plan->details->orders.rank, pass, i, &sample, &sample_pass);
        if (c->filters && !third_keeps(sample)) {
            continue;
        }
        bucket = bucket_of(sample);
        waiting[bucket][counts[bucket]++] = sample;
        if (counts[bucket] == (uint64_t)c->batch * c->world) {
            expect_batch(c, waiting[bucket], counts[bucket], rank, e);
            counts[bucket] = 0;
        }
    }
    for (uint32_t i = 0; i < BUCKETS && !c->drop; i++) {
        if (counts[i] > 0) {
            expect_batch(c, waiting[i], counts[i], rank, e);
        }
    }
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
    e->rows -= done * c->batch;
    memmove(e->samples + before, e->samples + before + done * c->batch,
            (e->rows - before) * sizeof(*e->samples));
}

static int column_of(const engine_run *run, const char *name)
{
    for (uint32_t i = 0; i < run->input.count; i++) {
        if (strcmp(run->input.tensors[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static void check_batches(engine_run *run, const bucket_case *c, const expected *e)
{
    for (uint64_t at = 0; at < e->rows; at += c->batch) {
        uint32_t valid = 0;

        T_OK(next_batch(run));
        for (uint32_t row = 0; row < c->batch; row++) {
            const uint64_t want = e->samples[at + row];
            const uint32_t label = (uint32_t)column_of(run, "label");
            const uint32_t tokens = (uint32_t)column_of(run, "tokens");

            T_EQ(run->input.samples[row], want);
            if (want == UINT64_MAX) {
                T_TRUE(is_zero(row_of(run, tokens, row), row_bytes(run, tokens)));
                continue;
            }
            valid++;
            T_EQ(*(const int32_t *)row_of(run, label, row), want);
            T_TRUE(document_length(want) == 0 ||
                   *(const uint16_t *)row_of(run, tokens, row) == document_token(want, 0));
        }
        T_EQ(run->input.header->valid_rows, valid);
    }
}

static void check_passes(const bucket_case *c)
{
    for (int i = 0; i < 3; i++) {
        for (uint32_t rank = 0; rank < c->world; rank++) {
            const run_options options = {.device = devices[rank % 2],
                                         .workers = worker_counts[i],
                                         .slots = (uint32_t)i + 2,
                                         .passes = 2,
                                         .batches = UINT64_MAX,
                                         .settings = {.seed = 5, .rank = rank, .world = c->world}};
            sluice_dataset *dataset = bucketed(c);
            expected e = {.rows = 0};
            engine_run run;

            expect_pass(c, 0, 0, rank, &e);
            expect_pass(c, 1, 0, rank, &e);
            open_own(&run, dataset, &options);
            check_batches(&run, c, &e);
            T_STATUS(next_batch(&run), SLUICE_END_OF_DATA);
            close_run(&run);
        }
    }
}

#define EARLY "shuffle", "tokens_length"
#define LATE  "shuffle | cast tokens_length i64", "tokens_length"

static const bucket_case cases[] = {
    {EARLY, false, 4, false, 1},  {EARLY, false, 4, true, 1}, {EARLY, false, 1, true, 1},
    {EARLY, true, 3, false, 1},   {LATE, false, 4, false, 1}, {LATE, true, 3, true, 1},
    {EARLY, false, 40, false, 1}, {LATE, false, 1, false, 1},
};

static void batches_have_samples_of_one_bucket(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check_passes(&cases[i]);
    }
}

static void ranks_share_a_bucket(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bucket_case c = cases[i];

        c.world = 2 + (uint32_t)i % 2;
        c.batch = c.batch > 3 ? 3 : c.batch;
        check_passes(&c);
    }
}

/* A run that begins after any batch gives what the whole run gives from there. */
static void a_resumed_run_gives_the_same_batches(void)
{
    for (uint64_t first = 0; first < 10; first++) {
        const bucket_case c = {EARLY, first % 2 == 0, 3, first % 3 == 0, 1};
        sluice_dataset *dataset = bucketed(&c);
        expected e = {.rows = 0};
        engine_run run;

        expect_pass(&c, 0, first, 0, &e);
        expect_pass(&c, 1, 0, 0, &e);
        open_own(&run, dataset,
                 &(run_options){.workers = worker_counts[first % 3],
                                .first_step = first,
                                .batches = e.rows / 3,
                                .settings = {.seed = 5, .world = 1}});
        check_batches(&run, &c, &e);
        T_STATUS(next_batch(&run), SLUICE_END_OF_DATA);
        T_EQ(sli_plan_position(run.plan, 1).done, first * 3 + 3);
        close_run(&run);
    }
}

/* With an edge for each length every batch has documents of one length. */
static void there_may_be_32_edges(void)
{
    sluice_dataset *dataset = document_dataset();
    uint64_t rows = 0;
    engine_run run;

    T_OK(sluice_dataset_add(dataset,
                            "shuffle | bucket tokens_length 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,"
                            "16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31 | batch 2"));
    open_own(&run, dataset, &(run_options){.workers = 3});
    while (next_batch(&run) == SLUICE_OK) {
        const uint64_t *samples = run.input.samples;
        const bool pads = samples[1] == UINT64_MAX;

        rows += pads ? 1 : 2;
        T_TRUE(pads || document_length(samples[0]) == document_length(samples[1]) ||
               (document_length(samples[0]) >= PARAM_MAX_EDGES &&
                document_length(samples[1]) >= PARAM_MAX_EDGES));
    }
    T_EQ(rows, DOCUMENTS);
    close_run(&run);
}

/* ---- bad samples ----------------------------------------------------------------------------- */

static void bad_samples_are_replaced_in_their_bucket(void)
{
    for (int i = 0; i < 3; i++) {
        const bucket_case c = {"take 60", "tokens_length", false, 2, true, 1};
        sluice_dataset *dataset = bucketed(&c);
        sli_engine_errors errors;
        engine_run run;

        document_is_bad[7] = true;
        document_is_bad[30] = true;
        open_own(&run, dataset,
                 &(run_options){.workers = worker_counts[i],
                                .settings = {.on_error = SLI_ON_ERROR_REPLACE}});
        while (next_batch(&run) == SLUICE_OK) {
            T_TRUE(run.input.samples[0] != 7 && run.input.samples[1] != 7);
            T_EQ(bucket_of(run.input.samples[0]), bucket_of(run.input.samples[1]));
        }
        sli_engine_stop(run.engine);
        sli_engine_errors_get(run.engine, &errors);
        T_EQ(errors.replaced, 2);
        close_run(&run);
    }
}

/* In the order of the pass: batches that are full before it are steps, and no others. */
static void a_bad_sample_ends_the_run(void)
{
    for (uint64_t bad = 0; bad < 3 * 60; bad += 3) {
        const bucket_case c = {"take 60", "tokens_length", false, 2, bad % 2 == 0, 1};
        sluice_dataset *dataset = bucketed(&c);
        uint64_t counts[BUCKETS] = {0};
        uint64_t batches = 0;
        tape t;

        for (uint64_t k = 0; k < bad / 3; k++) {
            batches += ++counts[bucket_of(k)] % 2 == 0;
        }
        document_is_bad[bad / 3] = true;
        t = record_own(dataset, &(run_options){.workers = worker_counts[bad / 3 % 3]});
        T_STATUS(t.end, SLUICE_E_CORRUPT);
        T_EQ(t.batches, batches);
        T_EQ(t.errors.failed, 1);
        T_CONTAINS(t.error, "it is bad; on_error replace or zero");
        free(t.bytes);
    }
}

/* A pass of 5 documents: those left over at its end are dropped, the bad one among them. */
static void a_bad_sample_that_is_dropped_is_handled(void)
{
    for (int i = 0; i < 6; i++) {
        const bucket_case c = {"take 5", "tokens_length", false, 2, true, 1};
        const sli_error_policy policy = i < 3 ? SLI_ON_ERROR_ZERO : SLI_ON_ERROR_FAIL;
        sluice_dataset *dataset = bucketed(&c);
        uint64_t counts[BUCKETS] = {0};
        sli_engine_errors errors;
        engine_run run;
        uint64_t left = UINT64_MAX;
        sluice_status st;

        for (uint64_t k = 0; k < 5; k++) { /* a bad sample counts as one of length 0 */
            document_is_bad[k] = k == 4;
            counts[k == 4 ? 0 : bucket_of(k)]++;
        }
        T_EQ(counts[0] % 2, 1); /* sample 4 is left in the first bucket */
        open_own(&run, dataset,
                 &(run_options){.workers = worker_counts[i % 3], .settings = {.on_error = policy}});
        while ((st = next_batch(&run)) == SLUICE_OK) {
            left = run.input.samples[0];
        }
        T_STATUS(st, i < 3 ? SLUICE_END_OF_DATA : SLUICE_E_CORRUPT);
        T_TRUE(left != 4);
        sli_engine_stop(run.engine);
        sli_engine_errors_get(run.engine, &errors);
        T_EQ(errors.failed, i >= 3);
        T_EQ(errors.count, 1);
        T_EQ(errors.first[0].sample, 4);
        T_CONTAINS(errors.first[0].text, "it is bad");
        close_run(&run);
    }
}

/* ---- what is said and refused ---------------------------------------------------------------- */

static void explain_and_log_say_what_is_done(void)
{
    const bucket_case c = {EARLY, false, 3, true, 1};
    sluice_dataset *dataset = bucketed(&c);
    const char *log;
    char *text = NULL;
    tape t;

    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "order: 4 buckets by length of 60 samples a pass");
    T_CONTAINS(text, "assembly: collected; samples wait in buckets by number");
    sluice_string_free(text);
    sluice_log_set_level(SLUICE_LOG_INFO);
    kit_log_start(NULL, NULL);
    t = record_own(dataset, &(run_options){.first_step = 3, .resumes = true});
    log = kit_log_stop();
    sluice_log_set_level(SLUICE_LOG_WARN);
    T_STATUS(t.end, SLUICE_END_OF_DATA);
    T_CONTAINS(log, "bucket: lengths are read again from the beginning of the pass: batches of 9 "
                    "samples were done");
    T_CONTAINS(log, "replayed 3 batches: ");
    free(t.bytes);
}

static void a_pass_without_a_batch_has_no_valid_data(void)
{
    const bucket_case c = {EARLY, false, 60, true, 1};
    sluice_dataset *dataset = bucketed(&c);

    batches_to_error(dataset, &(run_options){.workers = 2}, SLUICE_E_INVALID,
                     "no valid data in the dataset: of the 60 samples of a pass no bucket gets "
                     "a batch of 60; drop_remainder=false keeps");
}

static void a_run_begins_after_whole_batches(void)
{
    const bucket_case c = {EARLY, false, 4, true, 1};
    const sli_run_settings settings = {.world = 1};
    sluice_dataset *dataset = bucketed(&c);
    sli_plan *plan;

    T_OK(sli_plan_open(dataset, &settings, &plan));
    T_OK(sli_plan_begin(plan, &(sli_position){0, 8}, 1));
    T_STATUS(sli_plan_begin(plan, &(sli_position){0, 6}, 1), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "bucket: 6 samples of the pass are done");
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
}

static void what_has_no_length_is_refused(void)
{
    static const refused_case refused[] = {
        {"bucket size 4", "bucket: there is no column 'size'"},
        {"bucket tokens 4", "bucket: tokens is u16 with 1 dimensions, and must be one integer"},
        {"cast label f32 | bucket label 4", "bucket: label is f32"},
        {"bucket label 4,4", "bucket: edges 4 must be larger than the one before it"},
        {"bucket label 9,4", "bucket: edges 4 must be larger"},
        {"bucket label "
         "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,"
         "33",
         "whole numbers with commas, at most 32"},
        {"bucket label 4 | bucket label 5", "bucket: a pipeline has at most one"},
        {"bucket label 4 | shuffle", "shuffle comes after bucket; put it before"},
        {"bucket label 4 | pack tokens 8", "pack comes after bucket; leave bucket out"},
        {"pack tokens 8 | bucket position 8", "bucket comes after pack"},
    };

    check_refused_stages(document_dataset, refused, sizeof(refused) / sizeof(refused[0]));
}

const t_test bucket_tests[] = {
    T_TEST(batches_have_samples_of_one_bucket),
    T_TEST(ranks_share_a_bucket),
    T_TEST(a_resumed_run_gives_the_same_batches),
    T_TEST(there_may_be_32_edges),
    T_TEST(bad_samples_are_replaced_in_their_bucket),
    T_TEST(a_bad_sample_that_is_dropped_is_handled),
    T_TEST(a_bad_sample_ends_the_run),
    T_TEST(explain_and_log_say_what_is_done),
    T_TEST(a_pass_without_a_batch_has_no_valid_data),
    T_TEST(a_run_begins_after_whole_batches),
    T_TEST(what_has_no_length_is_refused),
    T_END,
};
