/* SPDX-License-Identifier: Apache-2.0 */
/* The stage pack: the windows of a run with several workers and ranks, also resumed. */
#include <stdlib.h>

#include "document_kit.h"
#include "engine_kit.h"
#include "filter_kit.h"
#include "testing.h"

/* What is packed, and how. */
typedef struct pack_case {
    const char *stages; /* before pack; NULL: none */
    bool filters;       /* drops documents whose number is divisible by 3 */
    uint32_t seq;
    bool split;
    uint16_t pad;
    uint32_t batch;
    bool drop;
    uint32_t world;
} pack_case;

static sluice_dataset *packed(const pack_case *c)
{
    sluice_dataset *dataset = document_dataset();

    if (c->stages != NULL) {
        T_OK(sluice_dataset_add(dataset, c->stages));
    }
    if (c->filters) {
        add_filter(dataset, "third", keep_by_label, "label", NULL);
    }
    T_OK(sluice_dataset_addf(dataset, "pack tokens %u split=%s pad=%u | batch %u drop_remainder=%s",
                             c->seq, c->split ? "true" : "false", c->pad, c->batch,
                             c->drop ? "true" : "false"));
    return dataset;
}

/* The documents of a pass, in order; returns how many. */
static uint64_t documents_of_pass(const pack_case *c, uint64_t pass, uint64_t *samples_out)
{
    const sli_run_settings settings = {.seed = 5, .world = 1};
    sluice_dataset *dataset = document_dataset();
    sli_plan *plan;
    uint64_t count = 0;

    if (c->stages != NULL) {
        T_OK(sluice_dataset_add(dataset, c->stages));
    }
    T_OK(sluice_dataset_add(dataset, "batch 1"));
    T_OK(sli_plan_open(dataset, &settings, &plan));
    for (uint64_t i = 0; i < plan->details->orders.rank.length; i++) {
        uint64_t sample_pass;

        order_at(&plan->details->orders.rank, pass, i, &samples_out[count], &sample_pass);
        count += !c->filters || third_keeps(samples_out[count]);
    }
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
    return count;
}

/* The rows of one rank, of some passes. */
typedef struct expected {
    document_window windows[2 * WINDOWS_MOST];
    uint64_t rows;
    uint64_t turns; /* windows of the last pass, over all ranks */
} expected;

static expected want; /* large */

static void expect_pass(const pack_case *c, uint64_t pass, uint64_t done, uint32_t rank)
{
    static document_window windows[WINDOWS_MOST];
    uint64_t samples[4 * DOCUMENTS];
    const uint64_t documents = documents_of_pass(c, pass, samples);
    const uint64_t round = (uint64_t)c->batch * c->world;
    uint64_t turns = document_windows(samples, documents, c->seq, c->split, c->pad, windows) - done;
    const uint64_t rows = (turns / round + (!c->drop && turns % round != 0)) * c->batch;

    want.turns = turns;
    for (uint64_t i = 0; i < rows; i++) {
        const uint64_t turn = i * c->world + rank;

        T_TRUE(want.rows < 2 * WINDOWS_MOST);
        if (turn < turns) {
            want.windows[want.rows++] = windows[done + turn];
        } else {
            document_padding(c->pad, &want.windows[want.rows++]);
        }
    }
}

static void check_row(const engine_run *run, const pack_case *c, uint32_t row,
                      const document_window *window)
{
    T_EQ(run->input.samples[row], window->sample);
    T_EQ(run->input.header->valid_rows > row, window->sample != UINT64_MAX);
    T_TRUE(memcmp(row_of(run, 0, row), window->tokens, c->seq * sizeof(uint16_t)) == 0);
    T_TRUE(memcmp(row_of(run, 1, row), window->position, c->seq * sizeof(int32_t)) == 0);
    T_TRUE(memcmp(row_of(run, 2, row), window->document, c->seq * sizeof(int32_t)) == 0);
}

/* Takes the next batches of a run: they have the windows from row *at on. */
static void check_batches(engine_run *run, const pack_case *c, uint64_t batches)
{
    uint64_t at = 0;

    for (uint64_t i = 0; i < batches; i++) {
        T_OK(next_batch(run));
        for (uint32_t row = 0; row < c->batch; row++) {
            check_row(run, c, row, &want.windows[at++]);
        }
    }
}

/* Runs two passes on each rank. */
static void check_passes(const pack_case *c)
{
    for (int i = 0; i < 3; i++) {
        for (uint32_t rank = 0; rank < c->world; rank++) {
            const run_options options = {.device = devices[rank % 2],
                                         .workers = worker_counts[i],
                                         .slots = (uint32_t)i + 2,
                                         .passes = 2,
                                         .batches = UINT64_MAX,
                                         .settings = {.seed = 5, .rank = rank, .world = c->world}};
            sluice_dataset *dataset = packed(c);
            engine_run run;

            want.rows = 0;
            expect_pass(c, 0, 0, rank);
            expect_pass(c, 1, 0, rank);
            open_own(&run, dataset, &options);
            check_batches(&run, c, want.rows / c->batch);
            T_STATUS(next_batch(&run), SLUICE_END_OF_DATA);
            close_run(&run);
        }
    }
}

