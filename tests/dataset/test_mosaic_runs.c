/* SPDX-License-Identifier: Apache-2.0 */
/* mosaic: its batches depend on the seed, the pass and the sample alone, for any number of workers
 * and ranks, in a resumed run, and with a cache. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "stage_runs.h"
#include "testing.h"

/* A list of seven samples with masks and boxes. */
static sluice_dataset *lists(const char *folder, const char *stages)
{
    char list[800];
    char text[300];
    int at = snprintf(list, sizeof(list), "image\tmask:mask\tboxes:boxes[4]\tc:i32[4]@boxes\n");

    write_pair(folder, "a.ppm", "m.pgm");
    for (int i = 0; i < 7; i++) {
        at += snprintf(list + at, sizeof(list) - (size_t)at,
                       "a.ppm\tm.pgm\t%d,%d,30,25;2,2,%d,9\t%d,%d\n", i, 2 * i, 5 + i, i, 10 + i);
    }
    snprintf(text, sizeof(text), "%s | batch 3", stages);
    return list_dataset(folder, list, text);
}

/* ---- stages before and after -------------------------------------------------------------------
 */

static void a_sample_alone_at_scale_1_is_a_letterbox(void)
{
    char source[400];
    const char *folder = t_folder();

    sluice_dataset_destroy(jpeg_dataset(folder, "decode | resize 8,8 | batch 4"));
    snprintf(source, sizeof(source), "image_folder %s", folder);
    check_stages(source, "decode | mosaic 31,23 p=0 scale=1,1 translate=0",
                 "decode | letterbox 31,23", true);
    check_stages(source, "decode gray | mosaic 20 p=0 scale=1,1 translate=0 fill=3 filter=bicubic",
                 "decode gray | letterbox 20 fill=3 filter=bicubic", true);
}

static void stages_of_images_may_come_before_and_after(void)
{
    static const char *const cases[] = {
        "shuffle | decode | mosaic 16",
        "decode | random_resized_crop 20 | mosaic 24,16 | random_crop 12 | random_horizontal_flip",
        "shuffle | decode fast_scale=true | mosaic 8 scale=0.2,0.4 | color_jitter 0.4 | normalize "
        "0.5 0.5",
        "decode | random_zoom_out 1,2,3 | mosaic 20 | random_zoom_out | resize 9,9 | elastic 9",
        "decode gray | resize 30,30 | center_crop 40 | mosaic 16 | resize 9 | random_affine 20 | "
        "to_chw",
        "repeat 2 | decode | mosaic 16 | gaussian_blur 3 | to_dtype f16",
    };
    char source[400];
    const char *folder = t_folder();

    sluice_dataset_destroy(jpeg_dataset(folder, "decode | resize 8,8 | batch 4"));
    snprintf(source, sizeof(source), "image_folder %s", folder);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        check_workers_and_devices(source, cases[i]);
    }
}

/* ---- workers, ranks, resume --------------------------------------------------------------------
 */

#define MANY   "shuffle | random_crop 20 padding=4 | mosaic 12 p=0.9"
#define SOURCE "synthetic 37 24,20,3 37"

static void batches_are_the_same_for_any_number_of_workers(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = lists(folder, "| decode | mosaic 20,30 | random_vertical_flip");
    tape want = record(dataset, &(run_options){.workers = 1, .batches = 6});

    check_workers_and_devices(SOURCE, MANY);
    for (int i = 0; i < 6; i++) {
        const run_options options = {
            .workers = worker_counts[i / 2], .device = devices[i % 2], .batches = 6};
        tape got = record(dataset, &options);

        check_equal_tapes(&got, &want, "masks and boxes");
        free(got.bytes);
    }
    free(want.bytes);
    sluice_dataset_destroy(dataset);
}

static void a_resumed_run_has_the_batches_of_the_whole_one(void)
{
    tape whole = run_stages_of(SOURCE, MANY, &(run_options){.workers = 2, .batches = 25});

    for (uint64_t done = 1; done < 25; done += 7) {
        const run_options options = {.workers = 3, .first_step = done, .batches = 25 - done};
        tape rest = run_stages_of(SOURCE, MANY, &options);

        T_EQ(rest.batches, 25 - done);
        T_TRUE(rest.size < whole.size &&
               memcmp(rest.bytes, whole.bytes + whole.size - rest.size, rest.size) == 0);
        free(rest.bytes);
    }
    free(whole.bytes);
}

/* Sample by sample, the images of a pass. */
static void collect(uint8_t (*images)[12 * 12 * 3], uint32_t rank, uint32_t world, bool shard)
{
    const run_options options = {.workers = 2,
                                 .settings = {.seed = 9, .rank = rank, .world = world}};
    engine_run run;

    open_own(&run,
             parsed(shard ? SOURCE " | shuffle | shard | random_crop 20 padding=4 "
                                   "| mosaic 12 p=0.9 | batch 4"
                          : SOURCE " | " MANY " | batch 4"),
             &options);
    while (next_batch(&run) == SLUICE_OK) {
        for (uint32_t row = 0; row < 4; row++) {
            if (run.input.samples[row] != UINT64_MAX) {
                T_TRUE(run.input.samples[row] < 37);
                memcpy(images[run.input.samples[row]], row_of(&run, 0, row), 12 * 12 * 3);
            }
        }
    }
    close_run(&run);
}

