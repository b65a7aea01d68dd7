/* SPDX-License-Identifier: Apache-2.0 */
/* The passes of a run in its report: a row each, bounded, and a line if they differ much. */
#include <stdlib.h>

#include "generator_kit.h"
#include "report_passes.h"
#include "run_series.h"
#include "testing.h"
#include "train_kit.h"

static const int64_t SECOND_NS = 1000000000;

/* ---- rows ------------------------------------------------------------------------------------ */

static void rows_are_joined_but_the_first_pass(void)
{
    static run_series rows;

    memset(&rows, 0, sizeof(rows));
    rows.by_pass = true;
    for (uint64_t i = 0; i <= 100000; i++) {
        const run_series_row row = {.passes = 7 + i, .batches = 10 * i, .bad = i};

        run_series_add(&rows, row, (int64_t)i * SECOND_NS);
        /* A look within the next pass adds no row. */
        run_series_add(&rows, (run_series_row){.passes = 7 + i, .batches = 10 * i + 5, .bad = i},
                       (int64_t)i * SECOND_NS + SECOND_NS / 2);
    }
    T_TRUE(rows.count > RUN_SERIES_ROWS / 2 && rows.count <= RUN_SERIES_ROWS);
    T_EQ(rows.interval, 256);
    T_EQ(rows.rows[0].passes, 7);
    T_EQ(rows.rows[1].passes, 8);
    for (uint32_t i = 1; i < rows.count; i++) {
        T_EQ(rows.rows[i].batches, 10 * (rows.rows[i].passes - 7));
        T_EQ(rows.rows[i].passes - rows.rows[i - 1].passes, i == 1 ? 1 : 256);
    }
    T_EQ(rows.last.batches, 10 * 100000 + 5);
}

/* ---- text and JSON of recorded rows ---------------------------------------------------------- */

/* Passes of 10 batches of 4 samples; seconds: (count) of each. */
static sluice_report *recorded(const double *seconds, size_t count)
{
    sluice_report *report = calloc(1, sizeof(*report));
    double at = 0;

    T_TRUE(report != NULL);
    report->passes = calloc(1, sizeof(*report->passes));
    T_TRUE(report->passes != NULL);
    report->passes->by_pass = true;
    run_series_add(report->passes, (run_series_row){.passes = 2}, 0);
    for (size_t i = 0; i < count; i++) {
        at += seconds[i];
        run_series_add(
            report->passes,
            (run_series_row){.passes = 3 + i, .batches = 10 * (i + 1), .wait_s = at / 2, .bad = i},
            (int64_t)(at * 1e9));
    }
    report->batches = 10 * count;
    report->stats.samples = 40 * count;
    return report;
}

static void forget(sluice_report *report)
{
    free(report->passes);
    free(report);
}

typedef struct line_case {
    double seconds[6];
    const char *line; /* "": none */
    bool has_cache;
    uint64_t ahead;
} line_case;

static void a_line_says_how_passes_differ(void)
{
    static const line_case cases[] = {
        {{1, 1, 1, 1, 1, 1}, "", false, 0},
        {{1.1, 1, 0.9, 1, 1.2, 1}, "", true, 5},
        {{4, 1, 1, 1, 1, 1},
         "passes: 10 samples/s in the first pass, 40 samples/s after it\n",
         false,
         0},
        {{4, 1, 1, 1, 1, 1},
         "passes: 10 samples/s in the first pass, 40 samples/s after it; the first filled\n"
         "    the cache\n",
         true,
         5},
        {{4, 1, 1, 1, 1, 1},
         "passes: 10 samples/s in the first pass, 40 samples/s after it; files were not in\n"
         "    the page cache\n",
         false,
         5},
        {{0.5, 1, 1, 1, 1, 1},
         "passes: 80 samples/s in the first pass, 40 samples/s after it\n",
         true,
         5},
        {{1, 1, 1, 4, 1, 1},
         "passes: 10 samples/s in pass 5 (counted from 0), 40 samples/s in the others\n",
         false,
         0},
        {{1, 0.1, 0.1, 0.1, 0.1, 0.1}, /* together long enough */
         "passes: 40 samples/s in the first pass, 400 samples/s after it\n",
         false,
         0},
        {{0.04, 0.01, 0.01, 0.01, 0.01, 0.01}, "", false, 0}, /* too short */
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        sluice_report *report = recorded(cases[i].seconds, 6);
        sli_text text = {0};

        report->has_cache = cases[i].has_cache;
        report->cache.hits = report->cache.misses = cases[i].has_cache;
        report->ahead_samples = cases[i].ahead;
        report_add_passes(report, &text);
        T_STR(text.data != NULL ? text.data : "", cases[i].line);
        sli_text_free(&text);
        forget(report);
    }
}

/* As rows are when the series has been full. */
static void a_line_names_all_passes_of_a_row(void)
{
    static const double seconds[] = {1, 2, 8, 2};
    sluice_report *report = recorded(seconds, COUNT(seconds));
    sli_text text = {0};

    for (uint32_t i = 2; i < report->passes->count; i++) {
        report->passes->rows[i].passes = 3 + 2 * (i - 1);
    }
    report_add_passes(report, &text);
    T_CONTAINS(text.data, "passes: 5 samples/s in passes 5 to 6 (counted from 0), ");
    sli_text_free(&text);
    forget(report);
}

