/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a stream, taken one by one without workers. */
#include "collected_rows.h"
#include "dataset_kit.h"
#include "generator_kit.h"
#include "testing.h"

enum { SAMPLES = 5, BATCH = 4 };

/* Rows of one of 2 ranks. */
typedef struct taker {
    generator g;
    sluice_dataset *dataset;
    sli_plan *plan;
    collected_rows *rows;
    stream_item item;
} taker;

/* The run of this rank begins after `done` samples of the first pass. */
static void open_taker_at(taker *t, const char *batch, uint32_t rank, uint64_t done)
{
    *t = (taker){.g = {.samples = SAMPLES}};
    t->dataset = generator_dataset(&t->g, batch);
    T_OK(sli_plan_open(t->dataset, &(sli_run_settings){.rank = rank, .world = 2}, &t->plan));
    if (done > 0) {
        T_OK(sli_plan_begin(t->plan, &(sli_position){.done = done}, 1));
    }
    T_OK(collected_rows_create(t->plan, UINT64_MAX, 0, &t->rows));
}

static void open_taker(taker *t, const char *batch)
{
    open_taker_at(t, batch, 0, 0);
}

static void close_taker(taker *t)
{
    collected_rows_destroy(t->rows);
    image_buffer_free(&t->item.bytes);
    sli_plan_close(t->plan);
    sluice_dataset_destroy(t->dataset);
}

static collected_claim take(taker *t)
{
    const collected_request request = {.most = 1, .item = &t->item};
    collected_claim claim;

    collected_rows_take(t->rows, &request, &claim);
    return claim;
}

static void check_sample(taker *t, uint64_t seq, uint32_t row, uint64_t pass, uint64_t position)
{
    const collected_claim claim = take(t);

    T_EQ(claim.kind, COLLECTED_SAMPLE);
    T_EQ(claim.seq, seq);
    T_EQ(claim.row, row);
    T_EQ(claim.pass, pass);
    T_EQ(claim.position, position);
}

static void check_rest(taker *t, collected_kind kind, uint64_t seq, uint32_t row, uint32_t count)
{
    const collected_claim claim = take(t);

    T_EQ(claim.kind, kind);
    T_EQ(claim.seq, seq);
    T_EQ(claim.row, row);
    T_EQ(claim.count, count);
}

static void rows_follow_from_the_samples_that_are_read(void)
{
    taker t;

    open_taker(&t, "batch 4");
    for (uint64_t pass = 0; pass < 2; pass++) {
        for (uint32_t row = 0; row < 3; row++) {
            check_sample(&t, pass + 1, row, pass, 2 * row);
        }
        check_rest(&t, COLLECTED_PADDING, pass + 1, 3, 1);
    }
    close_taker(&t);
}

/* The first rank has the last sample of the pass. */
static void each_rank_has_its_own_samples(void)
{
    taker t;

    open_taker_at(&t, "batch 4", 1, 0);
    for (uint64_t pass = 0; pass < 2; pass++) {
        check_sample(&t, pass + 1, 0, pass, 1);
        check_sample(&t, pass + 1, 1, pass, 3);
        check_rest(&t, COLLECTED_PADDING, pass + 1, 2, 2);
    }
    close_taker(&t);
}

/* The last sample of the pass has no partner on rank 1, so no rank gets a row for it. */
static void a_round_that_is_cut_short_is_dropped_by_all_ranks(void)
{
    taker t;

    open_taker(&t, "batch 2 drop_remainder=true");
    check_sample(&t, 1, 0, 0, 0);
    check_sample(&t, 1, 1, 0, 2);
    check_sample(&t, 2, 0, 1, 0);
    close_taker(&t);
}

/* Rows that are to be padded when the run is rewound are padded after that: their batch was begun.
 */
static void a_rewind_keeps_the_rows_that_are_still_to_be_padded(void)
{
    taker t;
    uint64_t base;

    open_taker(&t, "batch 4");
    for (uint32_t row = 0; row < 3; row++) {
        check_sample(&t, 1, row, 0, 2 * row);
    }
    base = collected_rows_freeze(t.rows);
    T_EQ(base, 1);
    collected_rows_rewind(t.rows, base + 1, UINT64_MAX);
    check_rest(&t, COLLECTED_PADDING, 1, 3, 1);
    check_rest(&t, COLLECTED_PADDING, 2, 0, BATCH);
    check_sample(&t, 3, 0, 0, 0); /* the first pass again */
    close_taker(&t);
}

/* Also if the pass in which the run began has ended by then. */
static void a_rewind_goes_back_to_where_the_run_began(void)
{
    taker t;

    open_taker_at(&t, "batch 2", 0, 4);
    for (uint64_t base = 0; base < 6; base += 2) {
        check_sample(&t, base + 1, 0, 0, 4);
        check_rest(&t, COLLECTED_PADDING, base + 1, 1, 1);
        check_sample(&t, base + 2, 0, 1, 0);
        T_EQ(collected_rows_freeze(t.rows), base + 2);
        collected_rows_rewind(t.rows, base + 2, UINT64_MAX);
        check_rest(&t, COLLECTED_PADDING, base + 2, 1, 1);
    }
    close_taker(&t);
}

