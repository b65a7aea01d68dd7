/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_iou_crop: its draws, by those of torchvision. What follows it and random_bbox_crop, which
 * share their search: boxes, masks and images.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "custom_kit.h"
#include "dataset_kit.h"
#include "list_kit.h"
#include "stage_runs.h"
#include "testing.h"

/* ---- the stage alone ------------------------------------------------------------------------- */

enum { BOXES = 4, WIDTH = 200, HEIGHT = 100 };

static const double corners[BOXES][4] = {
    {10, 10, 60, 90}, {100, 20, 140, 40}, {150, 0, 200, 100}, {0, 0, 200, 100}};

/* torchvision.ops.box_iou() in double precision, for one pair. */
static double iou_of(const double *a, const double *b)
{
    const double w = fmax(fmin(a[2], b[2]) - fmax(a[0], b[0]), 0);
    const double h = fmax(fmin(a[3], b[3]) - fmax(a[1], b[1]), 0);

    return w * h / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - w * h);
}

static bool is_centre_in(const double *crop, const double *box)
{
    const double cx = 0.5 * (box[0] + box[2]);
    const double cy = 0.5 * (box[1] + box[3]);

    return crop[0] < cx && cx < crop[2] && crop[1] < cy && cy < crop[3];
}

/* RandomIoUCrop.make_params() with the draws of the stage. False: the image does not change. */
static bool plain_crop(const sli_draws *draws, const double *options, uint32_t option_count,
                       uint32_t trials, double crop[4])
{
    for (uint32_t round = 0; round < 100; round++) {
        uint32_t bits[4];
        double option;

        sli_draw(draws, round * (trials + 1), bits);
        option = options[(uint64_t)bits[0] * option_count >> 32];
        if (option >= 1) {
            return false;
        }
        for (uint32_t i = 1; i <= trials; i++) {
            int w;
            int h;
            bool is_taken = false;

            sli_draw(draws, round * (trials + 1) + i, bits);
            w = (int)(WIDTH * (0.3 + 0.7 * sli_unit(bits[0])));
            h = (int)(HEIGHT * (0.3 + 0.7 * sli_unit(bits[1])));
            if ((double)w / h < 0.5 || (double)w / h > 2) {
                continue;
            }
            crop[0] = (int)((WIDTH - w) * sli_unit(bits[2]));
            crop[1] = (int)((HEIGHT - h) * sli_unit(bits[3]));
            crop[2] = crop[0] + w;
            crop[3] = crop[1] + h;
            for (int k = 0; k < BOXES; k++) {
                is_taken = is_taken ||
                           (is_centre_in(crop, corners[k]) && iou_of(crop, corners[k]) >= option);
            }
            if (is_taken) {
                return true;
            }
        }
    }
    return false;
}

/* A dataset whose stage 2 is random_iou_crop with these arguments. */
static sluice_dataset *crop_dataset(const char *folder, const char *arguments)
{
    char text[300];

    write_list(folder, "list.tsv", "image\tboxes:boxes[4]\na.ppm\t1,1,2,2\n");
    snprintf(text, sizeof(text),
             "image_list %s/list.tsv | decode | random_iou_crop %s | resize 8,8 | batch 1", folder,
             arguments);
    return parsed(text);
}

