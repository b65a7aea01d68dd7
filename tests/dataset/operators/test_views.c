/* SPDX-License-Identifier: Apache-2.0 */
/* views, five_crop and ten_crop: several views of one decoded image in one column. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "picture_kit.h"
#include "plan_kit.h"
#include "sample_loader.h"
#include "stage_runs.h"
#include "testing.h"

/* The rows of column image of the first batch of "SOURCE | STAGES | batch ROWS". */
typedef struct views_of {
    uint8_t *bytes;
    size_t row;
    uint32_t rank;
    uint64_t shape[SLUICE_MAX_RANK]; /* of a row */
} views_of;

static views_of run_views(const char *source, const char *stages, uint32_t rows, uint64_t seed)
{
    engine_run run;
    views_of v;

    open_own(&run, parsedf("%s | %s | batch %u", source, stages, rows),
             &(run_options){.workers = 1, .settings = {.seed = seed}});
    T_OK(next_batch(&run));
    v.row = row_bytes(&run, 0);
    v.bytes = malloc(v.row * rows);
    memcpy(v.bytes, column_row(&run, "image", 0), v.row * rows);
    v.rank = run.plan->seen[0].rank;
    memcpy(v.shape, run.plan->seen[0].shape, sizeof(v.shape));
    close_run(&run);
    return v;
}

#define SOURCE "synthetic 12 14,18,3"

/* ---- views ----------------------------------------------------------------------------------- */

static void each_view_has_random_numbers_of_its_own(void)
{
    static const char random[] = "random_crop 10 | color_jitter 0.4 | random_rotation 30 | "
                                 "random_horizontal_flip | random_erasing | normalize 0.5 0.5 | "
                                 "random_erasing value=random";
    char stages[300];
    views_of plain = run_views(SOURCE, random, 4, 3);
    views_of got;
    size_t one;

    snprintf(stages, sizeof(stages), "views 3 | %s", random);
    got = run_views(SOURCE, stages, 4, 3);
    one = got.row / 3;
    T_EQ(got.rank, 4);
    T_TRUE(got.shape[0] == 3 && got.shape[1] == 10 && got.shape[2] == 10 && got.shape[3] == 3);
    T_EQ(one, plain.row);
    for (uint32_t row = 0; row < 4; row++) {
        const uint8_t *views = got.bytes + row * got.row;

        T_TRUE(memcmp(views, plain.bytes + row * plain.row, one) == 0);
        T_TRUE(memcmp(views, views + one, one) != 0);
        T_TRUE(memcmp(views, views + 2 * one, one) != 0);
        T_TRUE(memcmp(views + one, views + 2 * one, one) != 0);
    }
    free(plain.bytes);
    free(got.bytes);
}

/* Stages before it are drawn once; without random stages after it, views are copies. */
static void stages_before_it_are_shared(void)
{
    static const char *const prefixes[] = {"", "random_crop 12 | ",
                                           "resize 11,9 | random_crop 8 | ",
                                           "random_crop 12 | resize 30,30 | resize 8,9 | "};
    static const char *const suffixes[] = {"to_chw", "resize 20,21 | resize 6,5",
                                           "random_invert 1"};

    for (size_t i = 0; i < 12; i++) {
        char stages[200];
        views_of plain;
        views_of got;

        snprintf(stages, sizeof(stages), "%s%s", prefixes[i % 4], suffixes[i / 4]);
        plain = run_views(SOURCE, stages, 2, i);
        snprintf(stages, sizeof(stages), "%sviews 2 | %s", prefixes[i % 4], suffixes[i / 4]);
        got = run_views(SOURCE, stages, 2, i);
        for (uint32_t k = 0; k < 4; k++) {
            T_TRUE(memcmp(got.bytes + k * plain.row, plain.bytes + k / 2 * plain.row, plain.row) ==
                   0);
        }
        free(plain.bytes);
        free(got.bytes);
    }
}

static void one_decode_serves_all_views(void)
{
    const char *folder = t_folder();
    const sli_run_settings settings = {.seed = 1, .world = 1};
    char text[300];
    sluice_dataset *dataset;
    sli_plan *plan;
    sample_loader *loader = NULL;
    static sli_counters counters[PLAN_PROFILED];
    static uint8_t row[5 * 20 * 20 * 3];
    int32_t label;
    uint8_t flags = 0;
    sample_row to = {.columns = {row, &label}, .flags = &flags};

    make_jpeg(folder, "a/0.jpg", 60, 50, 1);
    snprintf(text, sizeof(text),
             "image_folder %s | decode | views 5 | random_resized_crop 20 | "
             "batch 1",
             folder);
    dataset = parsed(text);
    plan = open_plan(dataset, &settings);
    T_EQ(posix_memalign((void **)&loader, 64, sizeof(*loader)), 0);
    T_OK(sample_loader_init(loader, plan));
    memset(counters, 0, sizeof(counters));
    for (int i = 0; i < PLAN_PROFILED; i++) {
        loader->report.counters[i] = &counters[i];
    }
    T_OK(sample_load(loader, 0, 0, &to));
    T_EQ(counters[PLAN_DECODE].samples, 1);
    T_EQ(counters[PLAN_PIXELS].samples, 1);
    T_EQ(counters[PLAN_PIXELS].bytes, sizeof(row));
    sample_loader_fini(loader);
    free(loader);
    close_plan(plan, dataset);
}

