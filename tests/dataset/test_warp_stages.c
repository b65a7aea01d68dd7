/* SPDX-License-Identifier: Apache-2.0 */
/* Warps in pipelines: positions, flips, draws, and masks, boxes and geometry that follow. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/dataset.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "list_kit.h"
#include "stage_runs.h"
#include "testing.h"

#define SOURCE "synthetic 12 16,16,3"

static void workers_and_devices_do_not_matter(void)
{
    static const char stages[] =
        "shuffle | random_crop 12 | random_horizontal_flip | random_rotation 30 | "
        "random_affine 10 0.1,0.2 0.8,1.2 10,20,-5,5 filter=bilinear fill=5 | color_jitter 0.4 0.4 "
        "| "
        "random_perspective 0.5 0.7 | random_equalize | random_horizontal_flip | "
        "random_rotation 90 bilinear 1,2,3 | normalize 0.5 0.5";

    check_workers_and_devices(SOURCE, stages);
}

/* Consecutive warps are fused, unless a colour operation is between them. */
static void warps_side_by_side_are_one(void)
{
    check_stages(SOURCE, "rotate 90 | rotate 90", "rotate 180", true);
    check_stages(SOURCE, "affine translate=9,0 | affine translate=-9,0", "take 12", true);
    check_stages(SOURCE,
                 "affine translate=9,0 | random_invert 1 | affine translate=-9,0 | random_invert 1",
                 "take 12", false);
    check_stages(SOURCE, "affine translate=9,0 | affine translate=-9,0 fill=3", "take 12", false);
    check_stages(SOURCE, "rotate 90 | random_invert 1 | rotate 270 | random_invert 1", "take 12",
                 true);
    check_stages(SOURCE, "rotate 30 | random_invert 0 | rotate 60", "rotate 90", true);
    check_stages(SOURCE,
                 "affine translate=9,0 filter=bilinear border=constant | "
                 "affine translate=-9,0 filter=bilinear border=constant",
                 "take 12", true);
    check_stages(SOURCE,
                 "affine translate=9,0 filter=bilinear border=constant | "
                 "affine translate=-9,0 filter=bilinear",
                 "take 12", false);
    check_stages(SOURCE, "rotate 30 | rotate 30 filter=bilinear",
                 "rotate 30 | random_invert 1 | random_invert 1 | rotate 30 filter=bilinear", true);
}

/* A flip before a warp flips its input, although the chain flips after all operations. */
static void flips_keep_their_position_among_warps(void)
{
    check_stages(SOURCE, "random_horizontal_flip 1 | rotate 90",
                 "rotate 270 | random_horizontal_flip 1", true);
    check_stages(SOURCE, "random_horizontal_flip 1 | affine translate=3,2",
                 "affine translate=-3,2 | random_horizontal_flip 1", true);
    check_stages(SOURCE, "random_horizontal_flip 1 | rotate 90 | random_horizontal_flip 1",
                 "rotate 270", true);
    check_stages(SOURCE,
                 "random_horizontal_flip 1 | rotate 20 filter=bilinear | random_horizontal_flip 1",
                 "rotate 20 filter=bilinear", false);
    check_stages(
        SOURCE,
        "random_horizontal_flip 1 offload=device | affine translate=3,2 | normalize 0.5 0.5",
        "affine translate=-3,2 | normalize 0.5 0.5 | random_horizontal_flip 1", true);
}

/* All warps have a border; it matters with a filter that blends, and only there. */
static void a_constant_border_is_of_every_warp(void)
{
    static const char *const warps[] = {
        "rotate 20 filter=bilinear",
        "rotate 20 filter=bilinear expand=true",
        "random_rotation 20,21 filter=bilinear",
        "affine 20 filter=bilinear",
        "random_affine 20,21 filter=bilinear",
        "warp_affine 0.8,0.1,0.3,-0.1,0.8,0.4",
        "perspective 1.3,2.1 14.2,0.6 13.4,14.9 0.7,12.3",
        "random_perspective p=1",
        "elastic",
        "trivial_augment filter=bilinear",
        "rand_augment filter=bilinear",
        "auto_augment filter=bilinear",
        "aug_mix",
    };

    for (size_t i = 0; i < sizeof(warps) / sizeof(warps[0]); i++) {
        char text[2][200];

        snprintf(text[0], sizeof(text[0]), "%s fill=200", warps[i]);
        snprintf(text[1], sizeof(text[1]), "%s fill=200 border=constant", warps[i]);
        check_stages(SOURCE, text[0], text[1], false);
        snprintf(text[0], sizeof(text[0]), "%s fill=200 border=masked", warps[i]);
        snprintf(text[1], sizeof(text[1]), "%s fill=200", warps[i]);
        check_stages(SOURCE, text[0], text[1], true);
    }
}

