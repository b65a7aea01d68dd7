/* SPDX-License-Identifier: Apache-2.0 */
/* random_resize, scale_jitter and random_shortest_size: their sizes, by those of torchvision, and
 * what follows the image. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "custom_kit.h"
#include "dataset_kit.h"
#include "list_kit.h"
#include "plan_kit.h"
#include "stage_runs.h"
#include "testing.h"

enum { SAMPLES = 3000 };

/* width, height */
static const uint32_t sizes[][2] = {{640, 427}, {427, 640}, {50, 50}, {300, 7}, {1000, 999}};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

/* ---- sizes ----------------------------------------------------------------------------------- */

static uint32_t shorter_of(const uint32_t size[2])
{
    return size[0] < size[1] ? size[0] : size[1];
}

static uint32_t longer_of(const uint32_t size[2])
{
    return size[0] < size[1] ? size[1] : size[0];
}

/* The new size of one image, and the random bits that it depends on. */
static stage_window draw(const sluice_dataset *dataset, uint64_t sample, uint32_t bits[4])
{
    const dataset_stage *stage = &dataset->stages[1];
    const uint32_t *size = sizes[sample % SIZES];
    const sli_draws draws = {.key = 77, .sample = sample};
    stage_window g = {0};

    sli_draw(&draws, 0, bits);
    T_OK(stage->def->geometry->draw(stage->args.bytes, &draws, size[0], size[1], &g));
    T_TRUE(g.resizes && !g.crops && !g.frames);
    T_EQ(g.filter.filter, FILTER_BICUBIC);
    T_TRUE(!g.filter.antialias);
    return g;
}

static sluice_dataset *with_stage(const char *stage)
{
    char text[200];

    snprintf(text, sizeof(text),
             "synthetic 10 9,9,3 2 | %s filter=bicubic antialias=false | resize 8,8 | batch 2",
             stage);
    return parsed(text);
}

/* RandomResize: all lengths from MIN to MAX, equally often, and the ratio of the sides kept. */
static void shorter_sides_are_uniform_with_both_ends(void)
{
    sluice_dataset *dataset = with_stage("random_resize 200,219");
    uint32_t counts[20] = {0};

    for (uint64_t sample = 0; sample < SAMPLES; sample++) {
        const uint32_t *size = sizes[sample % SIZES];
        uint32_t bits[4];
        const stage_window g = draw(dataset, sample, bits);
        const uint32_t length = g.new_width < g.new_height ? g.new_width : g.new_height;

        T_TRUE(length >= 200 && length <= 219);
        T_EQ(length, 200 + (uint32_t)((uint64_t)bits[0] * 20 >> 32));
        T_EQ(size[0] < size[1] ? g.new_height : g.new_width,
             (uint64_t)length * longer_of(size) / shorter_of(size));
        T_TRUE(size[0] < size[1] ? g.new_width == length : g.new_height == length);
        counts[length - 200]++;
    }
    for (int i = 0; i < 20; i++) {
        T_TRUE(counts[i] > 100 && counts[i] < 200); /* of 150 on average */
    }
    sluice_dataset_destroy(dataset);
}

/* ScaleJitter's formula; its target_size is (width, height). */
static void scales_are_uniform_around_the_size_that_fits(void)
{
    sluice_dataset *dataset = with_stage("scale_jitter 300,400 scale=0.5,1.5");
    double least = 2;
    double most = 0;

    for (uint64_t sample = 0; sample < SAMPLES; sample++) {
        const uint32_t *size = sizes[sample % SIZES];
        const double fit = fmin(300.0 / size[1], 400.0 / size[0]);
        uint32_t bits[4];
        const stage_window g = draw(dataset, sample, bits);
        const double scale = 0.5 + sli_unit(bits[0]);

        T_EQ(g.new_width, (uint32_t)(size[0] * (fit * scale)));
        T_EQ(g.new_height, (uint32_t)(size[1] * (fit * scale)));
        T_TRUE(g.new_width <= 600 && g.new_height <= 450);
        least = fmin(least, scale);
        most = fmax(most, scale);
    }
    T_TRUE(least < 0.51 && most > 1.49);
    sluice_dataset_destroy(dataset);
}

