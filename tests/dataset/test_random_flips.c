/* SPDX-License-Identifier: Apache-2.0 */
/* random_vertical_flip: its lines, its position among warps and conversions, and what follows it.
 */
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

static void lines_are_in_reverse_order(void)
{
    static const char list[] = "image\na.ppm\n";
    const size_t line = LIST_WIDTH * 3;
    engine_run run;
    const uint8_t *image;

    open_list(&run, list, "decode", "random_vertical_flip 1", 0);
    image = column_row(&run, "image", 0);
    for (size_t y = 0; y < LIST_HEIGHT; y++) {
        T_EQ(image[y * line], 0); /* the first pixel has its coordinates */
        T_EQ(image[y * line + 1], LIST_HEIGHT - 1 - y);
        T_EQ(image[(y + 1) * line - 3], LIST_WIDTH - 1);
    }
    close_run(&run);
}

static void a_flip_has_its_position_among_warps(void)
{
    check_stages(SOURCE, "random_horizontal_flip 1 | random_vertical_flip 1", "rotate 180", true);
    check_stages(SOURCE, "random_vertical_flip 1 | random_vertical_flip 1", "take 12", true);
    check_stages(SOURCE, "random_vertical_flip 0", "take 12", true);
    check_stages(SOURCE, "random_vertical_flip", "take 12", false);
    check_stages(SOURCE, "random_vertical_flip 1 | rotate 90",
                 "rotate 270 | random_vertical_flip 1", true);
    check_stages(SOURCE, "random_vertical_flip 1 | affine translate=3,2",
                 "affine translate=3,-2 | random_vertical_flip 1", true);
    check_stages(SOURCE, "random_vertical_flip 1 | random_horizontal_flip 1 | affine translate=3,2",
                 "affine translate=-3,-2 | rotate 180", true);
}

static void a_flip_has_no_position_among_conversions(void)
{
    static const char first[] = "random_vertical_flip | normalize 0.5 0.5 | to_chw";

    check_stages(SOURCE, first, "normalize 0.5 0.5 | random_vertical_flip | to_chw", true);
    check_stages(SOURCE, first, "normalize 0.5 0.5 | to_chw | random_vertical_flip", true);
    check_stages(SOURCE, first,
                 "normalize 0.5 0.5 offload=device | to_chw offload=device | random_vertical_flip",
                 true);
    check_stages(SOURCE, "random_vertical_flip 1 | random_horizontal_flip 1 offload=device",
                 "rotate 180", true);
}

static void workers_and_devices_do_not_matter(void)
{
    static const char stages[] =
        "shuffle | random_crop 12 | random_vertical_flip | random_rotation 30 | random_erasing 1 | "
        "random_horizontal_flip | color_jitter 0.4 0.4 | random_vertical_flip | normalize 0.5 0.5";

    check_workers_and_devices(SOURCE, stages);
}

static void images_of_any_channels_and_of_one_pixel_are_flipped(void)
{
    check_stages("synthetic 4 1,1,3", "random_vertical_flip 1", "take 4", true);
    check_stages("synthetic 4 1,9,2", "random_vertical_flip 1", "take 4", true);
    check_pass("synthetic 3 9,8,4", "random_vertical_flip", 1);
}

/* The pixels of the image encode their positions, which mask, boxes and geometry must agree with.
 */
static void check_followers(const char *stages)
{
    const char *folder = t_folder();
    char text[300];
    engine_run run;
    const uint8_t *image;
    const uint8_t *mask;
    const float *map;
    uint32_t seen = 0;

    write_pair(folder, "a.ppm", "m.pgm");
    snprintf(text, sizeof(text), "| decode | %s | geometry | batch 1", stages);
    open_own(&run, list_dataset(folder, LIST_OF_BOXES, text), &one_worker);
    T_OK(next_batch(&run));
    image = column_row(&run, "image", 0);
    mask = column_row(&run, "mask", 0);
    map = column_row(&run, "geometry", 0);
    for (uint32_t k = 0; k < LIST_WIDTH * LIST_HEIGHT; k++) {
        const float x = (float)(k % LIST_WIDTH) + 0.5F;
        const float y = (float)(k / LIST_WIDTH) + 0.5F;
        const uint8_t *pixel = &image[3 * (size_t)k];

        if (pixel[2] != 255) {
            T_EQ(mask[k], class_of(pixel[0], pixel[1]));
            T_TRUE(fabsf(map[0] * x + map[1] * y + map[2] - (float)pixel[0] - 0.5F) < 0.51F);
            T_TRUE(fabsf(map[3] * x + map[4] * y + map[5] - (float)pixel[1] - 0.5F) < 0.51F);
            seen++;
        }
    }
    T_TRUE(seen > 500);
    close_run(&run);
}

static void masks_and_geometry_follow(void)
{
    check_followers("random_vertical_flip 1");
    check_followers("random_vertical_flip 1 | random_horizontal_flip 1");
    check_followers("random_vertical_flip 1 | affine 20 3,2 0.8 fill=255 mask_fill=9");
    check_followers("affine 20 3,2 0.8 fill=255 mask_fill=9 | random_vertical_flip 1 | "
                    "random_horizontal_flip 1");
}

static void boxes_and_further_images_follow(void)
{
    engine_run run;
    const float *boxes;

    open_list(&run, "image\tother:image\tboxes:boxes[2]\na.ppm\ta.ppm\t0,0,4,30;10,5,30,24\n",
              "decode", "center_crop 28,40 | random_vertical_flip 1", 0);
    boxes = column_row(&run, "boxes", 0);
    T_TRUE(boxes[0] == 0 && boxes[1] == 0 && boxes[2] == 4 && boxes[3] == 28);
    T_TRUE(boxes[4] == 10 && boxes[5] == 5 && boxes[6] == 30 && boxes[7] == 24);
    T_TRUE(memcmp(column_row(&run, "image", 0), column_row(&run, "other", 0), row_bytes(&run, 0)) ==
           0);
    close_run(&run);
}

static void bad_arguments_are_refused(void)
{
    check_refused("synthetic 4 8,8,3 | random_vertical_flip 2", "p=2");
    check_refused("synthetic 4 8,8,3 | random_vertical_flip offload=host", "offload");
    check_refused("image_folder /tmp | random_vertical_flip", "put decode before it");
}

const t_test random_flips_tests[] = {
    T_TEST(lines_are_in_reverse_order),
    T_TEST(a_flip_has_its_position_among_warps),
    T_TEST(a_flip_has_no_position_among_conversions),
    T_TEST(workers_and_devices_do_not_matter),
    T_TEST(images_of_any_channels_and_of_one_pixel_are_flipped),
    T_TEST(masks_and_geometry_follow),
    T_TEST(boxes_and_further_images_follow),
    T_TEST(bad_arguments_are_refused),
    T_END,
};
