/* SPDX-License-Identifier: Apache-2.0 */
/* Stages that pad images, by images whose pixels say where they are. */
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

/* What is outside the image of the file. */
typedef struct outside {
    uint8_t fill[3];
    uint8_t mask_fill;
} outside;

/* Checks pixels and classes of an image that is moved but not resized. */
static void check_pixels(const engine_run *run, uint32_t width, uint32_t height, const outside *out)
{
    const uint8_t *image = column_row(run, "image", 0);
    const uint8_t *mask = column_row(run, "mask", 0);
    const float *m = column_row(run, "geometry", 0);

    T_TRUE(m[0] == 1 && m[1] == 0 && m[3] == 0 && m[4] == 1);
    for (uint32_t i = 0; i < width * height; i++) {
        const int x = (int)(i % width) + (int)m[2];
        const int y = (int)(i / width) + (int)m[5];
        const uint8_t shown[] = {(uint8_t)x, (uint8_t)y, 200};
        const bool inside = x >= 0 && x < LIST_WIDTH && y >= 0 && y < LIST_HEIGHT;

        T_TRUE(memcmp(image + (size_t)3 * i, inside ? shown : out->fill, 3) == 0);
        T_EQ(mask[i], inside ? class_of((uint32_t)x, (uint32_t)y) : out->mask_fill);
    }
}

static float clipped(float value, float low, float high)
{
    return fminf(fmaxf(value, low), high);
}

/* Checks that boxes are those of the file, moved and clipped as the map says. */
static void check_boxes(const engine_run *run, float width, float height)
{
    static const float file[3][4] = {{0, 0, 4, 30}, {10, 5, 30, 25}, {36, 0, 40, 3}};
    const float *m = column_row(run, "geometry", 0);
    const float *boxes = column_row(run, "boxes", 0);
    const int32_t *classes = column_row(run, "c", 0);
    int32_t kept = 0;

    for (int i = 0; i < 3; i++) {
        const int left = m[0] < 0 ? 2 : 0; /* of a flipped image it is the right side */
        const int top = m[4] < 0 ? 3 : 1;
        const float x0 = clipped((file[i][left] - m[2]) / m[0], 0, width);
        const float y0 = clipped((file[i][top] - m[5]) / m[4], 0, height);
        const float x1 = clipped((file[i][2 - left] - m[2]) / m[0], 0, width);
        const float y1 = clipped((file[i][4 - top] - m[5]) / m[4], 0, height);
        const float *box = boxes + (size_t)4 * (size_t)kept;

        if (x0 >= x1 || y0 >= y1) {
            continue;
        }
        T_TRUE(fabsf(box[0] - x0) < 1e-4F && fabsf(box[1] - y0) < 1e-4F);
        T_TRUE(fabsf(box[2] - x1) < 1e-4F && fabsf(box[3] - y1) < 1e-4F);
        T_EQ(classes[kept], i + 1);
        kept++;
    }
    T_EQ(*(const int32_t *)column_row(run, "boxes_length", 0), kept);
}

/* ---- pad_image ------------------------------------------------------------------------------- */

/* The first 12 columns of the input of the fixtures, as a file. */
static void write_input(const char *folder)
{
    picture all = picture_read("torchvision", "rgb-70x12.ppm");
    char bytes[20 + 12 * 12 * 3];
    size_t at = (size_t)snprintf(bytes, sizeof(bytes), "P6 12 12 255\n");

    for (uint32_t y = 0; y < 12; y++, at += 36) {
        memcpy(bytes + at, all.pixels + (size_t)y * all.width * 3, 36);
    }
    t_write_file(t_path(folder, "a.ppm"), bytes, at);
    free(all.pixels);
}

static void paddings_are_those_of_torchvision(void)
{
    static const char *const modes[] = {"constant", "edge", "reflect", "symmetric"};
    const char *folder = t_folder();

    write_input(folder);
    for (int i = 0; i < 4; i++) {
        char text[200];
        picture want;
        engine_run run;

        snprintf(text, sizeof(text), "pad-%s.ppm", modes[i]);
        want = picture_read("torchvision", text);
        snprintf(text, sizeof(text), "| decode | pad_image 5,3,2,7 10,200,90 %s | batch 1",
                 modes[i]);
        open_own(&run, list_dataset(folder, "image\na.ppm\n", text), &(run_options){.workers = 1});
        T_OK(next_batch(&run));
        T_EQ(row_bytes(&run, 0), picture_size(&want));
        T_TRUE(memcmp(column_row(&run, "image", 0), want.pixels, picture_size(&want)) == 0);
        close_run(&run);
        free(want.pixels);
    }
}