static void crops_are_drawn_as_in_torchvision(void)
{
    static const double usual[] = {0, 0.1, 0.3, 0.5, 0.7, 0.9, 1};
    static const double hard[] = {0.8};
    static const struct {
        const char *arguments;
        const double *options;
        uint32_t count;
        uint32_t trials;
    } cases[] = {{"", usual, 7, 40}, {"sampler_options=0.8 trials=2", hard, 1, 2}};
    uint32_t crops[2] = {0};

    for (int i = 0; i < 2; i++) {
        sluice_dataset *dataset = crop_dataset(t_folder(), cases[i].arguments);
        const dataset_stage *stage = &dataset->stages[2];

        for (uint64_t sample = 0; sample < 400; sample++) {
            const sli_draws draws = {.key = 11, .sample = sample};
            uint8_t dropped[BOXES] = {0};
            const stage_boxes boxes = {BOXES, corners, dropped};
            double want[4] = {0};
            stage_window g = {0};

            T_OK(stage->def->geometry->draw_of_boxes(stage->args.bytes, &draws, &boxes, WIDTH,
                                                     HEIGHT, &g));
            T_EQ(g.crops,
                 plain_crop(&draws, cases[i].options, cases[i].count, cases[i].trials, want));
            crops[i] += g.crops;
            for (int k = 0; k < BOXES && g.crops; k++) {
                T_EQ(dropped[k], !is_centre_in(want, corners[k]));
            }
            if (g.crops) {
                T_TRUE((double)g.x == want[0] && (double)g.y == want[1]);
                T_TRUE(g.width == want[2] - want[0] && g.height == want[3] - want[1]);
            } else {
                T_TRUE(dropped[0] == 0 && dropped[3] == 0);
            }
        }
        sluice_dataset_destroy(dataset);
    }
    T_TRUE(crops[0] > 250 && crops[0] < 390);
    T_TRUE(crops[1] > 0 && crops[1] < 400); /* after 100 options it gives up */
}

static void without_boxes_an_image_does_not_change(void)
{
    sluice_dataset *dataset = crop_dataset(t_folder(), "sampler_options=0 trials=1000");
    const dataset_stage *stage = &dataset->stages[2];
    uint8_t dropped[BOXES] = {1, 1, 1, 1};

    for (uint32_t count = 0; count <= BOXES; count += BOXES) {
        const sli_draws draws = {.key = 11, .sample = count};
        const stage_boxes boxes = {count, corners, dropped};
        stage_window g = {0};

        T_OK(stage->def->geometry->draw_of_boxes(stage->args.bytes, &draws, &boxes, WIDTH, HEIGHT,
                                                 &g));
        T_TRUE(!g.crops);
    }
    sluice_dataset_destroy(dataset);
}

/* An image of one pixel has no crop of less than it. */
static void an_image_of_one_pixel_does_not_change(void)
{
    static const double whole[1][4] = {{0, 0, 1, 1}};
    sluice_dataset *dataset = crop_dataset(t_folder(), "");
    const dataset_stage *stage = &dataset->stages[2];

    for (uint64_t sample = 0; sample < 20; sample++) {
        const sli_draws draws = {.key = 11, .sample = sample};
        uint8_t dropped[1] = {0};
        const stage_boxes boxes = {1, whole, dropped};
        stage_window g = {0};

        T_OK(stage->def->geometry->draw_of_boxes(stage->args.bytes, &draws, &boxes, 1, 1, &g));
        T_TRUE(!g.crops && dropped[0] == 0);
    }
    sluice_dataset_destroy(dataset);
}

/* ---- in pipelines ---------------------------------------------------------------------------- */

/* The part of the batch's image that shows the file's. */
typedef struct shown {
    float x0;
    float y0;
    float x1;
    float y1;
} shown;

/* Checks pixels and classes, and finds the part of the image. */
static shown check_pixels(const engine_run *run, uint32_t side)
{
    const uint8_t *image = column_row(run, "image", 0);
    const uint8_t *mask = column_row(run, "mask", 0);
    const float *m = column_row(run, "geometry", 0);
    shown part = {(float)side, (float)side, 0, 0};

    for (uint32_t i = 0; i < side * side; i++) {
        const float x = (float)(i % side);
        const float y = (float)(i / side);
        const uint8_t *pixel = image + (size_t)3 * i;

        if (pixel[2] == 200) {
            T_TRUE(x + m[2] == (float)pixel[0] && y + m[5] == (float)pixel[1]);
            T_EQ(mask[i], class_of(pixel[0], pixel[1]));
            part = (shown){fminf(part.x0, x), fminf(part.y0, y), fmaxf(part.x1, x + 1),
                           fmaxf(part.y1, y + 1)};
        } else {
            T_TRUE(pixel[2] == 0 && mask[i] == 0);
        }
    }
    return part;
}