static void warps_that_draw_nothing_change_nothing(void)
{
    check_stages(SOURCE, "random_rotation 0", "take 12", true);
    check_stages(SOURCE, "random_affine 0", "take 12", true);
    check_stages(SOURCE, "random_affine 0 filter=bilinear fill=9", "take 12", true);
    check_stages(SOURCE, "random_perspective p=0", "take 12", true);
    check_stages(SOURCE, "random_perspective 0 p=1 filter=nearest", "take 12", true);
    check_stages(SOURCE, "perspective filter=nearest", "take 12", true);
    check_stages(SOURCE, "random_rotation 45", "take 12", false);
    check_stages(SOURCE, "random_perspective p=1", "take 12", false);
    check_stages(SOURCE, "random_rotation 30,30", "rotate 30", true);
    check_stages(SOURCE, "random_affine 30,30 0,0 0.5,0.5 4,4,5,5", "affine 30 scale=0.5 shear=4,5",
                 true);
}

static void warps_have_another_fixed_point(void)
{
    check_stages(SOURCE, "rotate 90 center=8,8", "rotate 90 center=image", true);
    check_stages(SOURCE, "rotate 90 center=8,8", "rotate 90 center=8,7", false);
    check_stages(SOURCE, "rotate 180 center=4,7", "rotate 180 | affine translate=-8,-2", true);
    check_stages(SOURCE, "affine 180 center=4,7", "rotate 180 center=4,7", true);
    check_stages(SOURCE, "random_rotation 30,30 center=3,-9", "rotate 30 center=3,-9", true);
    check_stages(SOURCE, "random_affine 30,30 0,0 0.5,0.5 4,4,5,5 center=1,2",
                 "affine 30 scale=0.5 shear=4,5 center=1,2", true);
    check_stages(SOURCE, "random_horizontal_flip 1 | rotate 90 center=4,7",
                 "rotate 270 center=12,7 | random_horizontal_flip 1", true);
}

static void images_of_any_channels_and_of_one_pixel_are_warped(void)
{
    check_pass("synthetic 3 1,1,3", "rotate 45 | random_perspective p=1 | random_affine 9", 1);
    check_pass("synthetic 3 1,9,1", "rotate 45 | random_perspective p=1 fill=3 | random_affine 9",
               1);
    check_pass("synthetic 3 9,8,4", "rotate 45 fill=1,2,3,4 | random_perspective 1 1", 1);
    check_pass("synthetic 3 9,8,2", "random_affine 9 filter=bilinear", 1);
}

/* ---- what follows the image --------------------------------------------------------------------
 */

/*
 * The pixels of the image encode their positions, so the mask must have the class of the image's
 * pixel, or its fill where the image has the fill; the map of geometry must give these positions.
 */
