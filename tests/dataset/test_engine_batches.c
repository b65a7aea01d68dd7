/* SPDX-License-Identifier: Apache-2.0 */
/* What is in the batches of a run, whatever runs it and wherever it begins. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "testing.h"

static const uint64_t NO_SAMPLE = UINT64_MAX;

static void batches_do_not_depend_on_workers_devices_or_offload(void)
{
    static const char *const pipelines[] = {
        "synthetic 53 9,8,3 | shuffle | repeat 2 | random_crop 7 padding=2 | "
        "random_horizontal_flip | normalize imagenet | to_chw | batch 7",
        "synthetic 53 9,8,3 | shuffle | random_resized_crop 5 | random_horizontal_flip 0.3 | "
        "to_dtype f16 scale=true | batch 10 drop_remainder=true",
        "synthetic 10 8,8,1 | batch 4",
    };

    for (size_t p = 0; p < sizeof(pipelines) / sizeof(pipelines[0]); p++) {
        sluice_dataset *dataset = parsed(pipelines[p]);
        run_options options = {.settings = {.seed = 3}, .batches = 25};
        tape want = record(dataset, &options);

        T_EQ(want.end, SLUICE_END_OF_DATA);
        T_EQ(want.batches, 25);
        for (int i = 0; i < 2 * 3 * 2; i++) {
            char what[100];
            tape got;

            options.device = devices[i % 2];
            options.workers = worker_counts[i / 2 % 3];
            options.settings.prefer_device = i / 6 == 1;
            options.slots = 3 + (uint32_t)i % 5;
            snprintf(what, sizeof(what), "pipeline %zu on %s, %u workers", p, options.device,
                     options.workers);
            got = record(dataset, &options);
            check_equal_tapes(&got, &want, what);
            free(got.bytes);
        }
        free(want.bytes);
        sluice_dataset_destroy(dataset);
    }
}

static void jpeg_files_give_the_same_batches_on_any_number_of_workers(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset =
        jpeg_dataset(folder, "shuffle | decode | resize 30 | center_crop 20 | "
                             "random_resized_crop 12 | random_horizontal_flip | batch 6");
    run_options options = {.settings = {.seed = 4}, .batches = 9};
    tape want = record(dataset, &options);

    T_EQ(want.end, SLUICE_END_OF_DATA);
    T_EQ(want.batches, 9);
    for (int i = 0; i < 6; i++) {
        tape got;

        options.device = devices[i % 2];
        options.workers = worker_counts[i / 2];
        got = record(dataset, &options);
        check_equal_tapes(&got, &want, options.device);
        free(got.bytes);
    }
    free(want.bytes);
    sluice_dataset_destroy(dataset);
}

static void batches_hold_the_samples_that_they_list(void)
{
    engine_run run;

    script_reset(50, GOOD);
    open_own(&run, script_dataset(8, false), &(run_options){.workers = 3, .batches = 14});
    for (uint64_t step = 0; step < 14; step++) {
        const uint64_t first = step % 7 * 8;

        T_OK(next_batch(&run));
        T_EQ(run.input.header->position, first);
        T_EQ(run.input.header->pass, step / 7);
        T_EQ(run.input.header->first_sample, first);
        T_EQ(run.input.header->valid_rows, first + 8 <= 50 ? 8 : 2);
        for (uint32_t row = 0; row < run.input.header->valid_rows; row++) {
            const uint8_t *image = row_of(&run, 0, row);

            T_EQ(run.input.samples[row], first + row);
            T_EQ(*(const int32_t *)row_of(&run, 1, row), first + row);
            for (size_t i = 0; i < row_bytes(&run, 0); i++) {
                T_EQ(image[i], script_pixel(first + row, i));
            }
        }
    }
    T_STATUS(next_batch(&run), SLUICE_END_OF_DATA);
    close_run(&run);
}

/* Padding is zero as the step sees it, also where a normalisation would make something of it. */
static void rows_past_the_end_are_zero(void)
{
    sluice_dataset *dataset =
        parsed("synthetic 10 4,4,3 | normalize imagenet | random_horizontal_flip 1 | batch 8");

    for (int i = 0; i < 8; i++) {
        engine_run run;

        open_run(
            &run, dataset,
            &(run_options){.device = devices[i % 2],
                           .workers = 2,
                           .settings = {.prefer_device = i / 2 % 2,
                                        .on_error = i < 4 ? SLI_ON_ERROR_FAIL : SLI_ON_ERROR_ZERO},
                           .batches = 4});
        for (uint64_t step = 0; step < 4; step++) {
            const uint32_t valid = step % 2 == 0 ? 8 : 2;

            T_OK(next_batch(&run));
            T_EQ(run.input.header->valid_rows, valid);
            for (uint32_t row = 0; row < 8; row++) {
                T_EQ(run.input.samples[row] == NO_SAMPLE, row >= valid);
                for (uint32_t column = 0; column < run.input.count; column++) {
                    T_TRUE(row < valid ||
                           is_zero(row_of(&run, column, row), row_bytes(&run, column)));
                }
                T_TRUE(i < 4 || *(const uint8_t *)row_of(&run, 2, row) == (row < valid));
                T_TRUE(row >= valid || !is_zero(row_of(&run, 0, row), row_bytes(&run, 0)));
            }
        }
        close_run(&run);
    }
    sluice_dataset_destroy(dataset);
}

