/* SPDX-License-Identifier: Apache-2.0 */
/* random_erasing: its rectangles, their positions among flips and warps, and what it refuses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/dataset.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "stage_runs.h"
#include "testing.h"

enum { SIDE_OF_IMAGES = 32, SAMPLES = 64, BYTES = SIDE_OF_IMAGES * SIDE_OF_IMAGES * 3 };

static const run_options one_worker = {.workers = 1};

#define SOURCE "synthetic 64 32,32,3"

static const uint8_t *image_of(const tape *t, uint32_t i)
{
    const size_t batch = t->size / t->batches;

    return t->bytes + (i / 4 + 1) * batch - (4 - i % 4) * BYTES - 4 * sizeof(int32_t);
}

static bool is_erased(const uint8_t *pixel)
{
    return pixel[0] == 1 && pixel[1] == 2 && pixel[2] == 3;
}

/* Every erased image has one full rectangle of the value, whose area and ratio are within their
 * ranges except for the rounding of its sides; all other pixels do not change. */
static void rectangles_are_within_their_ranges(void)
{
    tape plain = run_stages_of(SOURCE, "take 64", &one_worker);
    tape all = run_stages_of(SOURCE, "random_erasing 0.5 0.1,0.3 0.5,2 1,2,3", &one_worker);
    uint32_t erased = 0;

    for (uint32_t i = 0; i < SAMPLES; i++) {
        const uint8_t *image = image_of(&all, i);
        uint32_t low[2] = {SIDE_OF_IMAGES, SIDE_OF_IMAGES};
        uint32_t high[2] = {0, 0};
        uint32_t pixels = 0;
        uint32_t width;
        uint32_t height;

        for (uint32_t k = 0; k < SIDE_OF_IMAGES * SIDE_OF_IMAGES; k++) {
            const uint32_t at[2] = {k % SIDE_OF_IMAGES, k / SIDE_OF_IMAGES};

            if (!is_erased(&image[3 * (size_t)k])) {
                T_TRUE(memcmp(&image[3 * (size_t)k], &image_of(&plain, i)[3 * (size_t)k], 3) == 0);
                continue;
            }
            pixels++;
            for (int axis = 0; axis < 2; axis++) {
                low[axis] = at[axis] < low[axis] ? at[axis] : low[axis];
                high[axis] = at[axis] > high[axis] ? at[axis] : high[axis];
            }
        }
        if (pixels == 0) {
            continue;
        }
        erased++;
        width = high[0] - low[0] + 1;
        height = high[1] - low[1] + 1;
        T_EQ(pixels, width * height);
        T_TRUE((width + 1) * (height + 1) >= 102 && (width - 1) * (height - 1) <= 308);
        T_TRUE(2 * (height + 1) >= width && height - 1 <= 2 * (width + 1));
    }
    T_TRUE(erased > SAMPLES / 4 && erased < SAMPLES * 3 / 4);
    free(plain.bytes);
    free(all.bytes);
}

/* A flip before the stage does not move the rectangle; one after it does. */
static void flips_keep_their_position(void)
{
    tape plain = run_stages_of(SOURCE, "random_erasing 1 value=1,2,3", &one_worker);
    tape before = run_stages_of(SOURCE, "random_horizontal_flip 1 | random_erasing 1 value=1,2,3",
                                &one_worker);
    tape after = run_stages_of(SOURCE, "random_erasing 1 value=1,2,3 | random_horizontal_flip 1",
                               &one_worker);

    for (uint32_t i = 0; i < SAMPLES; i++) {
        for (uint32_t k = 0; k < SIDE_OF_IMAGES * SIDE_OF_IMAGES; k++) {
            const uint32_t flipped =
                k - k % SIDE_OF_IMAGES + SIDE_OF_IMAGES - 1 - k % SIDE_OF_IMAGES;
            const bool is = is_erased(&image_of(&plain, i)[3 * (size_t)k]);

            T_EQ(is_erased(&image_of(&before, i)[3 * (size_t)k]), is);
            T_EQ(is_erased(&image_of(&after, i)[3 * (size_t)flipped]), is);
        }
    }
    free(plain.bytes);
    free(before.bytes);
    free(after.bytes);
}

static void workers_and_devices_do_not_matter(void)
{
    static const char stages[] =
        "shuffle | random_horizontal_flip | color_jitter 0.4 0.4 | random_erasing | rotate 30 | "
        "random_erasing 1 value=9,8,7 | random_equalize | random_erasing | normalize 0.5 0.5";

    check_workers_and_devices(SOURCE, stages);
}

/* An image of one pixel does not change, since no rectangle is smaller. */
static void small_images_and_any_channels_are_erased(void)
{
    check_pass("synthetic 4 1,1,3", "random_erasing 1 0.5,1", 1);
    check_pass("synthetic 4 2,9,1", "random_erasing 1 value=7", 1);
    check_pass("synthetic 4 9,9,4", "random_erasing 1 value=1,2,3,4", 1);
}

static void bad_arguments_are_refused(void)
{
    static const char *const cases[][2] = {
        {"random_erasing 2", "p"},
        {"random_erasing scale=0.5", "want LOW,HIGH with 0 <= LOW <= HIGH <= 1"},
        {"random_erasing scale=0.5,0.4", "LOW <= HIGH"},
        {"random_erasing scale=0,1.5", "HIGH <= 1"},
        {"random_erasing ratio=0,1", "want LOW,HIGH with 0.001 <= LOW"},
        {"random_erasing value=256", "want whole numbers from 0 to 255"},
        {"random_erasing value=0.5", "want whole numbers from 0 to 255"},
        {"random_erasing value=random", "want one number, or one for each channel"},
        {"random_erasing value=1,2", "value has 2 numbers and column image 3 channels"},
        {"normalize 0.5 0.5 | random_erasing", "put it before normalize, to_dtype and to_chw"},
        {"random_erasing | resize 4", "put it before the stages that change colours or warp"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[400];

        snprintf(text, sizeof(text), "synthetic 4 8,8,3 | %s", cases[i][0]);
        check_refused(text, cases[i][1]);
    }
}

const t_test random_erasing_tests[] = {
    T_TEST(rectangles_are_within_their_ranges), T_TEST(flips_keep_their_position),
    T_TEST(workers_and_devices_do_not_matter),  T_TEST(small_images_and_any_channels_are_erased),
    T_TEST(bad_arguments_are_refused),          T_END,
};
