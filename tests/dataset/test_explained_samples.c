/* SPDX-License-Identifier: Apache-2.0 */
/* What sluice_dataset_explain_sample() says of a sample is what a run gives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/dataset.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "testing.h"

/* Checks that all these words are in the text about a sample, in order. */
static void check_explained(sluice_dataset *dataset, uint64_t sample, const char *const *words)
{
    char *text = NULL;
    const char *at;

    T_OK(sluice_dataset_explain_sample(dataset, 3, 5, sample, &text));
    at = text;
    for (size_t i = 0; words[i] != NULL; i++) {
        const char *found = strstr(at, words[i]);

        if (found == NULL) {
            T_FAIL_("'%s' is not in '%s'", words[i], at);
        }
        at = found + strlen(words[i]);
    }
    sluice_string_free(text);
}

/* Stages, and words about sample 2 of a dataset with them. */
typedef struct explained {
    const char *stages;
    const char *words[12];
} explained;

static void check_stages_explained(const explained *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sluice_dataset *dataset;

        dataset = parsedf("synthetic 8 20,30,3 | %s | batch 2", cases[i].stages);
        check_explained(dataset, 2, cases[i].words);
        sluice_dataset_destroy(dataset);
    }
}

static void steps_and_parameters_are_named(void)
{
    static const explained cases[] = {
        {"center_crop 10 | resize 4,6",
         {"sample 2 in pass 5: synthetic/2, 30x20\n",
          "step 0: center_crop + resize: 10x10 at (10, 5) of 30x20, resized to 6x4\n", NULL}},
        {"pad_image 1,2,3,4 | resize 13,34 | random_crop 13,30",
         {"step 0: pad_image + resize + random_crop: 30x20, padded by 1,2,3,4 (left, top, right, "
          "bottom), resized to 34x13, 30x13 of it at (",
          NULL}},
        {"resize 20,30 | random_crop 20,30 padding=4", {", 30x20 of it at (", NULL}},
        {"random_horizontal_flip 1 | resize 20,20 | random_invert 1 | random_grayscale 0 | "
         "random_solarize 90 1",
         {"step 0: random_horizontal_flip: 30x20 warped to 30x20 by (-1, 0, 30, 0, 1, 0)\n",
          "step 1: resize: 30x20, resized to 20x20\n",
          "  random_invert: bits (v & 255) ^ 255; random_solarize: inverted from 90\n", NULL}},
        {"random_choice (center_crop 9 | random_posterize 3 1) | random_vertical_flip 1 | "
         "random_horizontal_flip 1",
         {"step 0: center_crop: 9x9 at (10, 6) of 30x20\n",
          "  random_posterize: bits (v & 224) ^ 0\n", "step 1: 9x9\n", "flip: left to right\n",
          "flip: upside down\n", NULL}},
        {"center_crop 9 | affine 0 2,1 1 0,0 | device | random_invert 1",
         {"  affine: warped by (1, 0, -2, 0, 1, -1)\n", "device: random_invert: bits", NULL}},
        {"center_crop 9 | color_jitter 0.2 0 0 0 | random_erasing 1",
         {"  color_jitter: brightness ", "; random_erasing: erased ", " at (", NULL}},
    };

    check_stages_explained(cases, sizeof(cases) / sizeof(cases[0]));
}