static void rows_end_at_the_limit_until_a_rewind_raises_it(void)
{
    taker t;

    open_taker(&t, "batch 1");
    T_EQ(collected_rows_freeze(t.rows), 0);
    collected_rows_rewind(t.rows, 0, 2);
    check_sample(&t, 1, 0, 0, 0);
    check_sample(&t, 2, 0, 0, 2);
    check_rest(&t, COLLECTED_LIMIT, 3, 0, 0);
    T_EQ(collected_rows_freeze(t.rows), 2);
    collected_rows_rewind(t.rows, 2, 3);
    check_sample(&t, 3, 0, 0, 0);
    check_rest(&t, COLLECTED_LIMIT, 4, 0, 0);
    close_taker(&t);
}

/* The samples of the pass are counted from the rewind on. */
static void a_pass_without_a_batch_is_an_error_after_a_rewind(void)
{
    taker t;

    open_taker(&t, "batch 2 drop_remainder=true");
    check_sample(&t, 1, 0, 0, 0);
    check_sample(&t, 1, 1, 0, 2);
    check_sample(&t, 2, 0, 1, 0); /* the first pass has ended */
    T_EQ(collected_rows_freeze(t.rows), 2);
    collected_rows_rewind(t.rows, 2, UINT64_MAX);
    check_rest(&t, COLLECTED_PADDING, 2, 1, 1);
    t.g.samples = 1;
    T_EQ(take(&t).kind, COLLECTED_FAILED);
    T_CONTAINS(sluice_last_error(), "a pass of the stream has 1 samples and no batch of 2");
    close_taker(&t);
}

/* ---- with pack ------------------------------------------------------------------------------- */

/* What a worker takes and chooses: a document of a window. */
typedef struct chooser {
    stream_item item;
    collected_choice choice;
    collected_document documents[COLLECTED_MOST];
} chooser;

static void take_document(collected_rows *rows, chooser *c, uint64_t pass, uint32_t count)
{
    const collected_request request = {.most = 1, .item = &c->item};

    collected_rows_take(rows, &request, &c->choice.claim);
    T_EQ(c->choice.claim.kind, COLLECTED_CANDIDATES);
    T_EQ(c->choice.claim.pass, pass);
    T_EQ(c->choice.claim.count, count);
    c->choice.documents = c->documents;
    c->documents[0].length = 4;
}

/* The end of a pass without candidates has the number of the next pass's first candidate. */
static void a_pass_ends_before_the_next_one_gets_rows(void)
{
    static chooser last;
    static chooser end;
    static chooser next;
    generator g = {.samples = 1};
    sluice_dataset *dataset = generator_dataset(&g, "drop number,noise | pack words 4 | batch 2");
    collected_rows *rows;
    sli_plan *plan;

    T_OK(sli_plan_open(dataset, &(sli_run_settings){.world = 1}, &plan));
    T_OK(collected_rows_create(plan, UINT64_MAX, 0, &rows));
    take_document(rows, &last, 0, 1);
    take_document(rows, &end, 0, 0);
    take_document(rows, &next, 1, 1);
    T_EQ(next.choice.claim.first, end.choice.claim.first);
    collected_rows_choose(rows, &last.choice);
    T_TRUE(last.choice.is_made);
    collected_rows_choose(rows, &next.choice);
    T_TRUE(!next.choice.is_made);
    collected_rows_choose(rows, &end.choice);
    T_TRUE(end.choice.is_made && next.choice.is_made);
    T_EQ(last.documents[0].row, 0);
    T_EQ(end.choice.rest.kind, COLLECTED_PADDING);
    T_EQ(next.documents[0].row, 2);
    collected_rows_destroy(rows);
    image_buffer_free(&last.item.bytes);
    image_buffer_free(&end.item.bytes);
    image_buffer_free(&next.item.bytes);
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
}

const t_test collected_streams_tests[] = {
    T_TEST(rows_follow_from_the_samples_that_are_read),
    T_TEST(each_rank_has_its_own_samples),
    T_TEST(a_round_that_is_cut_short_is_dropped_by_all_ranks),
    T_TEST(a_rewind_keeps_the_rows_that_are_still_to_be_padded),
    T_TEST(a_rewind_goes_back_to_where_the_run_began),
    T_TEST(rows_end_at_the_limit_until_a_rewind_raises_it),
    T_TEST(a_pass_without_a_batch_is_an_error_after_a_rewind),
    T_TEST(a_pass_ends_before_the_next_one_gets_rows),
    T_END,
};
