/* SPDX-License-Identifier: Apache-2.0 */
/* random_erasing: its rectangles, their positions among flips and warps, and what it refuses. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/dataset.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "list_kit.h"
#include "plan_int.h"
#include "stage_runs.h"
#include "testing.h"

enum { SIDE_OF_IMAGES = 32, SAMPLES = 64, BYTES = SIDE_OF_IMAGES * SIDE_OF_IMAGES * 3 };

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

/* ---- after normalize ---------------------------------------------------------------------------
 */

enum { VALUES = SIDE_OF_IMAGES * SIDE_OF_IMAGES * 3 };

/* Value k of sample i of a tape of f32 images. */
static float value_of(const tape *t, uint32_t i, uint32_t k)
{
    const size_t bytes = VALUES * sizeof(float);
    const size_t batch = t->size / t->batches;
    float value;

    memcpy(&value,
           t->bytes + (i / 4 + 1) * batch - (4 - i % 4) * bytes - 4 * sizeof(int32_t) +
               k * sizeof(float),
           sizeof(value));
    return value;
}

/* The rectangle is that of bytes, whose values are set after the conversions, in each layout. */
static void converted_values_are_erased(void)
{
    static const char *const stages[][2] = {
        {"random_erasing 0.7 value=0 | normalize 0.5 0.5", "normalize 0.5 0.5 | random_erasing 0.7 "
                                                           "value=7"},
        {"random_erasing 0.7 value=0 | normalize 0.5 0.5 | to_chw",
         "normalize 0.5 0.5 | random_erasing 0.7 value=7 | to_chw"},
        {"random_erasing 0.7 value=0 | normalize 0.5 0.5 | to_chw",
         "normalize 0.5 0.5 | to_chw | random_erasing 0.7 value=7"},
        {"random_erasing 0.7 value=0 | random_horizontal_flip 1 | normalize 0.5 0.5 | "
         "random_vertical_flip 0.5",
         "normalize 0.5 0.5 | random_erasing 0.7 value=7 | random_horizontal_flip 1 | "
         "random_vertical_flip 0.5"},
        {"random_horizontal_flip 0.5 | random_erasing 0.7 value=0 | normalize 0.5 0.5 | to_chw",
         "random_horizontal_flip 0.5 | normalize 0.5 0.5 | random_erasing 0.7 value=7 | to_chw"},
    };

    for (size_t s = 0; s < sizeof(stages) / sizeof(stages[0]); s++) {
        tape bytes = run_stages_of(SOURCE, stages[s][0], &one_worker);
        tape floats = run_stages_of(SOURCE, stages[s][1], &one_worker);
        uint32_t erased = 0;

        T_STATUS(floats.end, SLUICE_END_OF_DATA);
        T_EQ(bytes.size, floats.size);
        for (uint32_t i = 0; i < SAMPLES; i++) {
            for (uint32_t k = 0; k < VALUES; k++) {
                const float value = value_of(&floats, i, k);

                erased += value == 7;
                T_TRUE(value_of(&bytes, i, k) == (value == 7 ? -1 : value));
            }
        }
        T_TRUE(erased > SAMPLES * VALUES / 50);
        free(bytes.bytes);
        free(floats.bytes);
    }
}

static void each_channel_has_its_value(void)
{
    tape all = run_stages_of(SOURCE, "to_dtype f32 scale=true | random_erasing 1 value=3,-4,5.5",
                             &one_worker);

    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint32_t erased = 0;

        for (uint32_t k = 0; k < VALUES; k += 3) {
            if (value_of(&all, i, k) == 3) {
                T_TRUE(value_of(&all, i, k + 1) == -4 && value_of(&all, i, k + 2) == 5.5F);
                erased++;
            }
        }
        T_TRUE(erased > 0);
    }
    free(all.bytes);
}

/* Every value of the rectangle is drawn, and the others do not change. */
static void random_values_have_the_normal_distribution(void)
{
    static const char plain_stages[] = "normalize 0.5 0.25 | to_chw";
    static const char stages[] =
        "normalize 0.5 0.25 | random_erasing 1 0.2,0.33 value=random | to_chw";
    static const char seven[] = "normalize 0.5 0.25 | random_erasing 1 0.2,0.33 value=7 | to_chw";
    tape plain = run_stages_of(SOURCE, plain_stages, &one_worker);
    tape all = run_stages_of(SOURCE, stages, &one_worker);
    tape where = run_stages_of(SOURCE, seven, &one_worker);
    double sum = 0;
    double squares = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < SAMPLES; i++) {
        for (uint32_t k = 0; k < VALUES; k++) {
            const float value = value_of(&all, i, k);

            if (value_of(&where, i, k) == 7) {
                sum += (double)value;
                squares += (double)value * (double)value;
                count++;
            } else {
                T_TRUE(value == value_of(&plain, i, k));
            }
        }
    }
    T_TRUE(count > 1000);
    T_TRUE(fabs(sum / count) < 0.15 && fabs(squares / count - 1) < 0.2);
    free(plain.bytes);
    free(all.bytes);
    free(where.bytes);
}

