/* SPDX-License-Identifier: Apache-2.0 */
/* mosaic: bad partners under each policy, and pipelines and arguments that are refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset_kit.h"
#include "filter_kit.h"
#include "list_kit.h"
#include "stage_runs.h"
#include "stream_kit.h"
#include "testing.h"

/* ---- bad partners -----------------------------------------------------------------------------
 */

enum { SAMPLES = 30 };

/* A dataset of the script source with mosaics of all samples but the bad ones, which are only
 * partners. */
static sluice_dataset *script_mosaics(uint32_t take)
{
    sluice_dataset *dataset = NULL;

    T_OK(dataset_begin(&stage_script, "", &dataset));
    T_OK(sluice_dataset_addf(dataset, "take %llu", (unsigned long long)take));
    T_OK(sluice_dataset_add(dataset, "mosaic 6 scale=1,1 translate=0 filter=nearest | batch 5"));
    return dataset;
}

/* A partner of the first sample that is shown, another sample. */
static uint64_t shown_partner(sluice_dataset *dataset)
{
    uint64_t partner = 0;
    engine_run run;

    open_run(&run, dataset, &(run_options){.workers = 1});
    for (uint32_t tile = 1; tile < 4 && partner == 0; tile++) {
        const plan_mosaic *mosaic = &run.plan->details->geometry.mosaic;
        const sli_draws draws = {mosaic->planned->key, 0, 0};
        uint64_t pass;

        if (mosaic->planned->stage->def->geometry->tiles->shows(mosaic->planned->stage->args.bytes,
                                                                &draws, tile)) {
            plan_draw_tile(run.plan, &draws, 0, tile, 0, &partner, &pass);
        }
    }
    close_run(&run);
    T_TRUE(partner > 0);
    return partner;
}

static void the_error_names_the_partner(void)
{
    sluice_dataset *dataset;
    uint64_t partner;
    char words[200];
    tape t;

    script_reset(SAMPLES, GOOD);
    dataset = script_mosaics(SAMPLES);
    partner = shown_partner(dataset);
    script.behaviours[partner] = BAD;
    t = record_own(dataset,
                   &(run_options){.workers = 2, .settings = {.on_error = SLI_ON_ERROR_FAIL}});
    T_STATUS(t.end, SLUICE_E_CORRUPT);
    T_EQ(t.batches, 0);
    snprintf(words, sizeof(words),
             "read: sample 0, script/0: a tile of its mosaic, sample %u, script/%u: it is bad; "
             "on_error replace",
             (unsigned)partner, (unsigned)partner);
    T_CONTAINS(t.error, words);
    T_EQ(t.errors.count, 1);
    free(t.bytes);
}

/* Every pixel of the result is the pixel of a good sample, or the fill. */
static void check_good_pixels(const engine_run *run, uint32_t row)
{
    const uint8_t *image = row_of(run, 0, row);
    bool good[256] = {false};

    good[114] = true;
    for (uint64_t sample = 0; sample < SAMPLES; sample++) {
        for (size_t i = 0; i < SIDE * SIDE * 3 && script.behaviours[sample] == GOOD; i++) {
            good[script_pixel(sample, i)] = true;
        }
    }
    for (size_t i = 0; i < row_bytes(run, 0); i++) {
        T_TRUE(good[image[i]]);
    }
}

static void replace_draws_another_partner(void)
{
    run_options options = {
        .workers = 1, .settings = {.on_error = SLI_ON_ERROR_REPLACE, .seed = 2}, .batches = 12};
    sluice_dataset *dataset;
    sli_engine_errors errors;
    engine_run run;
    tape want;

    script_reset(SAMPLES, GOOD);
    script.behaviours[4] = script.behaviours[11] = script.behaviours[29] = BAD;
    dataset = script_mosaics(SAMPLES);
    open_run(&run, dataset, &options);
    for (uint64_t step = 0; step < 12; step++) {
        T_OK(next_batch(&run));
        for (uint32_t row = 0; row < 5; row++) {
            const uint64_t own = step % 6 * 5 + row;

            /* A bad partner does not replace the sample. */
            T_TRUE(script.behaviours[own] == BAD || run.input.samples[row] == own);
            check_good_pixels(&run, row);
        }
    }
    sli_engine_stop(run.engine);
    sli_engine_errors_get(run.engine, &errors);
    T_TRUE(errors.replaced >
           6); /* each bad sample is replaced twice as such, the others are partners */
    T_EQ(errors.zeroed + errors.failed, 0);
    T_EQ(errors.count, 3);
    for (uint32_t i = 0; i < errors.count; i++) {
        T_TRUE(script.behaviours[errors.first[i].sample] == BAD);
        T_STR(errors.first[i].text, "it is bad");
    }
    close_run(&run);
    want = record(dataset, &options);
    for (int i = 0; i < 6; i++) {
        tape got;

        options.device = devices[i % 2];
        options.workers = worker_counts[i / 2];
        got = record(dataset, &options);
        check_equal_tapes(&got, &want, "replaced partners");
        T_EQ(got.errors.replaced, want.errors.replaced);
        free(got.bytes);
    }
    free(want.bytes);
    sluice_dataset_destroy(dataset);
}

