/* SPDX-License-Identifier: Apache-2.0 */
/* Maps of batches on windows, buckets and streams; pack and bucket of the samples of groups. */
#include <stdlib.h>

#include <sluice/sampling.h>

#include "document_kit.h"
#include "engine_kit.h"
#include "generator_kit.h"
#include "testing.h"

enum { BATCH = 4, SEQ = 16, PAD = 9 };

static document_window windows[WINDOWS_MOST]; /* large */

/* ---- groups ---------------------------------------------------------------------------------- */

typedef enum group_case { CONCAT, MIX, ZIP, GROUPS } group_case;

static const char *const group_names[GROUPS] = {"concat", "mix", "zip"};

/* A part: all documents in an order of its own, with other columns for the second of a zip. */
static sluice_dataset *part(group_case group, int i)
{
    sluice_dataset *dataset = document_dataset();

    T_OK(sluice_dataset_add(dataset, i == 0 || group == ZIP ? "take 40" : "shuffle 3"));
    if (group == ZIP && i == 1) {
        T_OK(sluice_dataset_add(dataset, "project label | rename label other"));
    }
    return dataset;
}

static sluice_dataset *grouped(group_case group)
{
    static const uint64_t weights[] = {2, 1};
    sluice_dataset *const parts[] = {part(group, 0), part(group, 1)};
    sluice_dataset *dataset = NULL;

    T_OK(group == CONCAT ? sluice_dataset_concat(parts, 2, &dataset)
         : group == MIX  ? sluice_dataset_mix(parts, weights, 0, 2, &dataset)
                         : sluice_dataset_zip(parts, 2, &dataset));
    T_OK(sluice_dataset_add(dataset, "shuffle"));
    return dataset;
}

/* The samples of a pass of a group, in order; returns how many. */
static uint64_t samples_of_group(group_case group, uint64_t pass, uint64_t *samples_out)
{
    const sli_run_settings settings = {.seed = 5, .world = 1};
    sluice_dataset *dataset = grouped(group);
    sli_plan *plan;
    uint64_t count;

    T_OK(sluice_dataset_add(dataset, "batch 1"));
    T_OK(sli_plan_open(dataset, &settings, &plan));
    count = plan->details->orders.rank.length;
    T_TRUE(count <= WINDOWS_MOST);
    for (uint64_t i = 0; i < count; i++) {
        uint64_t sample_pass;

        order_at(&plan->details->orders.rank, pass, i, &samples_out[i], &sample_pass);
    }
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
    return count;
}

/* The document of a sample of a group: parts of 60 samples are numbered one after another. */
static uint64_t document_of(uint64_t sample)
{
    return sample % DOCUMENTS;
}

static uint32_t column_of(const engine_run *run, const char *name)
{
    uint32_t i = 0;

    while (strcmp(run->plan->seen[i].name, name) != 0) {
        i++;
        T_TRUE(i < run->plan->column_count);
    }
    return i;
}

static void open_group(engine_run *run, sluice_dataset *dataset, int i)
{
    open_run(run, dataset,
             &(run_options){.device = devices[i % 2],
                            .workers = worker_counts[i],
                            .passes = 2,
                            .batches = UINT64_MAX,
                            .settings = {.seed = 5, .world = 1}});
}

static void check_window(const engine_run *run, uint32_t row, const document_window *want)
{
    T_TRUE(memcmp(row_of(run, column_of(run, "tokens"), row), want->tokens, SEQ * 2) == 0);
    T_TRUE(memcmp(row_of(run, column_of(run, "position"), row), want->position, SEQ * 4) == 0);
    T_TRUE(memcmp(row_of(run, column_of(run, "document"), row), want->document, SEQ * 4) == 0);
}

static void documents_of_groups_are_packed(void)
{
    for (int i = 0; i < 3 * GROUPS; i++) {
        const group_case group = (group_case)(i % GROUPS);
        sluice_dataset *dataset = grouped(group);
        engine_run run;

        T_OK(sluice_dataset_addf(dataset, "pack tokens %u pad=%u | batch %u", SEQ, PAD, BATCH));
        open_group(&run, dataset, i / GROUPS);
        for (uint64_t pass = 0; pass < 2; pass++) {
            uint64_t samples[WINDOWS_MOST];
            const uint64_t count = samples_of_group(group, pass, samples);
            uint64_t rows;

            for (uint64_t k = 0; k < count; k++) {
                samples[k] = document_of(samples[k]);
            }
            rows = document_windows(samples, count, SEQ, true, PAD, windows);
            T_TRUE(rows > BATCH);
            for (uint64_t k = 0; k < (rows + BATCH - 1) / BATCH * BATCH; k++) {
                if (k >= rows) {
                    document_padding(PAD, &windows[k]);
                }
                if (k % BATCH == 0) {
                    T_OK(next_batch(&run));
                }
                check_window(&run, (uint32_t)(k % BATCH), &windows[k]);
            }
        }
        T_STATUS(next_batch(&run), SLUICE_END_OF_DATA);
        close_run(&run);
        sluice_dataset_destroy(dataset);
    }
}

