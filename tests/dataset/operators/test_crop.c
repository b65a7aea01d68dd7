/* SPDX-License-Identifier: Apache-2.0 */
/* crop: torchvision's values, boxes and masks, and what it refuses. */
#include <string.h>

#include "dataset_kit.h"
#include "fixture_kit.h"
#include "list_kit.h"
#include "stage_runs.h"
#include "testing.h"

static void values_are_those_of_torchvision(void)
{
    fixture_check("crop 7,20 top=3 left=11", "crop-inside", 0);
    fixture_check("crop 9,30 top=-4 left=50", "crop-outside", 0);
}

static void a_crop_is_that_of_other_stages(void)
{
    static const char source[] = "synthetic 12 20,24,3";

    check_stages(source, "crop 10,12 5 6", "center_crop 10,12", true);
    check_stages(source, "crop 22,28 -1 -2", "pad_image 2,1", true);
    check_stages(source, "random_horizontal_flip 1 | crop 20,24", "random_horizontal_flip 1", true);
    check_stages(source, "crop 8,9 top=500", "crop 8,9 left=-500", true); /* zeros */
    check_stages(source, "crop 8", "crop 8,8 top=0 left=0", true);
    check_stages(source, "crop 8", "crop 8 top=1", false);
}

/* Boxes of LIST_OF_BOXES: 0,0,4,30 is outside, the others are moved and clipped. */
static void masks_and_boxes_follow(void)
{
    static const float want[3][4] = {{0, 3, 20, 20}, {26, 0, 28, 1}, {0, 0, 0, 0}};
    const uint8_t *mask;
    engine_run run;

    open_list(&run, LIST_OF_BOXES, "decode", "crop 20,28 top=2 left=10", 0);
    T_TRUE(memcmp(column_row(&run, "boxes", 0), want, sizeof(want)) == 0);
    mask = column_row(&run, "mask", 0);
    for (uint32_t y = 0; y < 20; y++) {
        for (uint32_t x = 0; x < 28; x++) {
            T_EQ(mask[y * 28 + x], class_of(x + 10, y + 2));
        }
    }
    close_run(&run);
}

static void wrong_arguments_are_refused(void)
{
    check_refused("synthetic 4 8,8,3 | crop", "size");
    check_refused("synthetic 4 8,8,3 | crop 0", "crop: size=0 must be from 1 to 65535");
    check_refused("synthetic 4 8,8,3 | crop 8 top=70000",
                  "crop: top=70000 must be from -65535 to 65535");
    check_refused("synthetic 4 8,8,3 | crop 8 left=1.5", "left=1.5 must be a whole number");
    check_refused("image_folder /tmp | crop 8", "put decode before it");
}

const t_test crop_tests[] = {
    T_TEST(values_are_those_of_torchvision),
    T_TEST(a_crop_is_that_of_other_stages),
    T_TEST(masks_and_boxes_follow),
    T_TEST(wrong_arguments_are_refused),
    T_END,
};