/* RandomShortestSize: one of the lengths, and no longer side above the maximum. */
static void one_of_the_lengths_is_taken_up_to_a_maximum(void)
{
    static const uint32_t lengths[] = {480, 600, 800};
    static const char *const stages[] = {"random_shortest_size 480,600,800 max_size=1000",
                                         "random_shortest_size 480,600,800"};
    uint32_t counts[3] = {0};
    uint32_t limited = 0;

    for (uint64_t i = 0; i < 2; i++) {
        sluice_dataset *dataset = with_stage(stages[i]);

        for (uint64_t sample = 0; sample < SAMPLES; sample++) {
            const uint32_t *size = sizes[sample % SIZES];
            uint32_t bits[4];
            const stage_window g = draw(dataset, sample, bits);
            const uint32_t choice = (uint32_t)((uint64_t)bits[0] * 3 >> 32);
            const double r = (double)lengths[choice] / shorter_of(size);
            const double most = i == 0 ? 1000.0 / longer_of(size) : r;

            T_EQ(g.new_width, (uint32_t)(size[0] * fmin(r, most)));
            T_EQ(g.new_height, (uint32_t)(size[1] * fmin(r, most)));
            T_TRUE(i == 1 || (g.new_width <= 1000 && g.new_height <= 1000));
            limited += most < r;
            counts[choice]++;
        }
        sluice_dataset_destroy(dataset);
    }
    T_TRUE(counts[0] > 1800 && counts[1] > 1800 && counts[2] > 1800);
    T_TRUE(limited > 0);
}

/* ---- masks and boxes ------------------------------------------------------------------------- */

/* Each pixel and each class is where the map says, for the pixels of the image; others are 0. */
static uint32_t check_shown(const engine_run *run, uint32_t side)
{
    const uint8_t *image = column_row(run, "image", 0);
    const uint8_t *mask = column_row(run, "mask", 0);
    const float *m = column_row(run, "geometry", 0);
    uint32_t shown = 0;

    for (uint32_t i = 0; i < side * side; i++) {
        const float x = m[0] * ((float)(i % side) + 0.5F) + m[2] - 0.5F;
        const float y = m[4] * ((float)(i / side) + 0.5F) + m[5] - 0.5F;
        const uint8_t *pixel = image + (size_t)3 * i;

        if (pixel[2] == 200) {
            T_TRUE(fabsf(x - (float)pixel[0]) < 0.501F && fabsf(y - (float)pixel[1]) < 0.501F);
            T_EQ(mask[i], class_of(pixel[0], pixel[1]));
            shown++;
        } else {
            T_TRUE(pixel[2] == 0 && mask[i] == 0);
        }
    }
    return shown;
}

static void masks_and_boxes_follow(void)
{
    static const float file[3][4] = {{0, 0, 4, 30}, {10, 5, 30, 25}, {36, 0, 40, 3}};
    static const char *const stages[] = {"random_resize 20,50", "scale_jitter 40 scale=0.5,1.6",
                                         "random_shortest_size 20,30,45 max_size=56"};
    const char *folder = t_folder();
    uint32_t least = UINT32_MAX;
    uint32_t most = 0;

    write_pair(folder, "a.ppm", "m.pgm");
    for (uint64_t seed = 0; seed < 30; seed++) {
        char text[200];
        engine_run run;
        const float *boxes;
        const float *m;
        uint32_t shown;

        snprintf(text, sizeof(text),
                 "| decode | geometry | %s filter=nearest | center_crop 80 | batch 1",
                 stages[seed % 3]);
        open_own(&run, list_dataset(folder, LIST_OF_BOXES, text),
                 &(run_options){.device = devices[seed % 2], .settings = {.seed = seed}});
        T_OK(next_batch(&run));
        shown = check_shown(&run, 80);
        least = shown < least ? shown : least;
        most = shown > most ? shown : most;
        boxes = column_row(&run, "boxes", 0);
        m = column_row(&run, "geometry", 0);
        T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 3);
        for (int k = 0; k < 12; k++) {
            const float at = m[k % 2 * 4] * boxes[k] + m[2 + k % 2 * 3];

            T_TRUE(fabsf(at - file[k / 4][k % 4]) < 1e-3F);
        }
        close_run(&run);
    }
    T_TRUE(least < 700 && most > 2000);
}