/* The boxes of the file whose centre is in the part, moved and clipped. on_edge: a centre on the
 * left or upper edge is in it. */
static uint32_t check_boxes(const engine_run *run, const shown *part, bool on_edge)
{
    static const float file[3][4] = {{0, 0, 4, 30}, {10, 5, 30, 25}, {36, 0, 40, 3}};
    const float *m = column_row(run, "geometry", 0);
    const float *boxes = column_row(run, "boxes", 0);
    const int32_t *classes = column_row(run, "c", 0);
    uint32_t kept = 0;

    for (int i = 0; i < 3; i++) {
        const float x = 0.5F * (file[i][0] + file[i][2]) - m[2];
        const float y = 0.5F * (file[i][1] + file[i][3]) - m[5];
        const float *box = boxes + (size_t)4 * kept;

        if (!(x < part->x1 && y < part->y1 && (x > part->x0 || (on_edge && x == part->x0)) &&
              (y > part->y0 || (on_edge && y == part->y0)))) {
            continue;
        }
        T_TRUE(box[0] == fmaxf(file[i][0] - m[2], part->x0));
        T_TRUE(box[1] == fmaxf(file[i][1] - m[5], part->y0));
        T_TRUE(box[2] == fminf(file[i][2] - m[2], part->x1));
        T_TRUE(box[3] == fminf(file[i][3] - m[5], part->y1));
        T_EQ(classes[kept], i + 1);
        kept++;
    }
    T_EQ(*(const int32_t *)column_row(run, "boxes_length", 0), kept);
    T_TRUE(is_zero((const uint8_t *)(boxes + (size_t)4 * kept), (3 - (size_t)kept) * 16));
    T_TRUE(is_zero((const uint8_t *)(classes + kept), (3 - (size_t)kept) * 4));
    return kept;
}

static void boxes_with_their_centre_in_the_crop_are_kept(void)
{
    static const char *const stages[] = {
        "random_iou_crop sampler_options=0,0.3 | center_crop 80",
        "pad_image 0 | random_iou_crop | center_crop 80",
        "random_zoom_out 0 1,2 1 | random_iou_crop sampler_options=0.1 | center_crop 80",
        "random_bbox_crop 0.3,1 0.3,3 0 9 | center_crop 80",
        ("pad_image 0 | random_bbox_crop 0.3,0.9 0.5,2 0.1,0.2 40 false overlap false | "
         "center_crop 80"),
    };
    uint32_t counts[4] = {0};

    for (uint64_t seed = 0; seed < 75; seed++) {
        engine_run run;
        shown part;

        open_list(&run, LIST_OF_BOXES, "decode | geometry", stages[seed % 5], seed);
        part = check_pixels(&run, 80);
        /* With zeros around the image the part may be smaller than the crop. */
        if (seed % 5 != 2) {
            counts[check_boxes(&run, &part, seed % 5 > 2)]++;
        }
        close_run(&run);
    }
    T_EQ(counts[0], 0);
    T_TRUE(counts[1] > 0 && counts[2] > 0);
}

/* Boxes that a crop drops, though a part of them is in it, do not come back in a mosaic. */
static void a_mosaic_has_no_boxes_that_were_dropped(void)
{
    static const char *const ends[] = {"resize 24,24", "mosaic 24 p=0 scale=1,1 translate=0"};
    const char *folder = t_folder();
    uint32_t dropped = 0;

    write_pair(folder, "a.ppm", "m.pgm");
    for (uint64_t seed = 0; seed < 12; seed++) {
        int32_t counts[2];

        for (int i = 0; i < 2; i++) {
            char text[200];
            engine_run run;

            snprintf(text, sizeof(text),
                     "| decode | random_iou_crop sampler_options=0 | %s | batch 1", ends[i]);
            open_own(&run, list_dataset(folder, LIST_OF_BOXES, text),
                     &(run_options){.workers = 1, .settings = {.seed = seed}});
            T_OK(next_batch(&run));
            counts[i] = *(const int32_t *)column_row(&run, "boxes_length", 0);
            close_run(&run);
        }
        T_EQ(counts[0], counts[1]);
        dropped += counts[0] < 3;
    }
    T_TRUE(dropped > 0);
}

