/* SPDX-License-Identifier: Apache-2.0 */
/* Colour stages in pipelines: positions, draws, and their effect on images, masks and boxes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/dataset.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "list_kit.h"
#include "stage_runs.h"
#include "testing.h"

enum { SIDE_OF_IMAGES = 12, IMAGE_BYTES = SIDE_OF_IMAGES * SIDE_OF_IMAGES * 3 };

#define SOURCE "synthetic 20 12,12,3"

/* Image i of a tape; batches end with four images of `bytes` bytes and four labels of 4 bytes. */
static const uint8_t *image_of(const tape *t, uint32_t i, size_t bytes)
{
    const size_t batch = t->size / t->batches;

    return t->bytes + (i / 4 + 1) * batch - (4 - i % 4) * bytes - 4 * sizeof(int32_t);
}

static void workers_and_devices_do_not_matter(void)
{
    static const char stages[] =
        "shuffle | random_crop 10 | color_jitter 0.4 0.4 0.4 0.2 | random_horizontal_flip | "
        "random_grayscale 0.3 | random_equalize | random_solarize 100 | normalize 0.5 0.5";

    check_workers_and_devices(SOURCE, stages);
}

/* With probability 1 every value is 255 - v; twice gives the image again, flipped or not. */
static void invert_works_in_every_place_that_is_allowed(void)
{
    tape plain = run_stages_of(SOURCE, "center_crop 8", &one_worker);
    tape twice =
        run_stages_of(SOURCE, "center_crop 8 | random_invert 1 | random_invert 1", &one_worker);
    tape never = run_stages_of(SOURCE, "center_crop 8 | random_invert 0", &one_worker);
    tape once = run_stages_of(SOURCE, "center_crop 8 | random_invert 1", &one_worker);
    tape flip = run_stages_of(SOURCE, "random_horizontal_flip 1 | random_invert 1", &one_worker);
    tape flop = run_stages_of(SOURCE, "random_invert 1 | random_horizontal_flip 1", &one_worker);

    check_equal_tapes(&twice, &plain, "inverted twice");
    check_equal_tapes(&never, &plain, "never inverted");
    check_equal_tapes(&flip, &flop, "flipped and inverted");
    T_EQ(once.size, plain.size);
    for (size_t k = 0; k < 8 * 8 * 3; k++) {
        T_EQ(image_of(&once, 7, 8 * 8 * 3)[k], 255 - image_of(&plain, 7, 8 * 8 * 3)[k]);
    }
    free(plain.bytes);
    free(twice.bytes);
    free(never.bytes);
    free(once.bytes);
    free(flip.bytes);
    free(flop.bytes);
}

/* Two stages of one name draw independently, so two with probability 1/2 change some images once.
 */
static void each_stage_draws_on_its_own(void)
{
    tape plain = run_stages_of(SOURCE, "take 20", &one_worker);
    tape two = run_stages_of(SOURCE, "random_invert | random_invert", &one_worker);
    uint32_t changed = 0;

    T_EQ(two.size, plain.size);
    for (uint32_t i = 0; i < 20; i++) {
        changed += memcmp(image_of(&plain, i, IMAGE_BYTES), image_of(&two, i, IMAGE_BYTES),
                          IMAGE_BYTES) != 0;
    }
    T_TRUE(changed > 0 && changed < 20);
    free(plain.bytes);
    free(two.bytes);
}

/* One number x is the range from max(0, 1 - x) to 1 + x; of the hue from -x to x. */
static void an_amount_is_a_range(void)
{
    sluice_dataset *dataset = parsed("synthetic 4 8,8,3 | color_jitter 2 0.25 0.5,0.75 0.125");

    T_CONTAINS(described(dataset), "color_jitter brightness=0,3 contrast=0.75,1.25 "
                                   "saturation=0.5,0.75 hue=-0.125,0.125");
    sluice_dataset_destroy(dataset);
}

static void jitter_of_nothing_changes_nothing(void)
{
    tape plain = run_stages_of(SOURCE, "take 20", &one_worker);
    tape none = run_stages_of(SOURCE, "color_jitter", &one_worker);
    tape some = run_stages_of(SOURCE, "color_jitter brightness=0.5", &one_worker);

    check_equal_tapes(&none, &plain, "no jitter");
    T_TRUE(memcmp(some.bytes, plain.bytes, plain.size) != 0);
    free(plain.bytes);
    free(none.bytes);
    free(some.bytes);
}

/* Draws differ between passes; a run with the same seed has the same draws. */
static void seeds_and_passes_draw_anew(void)
{
    const run_options seeded = {.workers = 1, .settings = {.seed = 5}, .batches = 10};
    tape one = run_stages_of(SOURCE, "color_jitter 0.5 0.5 0.5 0.5", &seeded);
    tape again = run_stages_of(SOURCE, "color_jitter 0.5 0.5 0.5 0.5", &seeded);

    check_equal_tapes(&again, &one, "the same seed");
    T_EQ(one.batches, 10);
    T_TRUE(memcmp(image_of(&one, 3, IMAGE_BYTES), image_of(&one, 23, IMAGE_BYTES), IMAGE_BYTES) !=
           0);
    free(one.bytes);
    free(again.bytes);
}