/* ---- sizes of a batch ------------------------------------------------------------------------ */

static void random_sizes_are_refused_before_the_run(void)
{
    static const char *const stages[][2] = {{"random_resize", "random_resize 5,9"},
                                            {"scale_jitter", "scale_jitter 9,8"},
                                            {"random_shortest_size", "random_shortest_size 5,9"}};
    const sli_run_settings settings = {.seed = 1, .world = 1};

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        char text[200];
        char words[200];
        sluice_dataset *dataset;
        sli_plan *plan = NULL;

        snprintf(text, sizeof(text), "synthetic 10 8,8,3 2 | %s | batch 1", stages[i][1]);
        snprintf(words, sizeof(words),
                 "%s gives images of random sizes, and those of a batch have one size; add resize "
                 "H,W or a crop after it",
                 stages[i][0]);
        dataset = parsed(text);
        T_STATUS(sli_plan_open(dataset, &settings, &plan), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), words);
        sluice_dataset_destroy(dataset);
    }
}

/* With one length, or one scale, nothing is random, and the batch has the size of its images. */
static void one_length_is_a_resize(void)
{
    const char *source = "synthetic 9 12,16,3 2";

    check_stages(source, "random_resize 6,6", "resize 6", true);
    check_stages(source, "random_shortest_size 6", "resize 6", true);
    check_stages(source, "random_shortest_size 6 max_size=6 filter=bicubic",
                 "resize 4,6 filter=bicubic", true);
    check_stages(source, "scale_jitter 9 scale=2,2", "resize 13,18", true);
    check_stages(source, "scale_jitter 6,20 scale=1,1 filter=area", "resize 6,8 filter=area", true);
    check_stages(source, "random_resize 6,7 | resize 6,8", "resize 6,8 | resize 6,8", false);
}

