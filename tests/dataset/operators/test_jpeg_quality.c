/* SPDX-License-Identifier: Apache-2.0 */
/* jpeg_quality: torchvision's pixels, the drawn qualities, its place among stages, refusals. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset_kit.h"
#include "fixture_kit.h"
#include "stage_runs.h"
#include "testing.h"

/* Versions of libjpeg-turbo may differ by 1 in the upsampled chroma. */
enum { TOLERANCE = 2 };

static void pixels_are_those_of_torchvision(void)
{
    fixture_check("jpeg_quality 5", "jpeg-5", TOLERANCE);
    fixture_check("jpeg_quality 60,60", "jpeg-60", TOLERANCE);
}

/* 70 columns are no multiple of a block, so the blocks of the flipped image are others. */
static void flipped_images_are_encoded_flipped(void)
{
    fixture_check("random_horizontal_flip 1 | jpeg_quality 40 | random_horizontal_flip 1",
                  "jpeg-flipped", TOLERANCE);
}

static void qualities_are_low_to_high(void)
{
    picture fixed[3];
    uint32_t seen[3] = {0, 0, 0};

    for (uint32_t i = 0; i < 3; i++) {
        char stage[40];

        snprintf(stage, sizeof(stage), "jpeg_quality %u", 30 + i);
        fixed[i] = fixture_run(stage, 1);
    }
    for (uint64_t seed = 1; seed <= 40; seed++) {
        picture got = fixture_run("jpeg_quality 30,32", seed);
        uint32_t found = 0;

        for (uint32_t i = 0; i < 3; i++) {
            const bool same = memcmp(got.pixels, fixed[i].pixels, picture_size(&got)) == 0;

            seen[i] += same;
            found += same;
        }
        T_EQ(found, 1);
        free(got.pixels);
    }
    for (uint32_t i = 0; i < 3; i++) {
        T_TRUE(seen[i] >= 4);
        free(fixed[i].pixels);
    }
}

static void it_works_among_other_stages(void)
{
    const char *source = "synthetic 12 40,44,3";

    check_stages(source, "jpeg_quality 30 | center_crop 17",
                 "random_apply 1 (jpeg_quality 30) | center_crop 17", true);
    check_stages(source, "center_crop 17 | jpeg_quality 30", "jpeg_quality 30 | center_crop 17",
                 false);
    check_workers_and_devices(source, "random_crop 23 | jpeg_quality 1,100 | gaussian_blur 3");
    check_workers_and_devices("synthetic 12 9,200,1",
                              "rotate 9 | jpeg_quality 5,50 | random_horizontal_flip");
}

static void wrong_arguments_are_refused(void)
{
    check_refused("synthetic 4 8,8,3 | jpeg_quality 0", "1 <= LOW <= HIGH <= 100");
    check_refused("synthetic 4 8,8,3 | jpeg_quality 50,101", "quality from 50 to 101");
    check_refused("synthetic 4 8,8,3 | jpeg_quality 60,50", "1 <= LOW <= HIGH <= 100");
    check_refused("synthetic 4 8,8,3 | jpeg_quality 2.5", "must be whole numbers");
    check_refused("synthetic 4 8,8,3 | jpeg_quality 1,2,3", "one whole number, or LOW,HIGH");
    check_refused("synthetic 4 8,8,4 | jpeg_quality 5", "must have 1 (gray) or 3 (RGB)");
    check_refused("synthetic 4 8,8,3 | device | jpeg_quality 5", "put it before device");
    check_refused("synthetic 4 8,8,3 | JPEG 5", "is called jpeg_quality QUALITY here");
}

const t_test jpeg_quality_tests[] = {
    T_TEST(pixels_are_those_of_torchvision), T_TEST(flipped_images_are_encoded_flipped),
    T_TEST(qualities_are_low_to_high),       T_TEST(it_works_among_other_stages),
    T_TEST(wrong_arguments_are_refused),     T_END,
};