static void each_view_is_described(void)
{
    static const explained cases[] = {
        {"resize 20,30 | five_crop 8",
         {"sample 2 in pass 5: synthetic/2, 30x20\n", "view 0:\n", "8x8 at (0, 0) of ", "view 1:\n",
          "8x8 at (22, 0) of ", "view 2:\n", "8x8 at (0, 12) of ", "view 3:\n",
          "8x8 at (22, 12) of ", "view 4:\n", NULL}},
        {"ten_crop 8 | random_horizontal_flip 1",
         {"view 0:\n", "8x8 at (0, 0) of 30x20\nflip: left to right\nview 1:\n", "view 4:\n",
          "8x8 at (11, 6) of 30x20\nflip: left to right\nview 5:\n",
          "8x8 at (22, 0) of 30x20\nview 6:\n", "view 9:\n", NULL}},
        {"resize 10,15 | random_solarize 90 1 | views 2 | center_crop 8 | random_invert 1",
         {"pass 5: synthetic/2, 30x20\nstep 0: resize: 30x20, resized to 15x10\n"
          "  random_solarize: inverted from 90\nview 0:\nstep 1: views + center_crop: 8x8 at (4, "
          "1) of "
          "15x10\n  random_invert: bits (v & 255) ^ 255\nview 1:\nstep 1: views + center_crop: 8x8 "
          "at "
          "(4, 1) of 15x10\n  random_invert: bits (v & 255) ^ 255\n",
          NULL}},
    };

    check_stages_explained(cases, sizeof(cases) / sizeof(cases[0]));
}

static void flips_are_told_apart(void)
{
    static const explained cases[] = {
        {"random_horizontal_flip 1 | center_crop 8",
         {"step 0: random_horizontal_flip: 30x20 warped to 30x20 by (-1, 0, 30, 0, 1, 0)\n",
          "step 1: center_crop: 8x8 at (11, 6) of 30x20\n", NULL}},
        {"random_vertical_flip 1 | center_crop 8",
         {"step 0: random_vertical_flip: 30x20 warped to 30x20 by (1, 0, 0, 0, -1, 20)\n",
          "step 1: center_crop: 8x8 at (11, 6) of 30x20\n", NULL}},
        {"random_horizontal_flip 0 | center_crop 8",
         {"step 0: center_crop: 8x8 at (11, 6) of 30x20\n", NULL}},
    };

    check_stages_explained(cases, sizeof(cases) / sizeof(cases[0]));
}

/* Each pixel holds its own position, so the first pixel of a view is where its crop begins. */
static void a_run_gives_the_views_that_are_explained(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    uint32_t differ = 0;

    write_pair(folder, "a.ppm", "m.pgm");
    dataset = list_dataset(folder, "image\tlabel\na.ppm\t0\n",
                           "| decode | views 2 | random_crop 8 | batch 1");
    for (uint64_t pass = 0; pass < 10; pass++) {
        uint8_t pixels[2][8 * 8 * 3];
        void *columns[2] = {pixels, NULL};
        char *text = NULL;
        char words[200];

        T_OK(sluice_dataset_get(dataset, 7, pass, 0, columns, NULL));
        T_OK(sluice_dataset_explain_sample(dataset, 7, pass, 0, &text));
        snprintf(words, sizeof(words),
                 "view 0:\nstep 0: views + random_crop: 8x8 at (%u, %u) of 40x30\n"
                 "view 1:\nstep 0: views + random_crop: 8x8 at (%u, %u) of 40x30\n",
                 pixels[0][0], pixels[0][1], pixels[1][0], pixels[1][1]);
        T_CONTAINS(text, words);
        differ += memcmp(pixels[0], pixels[1], sizeof(pixels[0])) != 0;
        sluice_string_free(text);
    }
    T_TRUE(differ > 5);
    sluice_dataset_destroy(dataset);
}

/* Adds what a view of the image's columns 16 to 23 must be called, by its first pixel. */
static void add_view(uint32_t view, uint8_t red, char *words, size_t size)
{
    const bool inverts = red > 128;
    const uint32_t x = inverts ? 255U - red : red;
    const size_t length = strlen(words);

    snprintf(words + length, size - length,
             "view %u:\nstep 0: views + center_crop: 8x8 at (16, 11) of 40x30\n%s%s", view,
             inverts ? "  random_invert: bits (v & 255) ^ 255\n" : "",
             x == 23 ? "flip: left to right\n" : "");
}