/* More ranks than samples: batches of nothing are batches. */
static void a_rank_without_samples_gives_empty_batches(void)
{
    engine_run run;

    open_own(&run, parsed("synthetic 2 4,4,3 | batch 3"),
             &(run_options){.settings = {.rank = 3, .world = 4}});
    T_OK(next_batch(&run));
    T_EQ(run.input.header->valid_rows, 0);
    T_TRUE(run.input.header->first_sample == NO_SAMPLE);
    T_TRUE(is_zero(run.input.tensors[0].data, run.input.tensors[0].bytes));
    T_STATUS(next_batch(&run), SLUICE_END_OF_DATA);
    close_run(&run);
}

/* Rank r, row i of global batch g is what one rank alone has at g * W * B + i * W + r. */
static void ranks_together_see_what_one_would(void)
{
    const char *const stages = "shuffle | random_crop 7 padding=2 | random_horizontal_flip";
    engine_run whole;
    engine_run part;
    char text[200];

    for (uint32_t world = 2; world <= 3; world++) {
        sluice_dataset *alone;
        sluice_dataset *shared;

        snprintf(text, sizeof(text), "synthetic 40 8,8,3 | %s | batch %u", stages, 5 * world);
        alone = parsed(text);
        snprintf(text, sizeof(text), "synthetic 40 8,8,3 | %s | batch 5", stages);
        shared = parsed(text);
        for (uint32_t rank = 0; rank < world; rank++) {
            open_run(&whole, alone, &(run_options){.settings = {.seed = 1}, .batches = 6});
            open_run(&part, shared,
                     &(run_options){.settings = {.seed = 1, .rank = rank, .world = world},
                                    .workers = 2,
                                    .batches = 6});
            T_EQ(part.plan->batches_per_pass, whole.plan->batches_per_pass);
            for (int batch = 0; batch < 6; batch++) {
                T_OK(next_batch(&whole));
                T_OK(next_batch(&part));
                for (uint32_t i = 0; i < 5; i++) {
                    const uint32_t row = i * world + rank;

                    T_EQ(part.input.samples[i], whole.input.samples[row]);
                    T_EQ(memcmp(row_of(&part, 0, i), row_of(&whole, 0, row), row_bytes(&part, 0)),
                         0);
                }
            }
            close_run(&whole);
            close_run(&part);
        }
        sluice_dataset_destroy(alone);
        sluice_dataset_destroy(shared);
    }
}