/* After a stored intermediate image, the boxes are where that image has them. */
static void earlier_groups_move_the_boxes(void)
{
    for (uint64_t seed = 0; seed < 12; seed++) {
        engine_run runs[2];

        /* resize 30,40 copies the image, so both pipelines have the same crops. */
        open_list(&runs[0], LIST_OF_BOXES, "decode | geometry",
                  "pad_image 2,1 | resize 32,44 | pad_image 3 9 | random_crop 32,44 | "
                  "random_iou_crop sampler_options=0.2 | resize 20,20",
                  seed);
        open_list(&runs[1], LIST_OF_BOXES, "decode | geometry",
                  "pad_image 2,1 | resize 32,44 | resize 32,44 | pad_image 3 9 | "
                  "random_crop 32,44 | random_iou_crop sampler_options=0.2 | resize 20,20",
                  seed);
        T_TRUE(memcmp(column_row(&runs[0], "image", 0), column_row(&runs[1], "image", 0),
                      row_bytes(&runs[0], 0)) == 0);
        T_TRUE(memcmp(column_row(&runs[0], "boxes", 0), column_row(&runs[1], "boxes", 0), 48) == 0);
        close_run(&runs[0]);
        close_run(&runs[1]);
    }
}

static void a_later_crop_may_leave_no_box(void)
{
    engine_run run;

    open_list(&run, LIST_OF_BOXES, "decode | geometry",
              "random_iou_crop sampler_options=1 | pad_image 0,60 | random_crop 3,30", 3);
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 0);
    T_TRUE(is_zero(column_row(&run, "boxes", 0), 48));
    close_run(&run);
}

/* Boxes that no column of the batch needs are read for the crop; further images follow it. */
static void the_image_does_not_depend_on_what_the_batch_has(void)
{
    static const char *const stages[] = {"", "drop boxes | ", "project image | "};
    const char *folder = t_folder();
    uint8_t images[3][12 * 12 * 3];

    write_pair(folder, "a.ppm", "m.pgm");
    for (int i = 0; i < 3; i++) {
        char text[300];
        engine_run run;

        snprintf(text, sizeof(text), "| decode | random_iou_crop sampler_options=0 | %s%s",
                 stages[i], "resize 12,12 | batch 1");
        open_own(&run,
                 list_dataset(folder,
                              "image\tmore:image\tm:mask\tboxes:boxes[3]\n"
                              "a.ppm\ta.ppm\tm.pgm\t0,0,4,30;10,5,30,25;36,0,40,3\n",
                              text),
                 &(run_options){.workers = 1, .settings = {.seed = 5}});
        T_OK(next_batch(&run));
        memcpy(images[i], column_row(&run, "image", 0), sizeof(images[i]));
        if (i < 2) {
            T_TRUE(memcmp(images[i], column_row(&run, "more", 0), sizeof(images[i])) == 0);
        }
        T_TRUE(memcmp(images[i], images[0], sizeof(images[i])) == 0);
        close_run(&run);
    }
}