static void masks_and_geometry_show_the_same_pixels(void)
{
    static const char *const stages[] = {
        "rotate 30 fill=255 mask_fill=9",
        "random_horizontal_flip 1 | affine 20 3,2 0.8 fill=255 mask_fill=9",
        "center_crop 20 | random_affine 40 0.2,0.2 0.7,1.3 20 fill=255 mask_fill=9 | "
        "random_horizontal_flip 1",
        "rotate 30 fill=255 mask_fill=9 | random_posterize 8 1 | affine 20 scale=0.9 fill=255 "
        "mask_fill=9",
    };

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        char text[400];
        engine_run run;
        const uint8_t *image;
        const uint8_t *mask;
        const float *map;
        uint32_t width;
        uint32_t seen = 0;

        snprintf(text, sizeof(text), "%s | geometry", stages[i]);
        open_list(&run, LIST_OF_BOXES, "decode", text, 0);
        image = column_row(&run, "image", 0);
        mask = column_row(&run, "mask", 0);
        map = column_row(&run, "geometry", 0);
        width = i == 2 ? 20 : LIST_WIDTH;
        for (uint32_t k = 0; k < row_bytes(&run, 0) / 3; k++) {
            const uint8_t *pixel = &image[3 * (size_t)k];
            const float x = (float)(k % width) + 0.5F;
            const float y = (float)(k / width) + 0.5F;

            if (pixel[2] == 255) {
                T_EQ(mask[k], 9);
                continue;
            }
            T_EQ(mask[k], class_of(pixel[0], pixel[1]));
            if (i != 3) { /* sampled twice: the errors of two nearest pixels add up */
                T_TRUE(fabsf(map[0] * x + map[1] * y + map[2] - (float)pixel[0] - 0.5F) < 0.51F);
                T_TRUE(fabsf(map[3] * x + map[4] * y + map[5] - (float)pixel[1] - 0.5F) < 0.51F);
            }
            seen++;
        }
        T_TRUE(seen > 100);
        close_run(&run);
    }
}

/* The boxes of LIST_OF_BOXES in an image of 40 x 30 after a quarter turn about its centre; the
 * first and the third are outside then, with their classes. */
static void boxes_become_the_bounding_boxes_of_their_corners(void)
{
    engine_run run;
    const float *boxes;
    const int32_t *classes;

    open_list(&run, LIST_OF_BOXES, "decode", "affine 90", 0);
    boxes = column_row(&run, "boxes", 0);
    classes = column_row(&run, "c", 0);
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 1);
    /* (x, y) goes to (20 - (y - 15), 15 + (x - 20)) = (35 - y, x - 5) */
    T_TRUE(fabsf(boxes[0] - 10) < 1e-4F && fabsf(boxes[1] - 5) < 1e-4F);
    T_TRUE(fabsf(boxes[2] - 30) < 1e-4F && fabsf(boxes[3] - 25) < 1e-4F);
    T_TRUE(boxes[4] == 0 && boxes[11] == 0);
    T_EQ(classes[0], 2);
    T_EQ(classes[1], 0);
    close_run(&run);

    open_list(&run, LIST_OF_BOXES, "decode", "random_horizontal_flip 1 | affine translate=3,-2", 0);
    boxes = column_row(&run, "boxes", 0);
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 3);
    T_TRUE(boxes[0] == 39 && boxes[1] == 0 && boxes[2] == 40 && boxes[3] == 28);
    T_TRUE(boxes[4] == 13 && boxes[5] == 3 && boxes[6] == 33 && boxes[7] == 23);
    close_run(&run);
}

/* A box at the corners of the image becomes the bounding box of the moved corners. */
static void boxes_follow_a_perspective(void)
{
    engine_run run;
    const float *boxes;

    open_list(&run, "image\tboxes:boxes[1]\na.ppm\t0,0,39,29\n", "decode",
              "perspective 4,3 30,5 33,20 6,25", 0);
    boxes = column_row(&run, "boxes", 0);
    T_TRUE(fabsf(boxes[0] - 4) < 1e-3F && fabsf(boxes[1] - 3) < 1e-3F);
    T_TRUE(fabsf(boxes[2] - 33) < 1e-3F && fabsf(boxes[3] - 25) < 1e-3F);
    close_run(&run);
}

static void images_of_a_sample_get_the_same_warp(void)
{
    engine_run run;

    open_list(
        &run, "image\tother:image\tlabel\na.ppm\ta.ppm\t0\n", "decode",
        "random_horizontal_flip 1 | random_affine 90 | random_equalize 1 | random_rotation 30", 0);
    T_TRUE(memcmp(column_row(&run, "image", 0), column_row(&run, "other", 0), row_bytes(&run, 0)) ==
           0);
    close_run(&run);
}