/* Masks and boxes of a list do not change; the image does. */
static void masks_and_boxes_keep_their_values(void)
{
    const char *folder = t_folder();
    engine_run runs[2];
    sluice_dataset *datasets[2];

    write_pair(folder, "a.ppm", "m.pgm");
    for (int i = 0; i < 2; i++) {
        datasets[i] = list_dataset(folder, LIST_OF_BOXES,
                                   i == 0 ? "| decode | resize 20 | batch 1"
                                          : "| decode | resize 20 | random_invert 1 | "
                                            "color_jitter 0.5 0.5 0.5 0.5 | batch 1");
        open_run(&runs[i], datasets[i], &one_worker);
        T_OK(next_batch(&runs[i]));
    }
    for (uint32_t c = 0; c < 2; c++) {
        T_EQ(row_bytes(&runs[0], c), row_bytes(&runs[1], c));
    }
    T_TRUE(memcmp(column_row(&runs[0], "mask", 0), column_row(&runs[1], "mask", 0), 20 * 26) == 0);
    T_TRUE(memcmp(column_row(&runs[0], "boxes", 0), column_row(&runs[1], "boxes", 0), 48) == 0);
    T_TRUE(memcmp(column_row(&runs[0], "image", 0), column_row(&runs[1], "image", 0), 20 * 26) !=
           0);
    for (int i = 0; i < 2; i++) {
        close_run(&runs[i]);
        sluice_dataset_destroy(datasets[i]);
    }
}

/* Two columns with the same file stay equal: all images of a sample have the same draws. */
static void images_of_a_sample_get_the_same_colours(void)
{
    engine_run run;

    open_list(&run, "image\tother:image\tlabel\na.ppm\ta.ppm\t0\n", "decode",
              "resize 20 | color_jitter 0.5 0.5 0.5 0.5 | random_equalize", 0);
    T_TRUE(memcmp(column_row(&run, "image", 0), column_row(&run, "other", 0), 20 * 26 * 3) == 0);
    close_run(&run);
}

/* Colours need gray or RGB; a blur has no colours. */
static void a_blur_works_on_any_number_of_channels(void)
{
    sluice_dataset *dataset = parsed("synthetic 4 8,8,4 | gaussian_blur 3 1");

    T_STATUS(sluice_dataset_add(dataset, "random_invert"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "has 4 channels, and must have 1 (gray) or 3 (RGB)");
    sluice_dataset_destroy(dataset);
}

static void misplaced_stages_and_bad_amounts_are_refused(void)
{
    static const char *const cases[][2] = {
        {"normalize 0.5 0.5 | random_invert", "put it before normalize, to_dtype and to_chw"},
        {"to_chw | random_invert", "put it before normalize, to_dtype and to_chw"},
        {"color_jitter -0.1", "must be at least 0: one number is the largest change"},
        {"color_jitter hue=0.6", "must have -0.5 <= LOW <= HIGH <= 0.5"},
        {"color_jitter contrast=2,1", "LOW <= HIGH"},
        {"color_jitter 1,2,3", "must be one number, or LOW,HIGH"},
        {"color_jitter nan", "brightness"},
        {"random_posterize 9", "bits"},
        {"random_solarize 300", "threshold"},
        {"random_invert 1.5", "p"},
        {"color_jitter 1 | color_jitter 1 | color_jitter 1 | color_jitter 1 | color_jitter 1 | "
         "color_jitter 1 | color_jitter 1 | color_jitter 1 | random_invert",
         "more than 32 operations"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[400];

        snprintf(text, sizeof(text), "synthetic 4 8,8,3 | %s", cases[i][0]);
        check_refused(text, cases[i][1]);
    }
    check_refused("synthetic 4 8,8,4 | random_invert",
                  "has 4 channels, and must have 1 (gray) or 3 (RGB)");
    check_refused("image_folder /tmp | random_invert", "still encoded; put decode before it");
}

const t_test color_stages_tests[] = {
    T_TEST(workers_and_devices_do_not_matter),
    T_TEST(invert_works_in_every_place_that_is_allowed),
    T_TEST(each_stage_draws_on_its_own),
    T_TEST(an_amount_is_a_range),
    T_TEST(jitter_of_nothing_changes_nothing),
    T_TEST(seeds_and_passes_draw_anew),
    T_TEST(masks_and_boxes_keep_their_values),
    T_TEST(images_of_a_sample_get_the_same_colours),
    T_TEST(a_blur_works_on_any_number_of_channels),
    T_TEST(misplaced_stages_and_bad_amounts_are_refused),
    T_END,
};