static void a_run_without_two_passes_has_no_line(void)
{
    const double second = 1;
    sluice_report *report = recorded(&second, 1);
    sli_text text = {0};

    report_add_passes(report, &text);
    free(report->passes);
    report->passes = NULL; /* a channel */
    report_add_passes(report, &text);
    T_TRUE(text.data == NULL || text.data[0] == '\0');
    sli_text_free(&text);
    forget(report);
}

static void rows_have_what_a_pass_did(void)
{
    static const double seconds[] = {4, 2};
    sluice_report *report = recorded(seconds, 2);
    sli_text text = {0};

    run_series_add(report->passes,
                   (run_series_row){.passes = 4, .batches = 25, .wait_s = 3, .bad = 8},
                   10 * SECOND_NS);
    report_add_passes_json(report, &text);
    T_STR(
        text.data,
        ",\"passes\":[{\"pass\":2,\"passes\":1,\"batches\":10,\"seconds\":4,\"batches_per_s\":2.5,"
        "\"data_wait_share\":0.5,\"bad_samples\":0},"
        "{\"pass\":3,\"passes\":1,\"batches\":10,\"seconds\":2,\"batches_per_s\":5,"
        "\"data_wait_share\":0.5,\"bad_samples\":1},"
        "{\"pass\":4,\"passes\":0,\"batches\":5,\"seconds\":4,\"batches_per_s\":1.25,"
        "\"data_wait_share\":0,\"bad_samples\":7}]");
    sli_text_free(&text);
    forget(report);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

/* Rows follow each other, and end with all batches of the run. */
static void check_rows(const kit *k, uint64_t batches)
{
    const run_series *rows = k->report->passes;

    T_TRUE(rows != NULL && rows->count > 0 && rows->rows[0].batches == 0);
    for (uint32_t i = 1; i < rows->count; i++) {
        T_TRUE(rows->rows[i].passes > rows->rows[i - 1].passes);
        T_TRUE(rows->rows[i].batches > rows->rows[i - 1].batches);
    }
    T_EQ(rows->last.batches, batches);
}

static void an_epoch_that_is_a_pass_has_a_row(void)
{
    for (size_t i = 0; i < COUNT(modes); i++) {
        kit k;

        kit_init(&k);
        k.config.mode = modes[i];
        k.config.epochs = 3;
        T_OK(kit_run(&k));
        check_rows(&k, 300);
        T_EQ(k.report->passes->count, 4);
        for (uint32_t pass = 0; pass < k.report->passes->count; pass++) {
            T_EQ(k.report->passes->rows[pass].passes, pass);
            T_EQ(k.report->passes->rows[pass].batches, 100 * pass);
        }
        kit_fini(&k);
    }
}

static void passes_are_found_within_and_over_sinks(void)
{
    kit k;

    kit_init(&k);
    k.config.epochs = 11;
    k.config.sink_size = 30;
    T_OK(kit_run(&k));
    check_rows(&k, 330); /* 3.3 passes */
    T_EQ(k.report->passes->last.passes, 3);
    k.config.epochs = 1;
    k.config.sink_size = 1000;
    T_OK(kit_run(&k));
    check_rows(&k, 1000);
    T_EQ(k.report->passes->last.passes, 10);
    kit_fini(&k);
}

static void passes_of_a_stream_are_rows(void)
{
    generator g = {.samples = 22, .repeats = true};
    kit k;

    kit_init(&k);
    k.dataset = generator_dataset(&g, "rename words image | rename image_length label | batch 4");
    k.model.reads_valid_rows = true;
    k.config.epochs = 3;
    T_OK(kit_run(&k));
    check_rows(&k, k.report->batches);
    T_EQ(k.report->passes->last.passes, 3);
    T_EQ(k.report->passes->count, 4);
    sluice_dataset_destroy(k.dataset);
    kit_fini(&k);
}

static void bad_samples_and_steps_after_the_start_count(void)
{
    kit_source source;
    kit k;

    kit_source_init(&source, 20);
    source.fail_at = 9;
    kit_init(&k);
    k.dataset = kit_source_dataset(&source, 2);
    k.config.on_error = SLUICE_ON_ERROR_REPLACE;
    k.config.epochs = 2;
    k.config.start_step = 5; /* the run begins within the first pass */
    T_OK(kit_run(&k));
    check_rows(&k, 15);
    T_EQ(k.report->passes->last.passes, 2);
    T_TRUE(k.report->passes->last.bad > 0);
    T_EQ(k.report->passes->last.bad, k.report->stats.replaced);
    sluice_dataset_destroy(k.dataset);
    kit_fini(&k);
}

const t_test passes_tests[] = {
    T_TEST(rows_are_joined_but_the_first_pass),
    T_TEST(a_line_says_how_passes_differ),
    T_TEST(a_line_names_all_passes_of_a_row),
    T_TEST(a_run_without_two_passes_has_no_line),
    T_TEST(rows_have_what_a_pass_did),
    T_TEST(an_epoch_that_is_a_pass_has_a_row),
    T_TEST(passes_are_found_within_and_over_sinks),
    T_TEST(passes_of_a_stream_are_rows),
    T_TEST(bad_samples_and_steps_after_the_start_count),
    T_END,
};