/* ---- buckets --------------------------------------------------------------------------------- */

#define EDGES "6,13"

static uint32_t bucket_of(int32_t length)
{
    return (uint32_t)(length > 6) + (uint32_t)(length > 13);
}

/* Each sample of the pass is there once, in a batch of its bucket; returns the rows with one. */
static uint64_t check_buckets(engine_run *run, group_case group)
{
    uint64_t samples[WINDOWS_MOST];
    const uint64_t count = samples_of_group(group, 0, samples);
    uint64_t rows = 0;

    while (rows < count) {
        uint32_t bucket = UINT32_MAX;

        T_OK(next_batch(run));
        for (uint32_t row = 0; row < run->input.header->valid_rows; row++, rows++) {
            const uint64_t sample = run->input.samples[row];
            const int32_t length =
                *(const int32_t *)row_of(run, column_of(run, "tokens_length"), row);
            uint64_t k = 0;

            T_EQ(length, document_length(document_of(sample)));
            T_EQ(*(const int32_t *)row_of(run, column_of(run, "label"), row), document_of(sample));
            bucket = bucket == UINT32_MAX ? bucket_of(length) : bucket;
            T_EQ(bucket_of(length), bucket);
            while (k < count && samples[k] != sample) {
                k++;
            }
            if (k == count) {
                T_FAIL_("%s: sample %d is not of the pass, or is there twice", group_names[group],
                        (int)sample);
            }
            samples[k] = UINT64_MAX;
        }
    }
    return rows;
}

static void samples_of_groups_are_bucketed(void)
{
    for (int i = 0; i < 3 * GROUPS; i++) {
        const group_case group = (group_case)(i % GROUPS);
        sluice_dataset *dataset = grouped(group);
        engine_run run;

        T_OK(sluice_dataset_addf(dataset, "bucket tokens_length " EDGES " | batch %u", BATCH));
        open_group(&run, dataset, i / GROUPS);
        T_TRUE(check_buckets(&run, group) >= 40);
        close_run(&run);
        sluice_dataset_destroy(dataset);
    }
}

/* ---- maps of batches ------------------------------------------------------------------------- */

static void *data_of(const sluice_host_batch *batch, const char *name)
{
    sluice_host_column column = {.data = NULL};

    T_OK(sluice_host_batch_column(batch, name, &column));
    return column.data;
}

/* Counts the tokens of each window that are no padding. */
static sluice_status count_real(sluice_host_batch *batch, void *user)
{
    const int32_t *document = data_of(batch, "document");
    int32_t *real = data_of(batch, "result");

    (void)user;
    for (uint32_t row = 0; row < sluice_host_batch_rows(batch); row++) {
        for (uint32_t i = 0; i < SEQ; i++) {
            real[row] += document[row * SEQ + i] >= 0;
        }
    }
    return SLUICE_OK;
}

/* The longest sample of the batch, and the number of samples, in each row. */
static sluice_status find_longest(sluice_host_batch *batch, void *user)
{
    const int32_t *length = data_of(batch, user);
    int32_t *result = data_of(batch, "result");
    int32_t longest = 0;

    for (uint32_t row = 0; row < sluice_host_batch_valid_rows(batch); row++) {
        longest = length[row] > longest ? length[row] : longest;
    }
    for (uint32_t row = 0; row < sluice_host_batch_rows(batch); row++) {
        result[row] = longest;
    }
    return SLUICE_OK;
}

static void add_batch_map(sluice_dataset *dataset,
                          sluice_status (*map)(sluice_host_batch *, void *), const char *input,
                          void *user)
{
    static const sluice_column_spec result[] = {{.name = "result", .dtype = SLUICE_I32}};
    const char *const inputs[] = {input};
    sluice_map_batch settings;

    sluice_map_batch_init(&settings);
    settings.name = "of_batch";
    settings.inputs = inputs;
    settings.input_count = 1;
    settings.outputs = result;
    settings.output_count = 1;
    settings.map = map;
    settings.user = user;
    T_OK(sluice_dataset_map_batch(dataset, &settings));
}

