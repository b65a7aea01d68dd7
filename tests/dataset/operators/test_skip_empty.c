/* SPDX-License-Identifier: Apache-2.0 */
/* skip_empty: which samples are left out, before and after geometry. */
#include <stdio.h>
#include <string.h>

#include "dataset_kit.h"
#include "image_notes_int.h"
#include "list_kit.h"
#include "log_kit.h"
#include "testing.h"

/* Samples with 2, 0, 1, 0 and 2 boxes; a crop of 10 columns leaves 1, 0, 0, 0 and 2. */
static const char list[] = "image\tlabel\tboxes:boxes[2]\tc:i32[2]@boxes\n"
                           "a.ppm\t0\t0,0,4,30;20,5,30,25\t1,2\n"
                           "a.ppm\t1\t\t\n"
                           "a.ppm\t2\t20,5,30,25\t2\n"
                           "a.ppm\t3\t\t\n"
                           "a.ppm\t4\t0,0,4,30;3,5,30,25\t1,2\n";

typedef struct outcome {
    int32_t labels[8];
    uint32_t count;
    uint64_t skipped;
} outcome;

static outcome run_list(const char *stages, uint32_t workers)
{
    const char *folder = t_folder();
    outcome got = {.count = 0};
    sli_image_counts counts;
    char text[300];
    engine_run run;

    write_pair(folder, "a.ppm", "m.pgm");
    snprintf(text, sizeof(text), "| %s | batch 1", stages);
    open_own(&run, list_dataset(folder, list, text), &(run_options){.workers = workers});
    while (next_batch(&run) == SLUICE_OK) {
        T_TRUE(got.count < 8);
        got.labels[got.count++] = *(const int32_t *)column_row(&run, "label", 0);
        done_with_batch(&run);
    }
    sli_engine_stop(run.engine);
    sli_engine_image_counts(run.engine, &counts);
    got.skipped = counts.of[SLI_IMAGE_WITHOUT_BOXES];
    close_run(&run);
    return got;
}

static void check_labels(const outcome *got, const int32_t *want, uint32_t count)
{
    T_EQ(got->count, count);
    T_TRUE(memcmp(got->labels, want, count * sizeof(*want)) == 0);
    T_TRUE(got->skipped >= 5 - count); /* workers may be a pass ahead */
}

static void samples_without_boxes_are_left_out(void)
{
    static const int32_t listed[] = {0, 2, 4};
    static const int32_t cropped[] = {0, 4};
    static const int32_t visible[] = {0, 2};
    static const struct {
        const char *stages;
        const int32_t *want;
        uint32_t count;
    } cases[] = {
        {"skip_empty | decode | crop 30,10", listed, 3},
        {"decode | skip_empty", listed, 3},
        {"decode | crop 30,10 | skip_empty", cropped, 2},
        {"decode | crop 30,10 | skip_empty | drop boxes", cropped, 2},
        {"decode | crop 30,4 | sanitize_boxes 2 | skip_empty | box_format | normalize imagenet",
         cropped, 2},
        {"decode | rename boxes b | crop 30,10 | skip_empty b | to_chw", cropped, 2},
        {"decode | crop 10,20 left=20 | sanitize_boxes min_visibility=0.2 | skip_empty", visible,
         2},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (uint32_t workers = 1; workers < 4; workers += 2) {
            const outcome got = run_list(cases[i].stages, workers);

            check_labels(&got, cases[i].want, cases[i].count);
        }
    }
}

/* Before decode the files of samples without boxes are not read: here they are missing. */
static void before_decode_no_file_is_read(void)
{
    const char *folder = t_folder();
    engine_run run;

    write_pair(folder, "a.ppm", "m.pgm");
    open_own(&run,
             list_dataset(folder,
                          "image\tboxes:boxes[2]\na.ppm\t1,1,9,9\ngone.ppm\t\na.ppm\t2,2,9,9\n",
                          "| skip_empty | decode | batch 2"),
             &(run_options){.workers = 2});
    T_OK(next_batch(&run));
    T_TRUE(*(const float *)column_row(&run, "boxes", 1) == 2);
    close_run(&run);
}

static void it_is_said_once(void)
{
    const char *logged;

    sluice_log_set_level(SLUICE_LOG_INFO);
    kit_log_start(NULL, NULL);
    (void)run_list("decode | skip_empty", 1);
    logged = kit_log_stop();
    sluice_log_set_level(SLUICE_LOG_WARN);
    T_EQ(kit_log_count(SLUICE_LOG_WARN), 0);
    T_CONTAINS(logged, "skip_empty: a.ppm is the first image without a box: skip_empty leaves the "
                       "sample out; the report counts such images");
}

/* A pass of which nothing is left ends the run. */
static void a_pass_without_samples_is_an_error(void)
{
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    (void)batches_to_error(
        list_dataset(folder, list, "| decode | crop 4,5 left=35 | skip_empty | batch 1"),
        &(run_options){.workers = 1}, SLUICE_E_INVALID, "no valid data in the dataset");
}

static void what_does_not_fit_is_refused(void)
{
    static const refused_case bad[] = {
        {"skip_empty c", "skip_empty: c is a column that belongs to boxes or points, and must be"},
        {"sanitize_boxes | skip_empty c", "or points, and must be a column of boxes\n"},
        {"skip_empty b", "skip_empty: there is no column 'b'"},
        {"skip_empty | resize 9", "put skip_empty after those stages"},
        {"skip_empty | take 2", "take comes after a filter"},
        {"box_format | skip_empty", "must be a column of boxes; put skip_empty before box_format"},
    };

    check_refused_stages(decoded_list, bad, sizeof(bad) / sizeof(bad[0]));
    check_refused("synthetic 4 8,8,3 | skip_empty | batch 1",
                  "skip_empty: there is no column 'boxes'");
}

const t_test skip_empty_tests[] = {
    T_TEST(samples_without_boxes_are_left_out),
    T_TEST(before_decode_no_file_is_read),
    T_TEST(it_is_said_once),
    T_TEST(a_pass_without_samples_is_an_error),
    T_TEST(what_does_not_fit_is_refused),
    T_END,
};