static void masks_and_boxes_follow_a_padding(void)
{
    static const outside gray = {{9, 8, 7}, 255};
    static const struct {
        const char *stages;
        uint32_t width;
        uint32_t height;
    } cases[] = {
        {"pad_image 3 9,8,7 mask_fill=255", 46, 36},
        {"pad_image 3,2 9,8,7 mask_fill=255", 46, 34},
        {"pad_image 1,2,3,4 9,8,7 mask_fill=255", 44, 36},
        {"pad_image 30,0 9,8,7 mask_fill=255 | random_crop 20", 20, 20},
        {"pad_image 0,0,500,0 9,8,7 mask_fill=255 | pad_image 0,5 9,8,7 mask_fill=255 | "
         "random_crop 12,500",
         500, 12},
        {"random_crop 33,41 1,2,3,4 fill=9,8,7 mask_fill=255", 41, 33},
        {"random_crop 20,60 2,0 pad_if_needed=true fill=9,8,7 mask_fill=255", 60, 20},
        {"random_crop 70,90 pad_if_needed=true fill=9,8,7 mask_fill=255", 90, 70},
    };

    for (uint64_t seed = 0; seed < 5 * sizeof(cases) / sizeof(cases[0]); seed++) {
        const size_t i = seed / 5;
        engine_run run;

        open_list(&run, LIST_OF_BOXES, "decode | geometry", cases[i].stages, seed);
        T_EQ(row_bytes(&run, 0), (size_t)cases[i].width * cases[i].height * 3);
        check_pixels(&run, cases[i].width, cases[i].height, &gray);
        check_boxes(&run, (float)cases[i].width, (float)cases[i].height);
        close_run(&run);
    }
}

static void points_follow_a_padding(void)
{
    static const char *const stages[] = {"pad_image 3,5 | random_crop 34,40",
                                         "random_zoom_out 0 1,2 1 | resize 20,30"};
    static const float file[2][2] = {{4, 5}, {40, 30}};
    const char *folder = t_folder();
    char refused[300];

    write_pair(folder, "a.ppm", "m.pgm");
    for (uint64_t seed = 0; seed < 8; seed++) {
        char text[200];
        engine_run run;
        const float *points;
        const float *m;

        snprintf(text, sizeof(text), "| decode | geometry | %s | batch 1", stages[seed % 2]);
        open_own(&run, list_dataset(folder, "image\tp:points[2]\na.ppm\t4,5;40,30\n", text),
                 &(run_options){.workers = 1, .settings = {.seed = seed}});
        T_OK(next_batch(&run));
        points = column_row(&run, "p", 0);
        m = column_row(&run, "geometry", 0);
        for (int i = 0; i < 2; i++) {
            T_TRUE(fabsf(points[2 * i] * m[0] + m[2] - file[i][0]) < 1e-3F);
            T_TRUE(fabsf(points[2 * i + 1] * m[4] + m[5] - file[i][1]) < 1e-3F);
        }
        close_run(&run);
    }
    snprintf(refused, sizeof(refused), "image_list %s/list.tsv | decode | pad_image 3 mode=edge",
             folder);
    check_refused(refused, "column p has points; use mode=constant, or drop p");
}

static void masks_are_reflected_as_the_image_is(void)
{
    static const char *const modes[] = {"edge", "reflect", "symmetric"};
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    for (int i = 0; i < 6; i++) {
        char text[200];
        engine_run run;
        const uint8_t *image;
        const uint8_t *mask;

        snprintf(text, sizeof(text), "| decode | random_crop 25 | pad_image 20,19 mode=%s%s%s",
                 modes[i % 3], i < 3 ? "" : " | random_crop 63,65",
                 " | random_horizontal_flip | batch 1");
        open_own(&run, list_dataset(folder, "image\tmask:mask\na.ppm\tm.pgm\n", text),
                 &(run_options){.workers = 1, .settings = {.seed = (uint64_t)i}});
        T_OK(next_batch(&run));
        image = column_row(&run, "image", 0);
        mask = column_row(&run, "mask", 0);
        for (size_t k = 0; k < 63 * 65; k++) {
            T_EQ(mask[k], class_of(image[3 * k], image[3 * k + 1]));
        }
        close_run(&run);
    }
}

