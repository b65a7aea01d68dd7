/* SPDX-License-Identifier: Apache-2.0 */
/* Image maps in runs: bad samples, ranks, resumes, and images of extreme sizes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/reader.h>

#include "dataset_kit.h"
#include "image_map_kit.h"
#include "list_kit.h"
#include "testing.h"

#define MAPS                                                                                       \
    "geometry | look_map | random_invert 0.5 | cut_map | random_horizontal_flip | mirror_map | "   \
    "random_resized_crop 8 | batch 2"

/* Checks that all columns of a row are those of its sample without a run. `dataset`: in the order
 * of the source. */
static void check_row(const engine_run *run, sluice_dataset *dataset, uint64_t seed, uint32_t row)
{
    void *columns[SLUICE_MAX_COLUMNS] = {NULL};

    for (uint32_t i = 0; i < run->input.count; i++) {
        columns[i] = calloc(1, row_bytes(run, i));
        T_TRUE(columns[i] != NULL);
    }
    T_OK(sluice_dataset_get(dataset, seed, run->input.header->pass, run->input.samples[row],
                            columns, NULL));
    for (uint32_t i = 0; i < run->input.count; i++) {
        if (strcmp(run->layout.columns[i].name, "mask") == 0) { /* whether the row has a sample */
            T_EQ(*(const uint8_t *)row_of(run, i, row), 1);
        } else {
            T_TRUE(memcmp(columns[i], row_of(run, i, row), row_bytes(run, i)) == 0);
        }
        free(columns[i]);
    }
}

/* ---- bad samples ----------------------------------------------------------------------------- */

/* The maps before the one that fails have written columns of its row, which is another sample's or
 * zero. */
static void bad_samples_obey_the_policy(void)
{
    image_map_kit_begin(MAP_TELLS);
    for (uint32_t i = 0; i < 6; i++) {
        const bool is_zeroed = i % 2 == 0;
        sluice_dataset *dataset = sized_dataset(
            t_folder(), "| decode | geometry | look_map | fail_map | mirror_map | resize 8,8 | "
                        "batch 4");
        const run_options options = {
            .workers = worker_counts[i / 2],
            .settings = {.on_error = is_zeroed ? SLI_ON_ERROR_ZERO : SLI_ON_ERROR_REPLACE}};
        engine_run run;

        open_own(&run, dataset, &options);
        T_OK(next_batch(&run));
        T_OK(next_batch(&run));
        for (uint32_t row = 0; row < 4; row++) {
            if (is_zeroed && row == 1) {
                for (uint32_t k = 0; k < run.input.count; k++) {
                    T_TRUE(is_zero(row_of(&run, k, row), row_bytes(&run, k)));
                }
            } else {
                T_TRUE(run.input.samples[row] != 5);
                T_EQ(*(const int32_t *)column_row(&run, "label", row), run.input.samples[row]);
                check_row(&run, dataset, 0, row);
            }
        }
        close_run(&run);
    }
}

/* ---- ranks and resumes ----------------------------------------------------------------------- */

/* Stages before the maps: without and with a filter of images, which keeps samples 3 to 7. */
static const char *const filters[] = {"", "keep_wide_ones | "};

/* The samples that a rank of two gets in a pass, a bit for each. */
static uint32_t samples_of(uint32_t rank, const char *filter)
{
    sluice_dataset *ordered;
    sluice_dataset *dataset;
    char text[400];
    uint32_t seen = 0;
    engine_run run;

    snprintf(text, sizeof(text), "| shuffle | decode | %s" MAPS, filter);
    ordered = sized_dataset(t_folder(), "| decode | " MAPS);
    dataset = sized_dataset(t_folder(), text);
    open_run(&run, dataset,
             &(run_options){.workers = 2, .settings = {.seed = 7, .rank = rank, .world = 2}});
    while (next_batch(&run) == SLUICE_OK) {
        for (uint32_t row = 0; row < run.input.header->valid_rows; row++) {
            check_row(&run, ordered, 7, row);
            T_TRUE((seen & 1U << run.input.samples[row]) == 0);
            seen |= 1U << run.input.samples[row];
        }
    }
    close_run(&run);
    sluice_dataset_destroy(ordered);
    sluice_dataset_destroy(dataset);
    return seen;
}

