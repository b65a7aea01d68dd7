/* SPDX-License-Identifier: Apache-2.0 */
/* The stage pack: bad documents, invalid pipelines, and texts about it. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "dataset_state.h"
#include "document_kit.h"
#include "engine_kit.h"
#include "log_kit.h"
#include "plan_int.h"
#include "testing.h"

enum { SEQ = 8, BATCH = 2 };

/* ---- bad documents --------------------------------------------------------------------------- */

/* Packs all documents in their order; some are bad. */
static sluice_dataset *with_bad(const char *batch)
{
    sluice_dataset *dataset = document_dataset();

    T_OK(sluice_dataset_addf(dataset, "pack tokens %u", SEQ));
    T_OK(sluice_dataset_add(dataset, batch));
    document_is_bad[10] = true;
    document_is_bad[40] = true;
    document_is_bad[41] = true;
    return dataset;
}

/* The windows of all documents up to `end`; those that are bad are replaced, or left out. */
static uint64_t windows_up_to(uint64_t end, bool replaced, document_window *windows)
{
    uint64_t samples[DOCUMENTS];
    uint64_t count = 0;

    for (uint64_t i = 0; i < end; i++) {
        uint64_t sample = i;

        while (document_is_bad[sample]) {
            sample++;
        }
        if (sample == i || replaced) {
            samples[count++] = sample;
        }
    }
    return document_windows(samples, count, SEQ, true, 0, windows);
}

static void check_window(const engine_run *run, uint32_t row, const document_window *window)
{
    T_EQ(run->input.samples[row], window->sample);
    T_TRUE(memcmp(row_of(run, 0, row), window->tokens, SEQ * sizeof(uint16_t)) == 0);
    T_TRUE(memcmp(row_of(run, 1, row), window->position, SEQ * sizeof(int32_t)) == 0);
    T_TRUE(memcmp(row_of(run, 2, row), window->document, SEQ * sizeof(int32_t)) == 0);
}

/* Batches of whole windows before the bad document are steps. */
static void a_bad_document_ends_the_run_in_its_place(void)
{
    static document_window windows[WINDOWS_MOST];
    uint32_t tokens = 0;

    for (uint64_t i = 0; i < 10; i++) {
        tokens += document_length(i);
    }
    for (int i = 0; i < 3; i++) {
        sluice_dataset *dataset = with_bad("batch 2");
        engine_run run;

        (void)windows_up_to(10, false, windows);
        open_own(&run, dataset, &(run_options){.workers = worker_counts[i]});
        for (uint64_t batch = 0; batch < tokens / SEQ / BATCH; batch++) {
            T_OK(next_batch(&run));
            check_window(&run, 0, &windows[batch * BATCH]);
            check_window(&run, 1, &windows[batch * BATCH + 1]);
        }
        T_STATUS(next_batch(&run), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(),
                   "it is bad; on_error replace or zero continues without such samples");
        close_run(&run);
    }
}

static void check_policy(sli_error_policy policy)
{
    static document_window windows[WINDOWS_MOST];
    const bool replaces = policy == SLI_ON_ERROR_REPLACE;

    for (int i = 0; i < 6; i++) {
        const uint32_t world = i < 3 ? 1 : 3;
        uint64_t count = 0;

        for (uint32_t rank = 0; rank < world; rank++) {
            sluice_dataset *dataset = with_bad("batch 1");
            const run_options options = {
                .workers = worker_counts[i % 3],
                .settings = {.rank = rank, .world = world, .on_error = policy}};
            sli_engine_errors errors;
            engine_run run;

            count = windows_up_to(DOCUMENTS, replaces, windows);
            open_own(&run, dataset, &options);
            for (uint64_t turn = rank; turn < count; turn += world) {
                T_OK(next_batch(&run));
                check_window(&run, 0, &windows[turn]);
                T_TRUE(replaces || *(const uint8_t *)row_of(&run, 3, 0) == 1);
            }
            sli_engine_stop(run.engine);
            sli_engine_errors_get(run.engine, &errors);
            T_EQ(replaces ? errors.replaced : errors.zeroed, 3);
            close_run(&run);
        }
    }
}

/* 10 is replaced by 11, 40 and 41 by 42. */
static void a_bad_document_is_replaced_by_the_next(void)
{
    check_policy(SLI_ON_ERROR_REPLACE);
}

static void policy_zero_leaves_bad_documents_out(void)
{
    check_policy(SLI_ON_ERROR_ZERO);
}

/* Fills the columns of pack and a new one with 7, also in rows without a sample. */
static sluice_status fill_all(sluice_host_batch *batch, void *user)
{
    static const char *const names[] = {"tokens", "position", "document", "extra"};

    (void)user;
    for (uint32_t i = 0; i < 4; i++) {
        sluice_host_column column;
        const sluice_status st = sluice_host_batch_column(batch, names[i], &column);

        if (st != SLUICE_OK) {
            return st;
        }
        memset(column.data, 7, column.row_bytes * sluice_host_batch_rows(batch));
    }
    return SLUICE_OK;
}

