/* SPDX-License-Identifier: Apache-2.0 */
/* rotate and random_rotation with expand=true: the size, the pixels, and what follows the image. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "custom_kit.h"
#include "dataset_kit.h"
#include "list_kit.h"
#include "picture_kit.h"
#include "plan_kit.h"
#include "stage_runs.h"
#include "testing.h"
#include "warp_matrix.h"

/* ---- torchvision ----------------------------------------------------------------------------- */

static void the_size_holds_the_image_as_in_torchvision(void)
{
    static const struct {
        uint32_t width;
        uint32_t height;
        double degrees;
        uint32_t new_width;
        uint32_t new_height;
    } sizes[] = {{40, 30, 30, 50, 46},    {30, 40, -17, 42, 48},
                 {7, 500, 45, 359, 360},  {1, 1, 10, 3, 3},
                 {224, 224, 1, 228, 228}, {640, 427, 137, 760, 749},
                 {5, 4, 90, 4, 5},        {5, 4, -270, 4, 5},
                 {5, 4, 180, 5, 4},       {65535, 65535, 90, 65535, 65535},
                 {3, 3, 359.5, 5, 5}};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        uint32_t width;
        uint32_t height;

        (void)warp_of_rotation(-sizes[i].degrees, sizes[i].width, sizes[i].height, &width, &height);
        T_EQ(width, sizes[i].new_width);
        T_EQ(height, sizes[i].new_height);
    }
}

/* The first columns of the input of the fixtures, as a file. */
static void write_input(const char *folder, uint32_t width)
{
    picture all = picture_read("torchvision", "rgb-70x12.ppm");
    char bytes[20 + 70 * 12 * 3];
    size_t at = (size_t)snprintf(bytes, 20, "P6 %u 12 255\n", width);

    for (uint32_t y = 0; y < 12; y++, at += (size_t)3 * width) {
        memcpy(bytes + at, all.pixels + (size_t)y * all.width * 3, (size_t)3 * width);
    }
    t_write_file(t_path(folder, "a.ppm"), bytes, at);
    free(all.pixels);
}

static void pixels_are_those_of_torchvision(void)
{
    static const struct {
        const char *output;
        const char *stage;
        uint32_t width;
    } cases[] = {
        {"rotate-expand.ppm", "rotate 30 fill=10,200,90 expand=true", 30},
        {"rotate-expand-bilinear.ppm", "rotate -17 bilinear 10,200,90 expand=true", 12},
    };
    const char *folder = t_folder();

    for (int i = 0; i < 2; i++) {
        picture want = picture_read("torchvision", cases[i].output);
        char text[200];
        engine_run run;
        const uint8_t *got;
        size_t other = 0;

        write_input(folder, cases[i].width);
        snprintf(text, sizeof(text), "| decode | %s | batch 1", cases[i].stage);
        open_own(&run, list_dataset(folder, "image\na.ppm\n", text), &(run_options){.workers = 1});
        T_OK(next_batch(&run));
        T_EQ(row_bytes(&run, 0), picture_size(&want));
        got = column_row(&run, "image", 0);
        for (size_t k = 0; k < picture_size(&want); k++) {
            T_TRUE(i == 0 || abs(got[k] - want.pixels[k]) <= 1);
            other += got[k] != want.pixels[k];
        }
        T_TRUE(other * 100 <= picture_size(&want));
        close_run(&run);
        free(want.pixels);
    }
}

/* ---- what follows the image ------------------------------------------------------------------ */

#define LIST                                                                                       \
    "image\tmask:mask\tmore:image\tp:points[2]\tboxes:boxes[1]\n"                                  \
    "a.ppm\tm.pgm\ta.ppm\t4,5;20.5,11\t10,5,30,25\n"

/* The point of the batch's image at a point of the file, by the inverse of the map. */
static void ahead(const float *m, double x, double y, double point[2])
{
    const warp_matrix back = {{(double)m[0], (double)m[1], (double)m[2], (double)m[3], (double)m[4],
                               (double)m[5], 0, 0, 1}};
    warp_matrix inverse;

    T_TRUE(warp_invert(&back, &inverse));
    (void)warp_point(&inverse, x, y, point);
}