static void bad_arguments_of_a_padding_are_refused(void)
{
    static const refused_case cases[] = {
        {"pad_image -1", "pad_image: padding=-1 must be a whole number from 0 to 65535"},
        {"pad_image 65536", "must be a whole number from 0 to 65535"},
        {"pad_image 1.5", "must be a whole number"},
        {"pad_image 1,2,3",
         "padding must be one number, LEFT_RIGHT,TOP_BOTTOM, or LEFT,TOP,RIGHT,BOTTOM"},
        {"pad_image 1 300", "fill=300"},
        {"pad_image 1 1,2", "fill has 2 values and column image 3 channels"},
        {"pad_image 1 mode=wrap", "constant"},
        {"random_crop 9 1.5", "random_crop: padding=1.5 must be a whole number"},
        {"random_crop 9 1,2,3",
         "padding must be one number, LEFT_RIGHT,TOP_BOTTOM, or LEFT,TOP,RIGHT,BOTTOM"},
        {"random_crop 9 1 fill=1,2", "random_crop: fill has 2 values and column image 3 channels"},
        {"random_crop 9 0,1,0,2",
         "random_crop: an image of 8x8 with padding=0,1,0,2 is smaller than "
         "the crop of 9x9; put resize before it, use more padding, or "
         "pad_if_needed=true"},
        {"normalize 0 1 | random_crop 3", "random_crop works on the decoded image"},
        {"pad_image 0,8 mode=reflect", "pad_image: mode=reflect with padding=0,8,0,8 needs images "
                                       "of at least 1x9, and this one is 8x8"},
        {"pad_image 9,0 mode=symmetric", "needs images of at least 9x0"},
        {"normalize 0 1 | pad_image 3", "pad_image works on the decoded image"},
        {"pad 3 3", "pad_image is for images"},
        {"Pad 3", "pad_image PADDING"},
    };
    const char *folder = t_folder();
    char text[300];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), "synthetic 10 8,8,3 2 | %s | batch 1", cases[i].text);
        check_refused(text, cases[i].words);
    }
    check_pass("synthetic 20 8,8,3", "pad_image 8 mode=symmetric | pad_image 23 mode=reflect", 5);
    write_pair(folder, "a.ppm", "m.pgm");
    write_list(folder, "list.tsv", LIST_OF_BOXES);
    snprintf(text, sizeof(text), "image_list %s/list.tsv | decode | pad_image 3 mode=edge", folder);
    check_refused(text, "pad_image: mode=edge repeats parts of the image, and column boxes has "
                        "boxes; use mode=constant, or drop boxes");
}

/* An image of one pixel: it has no reflection, but it can be repeated. */
static void images_of_one_pixel_are_bad_samples(void)
{
    static const char *const modes[] = {"reflect", "edge", "symmetric", "constant"};
    const char *folder = t_folder();

    t_write_file(t_path(folder, "a.ppm"), "P6 1 1 255\n\7\10\11", 14);
    for (int i = 0; i < 4; i++) {
        char text[200];
        engine_run run;

        snprintf(text, sizeof(text), "| decode | pad_image 1 7,8,9 mode=%s | resize 4,4 | batch 1",
                 modes[i]);
        open_own(&run, list_dataset(folder, "image\na.ppm\n", text), &(run_options){.workers = 1});
        T_STATUS(next_batch(&run), i == 0 ? SLUICE_E_INVALID : SLUICE_OK);
        if (i == 0) {
            T_CONTAINS(sluice_last_error(), "pad_image: sample 0, a.ppm: ");
            T_CONTAINS(sluice_last_error(), "needs images of at least 2x2, and this one is 1x1; "
                                            "use less padding, mode=edge, or resize before it");
        } else {
            const uint8_t *image = column_row(&run, "image", 0);

            for (int k = 0; k < 48; k++) {
                T_EQ(image[k], 7 + k % 3);
            }
        }
        close_run(&run);
    }
}