static void padding_stays_after_a_map_of_batches(void)
{
    static const char *const changes[] = {"tokens", "position", "document"};
    static const sluice_column_spec extra[] = {
        {.name = "extra", .dtype = SLUICE_I32, .rank = 0},
    };
    sluice_dataset *dataset = document_dataset();
    uint32_t padded = 0;
    engine_run run;
    sluice_map_batch map;

    sluice_map_batch_init(&map);
    map.name = "fill";
    map.changes = changes;
    map.change_count = 3;
    map.outputs = extra;
    map.output_count = 1;
    map.map = fill_all;
    T_OK(sluice_dataset_add(dataset, "take 5 | pack tokens seq=6 pad=9 | batch 64"));
    T_OK(sluice_dataset_map_batch(dataset, &map));
    open_own(&run, dataset, &(run_options){.workers = 2});
    T_OK(next_batch(&run));
    for (uint32_t row = 0; row < 64; row++) {
        const bool is_padding = run.input.samples[row] == UINT64_MAX;
        const uint16_t *tokens = row_of(&run, 0, row);
        const int32_t *position = row_of(&run, 1, row);
        const int32_t *document = row_of(&run, 2, row);

        for (uint32_t i = 0; i < 6; i++) {
            T_EQ(tokens[i], is_padding ? 9 : 0x0707);
            T_EQ(position[i], is_padding ? 0 : 0x07070707);
            T_EQ(document[i], is_padding ? -1 : 0x07070707);
        }
        T_EQ(*(const int32_t *)row_of(&run, 3, row), is_padding ? 0 : 0x07070707);
        padded += is_padding;
    }
    T_TRUE(padded > 0 && padded < 64);
    close_run(&run);
}

static void padding_is_marked_in_the_mask(void)
{
    sluice_dataset *dataset = document_dataset();
    const run_options options = {.workers = 2, .settings = {.on_error = SLI_ON_ERROR_ZERO}};
    engine_run run;

    T_OK(sluice_dataset_add(dataset, "take 1 | pack tokens 4 pad=9 | batch 4"));
    T_EQ(document_length(0), 5); /* one window of 4 tokens, one of 1 */
    open_own(&run, dataset, &options);
    T_OK(next_batch(&run));
    T_EQ(run.input.header->valid_rows, 2);
    for (uint32_t row = 0; row < 4; row++) {
        T_EQ(*(const uint8_t *)row_of(&run, 3, row), row < 2);
        T_EQ(((const uint16_t *)row_of(&run, 0, row))[3], row == 0 ? document_token(0, 3) : 9);
        T_EQ(((const int32_t *)row_of(&run, 2, row))[3], row == 0 ? 0 : -1);
    }
    close_run(&run);
}

static void a_document_longer_than_a_window_is_bad_without_split(void)
{
    sluice_dataset *dataset = document_dataset();
    tape t;

    T_OK(sluice_dataset_add(dataset, "pack tokens 22 split=false | batch 2"));
    t = record_own(dataset, &(run_options){.workers = 2});
    T_STATUS(t.end, SLUICE_E_CORRUPT);
    T_CONTAINS(t.error, "pack: sample ");
    T_CONTAINS(t.error, "a document of 23 tokens does not fit into a window of 22; use split=true "
                        "or a larger seq");
    free(t.bytes);
}

/* The window before the bad document is complete on some ranks only: they hold a full batch. */
static void all_ranks_end_after_the_same_batch(void)
{
    for (uint32_t i = 0; i < 48; i++) {
        const uint32_t world = 2 + i % 3;
        uint64_t batches[4];

        for (uint32_t rank = 0; rank < world; rank++) {
            const run_options options = {.workers = 1 + i % 2,
                                         .settings = {.rank = rank, .world = world}};
            sluice_dataset *dataset = document_dataset();

            T_OK(sluice_dataset_addf(dataset, "pack tokens %u split=%s", 23 - i % 4,
                                     i % 8 < 4 ? "true" : "false"));
            T_OK(sluice_dataset_add(dataset, i % 3 == 0 ? "batch 2 drop_remainder=true"
                                                        : "batch 1 drop_remainder=true"));
            document_is_bad[12 + i] = true;
            batches[rank] = batches_to_error(dataset, &options, SLUICE_E_CORRUPT,
                                             "on_error replace or zero continues without");
        }
        for (uint32_t rank = 1; rank < world; rank++) {
            T_EQ(batches[rank], batches[0]);
        }
    }
}