static void check_pixels(const engine_run *run, uint32_t width, uint32_t height, double most)
{
    const uint8_t *image = column_row(run, "image", 0);
    const uint8_t *mask = column_row(run, "mask", 0);
    const float *m = column_row(run, "geometry", 0);
    uint32_t shown = 0;

    for (uint32_t i = 0; i < width * height; i++) {
        const double x = i % width + 0.5;
        const double y = i / width + 0.5;
        const double from_x = (double)m[0] * x + (double)m[1] * y + (double)m[2];
        const double from_y = (double)m[3] * x + (double)m[4] * y + (double)m[5];
        const uint8_t *pixel = image + (size_t)3 * i;

        if (pixel[2] == 200) {
            T_TRUE(fabs(from_x - pixel[0] - 0.5) < most && fabs(from_y - pixel[1] - 0.5) < most);
            T_EQ(mask[i], class_of(pixel[0], pixel[1]));
            shown++;
        } else {
            T_TRUE(pixel[2] == 7 && mask[i] == 9);
        }
    }
    T_TRUE(shown > 100);
}

static void check_box(const engine_run *run, double width, double height)
{
    const float *m = column_row(run, "geometry", 0);
    const float *box = column_row(run, "boxes", 0);
    double low[2] = {1e9, 1e9};
    double high[2] = {-1e9, -1e9};
    const double most[2] = {width, height};

    T_EQ(*(const int32_t *)column_row(run, "boxes_length", 0), 1);
    for (int i = 0; i < 4; i++) {
        double point[2];

        ahead(m, i % 2 == 0 ? 10 : 30, i < 2 ? 5 : 25, point);
        for (int k = 0; k < 2; k++) {
            low[k] = fmin(low[k], point[k]);
            high[k] = fmax(high[k], point[k]);
        }
    }
    for (int k = 0; k < 2; k++) {
        T_TRUE(fabs((double)box[k] - fmin(fmax(low[k], 0), most[k])) < 1e-3);
        T_TRUE(fabs((double)box[2 + k] - fmin(fmax(high[k], 0), most[k])) < 1e-3);
    }
}

static void masks_boxes_points_and_images_follow(void)
{
    static const struct {
        const char *stages;
        uint32_t width;
        uint32_t height;
        double most; /* how far a pixel is from where the map has it */
    } cases[] = {
        {"rotate 30 fill=7 mask_fill=9 expand=true", 50, 46, 0.501},
        {"rotate 30 fill=7 mask_fill=9 expand=true | random_horizontal_flip 1", 50, 46, 0.501},
        {"rotate 30 fill=7 mask_fill=9 expand=true | resize 30,60 filter=nearest", 60, 30, 1.3},
        {"pad_image 1,2 7 mask_fill=9 | random_rotation 50 fill=7 mask_fill=9 expand=true | "
         "random_rotation 50 fill=7 mask_fill=9 expand=true | resize 60,80 filter=nearest",
         80, 60, 3},
    };
    static const double file[2][2] = {{4, 5}, {20.5, 11}};

    for (uint64_t seed = 0; seed < 3 * sizeof(cases) / sizeof(cases[0]); seed++) {
        const size_t i = seed / 3;
        engine_run run;
        const float *points;

        open_list(&run, LIST, "decode | geometry", cases[i].stages, seed);
        T_EQ(row_bytes(&run, 0), (size_t)cases[i].width * cases[i].height * 3);
        check_pixels(&run, cases[i].width, cases[i].height, cases[i].most);
        T_TRUE(memcmp(column_row(&run, "image", 0), column_row(&run, "more", 0),
                      row_bytes(&run, 0)) == 0);
        points = column_row(&run, "p", 0);
        for (int k = 0; k < 2; k++) {
            double point[2];

            ahead(column_row(&run, "geometry", 0), file[k][0], file[k][1], point);
            T_TRUE(fabs((double)points[2 * k] - point[0]) < 1e-3);
            T_TRUE(fabs((double)points[2 * k + 1] - point[1]) < 1e-3);
        }
        if (i < 3) { /* two rotations give the bounding box of a bounding box */
            check_box(&run, cases[i].width, cases[i].height);
        }
        close_run(&run);
    }
}

/* ---- in pipelines ---------------------------------------------------------------------------- */

#define SOURCE "synthetic 12 10,16,3"

static void quarter_turns_lose_nothing(void)
{
    check_stages(SOURCE, "rotate 90 expand=true | rotate 270 expand=true", "take 12", true);
    check_stages(SOURCE, "rotate 90 bilinear expand=true | rotate -90 expand=true", "take 12",
                 true);
    check_stages(SOURCE, "rotate 180 expand=true", "rotate 180", true);
    check_stages(SOURCE, "random_rotation 30,30 expand=true | resize 9,9",
                 "rotate 30 expand=true | resize 9,9", true);
    check_stages(SOURCE, "rotate 0 expand=true", "take 12", true);
    check_stages(SOURCE, "rotate 30 expand=false", "rotate 30", true);
}