static void misplaced_warps_and_bad_arguments_are_refused(void)
{
    static const char *const cases[][2] = {
        {"normalize 0.5 0.5 | rotate 30", "put it before normalize, to_dtype and to_chw"},
        {"to_chw | random_affine 3", "put it before normalize, to_dtype and to_chw"},
        {"random_rotation -5", "at least 0"},
        {"random_rotation 5,-5", "LOW <= HIGH"},
        {"random_rotation 1,2,3", "must be one number, or LOW,HIGH"},
        {"random_rotation nan", "degrees"},
        {"rotate 1e7", "degrees"},
        {"random_affine", "degrees"},
        {"random_affine 1 translate=1.5,0", "translate=1.5 must be from 0 to 1"},
        {"random_affine 1 translate=0.5", "must be two numbers"},
        {"random_affine 1 scale=0,1", "scale=0 must be from 0.001 to 1000"},
        {"random_affine 1 scale=2,1", "LOW <= HIGH"},
        {"random_affine 1 shear=90", "must have -89.999 <= LOW <= HIGH <= 89.999"},
        {"random_affine 1 shear=1,2,3", "must be one number, or LOW,HIGH"},
        {"random_affine 1 filter=bicubic", "filter"},
        {"affine shear=90,0", "shear=90 must be from -89.999 to 89.999"},
        {"affine scale=0", "scale"},
        {"affine translate=1", "must be two numbers"},
        {"rotate 1 fill=256", "must be a whole number from 0 to 255"},
        {"rotate 1 fill=0.5", "must be a whole number from 0 to 255"},
        {"rotate 1 fill=1,2", "fill has 2 values and column image 3 channels"},
        {"rotate 1 mask_fill=256", "mask_fill"},
        {"rotate 1 filter=bilinear border=reflect",
         "border=reflect must be one of masked constant"},
        {"rotate 1 border=constant", "border=constant has no effect: filter=nearest takes one"},
        {"elastic filter=nearest border=constant", "border=constant has no effect"},
        {"rotate 1 center=3", "rotate: center must be X,Y or image"},
        {"random_affine 1 center=middle", "random_affine: center must be X,Y or image"},
        {"affine center=1,1e7", "center=1e+07 must be from -1e+06 to 1e+06"},
        {"random_rotation 1 center=nan,1", "center"},
        {"random_perspective 1.5", "distortion_scale"},
        {"random_perspective p=2", "p"},
        {"perspective 1", "each corner must be X,Y in pixels"},
        {"perspective 0,0 7,7 4,4 2,2", "three of the points must not be on one line"},
        {"perspective 1e7,0", "must be from -1e+06 to 1e+06"},
        {"geometry | random_perspective", "column geometry of stage geometry can show affine maps"},
        {"random_perspective | geometry", "leave geometry or random_perspective out"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[400];

        snprintf(text, sizeof(text), "synthetic 4 8,8,3 | %s", cases[i][0]);
        check_refused(text, cases[i][1]);
    }
    check_refused("image_folder /tmp | rotate 3", "still encoded; put decode before it");
}

/* The second warp shifts down what the first one has filled at the left. */
static void warps_of_different_mask_fills_are_not_fused(void)
{
    const uint8_t *mask;
    engine_run run;

    open_list(&run, LIST_OF_BOXES, "decode",
              "affine 0 4,0 mask_fill=9 | affine 0 0,4 mask_fill=7 | rotate 0", 0);
    mask = column_row(&run, "mask", 0);
    for (size_t y = 0; y < LIST_HEIGHT; y++) {
        T_EQ(mask[y * LIST_WIDTH], y < 4 ? 7 : 9);
        T_EQ(mask[y * LIST_WIDTH + 4] == 7, y < 4);
    }
    close_run(&run);
}

const t_test warp_stages_tests[] = {
    T_TEST(workers_and_devices_do_not_matter),
    T_TEST(warps_side_by_side_are_one),
    T_TEST(flips_keep_their_position_among_warps),
    T_TEST(a_constant_border_is_of_every_warp),
    T_TEST(warps_that_draw_nothing_change_nothing),
    T_TEST(warps_have_another_fixed_point),
    T_TEST(images_of_any_channels_and_of_one_pixel_are_warped),
    T_TEST(masks_and_geometry_show_the_same_pixels),
    T_TEST(warps_of_different_mask_fills_are_not_fused),
    T_TEST(boxes_become_the_bounding_boxes_of_their_corners),
    T_TEST(boxes_follow_a_perspective),
    T_TEST(images_of_a_sample_get_the_same_warp),
    T_TEST(misplaced_warps_and_bad_arguments_are_refused),
    T_END,
};