/* ---- five_crop and ten_crop ------------------------------------------------------------------ */

static void crops_are_those_of_torchvision(void)
{
    picture all = picture_read("torchvision", "rgb-70x12.ppm");
    picture want = picture_read("torchvision", "ten-crop.ppm");
    const char *folder = t_folder();
    char bytes[20 + 70 * 12 * 3];
    const size_t head = (size_t)snprintf(bytes, 20, "P6 70 12 255\n");
    char source[300];
    views_of got;

    memcpy(bytes + head, all.pixels, picture_size(&all));
    t_write_file(t_path(folder, "a.ppm"), bytes, head + picture_size(&all));
    write_list(folder, "list.tsv", "image\na.ppm\n");
    snprintf(source, sizeof(source), "image_list %s/list.tsv | decode", folder);
    got = run_views(source, "ten_crop 7,20", 1, 0);
    T_EQ(got.row, picture_size(&want));
    T_TRUE(got.rank == 4 && got.shape[0] == 10 && got.shape[1] == 7 && got.shape[2] == 20);
    T_TRUE(memcmp(got.bytes, want.pixels, got.row) == 0);
    free(got.bytes);
    got = run_views(source, "five_crop 7,20", 1, 0);
    T_EQ(got.row, picture_size(&want) / 2);
    T_TRUE(memcmp(got.bytes, want.pixels, got.row) == 0);
    free(got.bytes);
    free(all.pixels);
    free(want.pixels);
}

/* True if view a of one image is view b of the other one, flipped. */
static bool is_flipped(const views_of *x, uint32_t a, const views_of *y, uint32_t b, bool lines)
{
    const uint32_t height = (uint32_t)x->shape[1];
    const uint32_t width = (uint32_t)x->shape[2];
    const size_t one = (size_t)width * height * 3;

    for (uint32_t i = 0; i < width * height; i++) {
        const uint32_t row = lines ? height - 1 - i / width : i / width;
        const uint32_t column = lines ? i % width : width - 1 - i % width;

        if (memcmp(x->bytes + a * one + (size_t)3 * i,
                   y->bytes + b * one + 3 * ((size_t)row * width + column), 3) != 0) {
            return false;
        }
    }
    return true;
}

/* The flip of a view is before the later stages. */
static void later_stages_work_on_flipped_views(void)
{
    views_of right = run_views(SOURCE, "ten_crop 9,8 | affine translate=3,1 fill=9", 1, 0);
    views_of left = run_views(SOURCE, "ten_crop 9,8 | affine translate=-3,1 fill=9", 1, 0);

    for (int i = 0; i < 2; i++) {
        T_TRUE(is_flipped(&right, 5, &left, 1, false)); /* the corners change sides */
        T_TRUE(is_flipped(&right, 6, &left, 0, false));
        T_TRUE(is_flipped(&right, 9, &left, 4, false));
        free(right.bytes);
        free(left.bytes);
        right = run_views(SOURCE, "ten_crop 9,8 | random_invert 1 | random_vertical_flip 1", 1, 0);
        left = run_views(SOURCE, "ten_crop 9,8 | random_vertical_flip 1 | random_invert 1", 1, 0);
    }
    free(right.bytes);
    free(left.bytes);
    right = run_views(SOURCE, "ten_crop 8 vertical_flip=true", 1, 0);
    left = run_views(SOURCE, "five_crop 8", 1, 0);
    T_TRUE(is_flipped(&right, 5, &left, 2, true));
    T_TRUE(is_flipped(&right, 8, &left, 1, true));
    T_TRUE(is_flipped(&right, 9, &left, 4, true));
    free(right.bytes);
    free(left.bytes);
}

/* ---- in pipelines ---------------------------------------------------------------------------- */

static void workers_and_devices_do_not_matter(void)
{
    check_workers_and_devices(SOURCE, "shuffle | views 2 | random_resized_crop 10 | "
                                      "random_affine 9 | random_horizontal_flip | "
                                      "normalize 0.5 0.5 | to_chw");
    check_workers_and_devices(SOURCE, "shuffle | random_crop 12 | ten_crop 9 | random_solarize 99 "
                                      "| random_vertical_flip");
    check_pass("synthetic 12 1,1,3", "views 16", 3);
    check_pass("synthetic 12 1,1,1", "ten_crop 1", 3);
}