static void a_rotation_is_a_pass_of_its_own(void)
{
    sluice_dataset *dataset;
    sli_plan *plan = plan_stages("random_crop 18 | rotate 9 expand=true | resize 20,20 | "
                                 "center_crop 10 | random_rotation 9 expand=true | center_crop 8",
                                 false, &dataset);
    char *text = explained(plan);

    T_EQ(plan->details->geometry.list.count, 5);
    T_CONTAINS(text, "pixels: rotate: the whole image, rotated");
    sluice_string_free(text);
    close_plan(plan, dataset);
}

/* Both have the same name, but they are the first and the second stage of that name. */
static void a_later_rotation_draws_another_angle(void)
{
    sluice_dataset *dataset;
    sli_plan *plan = plan_stages("random_rotation 9 expand=true | resize 20,20 | random_rotation 9",
                                 false, &dataset);

    T_TRUE(plan->details->geometry.stages[0].key != plan->details->colors.stages[0].key);
    close_plan(plan, dataset);
}

static void workers_and_devices_do_not_matter(void)
{
    check_workers_and_devices("synthetic 20 12,9,3",
                              "shuffle | random_rotation 40 bilinear 1,2,3 expand=true | "
                              "random_resized_crop 10 | rotate 20 | rotate 3 | "
                              "random_horizontal_flip | normalize 0.5 0.5");
    check_pass("synthetic 20 1,1,3", "rotate 30 expand=true", 5);
    check_pass("synthetic 20 1,30,1", "rotate 30 expand=true | random_invert", 5);
}

static void misplaced_rotations_are_refused(void)
{
    static const char *const cases[][2] = {
        {"rotate 9 center=1,2 expand=true", "rotate: with expand=true the result holds the whole "
                                            "image, wherever the center is; leave center out"},
        {"random_rotation 9 center=1,2 expand=true", "random_rotation: with expand=true"},
        {"device | rotate 9 expand=true", "rotate comes after device"},
        {"rotate 9 fill=1,2 expand=true", "fill has 2 values and column image 3 channels"},
        {"rotate 9 expand=yes", "expand"},
    };
    const sli_run_settings settings = {.world = 1};
    sluice_dataset *dataset = parsed(SOURCE " | random_rotation 9 expand=true | batch 1");
    sli_plan *plan = NULL;

    T_STATUS(sli_plan_open(dataset, &settings, &plan), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "random_rotation gives images of random sizes");
    sluice_dataset_destroy(dataset);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[300];

        snprintf(text, sizeof(text), SOURCE " | %s | batch 1", cases[i][0]);
        check_refused(text, cases[i][1]);
    }
}

/* 60 000 x 1 pixels would become 42 428 x 42 429. */
static void an_image_that_becomes_too_large_is_a_bad_sample(void)
{
    const char *folder = t_folder();
    const size_t bytes = 180000;
    char *file = calloc(1, bytes + 20);
    const size_t head = (size_t)snprintf(file, 20, "P6 60000 1 255\n");
    engine_run run;

    t_write_file(t_path(folder, "a.ppm"), file, head + bytes);
    free(file);
    open_own(&run,
             list_dataset(folder, "image\na.ppm\n",
                          "| decode | rotate 45 expand=true | resize 4,4 | batch 1"),
             &(run_options){.workers = 1});
    T_STATUS(next_batch(&run), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(),
               "rotate: sample 0, a.ppm: the image would be 42428x42429 before the "
               "next resize, and may have 268435456 pixels; put a resize "
               "before the stage that enlarges it");
    close_run(&run);
}

const t_test expanded_rotations_tests[] = {
    T_TEST(the_size_holds_the_image_as_in_torchvision),
    T_TEST(pixels_are_those_of_torchvision),
    T_TEST(masks_boxes_points_and_images_follow),
    T_TEST(quarter_turns_lose_nothing),
    T_TEST(a_rotation_is_a_pass_of_its_own),
    T_TEST(a_later_rotation_draws_another_angle),
    T_TEST(workers_and_devices_do_not_matter),
    T_TEST(misplaced_rotations_are_refused),
    T_TEST(an_image_that_becomes_too_large_is_a_bad_sample),
    T_END,
};