static void partners_are_drawn_before_ranks_are_dealt(void)
{
    static uint8_t alone[37][12 * 12 * 3];
    static uint8_t shared[37][12 * 12 * 3];

    collect(alone, 0, 1, false);
    for (int shard = 0; shard < 2; shard++) {
        memset(shared, 0, sizeof(shared));
        for (uint32_t rank = 0; rank < 3; rank++) {
            collect(shared, rank, 3, shard == 1);
        }
        T_EQ(memcmp(alone, shared, sizeof(alone)), 0);
    }
}

/* Partners are of the pass: of what take and split leave, in all their passes. */
static void partners_are_samples_of_the_pass(void)
{
    engine_run run;
    uint32_t seen[37] = {0};

    open_own(&run, parsed(SOURCE " | skip 5 | take 3 | repeat 4 | mosaic 9 | batch 12"),
             &(run_options){.workers = 1});
    for (uint64_t sample = 0; sample < 200; sample++) {
        const sli_draws draws = {run.plan->details->geometry.mosaic.planned->key, sample, 0};

        for (uint32_t tile = 1; tile < 4; tile++) {
            uint64_t partner;
            uint64_t pass;

            plan_draw_tile(run.plan, &draws, sample % 7, tile, 0, &partner, &pass);
            T_TRUE(partner >= 5 && partner < 8);
            seen[partner]++;
        }
    }
    T_TRUE(seen[5] > 150 && seen[6] > 150 && seen[7] > 150);
    close_run(&run);
}

static void a_sample_that_comes_again_has_other_partners(void)
{
    engine_run run;

    open_own(&run, parsed(SOURCE " | take 1 | repeat 4 | mosaic 9 | batch 4"),
             &(run_options){.workers = 1, .batches = 2});
    T_OK(next_batch(&run));
    for (uint32_t row = 1; row < 4; row++) {
        T_TRUE(memcmp(row_of(&run, 0, row), row_of(&run, 0, row - 1), 9 * 9 * 3) != 0);
    }
    close_run(&run);
}

static void one_sample_without_a_run_is_that_of_a_run(void)
{
    sluice_dataset *dataset = parsed(SOURCE " | " MANY " | batch 4");
    const run_options options = {.workers = 1, .settings = {.seed = 3}, .batches = 20};
    uint8_t image[12 * 12 * 3];
    void *const columns[] = {image, NULL};
    engine_run run;

    open_own(&run, dataset, &options);
    for (uint64_t step = 0; step < 20; step++) {
        T_OK(next_batch(&run));
        if (step % 5 == 0) {
            T_OK(sluice_dataset_get(dataset, 3, run.input.header->pass, step % 10 * 4, columns,
                                    NULL));
            T_EQ(memcmp(image, row_of(&run, 0, 0), sizeof(image)), 0);
        }
    }
    close_run(&run);
}

/* ---- the cache --------------------------------------------------------------------------------
 */

static void a_cache_before_it_changes_no_batch(void)
{
    static const char *const stages[][2] = {
        {"", "decode | mosaic 20,30"},
        {"| decode", "mosaic 20,30"},
        {"| decode | center_crop 20,22", "mosaic 30"},
        {"| decode | resize 20,22 | center_crop 15", "random_crop 12 | mosaic 30 | random_crop 20"},
    };
    const char *folder = t_folder();

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        tape tapes[2];

        for (int cached = 0; cached < 2; cached++) {
            char text[300];
            sluice_dataset *dataset;

            snprintf(text, sizeof(text), "%s%s | %s", stages[i][0],
                     cached == 1 ? " | cache 4M" : "", stages[i][1]);
            dataset = lists(folder, text);
            tapes[cached] = record(dataset, &(run_options){.workers = 2, .batches = 6});
            T_STATUS(tapes[cached].end, SLUICE_END_OF_DATA);
            sluice_dataset_destroy(dataset);
        }
        check_equal_tapes(&tapes[1], &tapes[0], stages[i][0]);
        free(tapes[0].bytes);
        free(tapes[1].bytes);
    }
}

const t_test mosaic_runs_tests[] = {
    T_TEST(a_sample_alone_at_scale_1_is_a_letterbox),
    T_TEST(stages_of_images_may_come_before_and_after),
    T_TEST(batches_are_the_same_for_any_number_of_workers),
    T_TEST(a_resumed_run_has_the_batches_of_the_whole_one),
    T_TEST(partners_are_drawn_before_ranks_are_dealt),
    T_TEST(partners_are_samples_of_the_pass),
    T_TEST(a_sample_that_comes_again_has_other_partners),
    T_TEST(one_sample_without_a_run_is_that_of_a_run),
    T_TEST(a_cache_before_it_changes_no_batch),
    T_END,
};
