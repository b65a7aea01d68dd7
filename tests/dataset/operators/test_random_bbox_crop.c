/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_bbox_crop, by the rules of DALI's FindProspectiveCrop(), which this file has again in
 * fractions of the image, with one threshold and one crop after the other. What follows the crop
 * is tested by the suite iou_crop.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "testing.h"

#include "geometry_ops.h"

enum { BOXES = 4, WIDTH = 200, HEIGHT = 100, NO_CROP = 2 };

static const double corners[BOXES][4] = {
    {10, 10, 60, 90}, {100, 20, 140, 40}, {30, 30, 90, 70}, {0, 0, 200, 100}};

typedef struct expected_rule {
    const char *arguments;
    double scale[2];
    double ratio[2];
    double thresholds[7]; /* NO_CROP: no crop */
    uint32_t threshold_count;
    uint32_t attempts;
    uint32_t total;
    bool is_overlap;
    bool is_any;     /* one box must have the threshold */
    uint32_t use[2]; /* least and most crops of 400 samples */
} expected_rule;

static const expected_rule rules[] = {
    {"0.3,1 0.5,2 0,0.1,0.3,0.5,0.7,0.9",
     {0.3, 1},
     {0.5, 2},
     {0, 0.1, 0.3, 0.5, 0.7, 0.9, NO_CROP},
     7,
     1,
     1000,
     false,
     false,
     {100, 300}},
    {"0.3,1 0.5,2 0.1,0.5 5 allow_no_crop=false all_boxes_above_threshold=false",
     {0.3, 1},
     {0.5, 2},
     {0.1, 0.5},
     2,
     5,
     1000,
     false,
     true,
     {400, 400}},
    {"0.2,0.8 1,3 0.6,1 40 threshold_type=overlap all_boxes_above_threshold=false",
     {0.2, 0.8},
     {1, 3},
     {0.6, 1, NO_CROP},
     3,
     40,
     1000,
     true,
     true,
     {150, 350}},
    {"0.4,1 thresholds=0.02 allow_no_crop=false",
     {0.4, 1},
     {1, 1},
     {0.02},
     1,
     1,
     1000,
     false,
     false,
     {400, 400}},
    {"1,1 0.6,0.6 0 allow_no_crop=false",
     {1, 1},
     {0.6, 0.6},
     {0},
     1,
     1,
     1000,
     false,
     false,
     {400, 400}},
    /* no crop can have this overlap: the best of 7 is taken */
    {"0.3,0.9 0.5,2 0.99 3 false total_num_attempts=7",
     {0.3, 0.9},
     {0.5, 2},
     {0.99},
     1,
     3,
     7,
     false,
     false,
     {350, 400}},
};

static double area(const double *b)
{
    return fmax(b[2] - b[0], 0) * fmax(b[3] - b[1], 0);
}

static double overlap_of(const expected_rule *rule, const double *crop, const double *box)
{
    const double both[4] = {fmax(crop[0], box[0]), fmax(crop[1], box[1]), fmin(crop[2], box[2]),
                            fmin(crop[3], box[3])};

    return rule->is_overlap ? area(both) / area(box)
                            : area(both) / (area(crop) + area(box) - area(both));
}

static bool has_centre(const double *crop, const double *box)
{
    const double x = (box[0] + box[2]) / 2;
    const double y = (box[1] + box[3]) / 2;

    return crop[0] <= x && x < crop[2] && crop[1] <= y && y < crop[3];
}

/* A crop as DALI draws it, its edges rounded. False: its shape is not allowed. */
static bool draw_shape(const expected_rule *rule, const uint32_t bits[4], double crop[4])
{
    const double span = rule->scale[1] - rule->scale[0];
    double shape[2] = {rule->scale[0] + span * sli_unit(bits[0]),
                       rule->scale[0] + span * sli_unit(bits[1])};
    const double longest = fmax(shape[0], shape[1]);

    if (rule->ratio[0] == rule->ratio[1]) { /* FixAspectRatios() */
        const double scale = longest / fmax(rule->ratio[0], 1);

        shape[0] = rule->ratio[0] * scale;
        shape[1] = scale;
    }
    if (rule->ratio[0] < rule->ratio[1] &&
        (shape[0] / shape[1] < rule->ratio[0] || shape[0] / shape[1] > rule->ratio[1])) {
        return false;
    }
    for (int axis = 0; axis < 2; axis++) {
        const double at = (1 - shape[axis]) * sli_unit(bits[2 + axis]);

        crop[axis] = round(at * (axis == 0 ? WIDTH : HEIGHT));
        crop[2 + axis] = round((at + shape[axis]) * (axis == 0 ? WIDTH : HEIGHT));
    }
    return true;
}