/* The advice for images of other sizes is not to give one more number: that is a square. */
static void images_of_other_sizes_are_advised_to_be_resized(void)
{
    const char *folder = t_folder();
    char text[200];
    tape got;

    make_jpeg(folder, "a.jpg", 40, 30, 1);
    make_jpeg(folder, "b.jpg", 30, 30, 1);
    write_list(folder, "list.tsv", "image\na.jpg\nb.jpg\n");
    snprintf(text, sizeof(text),
             "image_list %s/list.tsv | decode | scale_jitter 20 scale=1,1 | batch 1", folder);
    got = record_own(parsed(text), &(run_options){.workers = 1});
    T_STATUS(got.end, SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(),
               "the image is 20x20x3 where the batch has 20x15x3, as a.jpg; add resize "
               "H,W or a crop, so that all have one size");
    free(got.bytes);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void bad_arguments_are_refused(void)
{
    static const char *const cases[][2] = {
        {"random_resize", "size"},
        {"random_resize 9",
         "random_resize: size has 1 number and must be MIN,MAX, the lengths of the "
         "shorter side; for one length use resize N"},
        {"random_resize 9,10,11", "size has 3 numbers and must be MIN,MAX"},
        {"random_resize 9,8", "size=9,8 must be MIN,MAX with 1 <= MIN <= MAX <= 65535"},
        {"random_resize 0,8", "size=0,8 must be MIN,MAX"},
        {"random_resize 1,65536", "size=1,65536 must be MIN,MAX"},
        {"random_resize 1.5,8", "must be whole numbers"},
        {"random_resize 7,8 filter=area antialias=false", "filter=area"},
        {"scale_jitter 0", "scale_jitter: size=0 must be from 1 to 65535"},
        {"scale_jitter 9 scale=2", "scale must be LOW,HIGH with 0.001 <= LOW <= HIGH <= 1000"},
        {"scale_jitter 9 scale=2,1", "scale=2,1 must be LOW,HIGH"},
        {"scale_jitter 9 scale=0,1", "scale=0,1 must be LOW,HIGH"},
        {"scale_jitter 9 scale=1,1001", "scale=1,1001 must be LOW,HIGH"},
        {"scale_jitter 9 scale=imagenet", "scale must be LOW,HIGH"},
        {"scale_jitter 9 filter=area antialias=false", "filter=area"},
        {"random_shortest_size 9,0", "random_shortest_size: min_size=0 must be from 1 to 65535"},
        {"random_shortest_size 65536", "min_size=65536 must be from 1 to 65535"},
        {"random_shortest_size 9 max_size=65536", "max_size=65536 must be from 0 to 65535"},
        {"random_shortest_size 8,10 max_size=9",
         "max_size=9 is less than min_size=10, so no shorter side would have that length; it must "
         "be at "
         "least 10"},
        {"random_shortest_size 9 filter=area antialias=false", "filter=area"},
        {"normalize 0.5 0.5 | random_resize 8,9", "random_resize works on the decoded image"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[200];

        snprintf(text, sizeof(text), "synthetic 10 8,8,3 2 | %s | resize 8,8", cases[i][0]);
        check_refused(text, cases[i][1]);
    }
}

static void sides_out_of_bounds_are_bad_samples(void)
{
    static const char *const cases[][3] = {
        {"synthetic 3 200,1,3", "random_resize 700,800", ", and sides must be from 1 to 65535"},
        {"synthetic 3 200,1,3", "scale_jitter 10 scale=0.1,0.2", "resizing 1x200 gives 0x"},
        {"synthetic 3 9,9,3", "scale_jitter 5000 scale=900,1000", "resizing 9x9 gives 4"},
        {"synthetic 3 200,2,3", "random_shortest_size 9,10 max_size=20",
         "resizing 2x200 gives 0x20"},
        {"synthetic 3 200,1,3", "random_shortest_size 500,600", "resizing 1x200 gives 500x100000"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char stages[200];
        tape got;

        snprintf(stages, sizeof(stages), "%s | resize 5,5", cases[i][1]);
        got = run_stages_of(cases[i][0], stages, &(run_options){.workers = 1});
        T_STATUS(got.end, SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), cases[i][2]);
        free(got.bytes);
    }
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void workers_and_devices_do_not_matter(void)
{
    check_workers_and_devices("synthetic 20 12,16,3",
                              "shuffle | random_resize 10,20 | random_crop 9 padding=2 | "
                              "random_horizontal_flip | normalize 0.5 0.5");
    check_workers_and_devices("synthetic 20 12,16,3",
                              "shuffle | scale_jitter 20,16 scale=0.4,2 | center_crop 15 | to_chw");
    check_workers_and_devices("synthetic 20 12,16,3",
                              "shuffle | random_shortest_size 8,12,16 max_size=18 | "
                              "random_resized_crop 10");
}

const t_test random_resizes_tests[] = {
    T_TEST(shorter_sides_are_uniform_with_both_ends),
    T_TEST(scales_are_uniform_around_the_size_that_fits),
    T_TEST(one_of_the_lengths_is_taken_up_to_a_maximum),
    T_TEST(masks_and_boxes_follow),
    T_TEST(random_sizes_are_refused_before_the_run),
    T_TEST(one_length_is_a_resize),
    T_TEST(images_of_other_sizes_are_advised_to_be_resized),
    T_TEST(bad_arguments_are_refused),
    T_TEST(sides_out_of_bounds_are_bad_samples),
    T_TEST(workers_and_devices_do_not_matter),
    T_END,
};
