/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of bucket that are copied have as many entries as their bucket's edge, and steps get the
 * tensors of batches that are not copied. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "document_kit.h"
#include "engine_kit.h"
#include "filter_kit.h"
#include "map_kit.h"
#include "npy_kit.h"
#include "testing.h"

enum { MOST = 200 };

/* If `grows`, samples are longer from the second read on. */
static bool grows;
static uint32_t reads;

static uint32_t length_of(uint64_t index)
{
    return (uint32_t)(index * 37 % (MOST + 1));
}

static sluice_status read_row(sluice_sample *sample, uint64_t index, void *user)
{
    const uint32_t length = grows && reads++ > 0 ? MOST : length_of(index);
    const uint64_t shape[] = {length, 3};
    void *label;
    void *points;
    sluice_status st = sluice_sample_room(sample, "label", NULL, &label);

    (void)user;
    st = st == SLUICE_OK ? sluice_sample_room(sample, "points", shape, &points) : st;
    if (st != SLUICE_OK) {
        return st;
    }
    *(int32_t *)label = (int32_t)index;
    for (uint32_t i = 0; i < 3 * length; i++) {
        ((float *)points)[i] = (float)(index * 1000 + i + 1);
    }
    return index == 11 ? sluice_fail(SLUICE_E_CORRUPT, "it is bad") : SLUICE_OK;
}

/* 60 samples of `points` f32 (MOST, 3), ragged; sample 11 is bad. */
static sluice_dataset *points_dataset(const char *stages)
{
    static const sluice_column_spec columns[] = {
        {.name = "points", .dtype = SLUICE_F32, .rank = 2, .shape = {MOST, 3}, .ragged = 1},
        {.name = "label", .dtype = SLUICE_I32},
    };
    sluice_dataset *dataset = NULL;
    sluice_source source;

    grows = false;
    reads = 0;
    sluice_source_init(&source);
    source.name = "points";
    source.version = 1;
    source.columns = columns;
    source.column_count = 2;
    source.count = 60;
    source.read = read_row;
    T_OK(sluice_dataset_source(&source, &dataset));
    T_OK(sluice_dataset_add(dataset, stages));
    return dataset;
}

/* The bytes that one pass copies, and a batch of a whole slot. */
typedef struct copied {
    uint64_t bytes;
    uint64_t whole;
    uint64_t batches;
    uint64_t wanted; /* by the extents of the batches */
    bool extents[3]; /* of 16, 64 and 208: there was a batch */
} copied;

static copied copies_of(const char *stages, sli_error_policy on_error)
{
    sluice_dataset *dataset = points_dataset(stages);
    const run_options options = {
        .device = devices[1], .workers = 3, .settings = {.on_error = on_error}};
    sli_queue_stats stats;
    copied made = {0};
    engine_run run;

    open_own(&run, dataset, &options);
    while (next_batch(&run) == SLUICE_OK) {
        const uint32_t extent = run.input.header->extent;

        made.extents[extent == 16 ? 0 : extent == 64 ? 1 : 2] = true;
        made.wanted += sli_layout_used(&run.layout, extent);
        made.batches++;
    }
    sli_queue_stop(run.queue);
    sli_queue_stats_get(run.queue, &stats);
    made.bytes = stats.bytes_copied;
    made.whole = run.layout.slot_bytes;
    T_EQ(stats.batches_copied, made.batches);
    close_run(&run);
    return made;
}

/* Checks a dataset, and destroys it. */
static void check_same_tapes_of(sluice_dataset *dataset, const char *stages,
                                sli_error_policy on_error)
{
    tape want = record(dataset, &(run_options){.settings = {.on_error = on_error}});

    for (int i = 0; i < 3; i++) {
        tape got = record(dataset, &(run_options){.device = devices[1],
                                                  .workers = worker_counts[i],
                                                  .slots = (uint32_t)i + 2,
                                                  .settings = {.on_error = on_error}});

        check_equal_tapes(&got, &want, stages);
        free(got.bytes);
    }
    T_STATUS(want.end, SLUICE_END_OF_DATA);
    free(want.bytes);
    sluice_dataset_destroy(dataset);
}

static void check_same_tapes(const char *stages, sli_error_policy on_error)
{
    check_same_tapes_of(points_dataset(stages), stages, on_error);
}