/* Values do not depend on the layout, on the side of later flips, or on workers. */
static void converted_erasing_is_the_same_everywhere(void)
{
    check_workers_and_devices(
        SOURCE,
        "shuffle | random_horizontal_flip | normalize 0.5 0.5 | random_erasing value=random "
        "| random_horizontal_flip | random_vertical_flip | random_erasing value=2 | to_chw");
    check_workers_and_devices(SOURCE, "normalize 0.5 0.5 dtype=f16 | random_erasing 1 value=1.5 | "
                                      "random_horizontal_flip offload=device | to_chw");
    check_workers_and_devices(SOURCE,
                              "normalize 0.5 0.5 dtype=bf16 | random_erasing 1 value=random "
                              "| random_horizontal_flip | to_chw offload=device");
    check_workers_and_devices(SOURCE, "to_chw | random_erasing 1 value=1,2,3");
    check_stages(SOURCE, "to_dtype f32 | random_erasing value=random | to_chw",
                 "to_dtype f32 | to_chw | random_erasing value=random", true);
    check_stages(SOURCE, "to_dtype f32 | random_erasing 1 value=3 | random_erasing 1 value=4",
                 "to_dtype f32 | random_erasing 1 value=3", false);
}

/* The rectangle that the device would need is known to the workers only. */
static void converted_erasing_is_refused_on_the_device(void)
{
    static const char *const texts[] = {
        "device | normalize 0.5 0.5 | random_erasing",
        "normalize 0.5 0.5 offload=device | random_erasing",
        "device | random_invert | normalize 0.5 0.5 | random_erasing",
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const sli_run_settings settings = {.world = 1};
        sluice_dataset *dataset;
        sli_plan *plan = NULL;

        dataset = parsedf("%s | %s | batch 4", SOURCE, texts[i]);
        T_STATUS(sli_plan_open(dataset, &settings, &plan), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "random_erasing comes after conversions, so it runs on the "
                                        "workers");
        sluice_dataset_destroy(dataset);
    }
}

static void other_images_are_erased_alike(void)
{
    engine_run run;
    const float *image;
    const float *other;
    uint32_t erased = 0;

    open_list(&run, "image\tother:image\na.ppm\ta.ppm\n", "decode",
              "random_horizontal_flip 1 | normalize 0.5 0.5 | random_erasing 1 value=9 | "
              "random_horizontal_flip 1 | random_erasing 1 value=random columns=other",
              0);
    image = column_row(&run, "image", 0);
    other = column_row(&run, "other", 0);
    for (size_t k = 0; k < (size_t)LIST_WIDTH * LIST_HEIGHT * 3; k++) {
        erased += image[k] == 9;
        T_TRUE(other[k] != 9 || image[k] == 9);
    }
    T_TRUE(erased > 20);
    T_TRUE(memcmp(image, other, (size_t)LIST_WIDTH * LIST_HEIGHT * 12) != 0);
    close_run(&run);
}

/* A checkpoint knows on which side of normalize the stage is. */
static void its_side_of_normalize_is_part_of_the_pipeline(void)
{
    T_STATUS(sli_stages_compare("random_erasing | normalize 0.5 0.5",
                                "normalize 0.5 0.5 | random_erasing"),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "random_erasing");
    T_OK(sli_stages_compare("to_dtype f32 | to_chw | random_erasing",
                            "to_dtype f32 | random_erasing | to_chw"));
}

static void bad_arguments_are_refused(void)
{
    static const char *const cases[][2] = {
        {"random_erasing 2", "p"},
        {"random_erasing scale=0.5", "must be LOW,HIGH with 0 <= LOW <= HIGH <= 1"},
        {"random_erasing scale=0.5,0.4", "LOW <= HIGH"},
        {"random_erasing scale=0,1.5", "HIGH <= 1"},
        {"random_erasing ratio=0,1", "must be LOW,HIGH with 0.001 <= LOW"},
        {"random_erasing value=256", "must be a whole number from 0 to 255"},
        {"random_erasing value=0.5", "must be a whole number from 0 to 255"},
        {"random_erasing value=random", "put it after normalize"},
        {"random_erasing value=nothing", "one for each channel, or the word random"},
        {"random_erasing value=1,2", "value has 2 numbers and column image 3 channels"},
        {"to_chw | random_erasing value=-1", "must be a whole number from 0 to 255"},
        {"to_chw | random_erasing value=random", "put it after normalize"},
        {"normalize 0.5 0.5 | random_erasing value=1,2", "value has 2 numbers"},
        {"normalize 0.5 0.5 | random_erasing value=1e9", "must be a number from -65504 to 65504"},
        {"to_dtype f32 | random_erasing | normalize 0.5 0.5",
         "normalize comes after random_erasing, whose values it would change"},
        {"normalize 0.5 0.5 | random_erasing | to_dtype f16", "put random_erasing after it"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[400];

        snprintf(text, sizeof(text), "synthetic 4 8,8,3 | %s", cases[i][0]);
        check_refused(text, cases[i][1]);
    }
}

const t_test random_erasing_tests[] = {
    T_TEST(rectangles_are_within_their_ranges),
    T_TEST(flips_keep_their_position),
    T_TEST(workers_and_devices_do_not_matter),
    T_TEST(small_images_and_any_channels_are_erased),
    T_TEST(converted_values_are_erased),
    T_TEST(each_channel_has_its_value),
    T_TEST(random_values_have_the_normal_distribution),
    T_TEST(converted_erasing_is_the_same_everywhere),
    T_TEST(converted_erasing_is_refused_on_the_device),
    T_TEST(other_images_are_erased_alike),
    T_TEST(its_side_of_normalize_is_part_of_the_pipeline),
    T_TEST(bad_arguments_are_refused),
    T_END,
};