static void check_real(const engine_run *run)
{
    for (uint32_t row = 0; row < BATCH; row++) {
        const int32_t *document = row_of(run, column_of(run, "document"), row);
        const int32_t result = *(const int32_t *)row_of(run, column_of(run, "result"), row);
        int32_t real = 0;

        for (uint32_t i = 0; i < SEQ; i++) {
            real += document[i] >= 0;
        }
        T_EQ(result, real);
        T_EQ(real > 0, row < run->input.header->valid_rows);
    }
}

static void check_longest(const engine_run *run, const char *name)
{
    int32_t longest = 0;

    for (uint32_t row = 0; row < run->input.header->valid_rows; row++) {
        const int32_t length = *(const int32_t *)row_of(run, column_of(run, name), row);

        longest = length > longest ? length : longest;
    }
    for (uint32_t row = 0; row < BATCH; row++) {
        T_EQ(*(const int32_t *)row_of(run, column_of(run, "result"), row),
             row < run->input.header->valid_rows ? longest : 0);
    }
}

typedef enum map_case { ON_WINDOWS, ON_BUCKETS, ON_STREAM, MAP_CASES } map_case;

static sluice_dataset *mapped(map_case c, generator *g)
{
    static char words_length[] = "words_length";
    static char tokens_length[] = "tokens_length";
    sluice_dataset *dataset;

    if (c == ON_STREAM) {
        dataset = generator_dataset(g, "shuffle buffer=6 | batch 4");
        add_batch_map(dataset, find_longest, words_length, words_length);
        return dataset;
    }
    dataset = document_dataset();
    T_OK(sluice_dataset_add(dataset, "shuffle"));
    if (c == ON_WINDOWS) {
        T_OK(sluice_dataset_addf(dataset, "pack tokens %u pad=%u | batch %u", SEQ, PAD, BATCH));
        add_batch_map(dataset, count_real, "document", NULL);
    } else {
        T_OK(sluice_dataset_addf(dataset, "bucket tokens_length " EDGES " | batch %u", BATCH));
        add_batch_map(dataset, find_longest, tokens_length, tokens_length);
    }
    return dataset;
}

static void maps_of_batches_see_whole_batches_of_any_assembly(void)
{
    for (int i = 0; i < 6 * MAP_CASES; i++) {
        const map_case c = (map_case)(i % MAP_CASES);
        generator g = {.samples = 50};
        sluice_dataset *dataset = mapped(c, &g);
        const uint32_t rank = (uint32_t)i / MAP_CASES % 2;
        uint64_t batches = 0;
        engine_run run;

        open_own(&run, dataset,
                 &(run_options){.device = devices[i % 2],
                                .workers = worker_counts[i / (2 * MAP_CASES)],
                                .passes = 2,
                                .batches = UINT64_MAX,
                                .settings = {.seed = 5, .rank = rank, .world = 2}});
        while (next_batch(&run) == SLUICE_OK) {
            batches++;
            if (c == ON_WINDOWS) {
                check_real(&run);
            } else {
                check_longest(&run, c == ON_BUCKETS ? "tokens_length" : "words_length");
            }
        }
        T_TRUE(batches >= 12);
        close_run(&run);
    }
}

static sluice_status fail_third(sluice_host_batch *batch, void *user)
{
    (void)user;
    return sluice_host_batch_valid_rows(batch) < BATCH
               ? sluice_fail(SLUICE_E_IO, "too few rows for statistics")
               : SLUICE_OK;
}

/* The last batch of a pass is padded: the map refuses it, after all others. */
static void a_map_of_batches_that_fails_ends_the_run_after_the_batches_before(void)
{
    for (int i = 0; i < 3; i++) {
        generator g = {.samples = 50};
        sluice_dataset *dataset = generator_dataset(&g, "batch 4");

        add_batch_map(dataset, fail_third, "number", NULL);
        T_EQ(batches_to_error(dataset, &(run_options){.workers = worker_counts[i]}, SLUICE_E_IO,
                              "too few rows for statistics"),
             12);
        T_EQ(atomic_load(&g.open), 0);
    }
}

const t_test collected_batches_tests[] = {
    T_TEST(documents_of_groups_are_packed),
    T_TEST(samples_of_groups_are_bucketed),
    T_TEST(maps_of_batches_see_whole_batches_of_any_assembly),
    T_TEST(a_map_of_batches_that_fails_ends_the_run_after_the_batches_before),
    T_END,
};