static void steps_get_the_tensors_of_batches_that_are_not_copied(void)
{
    static const char *const stages[] = {
        "shuffle | bucket points_length 15,33,100 | batch 4",
        "shuffle | bucket points_length 1,2,300 | batch 3 drop_remainder=true",
        "shuffle | cast points bf16 | bucket points_length 50 | batch 4",
        "shuffle | truncate points to=90 | bucket points_length 50 | batch 4",
        "shuffle | bucket points_length 50 | truncate points to=90 | batch 4",
        "shuffle | pad points to=210 value=7 | bucket points_length 50 | batch 4",
        "shuffle | rename points image | bucket image_length 50 | drop image_length | batch 4",
        "shuffle | bucket label 20 | batch 4",
    };

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        check_same_tapes(stages[i], SLI_ON_ERROR_ZERO);
        check_same_tapes(stages[i], SLI_ON_ERROR_REPLACE);
    }
}

/* Columns with the number of rows of x are cut where x is. one_hot fills the rows behind them with
 * class 0, so its column is copied whole. */
static void columns_with_the_same_number_of_rows_are_cut(void)
{
    static const int32_t lengths[] = {20, 3, 14};
    static const char *const stages[] = {"cast c f32", "one_hot c 4", "shuffle"};
    const char *folder = t_folder();
    int32_t c[37];

    for (int32_t i = 0; i < 37; i++) {
        c[i] = i % 4;
    }
    npy_write(folder, "x.npy", "<i4", "(37,)", c, sizeof(c));
    npy_write(folder, "c.npy", "<i4", "(37,)", c, sizeof(c));
    npy_write(folder, "x_length.npy", "<i4", "(3,)", lengths, sizeof(lengths));
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        sluice_dataset *dataset = parsedf("concat (npy %s ragged=x[20],c[20]@x) (npy %s "
                                          "ragged=x[20],c[20]@x) | %s | bucket x_length 4,16 | "
                                          "batch 1",
                                          folder, folder, stages[i]);

        check_same_tapes_of(dataset, stages[i], SLI_ON_ERROR_ZERO);
    }
}

static void batches_are_copied_up_to_their_edge(void)
{
    const copied cut = copies_of("bucket points_length 16,64 | batch 4", SLI_ON_ERROR_ZERO);
    const copied all = copies_of("bucket label 16,64 | batch 4", SLI_ON_ERROR_ZERO);

    T_EQ(all.bytes, all.batches * all.whole);
    T_EQ(cut.bytes, cut.wanted);
    T_TRUE(cut.extents[0] && cut.extents[1] && cut.extents[2]);
    T_TRUE(cut.bytes < cut.batches * cut.whole);
}

/* Rows that are not zero after the length, or whose length is another one, are copied whole. */
static void columns_that_the_edge_does_not_bound_are_copied_whole(void)
{
    static const char *const stages[] = {
        "bucket label 20 | batch 4",
        "pad points to=210 value=7 | bucket points_length 16,64 | batch 4",
        "bucket points_length 16,64 | truncate points to=90 | batch 4",
    };

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        const copied made = copies_of(stages[i], SLI_ON_ERROR_ZERO);

        T_EQ(made.bytes, made.batches * made.whole);
    }
}

static void a_sample_that_is_longer_when_it_is_loaded_ends_the_run(void)
{
    sluice_dataset *dataset = points_dataset("take 4 | bucket points_length 190 | batch 4");
    engine_run run;

    grows = true;
    open_own(&run, dataset, &(run_options){.device = devices[1]});
    T_STATUS(next_batch(&run), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "sample 0 has the length 200, and had at most 192 when");
    close_run(&run);
}

static void explain_has_the_columns_that_are_cut(void)
{
    const sli_run_settings settings = {.world = 1, .copies = true};
    sluice_dataset *dataset = points_dataset("bucket points_length 16,64 | batch 4");
    sli_text text = {0};
    sli_plan *plan;

    T_OK(sli_plan_open(dataset, &settings, &plan));
    sli_plan_explain(plan, &text);
    T_CONTAINS(text.data, "points: copied up to the edge of the batch's bucket");
    sli_text_free(&text);
    sli_plan_close(plan);
    sluice_dataset_destroy(dataset);
}

const t_test bucket_extents_tests[] = {
    T_TEST(steps_get_the_tensors_of_batches_that_are_not_copied),
    T_TEST(columns_with_the_same_number_of_rows_are_cut),
    T_TEST(batches_are_copied_up_to_their_edge),
    T_TEST(columns_that_the_edge_does_not_bound_are_copied_whole),
    T_TEST(a_sample_that_is_longer_when_it_is_loaded_ends_the_run),
    T_TEST(explain_has_the_columns_that_are_cut),
    T_END,
};