static void a_run_flips_and_colours_views_as_explained(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    uint32_t flips = 0;
    uint32_t inversions = 0;

    write_pair(folder, "a.ppm", "m.pgm");
    dataset = list_dataset(folder, "image\tlabel\na.ppm\t0\n",
                           "| decode | views 2 | center_crop 8 | random_invert | "
                           "random_horizontal_flip | batch 1");
    for (uint64_t pass = 0; pass < 20; pass++) {
        uint8_t pixels[2][8 * 8 * 3];
        void *columns[2] = {pixels, NULL};
        char *text = NULL;
        char words[400] = "";

        T_OK(sluice_dataset_get(dataset, 7, pass, 0, columns, NULL));
        T_OK(sluice_dataset_explain_sample(dataset, 7, pass, 0, &text));
        for (uint32_t view = 0; view < 2; view++) {
            add_view(view, pixels[view][0], words, sizeof(words));
        }
        T_CONTAINS(text, words);
        flips += (pixels[0][0] == 23 || pixels[0][0] == 232) !=
                 (pixels[1][0] == 23 || pixels[1][0] == 232);
        inversions += (pixels[0][0] > 128) != (pixels[1][0] > 128);
        sluice_string_free(text);
    }
    T_TRUE(flips > 3 && inversions > 3); /* of a view, but not of the other one */
    sluice_dataset_destroy(dataset);
}

/* Each pixel holds its own position. */
static void a_run_gives_what_is_explained(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    uint32_t other = 0;

    write_pair(folder, "a.ppm", "m.pgm");
    dataset =
        list_dataset(folder, "image\tlabel\na.ppm\t0\n", "| decode | random_crop 8 | batch 1");
    for (uint64_t pass = 0; pass < 10; pass++) {
        uint8_t pixels[8 * 8 * 3];
        void *columns[2] = {pixels, NULL};
        char *text = NULL;
        char words[100];

        T_OK(sluice_dataset_get(dataset, 7, pass, 0, columns, NULL));
        T_OK(sluice_dataset_explain_sample(dataset, 7, pass, 0, &text));
        snprintf(words, sizeof(words), "8x8 at (%u, %u) of 40x30\n", pixels[0], pixels[1]);
        T_CONTAINS(text, words);
        sluice_string_free(text);
        T_OK(sluice_dataset_explain_sample(dataset, 8, pass, 0, &text));
        other += strstr(text, words) == NULL;
        sluice_string_free(text);
    }
    T_TRUE(other > 5);
    sluice_dataset_destroy(dataset);
}

static void what_cannot_be_explained_is_said(void)
{
    static const char *const cases[][2] = {
        {"synthetic 3 20,30,3 | batch 2",
         "sample 4 must be less than 3, the samples of the source"},
        {"synthetic 8 20,30,3", "the dataset has no batch stage"},
    };
    sluice_dataset *dataset = parsed("synthetic 8 20,30,3 | batch 2");
    char *text = NULL;

    T_STATUS(sluice_dataset_explain_sample(dataset, 0, 0, 0, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "text_out is NULL");
    sluice_dataset_destroy(dataset);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        dataset = parsed(cases[i][0]);
        T_TRUE(sluice_dataset_explain_sample(dataset, 0, 0, 4, &text) != SLUICE_OK);
        T_CONTAINS(sluice_last_error(), cases[i][1]);
        T_TRUE(text == NULL);
        sluice_dataset_destroy(dataset);
    }
    dataset =
        list_dataset(t_folder(), "image\tlabel\nnone.ppm\t0\n", "| decode | resize 8,8 | batch 1");
    T_STATUS(sluice_dataset_explain_sample(dataset, 0, 0, 0, &text), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "read: sample 0, ");
    sluice_dataset_destroy(dataset);
}

const t_test explained_samples_tests[] = {
    T_TEST(steps_and_parameters_are_named),
    T_TEST(each_view_is_described),
    T_TEST(a_run_gives_the_views_that_are_explained),
    T_TEST(a_run_flips_and_colours_views_as_explained),
    T_TEST(flips_are_told_apart),
    T_TEST(a_run_gives_what_is_explained),
    T_TEST(what_cannot_be_explained_is_said),
    T_END,
};