/* Draws the next crop. Returns its overlap, which is negative if it has no box. */
static double try_crop(const expected_rule *rule, const sli_draws *draws, uint32_t block,
                       double crop[4])
{
    double worst = 2;
    double best = 0;
    bool has_some = false;
    uint32_t bits[4];

    sli_draw(draws, block, bits);
    if (!draw_shape(rule, bits, crop)) {
        return -1;
    }
    for (int i = 0; i < BOXES; i++) {
        worst = fmin(worst, overlap_of(rule, crop, corners[i]));
        best = fmax(best, overlap_of(rule, crop, corners[i]));
        has_some = has_some || has_centre(crop, corners[i]);
    }
    return !has_some ? -1 : rule->is_any ? best : worst;
}

/* False: the image does not change. */
static bool expected_crop(const expected_rule *rule, const sli_draws *draws, double taken[4])
{
    double best = -1;
    uint32_t block = 0;
    uint32_t count = 0;

    while (count < rule->total) {
        uint32_t bits[4];
        double threshold;

        sli_draw(draws, block, bits);
        threshold = rule->thresholds[(uint64_t)bits[0] * rule->threshold_count >> 32];
        if (threshold == NO_CROP) {
            return false;
        }
        for (uint32_t i = 0; i < rule->attempts && count < rule->total; i++, count++) {
            double crop[4] = {0};
            const double overlap = try_crop(rule, draws, block + 1 + i, crop);

            if (overlap >= threshold || overlap > best) {
                memcpy(taken, crop, sizeof(crop));
                best = overlap;
            }
            if (overlap >= threshold) {
                return true;
            }
        }
        block += 1 + rule->attempts;
    }
    return best >= 0;
}

/* A dataset whose stage 2 is random_bbox_crop with these arguments. */
static sluice_dataset *crop_dataset(const char *arguments)
{
    const char *folder = t_folder();
    char text[300];

    write_list(folder, "list.tsv", "image\tboxes:boxes[4]\na.ppm\t1,1,2,2\n");
    snprintf(text, sizeof(text),
             "image_list %s/list.tsv | decode | random_bbox_crop %s | resize 8,8 | batch 1", folder,
             arguments);
    return parsed(text);
}

static void crops_are_drawn_as_in_dali(void)
{
    for (size_t k = 0; k < sizeof(rules) / sizeof(rules[0]); k++) {
        sluice_dataset *dataset = crop_dataset(rules[k].arguments);
        const dataset_stage *stage = &dataset->stages[2];
        uint32_t crops = 0;

        for (uint64_t sample = 0; sample < 400; sample++) {
            const sli_draws draws = {.key = 12, .sample = sample};
            uint8_t dropped[BOXES] = {0};
            const stage_boxes boxes = {BOXES, corners, dropped};
            double crop[4] = {0};
            stage_window g = {0};

            T_OK(stage->def->geometry->draw_of_boxes(stage->args.bytes, &draws, &boxes, WIDTH,
                                                     HEIGHT, &g));
            T_EQ(g.crops, expected_crop(&rules[k], &draws, crop));
            for (int i = 0; i < BOXES; i++) {
                T_EQ(dropped[i], g.crops && !has_centre(crop, corners[i]));
            }
            if (g.crops) {
                T_TRUE((double)g.x == crop[0] && (double)g.y == crop[1]);
                T_TRUE(g.width == crop[2] - crop[0] && g.height == crop[3] - crop[1]);
            }
            crops += g.crops;
        }
        T_TRUE(crops >= rules[k].use[0] && crops <= rules[k].use[1]);
        sluice_dataset_destroy(dataset);
    }
}