static void views_after_a_cache_are_equal(void)
{
    check_stages(SOURCE, "resize 12,13 | cache 1M | views 2 | random_crop 9",
                 "resize 12,13 | views 2 | random_crop 9", true);
    check_stages(SOURCE, "cache 1M | five_crop 9 | random_invert", "five_crop 9 | random_invert",
                 true);
}

static void the_plan_says_what_is_shared(void)
{
    sluice_dataset *dataset;
    sli_plan *plan =
        plan_stages("random_crop 18 | views 2 | random_crop 9 | resize 5,5", false, &dataset);
    char *text = explained(plan);

    T_EQ(plan->details->geometry.list.count, 2);
    T_EQ(plan->details->geometry.list.shared, 1);
    T_CONTAINS(text, "views + random_crop + resize: one pass for each view of the whole image");
    T_CONTAINS(text, "column image: u8 (4, 2, 5, 5, 3)");
    sluice_string_free(text);
    close_plan(plan, dataset);
}

static void what_views_do_not_work_with_is_refused(void)
{
    static const char *const cases[][2] = {
        {"views 1", "views: n=1 must be from 2 to 16"},
        {"views 17", "must be from 2 to 16"},
        {"views 2 | views 2", "views: the image has 2 views already"},
        {"five_crop 9 | ten_crop 5", "ten_crop: the image has 5 views already; a pipeline has one "
                                     "of views, five_crop and ten_crop"},
        {"five_crop 15", "five_crop: an image of 18x14 is smaller than the crop of 15x15; put "
                         "resize before it"},
        {"ten_crop 3,19", "ten_crop: an image of 18x14 is smaller than the crop of 19x3"},
        {"geometry | views 2", "views: column geometry is the map of geometry, and would differ "
                               "between the views of the image; drop it before"},
        {"views 2 | geometry", "geometry: the image has 2 views, each with a map of its own"},
        {"views 2 | mosaic 9",
         "mosaic: each sample has 2 views of an image, and must have one image; leave"},
        {"mosaic 9 | views 2", "views: a mosaic is made of one image of each of four samples"},
        {"views 2 | device", "device: the image has 2 views, which the workers make"},
        {"views 2 | cache 1M", "views"},
        {"views 2 | batch 4 | mixup 10", "mixup: each sample has 2 views of an image"},
    };
    const char *folder = t_folder();
    const sli_run_settings settings = {.world = 1};
    char text[300];
    sluice_dataset *dataset = parsed(SOURCE " | views 2 | to_chw offload=device | batch 2");
    sli_plan *plan = NULL;

    T_STATUS(sli_plan_open(dataset, &settings, &plan), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "to_chw offload=device: the workers convert the 2 views");
    sluice_dataset_destroy(dataset);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), SOURCE " | %s", cases[i][0]);
        check_refused(text, cases[i][1]);
    }
    write_pair(folder, "a.ppm", "m.pgm");
    write_list(folder, "list.tsv", LIST_OF_BOXES);
    snprintf(text, sizeof(text), "image_list %s/list.tsv | decode | five_crop 9", folder);
    check_refused(text, "five_crop: column mask is a mask, and would differ");
    snprintf(text, sizeof(text),
             "image_list %s/list.tsv | decode | project image | views 2 | "
             "batch 1",
             folder);
    dataset = parsed(text);
    sluice_dataset_destroy(dataset);
}

/* Of files the size is known when a sample is read. */
static void an_image_smaller_than_the_crop_is_a_bad_sample(void)
{
    const char *folder = t_folder();
    engine_run run;

    write_pair(folder, "a.ppm", "m.pgm");
    open_own(&run, list_dataset(folder, "image\na.ppm\n", "| decode | five_crop 31 | batch 1"),
             &(run_options){.workers = 1});
    T_STATUS(next_batch(&run), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "five_crop: sample 0, a.ppm: ");
    T_CONTAINS(sluice_last_error(), "an image of 40x30 is smaller than the crop of 31x31; put "
                                    "resize before it");
    close_run(&run);
}

const t_test views_tests[] = {
    T_TEST(each_view_has_random_numbers_of_its_own),
    T_TEST(stages_before_it_are_shared),
    T_TEST(one_decode_serves_all_views),
    T_TEST(crops_are_those_of_torchvision),
    T_TEST(later_stages_work_on_flipped_views),
    T_TEST(workers_and_devices_do_not_matter),
    T_TEST(views_after_a_cache_are_equal),
    T_TEST(the_plan_says_what_is_shared),
    T_TEST(what_views_do_not_work_with_is_refused),
    T_TEST(an_image_smaller_than_the_crop_is_a_bad_sample),
    T_END,
};