static void ranks_share_the_samples(void)
{
    image_map_kit_begin(MAP_TELLS);
    for (int i = 0; i < 2; i++) {
        const uint32_t seen[] = {samples_of(0, filters[i]), samples_of(1, filters[i])};

        T_EQ(seen[0] & seen[1], 0);
        T_EQ(seen[0] | seen[1], i == 0 ? 0xff : 0xf8);
    }
}

static void a_resumed_run_goes_on_with_the_same_batches(void)
{
    image_map_kit_begin(MAP_TELLS);
    for (int i = 0; i < 2; i++) {
        run_options options = {.workers = 2, .batches = 9, .settings = {.seed = 3}};
        sluice_dataset *dataset;
        char text[400];
        tape all;
        tape rest;

        snprintf(text, sizeof(text), "| shuffle | decode | %s" MAPS " drop_remainder=true",
                 filters[i]);
        dataset = sized_dataset(t_folder(), text);
        all = record(dataset, &options);
        options.first_step = 3;
        options.resumes = i == 0; /* the position of a filter is not a function of the step */
        options.batches = 6;
        rest = record(dataset, &options);
        T_EQ(all.batches, 9);
        T_EQ(rest.batches, 6);
        T_TRUE(rest.size * 3 == all.size * 2 &&
               memcmp(rest.bytes, all.bytes + all.size - rest.size, rest.size) == 0);
        free(all.bytes);
        free(rest.bytes);
        sluice_dataset_destroy(dataset);
    }
}

/* ---- extreme sizes --------------------------------------------------------------------------- */

/* A dataset of one image of this size with a mask and a box. */
static sluice_dataset *one_image(uint32_t width, uint32_t height, const char *stages)
{
    const char *folder = t_folder();
    const size_t pixels = (size_t)width * height;
    char *mask = calloc(1, 30 + pixels);
    char list[200];
    size_t at;

    T_TRUE(mask != NULL);
    at = (size_t)snprintf(mask, 30, "P5 %u %u 255\n", width, height);
    for (size_t i = 0; i < pixels; i++) {
        mask[at++] = (char)(i % 251);
    }
    t_write_file(t_path(folder, "m.pgm"), mask, at);
    free(mask);
    write_sized(folder, "a.ppm", width, height);
    snprintf(list, sizeof(list),
             "image\tlabel\tm:mask\tboxes:boxes[1]\na.ppm\t0\tm.pgm\t0,0,%u,%u\n",
             width > 1 ? width - 1 : 1, height);
    return list_dataset(folder, list, stages);
}

/* One pixel, and the longest lines and columns: a map that mirrors gives what a flip gives. */
static void images_have_any_size(void)
{
    static const uint32_t sizes[][2] = {{1, 1}, {65535, 1}, {1, 65535}};
    static const char *const stages[] = {
        "| decode | geometry | look_map | mirror_map | again_map | resize 5,7 | batch 1",
        "| decode | geometry | look_map | random_horizontal_flip 1 | resize 5,7 | batch 1"};

    image_map_kit_begin(MAP_TELLS);
    for (uint32_t i = 0; i < 3; i++) {
        engine_run runs[2];
        sluice_dataset *datasets[2];
        const int32_t *size;

        for (int k = 0; k < 2; k++) {
            datasets[k] = one_image(sizes[i][0], sizes[i][1], stages[k]);
            open_run(&runs[k], datasets[k], &(run_options){.workers = 1});
            T_OK(next_batch(&runs[k]));
        }
        size = column_row(&runs[0], "seen", 0);
        T_TRUE(size[0] == (int32_t)sizes[i][0] && size[1] == (int32_t)sizes[i][1]);
        T_EQ(runs[0].input.count, runs[1].input.count);
        for (uint32_t k = 0; k < runs[0].input.count; k++) {
            T_TRUE(memcmp(row_of(&runs[0], k, 0), row_of(&runs[1], k, 0), row_bytes(&runs[0], k)) ==
                   0);
        }
        for (int k = 0; k < 2; k++) {
            close_run(&runs[k]);
            sluice_dataset_destroy(datasets[k]);
        }
    }
}

const t_test image_map_runs_tests[] = {
    T_TEST(bad_samples_obey_the_policy),
    T_TEST(ranks_share_the_samples),
    T_TEST(a_resumed_run_goes_on_with_the_same_batches),
    T_TEST(images_have_any_size),
    T_END,
};