static void without_good_partners_a_sample_is_bad(void)
{
    const run_options options = {.workers = 2,
                                 .settings = {.on_error = SLI_ON_ERROR_REPLACE, .seed = 2}};
    tape t;

    script_reset(SAMPLES, BAD);
    script.behaviours[3] = GOOD;
    t = record_own(script_mosaics(SAMPLES), &options);
    T_TRUE(t.end == SLUICE_END_OF_DATA || t.end == SLUICE_E_INVALID);
    T_TRUE(t.errors.zeroed > 0);
    T_EQ(t.errors.count, SAMPLES - 1); /* the good one is not among them */
    free(t.bytes);
}

static void zero_zeroes_samples_with_bad_partners(void)
{
    const run_options options = {.workers = 2,
                                 .settings = {.on_error = SLI_ON_ERROR_ZERO, .seed = 2}};
    uint32_t zeroed = 0;
    engine_run run;

    script_reset(SAMPLES, GOOD);
    script.behaviours[4] = BAD;
    open_own(&run, script_mosaics(SAMPLES), &options);
    while (next_batch(&run) == SLUICE_OK) {
        for (uint32_t row = 0; row < 5; row++) {
            if (*(const uint8_t *)row_of(&run, 2, row) == 0) {
                T_TRUE(is_zero(row_of(&run, 0, row), row_bytes(&run, 0)));
                zeroed++;
            } else {
                check_good_pixels(&run, row);
            }
        }
    }
    T_TRUE(zeroed >= 2 && zeroed < SAMPLES / 2);
    close_run(&run);
}

static void lack_of_memory_for_a_partner_ends_the_run(void)
{
    const run_options options = {.workers = 1, .settings = {.on_error = SLI_ON_ERROR_REPLACE}};
    tape t;

    script_reset(SAMPLES, GOOD);
    script.behaviours[29] = NO_MEMORY;
    t = record_own(script_mosaics(SAMPLES), &options);
    T_STATUS(t.end, SLUICE_E_NO_MEMORY);
    T_EQ(t.errors.replaced, 0);
    T_CONTAINS(t.error, "a tile of its mosaic, sample 29, script/29: no memory for this one");
    T_TRUE(t.batches < SAMPLES / 5 - 1);
    free(t.bytes);
}

/* The parts of a bad partner that were painted before its error are not seen. */
static void a_partner_whose_mask_is_bad_leaves_no_trace(void)
{
    uint8_t other[11 + 192];
    char list[600];
    char folder[300];
    int at = snprintf(list, sizeof(list), "image\tmask:mask\n");
    sluice_dataset *dataset;
    engine_run run;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    write_pair(folder, "a.ppm", "m.pgm");
    for (int i = 0; i < 12; i++) {
        at += snprintf(list + at, sizeof(list) - (size_t)at, "a.ppm\tm.pgm\n");
    }
    memcpy(other, "P6 8 8 255\n", 11);
    memset(other + 11, 77, 192);
    t_write_file(t_path(folder, "b.ppm"), other, sizeof(other));
    snprintf(list + at, sizeof(list) - (size_t)at, "b.ppm\tm.pgm\n"); /* another size: bad */
    dataset = list_dataset(folder, list, "| decode | mosaic 30,40 filter=nearest | batch 13");
    for (uint64_t seed = 0; seed < 6; seed++) {
        open_run(&run, dataset,
                 &(run_options){.workers = 1,
                                .settings = {.on_error = SLI_ON_ERROR_REPLACE, .seed = seed}});
        T_OK(next_batch(&run));
        for (uint32_t row = 0; row < 13; row++) {
            const uint8_t *image = column_row(&run, "image", row);
            const uint8_t *mask = column_row(&run, "mask", row);

            for (int i = 0; i < 30 * 40; i++) {
                const uint8_t *pixel = image + (size_t)3 * (size_t)i;

                T_TRUE(pixel[2] == 200 || (pixel[0] == 114 && pixel[2] == 114));
                T_EQ(mask[i], pixel[2] == 200 ? class_of(pixel[0], pixel[1]) : 0);
            }
        }
        close_run(&run);
    }
    sluice_dataset_destroy(dataset);
}

/* ---- refused ----------------------------------------------------------------------------------
 */