static const pack_case cases[] = {
    {"shuffle", false, 16, true, 0, 4, false, 1}, {"shuffle", false, 16, true, 7, 4, true, 1},
    {NULL, false, 5, true, 9, 3, false, 1},       {"shuffle", false, 1, true, 0, 7, true, 1},
    {"shuffle", false, 64, true, 0, 2, false, 1}, {"shuffle", false, 23, false, 0, 4, false, 1},
    {NULL, false, 32, false, 3, 3, true, 1},      {"shuffle", true, 16, true, 0, 4, true, 1},
    {"shuffle", true, 23, false, 0, 4, false, 1},
};

static void windows_have_the_documents_in_order(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check_passes(&cases[i]);
    }
}

static void ranks_take_windows_in_turns(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        pack_case c = cases[i];

        c.world = 2 + (uint32_t)i % 3;
        check_passes(&c);
    }
}

/* Fewer documents than rows in a batch make enough windows. */
static void a_few_documents_fill_many_windows(void)
{
    check_passes(&(pack_case){"shuffle | take 9", false, 4, true, 0, 12, true, 1});
    check_passes(&(pack_case){"shuffle | take 9", false, 2, true, 0, 10, false, 3});
}

/* The pass ends with a window of rank 0, so the next batch of rank 1 would be padding. */
static void a_run_ends_after_its_last_batch_where_other_ranks_have_windows(void)
{
    uint32_t runs = 0;

    for (uint32_t seq = 1; seq <= 8; seq++) {
        const pack_case c = {"skip 5 | take 1", false, seq, true, 0, 1, false, 2};
        sluice_dataset *dataset = packed(&c);
        engine_run run;

        want.rows = 0;
        expect_pass(&c, 0, 0, 1);
        if (want.turns % 2 == 1 && want.turns > 1) {
            runs++;
            open_run(&run, dataset,
                     &(run_options){.workers = worker_counts[seq % 3],
                                    .batches = want.rows - 1,
                                    .settings = {.seed = 5, .rank = 1, .world = 2}});
            check_batches(&run, &c, want.rows - 1);
            T_STATUS(next_batch(&run), SLUICE_END_OF_DATA);
            close_run(&run);
        }
        sluice_dataset_destroy(dataset);
    }
    T_TRUE(runs > 0);
}

/* A run that begins after any batch gives what the whole run gives from there. */
static void a_resumed_run_gives_the_same_windows(void)
{
    for (uint64_t first = 0; first < 12; first++) {
        const pack_case c = {"shuffle", false, 23, first % 2 == 0, 0, 3, first % 3 == 0, 1};
        sluice_dataset *dataset = packed(&c);
        engine_run run;

        want.rows = 0;
        expect_pass(&c, 0, first * 3, 0);
        expect_pass(&c, 1, 0, 0);
        open_own(&run, dataset,
                 &(run_options){.workers = worker_counts[first % 3],
                                .first_step = first,
                                .batches = want.rows / 3,
                                .settings = {.seed = 5, .world = 1}});
        check_batches(&run, &c, want.rows / 3);
        T_STATUS(next_batch(&run), SLUICE_END_OF_DATA);
        T_EQ(sli_plan_position(run.plan, 1).done, first * 3 + 3);
        close_run(&run);
    }
}

/* A run of N batches may end within a document: its windows are complete, the next one is open. */
static void a_run_of_some_batches_ends_with_a_whole_window(void)
{
    for (uint64_t batches = 1; batches < 9; batches++) {
        const pack_case c = {"shuffle", false, 16, batches % 2 == 0, 0, 2, true, 1};
        pack_case fits = c;
        sluice_dataset *dataset;
        engine_run run;

        fits.seq = c.split ? 16 : 23;
        dataset = packed(&fits);
        want.rows = 0;
        expect_pass(&fits, 0, 0, 0);
        open_own(&run, dataset,
                 &(run_options){.workers = worker_counts[batches % 3],
                                .batches = batches,
                                .settings = {.seed = 5, .world = 1}});
        check_batches(&run, &fits, batches);
        T_STATUS(next_batch(&run), SLUICE_END_OF_DATA);
        close_run(&run);
    }
}

static void columns_may_be_left_out(void)
{
    sluice_dataset *dataset = document_dataset();
    engine_run run;
    const int32_t *documents;

    T_OK(sluice_dataset_add(
        dataset, "pack tokens 16 | project document,tokens | rename document where | batch 2"));
    open_own(&run, dataset, &(run_options){.workers = 2});
    T_OK(next_batch(&run));
    T_EQ(run.input.count, 2);
    T_EQ(strcmp(run.input.tensors[0].name, "where"), 0);
    documents = row_of(&run, 0, 0);
    T_EQ(documents[0], 0);
    T_EQ(*(const uint16_t *)row_of(&run, 1, 0), document_token(0, 0));
    close_run(&run);
}

const t_test pack_windows_tests[] = {
    T_TEST(windows_have_the_documents_in_order),
    T_TEST(ranks_take_windows_in_turns),
    T_TEST(a_few_documents_fill_many_windows),
    T_TEST(a_run_ends_after_its_last_batch_where_other_ranks_have_windows),
    T_TEST(a_resumed_run_gives_the_same_windows),
    T_TEST(a_run_of_some_batches_ends_with_a_whole_window),
    T_TEST(columns_may_be_left_out),
    T_END,
};