/* ---- random_zoom_out ------------------------------------------------------------------------- */

static void the_image_is_somewhere_in_a_larger_one(void)
{
    static const outside gray = {{9, 8, 7}, 255};

    for (uint64_t seed = 0; seed < 12; seed++) {
        engine_run run;

        open_list(&run, LIST_OF_BOXES, "decode | geometry",
                  "random_zoom_out 9,8,7 1.5,3 1 mask_fill=255 | random_crop 30,50", seed);
        check_pixels(&run, 50, 30, &gray);
        check_boxes(&run, 50, 30);
        close_run(&run);
    }
}

/* The place of the image, by the formulas of torchvision's RandomZoomOut.make_params(). */
static void the_place_is_drawn_as_in_torchvision(void)
{
    static const uint32_t sizes[][2] = {{640, 427}, {1, 1}, {3, 500}};
    sluice_dataset *dataset = parsed("synthetic 10 9,9,3 2 | random_zoom_out 0 1.25,3.5 0.5 | "
                                     "resize 8,8 | batch 2");
    const dataset_stage *stage = &dataset->stages[1];
    uint32_t padded = 0;

    for (uint64_t sample = 0; sample < 600; sample++) {
        const uint32_t width = sizes[sample % 3][0];
        const uint32_t height = sizes[sample % 3][1];
        const sli_draws draws = {.key = 77, .sample = sample};
        stage_window g = {0};
        uint32_t bits[4];
        double r;

        sli_draw(&draws, 0, bits);
        r = 1.25 + sli_unit(bits[1]) * 2.25;
        T_OK(stage->def->geometry->draw(stage->args.bytes, &draws, width, height, &g));
        T_EQ(g.crops, sli_unit(bits[0]) < 0.5);
        T_TRUE(!g.resizes);
        if (g.crops) {
            T_EQ(g.width, (uint32_t)(width * r));
            T_EQ(g.height, (uint32_t)(height * r));
            T_EQ(g.x, -(int64_t)((g.width - width) * sli_unit(bits[2])));
            T_EQ(g.y, -(int64_t)((g.height - height) * sli_unit(bits[3])));
            padded++;
        }
    }
    T_TRUE(padded > 230 && padded < 370);
    sluice_dataset_destroy(dataset);
}

static void a_zoom_is_resized_in_one_pass(void)
{
    sluice_dataset *dataset;
    sli_plan *plan = plan_stages("random_zoom_out 114 | random_crop 9 | random_zoom_out 114 | "
                                 "resize 10 | center_crop 8",
                                 false, &dataset);

    T_EQ(plan->details->geometry.list.count, 1);
    close_plan(plan, dataset);
    plan = plan_stages("random_zoom_out 1 | random_zoom_out 2 | resize 10,10", false, &dataset);
    T_EQ(plan->details->geometry.list.count,
         2); /* with different paddings the first one is stored */
    close_plan(plan, dataset);
}

/* Each pixel that shows the image says the place that the map gives for its centre. */
static void resized_pixels_are_where_the_map_says(void)
{
    static const char *const stages[] = {
        "random_zoom_out 9 1,4 1 | resize 40,60 filter=nearest | random_crop 36,50",
        "random_horizontal_flip | random_zoom_out 9 1,4 1 | random_vertical_flip | "
        "resize 40,60 filter=nearest | random_crop 36,50",
        "random_choice (random_zoom_out 9 1,4 1 | random_horizontal_flip) (random_vertical_flip) | "
        "resize 40,60 filter=nearest | random_crop 36,50",
    };

    for (uint64_t seed = 0; seed < 36; seed++) {
        engine_run run;
        const uint8_t *image;
        const uint8_t *mask;
        const float *m;
        uint32_t shown = 0;

        open_list(&run, LIST_OF_BOXES, "decode | geometry", stages[seed % 3], seed / 3);
        image = column_row(&run, "image", 0);
        mask = column_row(&run, "mask", 0);
        m = column_row(&run, "geometry", 0);
        for (uint32_t i = 0; i < 36 * 50; i++) {
            const float x = m[0] * ((float)(i % 50) + 0.5F) + m[2] - 0.5F;
            const float y = m[4] * ((float)(i / 50) + 0.5F) + m[5] - 0.5F;
            const uint8_t *pixel = image + (size_t)3 * i;

            if (pixel[2] == 200) {
                T_TRUE(fabsf(x - (float)pixel[0]) < 0.501F && fabsf(y - (float)pixel[1]) < 0.501F);
                T_EQ(mask[i], class_of(pixel[0], pixel[1]));
                shown++;
            } else {
                T_TRUE(pixel[2] == 9 && mask[i] == 0);
                T_TRUE(x < -0.499F || x > LIST_WIDTH - 0.501F || y < -0.499F ||
                       y > LIST_HEIGHT - 0.501F);
            }
        }
        T_TRUE(shown > 0);
        check_boxes(&run, 50, 36);
        close_run(&run);
    }
}