static void a_run_goes_on_exactly_where_another_stopped(void)
{
    static const uint64_t starts[] = {1, 2, 4, 5, 9, 10, 13};
    tape far[2];
    sluice_dataset *dataset =
        parsed("synthetic 23 8,8,3 | shuffle | random_resized_crop 6 | random_horizontal_flip | "
               "batch 5");
    run_options options = {.settings = {.seed = 6}, .batches = 16};
    tape whole = record(dataset, &options);
    const size_t batch_bytes = whole.size / 16;

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        tape rest;

        options.first_step = starts[i];
        options.batches = 3;
        options.workers = 1 + (uint32_t)i % 3;
        options.device = devices[i % 2];
        rest = record(dataset, &options);
        T_EQ(rest.batches, 3);
        T_EQ(memcmp(rest.bytes, whole.bytes + starts[i] * batch_bytes, rest.size), 0);
        free(rest.bytes);
    }
    /* Far out, too, a step is a function of its number alone. */
    for (size_t i = 0; i < 2; i++) {
        uint64_t position;

        options.first_step = 1000000007 + i;
        far[i] = record(dataset, &options);
        memcpy(&position, far[i].bytes, sizeof(position));
        T_EQ(position, options.first_step % 5 * 5);
    }
    T_EQ(memcmp(far[0].bytes + batch_bytes, far[1].bytes, 2 * batch_bytes), 0);
    T_TRUE(memcmp(far[0].bytes, far[1].bytes, batch_bytes) != 0);
    free(far[0].bytes);
    free(far[1].bytes);
    free(whole.bytes);
    sluice_dataset_destroy(dataset);
}

static void repetitions_draw_anew(void)
{
    engine_run run;
    uint8_t *first;
    int same = 0;

    open_own(&run, parsed("synthetic 30 16,16,3 | repeat 2 | random_crop 8 | batch 30"),
             &(run_options){.settings = {.seed = 1}});
    T_OK(next_batch(&run));
    first = malloc(run.input.tensors[0].bytes);
    memcpy(first, run.input.tensors[0].data, run.input.tensors[0].bytes);
    T_OK(next_batch(&run));
    for (uint32_t row = 0; row < 30; row++) {
        T_EQ(run.input.samples[row], row);
        same +=
            memcmp(first + row * row_bytes(&run, 0), row_of(&run, 0, row), row_bytes(&run, 0)) == 0;
    }
    T_TRUE(same < 5);
    free(first);
    close_run(&run);
}

static void several_runs_use_one_dataset_at_once(void)
{
    sluice_dataset *dataset = parsed("synthetic 23 8,8,3 | split train 0.9 seed=1 | shuffle | "
                                     "random_crop 6 | batch 5");
    run_options options = {.settings = {.seed = 6}, .batches = 12};
    tape want;
    engine_run runs[3];
    tape tapes[3] = {{.bytes = NULL}, {.bytes = NULL}, {.bytes = NULL}};

    for (int i = 0; i < 3; i++) {
        open_run(&runs[i], dataset, &options);
    }
    for (int batch = 0; batch < 12; batch++) {
        for (int i = 0; i < 3; i++) {
            T_OK(next_batch(&runs[i]));
            tape_batch(&tapes[i], &runs[i]);
        }
    }
    for (int i = 0; i < 3; i++) {
        close_run(&runs[i]);
    }
    want = record_own(dataset, &options);
    for (int i = 0; i < 3; i++) {
        tapes[i].end = SLUICE_END_OF_DATA;
        check_equal_tapes(&tapes[i], &want, "one of three runs");
        free(tapes[i].bytes);
    }
    free(want.bytes);
}

static void the_end_comes_after_the_last_batch(void)
{
    sluice_dataset *dataset = parsed("synthetic 10 4,4,3 | batch 4");

    for (int i = 0; i < 6; i++) {
        run_options options = {.device = devices[i % 2], .workers = worker_counts[i / 2]};

        for (options.batches = 1; options.batches < 9; options.batches++) {
            tape t = record(dataset, &options);

            T_EQ(t.end, SLUICE_END_OF_DATA);
            T_EQ(t.batches, options.batches);
            free(t.bytes);
        }
    }
    sluice_dataset_destroy(dataset);
}

const t_test engine_batches_tests[] = {
    T_TEST(batches_do_not_depend_on_workers_devices_or_offload),
    T_TEST(jpeg_files_give_the_same_batches_on_any_number_of_workers),
    T_TEST(batches_hold_the_samples_that_they_list),
    T_TEST(rows_past_the_end_are_zero),
    T_TEST(a_rank_without_samples_gives_empty_batches),
    T_TEST(ranks_together_see_what_one_would),
    T_TEST(a_run_goes_on_exactly_where_another_stopped),
    T_TEST(repetitions_draw_anew),
    T_TEST(several_runs_use_one_dataset_at_once),
    T_TEST(the_end_comes_after_the_last_batch),
    T_END,
};