static void workers_and_devices_do_not_matter(void)
{
    const char *folder = t_folder();
    char list[2000] = "image\tboxes:boxes[3]\tc:i32[3]@boxes\n";
    char source[300];

    for (uint32_t i = 0; i < 20; i++) {
        char line[120];

        make_jpeg(folder, "0.jpg", 60, 50, 1);
        snprintf(line, sizeof(line), "0.jpg\t%u,5,40,45;0,0,9,%u\t4,5\n", i, 9 + i);
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s", line);
    }
    write_list(folder, "list.tsv", list);
    snprintf(source, sizeof(source), "image_list %s/list.tsv", folder);
    check_workers_and_devices(source, "shuffle | decode | random_zoom_out | random_iou_crop | "
                                      "resize 20,20 | random_horizontal_flip | normalize 0.5 0.5");
    check_workers_and_devices(source, "shuffle | decode | random_bbox_crop 0.3,1 0.5,2 0,0.1,0.3 | "
                                      "resize 20,20 | random_horizontal_flip");
    check_workers_and_devices(source, "shuffle | decode | random_order (random_rotation 30) "
                                      "(elastic 20 4) (random_iou_crop) | resize 20,20");
}

static void what_a_crop_cannot_use_is_refused(void)
{
    static const struct {
        const char *columns;
        const char *stages;
        const char *words;
    } cases[] = {
        {"boxes:boxes[1]", "min_scale=0.5 max_scale=0.4",
         "min_scale=0.5 must be at most max_scale"},
        {"boxes:boxes[1]", "max_scale=1.5", "max_scale=1.5 must be from 0.001 to 1"},
        {"boxes:boxes[1]", "min_scale=0", "min_scale=0 must be from 0.001 to 1"},
        {"boxes:boxes[1]", "min_aspect_ratio=3", "min_aspect_ratio=3 must be at most max_aspect"},
        {"boxes:boxes[1]", "sampler_options=0,1.5", "sampler_options=1.5 must be from 0 to 1"},
        {"boxes:boxes[1]", "sampler_options=1,1,1,1,1,1,1,1,1", "at most 8"},
        {"boxes:boxes[1]", "sampler_options=some", "sampler_options must be 1 to 8 numbers"},
        {"boxes:boxes[1]", "trials=0", "trials=0 must be from 1 to 1000"},
        {"boxes:boxes[1]", "0.3 | batch 1", "random_iou_crop gives images of random sizes"},
        {"x:f32", "0.3", "random_iou_crop: there is no column of boxes"},
        {"a:boxes[1]\tb:boxes[1]", "0.3", "there are several columns of boxes; drop all but one"},
    };
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[300];

        snprintf(text, sizeof(text), "image\t%s\na.ppm\t%s\n", cases[i].columns,
                 cases[i].columns[0] == 'x'   ? "1"
                 : cases[i].columns[0] == 'a' ? "1,1,2,2\t1,1,2,2"
                                              : "1,1,2,2");
        write_list(folder, "list.tsv", text);
        snprintf(text, sizeof(text), "image_list %s/list.tsv | decode | random_iou_crop %s", folder,
                 cases[i].stages);
        if (strstr(cases[i].stages, "batch") != NULL) {
            const sli_run_settings settings = {.world = 1};
            sluice_dataset *dataset = parsed(text);
            sli_plan *plan = NULL;

            T_STATUS(sli_plan_open(dataset, &settings, &plan), SLUICE_E_INVALID);
            T_CONTAINS(sluice_last_error(), cases[i].words);
            sluice_dataset_destroy(dataset);
        } else {
            check_refused(text, cases[i].words);
        }
    }
}

const t_test iou_crop_tests[] = {
    T_TEST(crops_are_drawn_as_in_torchvision),
    T_TEST(without_boxes_an_image_does_not_change),
    T_TEST(an_image_of_one_pixel_does_not_change),
    T_TEST(boxes_with_their_centre_in_the_crop_are_kept),
    T_TEST(a_mosaic_has_no_boxes_that_were_dropped),
    T_TEST(earlier_groups_move_the_boxes),
    T_TEST(a_later_crop_may_leave_no_box),
    T_TEST(the_image_does_not_depend_on_what_the_batch_has),
    T_TEST(workers_and_devices_do_not_matter),
    T_TEST(what_a_crop_cannot_use_is_refused),
    T_END,
};