static void bad_arguments_of_a_zoom_are_refused(void)
{
    static const refused_case cases[] = {
        {"random_zoom_out 0 0.5,2",
         "side_range=0.5,2 must be LOW,HIGH with 1 <= LOW <= HIGH <= 16"},
        {"random_zoom_out 0 3,2", "side_range"},
        {"random_zoom_out 0 1,17", "side_range"},
        {"random_zoom_out 0 2", "side_range"},
        {"random_zoom_out p=1.5", "p=1.5 must be from 0 to 1"},
        {"random_zoom_out 256", "random_zoom_out: fill=256 must be a whole number from 0 to 255"},
        {"random_zoom_out 1,2", "fill has 2 values and column image 3 channels"},
        {"random_zoom_out mask_fill=256", "mask_fill"},
    };
    char text[200];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), "synthetic 10 8,8,3 2 | %s | batch 1", cases[i].text);
        check_refused(text, cases[i].words);
    }
}

static void images_of_random_sizes_are_refused_before_the_run(void)
{
    static const char *const stages[] = {"random_zoom_out", "random_zoom_out | resize 9"};
    const sli_run_settings settings = {.seed = 1, .world = 1};

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        sluice_dataset *dataset;
        sli_plan *plan = NULL;

        dataset = parsedf("synthetic 10 8,8,3 2 | %s | batch 1", stages[i]);
        T_STATUS(sli_plan_open(dataset, &settings, &plan), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(),
                   "random_zoom_out gives images of random sizes, and those of "
                   "a batch have one size; add resize H,W");
        sluice_dataset_destroy(dataset);
    }
    check_pass("synthetic 20 8,8,3", "random_zoom_out p=0", 5);
    check_pass("synthetic 20 8,8,3", "random_zoom_out p=0 | random_zoom_out | resize 8,9", 5);
}

static void workers_and_devices_do_not_matter(void)
{
    check_workers_and_devices("synthetic 20 12,12,3",
                              "shuffle | pad_image 3 mode=reflect | random_zoom_out 1,2,3 | "
                              "random_resized_crop 10 | "
                              "random_horizontal_flip | normalize 0.5 0.5");
    check_workers_and_devices(
        "synthetic 20 12,20,3",
        "shuffle | resize 9 max_size=13 | random_crop 30,9 1,2,3,4 true 5,6,7 | "
        "random_horizontal_flip | normalize 0.5 0.5");
}

const t_test paddings_tests[] = {
    T_TEST(paddings_are_those_of_torchvision),
    T_TEST(masks_and_boxes_follow_a_padding),
    T_TEST(points_follow_a_padding),
    T_TEST(masks_are_reflected_as_the_image_is),
    T_TEST(bad_arguments_of_a_padding_are_refused),
    T_TEST(images_of_one_pixel_are_bad_samples),
    T_TEST(the_image_is_somewhere_in_a_larger_one),
    T_TEST(the_place_is_drawn_as_in_torchvision),
    T_TEST(a_zoom_is_resized_in_one_pass),
    T_TEST(resized_pixels_are_where_the_map_says),
    T_TEST(bad_arguments_of_a_zoom_are_refused),
    T_TEST(images_of_random_sizes_are_refused_before_the_run),
    T_TEST(workers_and_devices_do_not_matter),
    T_END,
};