/* A box that an earlier stage has dropped does not count, and without boxes nothing changes. */
static void dropped_boxes_do_not_count(void)
{
    sluice_dataset *dataset = crop_dataset("0.3,0.6 thresholds=0.05 allow_no_crop=false");
    const dataset_stage *stage = &dataset->stages[2];
    uint32_t crops = 0;

    for (uint64_t sample = 0; sample < 40; sample++) {
        const sli_draws draws = {.key = 12, .sample = sample};
        uint8_t dropped[2][BOXES] = {{0, 1, 1, 1}, {1, 1, 1, 1}};
        const stage_boxes one = {BOXES, corners, dropped[0]};
        const stage_boxes none = {BOXES, corners, dropped[1]};
        stage_window windows[2] = {{0}};

        T_OK(stage->def->geometry->draw_of_boxes(stage->args.bytes, &draws, &one, WIDTH, HEIGHT,
                                                 &windows[0]));
        T_OK(stage->def->geometry->draw_of_boxes(stage->args.bytes, &draws, &none, WIDTH, HEIGHT,
                                                 &windows[1]));
        T_TRUE(windows[0].crops && !windows[1].crops && dropped[0][0] == 0);
        crops += windows[0].x + windows[0].width < 100; /* box 1 is not in it */
    }
    T_TRUE(crops > 0);
    sluice_dataset_destroy(dataset);
}

/* An image of few pixels has crops of at least one pixel. */
static void small_images_have_crops_of_a_pixel(void)
{
    static const double whole[1][4] = {{0, 0, 2, 1}};
    sluice_dataset *dataset = crop_dataset("0.3,0.6 0.2,5 0 3 false");
    const dataset_stage *stage = &dataset->stages[2];

    for (uint64_t sample = 0; sample < 40; sample++) {
        const sli_draws draws = {.key = 11, .sample = sample};
        uint8_t dropped[1] = {0};
        const stage_boxes boxes = {1, whole, dropped};
        stage_window g = {0};

        T_OK(stage->def->geometry->draw_of_boxes(stage->args.bytes, &draws, &boxes, 2, 1, &g));
        T_TRUE(g.crops && g.height == 1 && g.y == 0 && g.x + g.width == 2);
    }
    sluice_dataset_destroy(dataset);
}

static void what_it_cannot_use_is_refused(void)
{
    static const struct {
        const char *arguments;
        const char *words;
    } cases[] = {
        {"", "scaling"},
        {"0.5", "scaling must be LOW,HIGH with 0.001 <= LOW <= HIGH <= 1"},
        {"0.5,1.5", "scaling=0.5,1.5 must be LOW,HIGH"},
        {"0.9,0.5", "scaling=0.9,0.5 must be LOW,HIGH"},
        {"0,1", "scaling=0,1 must be LOW,HIGH"},
        {"1,1", "scaling=1,1 gives the whole image"},
        {"1,1 0.5,2", "scaling=1,1 gives the whole image"},
        {"0.3,1 2,0.5", "aspect_ratio=2,0.5 must be LOW,HIGH with 0.001 <= LOW <= HIGH <= 1000"},
        {"0.3,1 0,2", "aspect_ratio=0,2 must be LOW,HIGH"},
        {"0.5,1 3,4", "aspect_ratio=3,4 must include a ratio from 0.5 to 2"},
        {"0.3,1 1,1 0,1.5", "thresholds=1.5 must be from 0 to 1"},
        {"0.3,1 1,1 some", "thresholds must be 1 to 8 numbers"},
        {"0.3,1 num_attempts=0", "num_attempts=0 must be from 1 to 100000"},
        {"0.3,1 num_attempts=20 total_num_attempts=10",
         "num_attempts=20 must be at most total_num_attempts=10"},
        {"0.3,1 threshold_type=overlap", "threshold_type=overlap has no effect"},
        {"0.3,1 all_boxes_above_threshold=false", "set thresholds="},
        {"0.3,1 threshold_type=giou", "threshold_type"},
    };
    const char *folder = t_folder();
    char text[300];

    write_list(folder, "list.tsv", "image\tboxes:boxes[1]\na.ppm\t1,1,2,2\n");
    write_list(folder, "plain.tsv", "image\tx:f32\na.ppm\t1\n");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), "image_list %s/list.tsv | decode | random_bbox_crop %s",
                 folder, cases[i].arguments);
        check_refused(text, cases[i].words);
    }
    snprintf(text, sizeof(text), "image_list %s/plain.tsv | decode | random_bbox_crop 0.3,1",
             folder);
    check_refused(text, "random_bbox_crop: there is no column of boxes");
}

const t_test random_bbox_crop_tests[] = {
    T_TEST(crops_are_drawn_as_in_dali),
    T_TEST(dropped_boxes_do_not_count),
    T_TEST(small_images_have_crops_of_a_pixel),
    T_TEST(what_it_cannot_use_is_refused),
    T_END,
};