static void passes_without_a_batch_have_no_valid_data(void)
{
    sluice_dataset *dataset = document_dataset();

    T_OK(sluice_dataset_add(dataset, "take 1 | pack tokens 4 | batch 3 drop_remainder=true"));
    batches_to_error(dataset, &(run_options){.workers = 2}, SLUICE_E_INVALID,
                     "no valid data in the dataset: pack makes 2 windows of the 1 samples of a "
                     "pass, and no batch of 3 of them; drop_remainder=false keeps");
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void a_resumed_run_logs_how_long_reading_took(void)
{
    sluice_dataset *dataset = document_dataset();
    const char *log;
    tape t;

    T_OK(sluice_dataset_add(dataset, "pack tokens 16 | batch 4"));
    sluice_log_set_level(SLUICE_LOG_INFO);
    kit_log_start(NULL, NULL);
    t = record_own(dataset, &(run_options){.first_step = 3, .resumes = true});
    log = kit_log_stop();
    sluice_log_set_level(SLUICE_LOG_WARN);
    T_STATUS(t.end, SLUICE_END_OF_DATA);
    T_CONTAINS(log, "pack: documents are read again from the beginning of the pass: 12 windows "
                    "were done");
    T_CONTAINS(log, "replayed 3 batches: ");
    free(t.bytes);
}

static void fewer_windows_than_were_done_are_an_error(void)
{
    sluice_dataset *dataset = document_dataset();

    T_OK(sluice_dataset_add(dataset, "take 5 | pack tokens 16 | batch 4"));
    batches_to_error(dataset, &(run_options){.first_step = 9, .resumes = true}, SLUICE_E_INVALID,
                     "of a pass of which 36 were done before; resume with the same data");
}

static void explain_says_how_rows_are_made(void)
{
    sluice_dataset *dataset = document_dataset();
    char *text = NULL;

    T_OK(sluice_dataset_add(dataset, "pack tokens 16 | batch 4"));
    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "order: windows of 16 tokens of the documents of 60 samples a pass; every "
                     "rank reads all documents and takes windows in turns: batches of 4 rows");
    T_CONTAINS(text, "column tokens: u16 (4, 16)");
    T_CONTAINS(text, "column position: i32 (4, 16)");
    T_CONTAINS(text, "column document: i32 (4, 16)");
    T_CONTAINS(text, "assembly: collected; documents are joined in order");
    T_CONTAINS(text, "label: dropped, not written");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
}

/* Texts with the same stages before and after pack differ. */
static void a_resumed_run_compares_the_stages(void)
{
    T_OK(sli_stages_compare("shuffle | pack tokens 16", "shuffle | pack tokens 16 split=true"));
    T_STATUS(sli_stages_compare("pack tokens 16", "pack tokens 32"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "pack: seq was 16 and is 32 now");
    T_STATUS(
        sli_stages_compare("pack tokens 16 | project tokens", "project tokens | pack tokens 16"),
        SLUICE_E_INVALID);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void what_cannot_be_packed_is_refused(void)
{
    static const refused_case cases[] = {
        {"pack words 16", "pack: there is no column 'words'"},
        {"pack label 16",
         "pack: label is i32 with 0 dimensions, and must be a plain column of integers"},
        {"cast tokens f32 | pack tokens 16", "pack: tokens is f32 with 1 dimensions"},
        {"pack tokens 0", "seq"},
        {"pack tokens 16777217", "seq"},
        {"pack tokens 16 pad=65536", "pack: pad=65536 must be of type u16, that of tokens"},
        {"rename tokens document | pack document 16", "rename it"},
        {"pack tokens 16 | shuffle", "shuffle comes after pack; put it before"},
        {"pack tokens 16 | cast tokens i32", "cast comes after pack; put it before"},
        {"pack tokens 16 | pack tokens 8", "pack comes after pack"},
    };

    check_refused_stages(document_dataset, cases, sizeof(cases) / sizeof(cases[0]));
}

const t_test pack_windows_errors_tests[] = {
    T_TEST(a_bad_document_ends_the_run_in_its_place),
    T_TEST(a_bad_document_is_replaced_by_the_next),
    T_TEST(policy_zero_leaves_bad_documents_out),
    T_TEST(padding_stays_after_a_map_of_batches),
    T_TEST(padding_is_marked_in_the_mask),
    T_TEST(a_document_longer_than_a_window_is_bad_without_split),
    T_TEST(all_ranks_end_after_the_same_batch),
    T_TEST(passes_without_a_batch_have_no_valid_data),
    T_TEST(a_resumed_run_logs_how_long_reading_took),
    T_TEST(fewer_windows_than_were_done_are_an_error),
    T_TEST(explain_says_how_rows_are_made),
    T_TEST(a_resumed_run_compares_the_stages),
    T_TEST(what_cannot_be_packed_is_refused),
    T_END,
};