static void bad_arguments_are_refused(void)
{
    check_refused("synthetic 10 8,8,3 2 | mosaic 0 | batch 1", "size");
    check_refused("synthetic 10 8,8,3 2 | mosaic 8 center=1.5,0.5 | batch 1",
                  "center=1.5,0.5 must be LOW,HIGH with 0 <= LOW <= HIGH <= 2");
    check_refused("synthetic 10 8,8,3 2 | mosaic 8 center=0.5,2.5 | batch 1", "center");
    check_refused("synthetic 10 8,8,3 2 | mosaic 8 center=0.5 | batch 1", "center");
    check_refused("synthetic 10 8,8,3 2 | mosaic 8 scale=0,1 | batch 1",
                  "must be LOW,HIGH with 0.01 <= LOW <= HIGH <= 10");
    check_refused("synthetic 10 8,8,3 2 | mosaic 8 scale=1,11 | batch 1", "scale");
    check_refused("synthetic 10 8,8,3 2 | mosaic 8 translate=1.5 | batch 1", "translate");
    check_refused("synthetic 10 8,8,3 2 | mosaic 8 p=2 | batch 1", "p");
    check_refused("synthetic 10 8,8,3 2 | mosaic 8 fill=256 | batch 1", "fill");
    check_refused("synthetic 10 8,8,3 2 | mosaic 8,20000 scale=1,4 | batch 1",
                  "mosaic: size 20000 times scale 4");
    check_refused("synthetic 10 8,8,3 2 | mosaic 8 filter=area antialias=false | batch 1",
                  "mosaic: filter=area");
}

static void bad_positions_are_refused(void)
{
    check_refused("synthetic 10 8,8,3 2 | to_chw | mosaic 4 | batch 1",
                  "mosaic works on the decoded image");
    check_refused("synthetic 10 8,8,3 2 | rotate 5 | mosaic 4 | batch 1",
                  "mosaic comes after a stage that changes colours or warps");
    check_refused("synthetic 10 8,8,3 2 | mosaic 4 | mosaic 4 | batch 1",
                  "mosaic: a pipeline has at most one");
    check_refused("synthetic 10 8,8,3 2 | geometry | mosaic 4 | batch 1",
                  "mosaic: an image of several files has no map");
    check_refused("synthetic 10 8,8,3 2 | mosaic 4 | geometry | batch 1",
                  "geometry: after mosaic an image has several files");
    check_refused("synthetic 10 8,8,3 2 | mosaic 4 | cache 1M | batch 1", "mosaic");
}

/* Refused when a run is planned. */
static void check_plan_refused(sluice_dataset *dataset, const char *words)
{
    engine_run run;

    T_STATUS(start_run(&run, dataset, &(run_options){.workers = 1}), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), words);
    sluice_dataset_destroy(dataset);
}

static sluice_dataset *boxes_with(const char *folder, const char *stages)
{
    write_pair(folder, "a.ppm", "m.pgm");
    return list_dataset(folder, "image\tboxes:boxes[3]\tt:i32[4]\na.ppm\t0,0,4,30\t1,2\n", stages);
}

static void points_without_boxes_are_refused(void)
{
    char text[600];
    char folder[300];
    sluice_dataset *dataset;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    write_pair(folder, "a.ppm", "m.pgm");
    write_list(folder, "list.tsv", "image\tp:points[2]\na.ppm\t1,1;2,2\n");
    snprintf(text, sizeof(text), "image_list %s/list.tsv | decode | mosaic 8 | batch 1", folder);
    check_refused(text, "mosaic: the points of column p do not belong to boxes");
    snprintf(text, sizeof(text),
             "image_list %s/list.tsv | drop p,p_length | decode | mosaic 8 | batch 1", folder);
    dataset = parsed(text);
    sluice_dataset_destroy(dataset);
}

static void streams_and_collected_batches_are_refused(void)
{
    char folder[300];
    char path[400];
    char text[600];
    sluice_dataset *dataset = NULL;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    script_reset(SAMPLES, GOOD);
    T_OK(dataset_begin(&stage_script, "", &dataset));
    add_filter(dataset, "third", keep_by_label, "label", NULL);
    T_OK(sluice_dataset_add(dataset, "mosaic 6 | batch 5"));
    check_plan_refused(dataset, "mosaic draws tiles from the samples of a pass, and with a filter");
    check_plan_refused(
        boxes_with(folder,
                   "| decode | mosaic 8 | drop t,t_length | bucket boxes_length 2 | batch 1"),
        "and with bucket these are not known beforehand");
    check_plan_refused(boxes_with(folder, "| decode | mosaic 8 | pack t seq=8 | batch 1"),
                       "and with pack these are not known beforehand");
    snprintf(path, sizeof(path), "%s", t_path(folder, "a.tar"));
    make_image_shard(path, 0, 4);
    snprintf(text, sizeof(text), "webdataset %s access=stream | decode | mosaic 8 | batch 1", path);
    check_plan_refused(parsed(text), "mosaic draws tiles by their numbers, and the samples of a "
                                     "stream come in sequence");
}

const t_test mosaic_errors_tests[] = {
    T_TEST(the_error_names_the_partner),
    T_TEST(replace_draws_another_partner),
    T_TEST(without_good_partners_a_sample_is_bad),
    T_TEST(zero_zeroes_samples_with_bad_partners),
    T_TEST(lack_of_memory_for_a_partner_ends_the_run),
    T_TEST(a_partner_whose_mask_is_bad_leaves_no_trace),
    T_TEST(bad_arguments_are_refused),
    T_TEST(bad_positions_are_refused),
    T_TEST(points_without_boxes_are_refused),
    T_TEST(streams_and_collected_batches_are_refused),
    T_END,
};
