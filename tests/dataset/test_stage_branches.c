/* SPDX-License-Identifier: Apache-2.0 */
/* random_apply, random_choice and random_order with crops, resizes and flips in parentheses. */
#include <stdlib.h>
#include <string.h>

#include "dataset_kit.h"
#include "dataset_state.h"
#include "engine_kit.h"
#include "list_kit.h"
#include "plan_int.h"
#include "scene_kit.h"
#include "testing.h"

/* Stages without random numbers, whose results say which of them were applied. */
#define A "center_crop 12 | rotate 20 | random_invert 1"
#define B "random_vertical_flip 1 | resize 12,12 | random_solarize 100 1"

#define TWO  "(random_horizontal_flip 1) (random_horizontal_flip 1) "
#define FOUR TWO TWO

static bool all_equal(const scene *a, const scene *b)
{
    bool same = true;

    for (uint32_t i = 0; i < SCENE_SAMPLES; i++) {
        same = same && scene_equal(a, b, i);
    }
    return same;
}

static void all_stages_in_parentheses_are_applied(void)
{
    static const char *const cases[][2] = {
        {"random_apply 1 (" A ")", A},
        {"random_apply 1 (center_crop 12 | rotate 20) (random_invert 1)", A},
        {"random_apply 0 (" A ")", "random_apply 0 (random_invert 1)"},
        {"random_choice (" A ")", A},
        {"random_apply 1 (" A ") | random_horizontal_flip 1", A " | random_horizontal_flip 1"},
        {"random_order " FOUR FOUR FOUR FOUR FOUR FOUR FOUR
         "(random_vertical_flip 1) (random_invert 1) (random_horizontal_flip 1) (rotate 0)",
         "random_vertical_flip 1 | random_invert 1 | random_horizontal_flip 1"},
        {"random_order (" A ")", A},
        {"random_apply 1 (random_apply 1 (center_crop 12) | random_choice (rotate 20)) | "
         "random_invert 1",
         A},
        {"project s,image,m,b,b_length | random_apply 1 (center_crop 12) | random_invert 1 "
         "columns=s",
         "center_crop 12 | random_invert 1 columns=s"},
        {"resize 15,14 | random_apply 1 (center_crop 12) | random_horizontal_flip 1",
         "resize 15,14 | center_crop 12 | random_horizontal_flip 1"},
        {"random_invert 1 | random_apply 1 (random_horizontal_flip 1) | random_posterize 3 1",
         "random_invert 1 | random_horizontal_flip 1 | random_posterize 3 1"},
    };
    static scene begin;
    static scene got;
    static scene want;
    char stages[1200];

    scene_fill(&begin);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(stages, sizeof(stages), "%s | resize 12,12", cases[i][0]);
        scene_run(&begin, stages, false, &got);
        snprintf(stages, sizeof(stages), "%s | resize 12,12", cases[i][1]);
        scene_run(&begin, stages, false, &want);
        if (!all_equal(&got, &want)) {
            T_FAIL_("%s is not %s", cases[i][0], cases[i][1]);
        }
    }
}

/* Counts the samples that are those of one of two scenes; fails if one is of neither. */
static void check_mixed(const char *stages, const char *one, const char *other)
{
    static scene begin;
    static scene got;
    static scene want[2];
    uint32_t counts[2] = {0, 0};

    scene_fill(&begin);
    scene_run(&begin, stages, false, &got);
    scene_run(&begin, one, false, &want[0]);
    scene_run(&begin, other, false, &want[1]);
    for (uint32_t i = 0; i < SCENE_SAMPLES; i++) {
        const bool is_one = scene_equal(&got, &want[0], i);

        if (!is_one && !scene_equal(&got, &want[1], i)) {
            T_FAIL_("%s: sample %u is neither %s nor %s", stages, i, one, other);
        }
        counts[is_one ? 0 : 1]++;
    }
    if (counts[0] == 0 || counts[1] == 0) {
        T_FAIL_("%s: %u samples are %s, %u %s", stages, counts[0], one, counts[1], other);
    }
}

static void samples_draw_what_is_applied(void)
{
    check_mixed("random_choice (" A ") (" B ")", A, B);
    check_mixed("random_choice 0.5:(" A ") 0.7:(" B ")", A, B);
    check_mixed("resize 12,12 | random_apply 0.5 (" A ")", "resize 12,12", "resize 12,12 | " A);
    check_mixed("random_order (center_crop 14) (resize 9,9) | resize 12,12",
                "center_crop 14 | resize 9,9 | resize 12,12",
                "resize 9,9 | center_crop 14 | resize 12,12");
    check_mixed("random_choice (random_horizontal_flip 1) (random_vertical_flip 1 | resize 16,20)",
                "random_horizontal_flip 1", "random_vertical_flip 1 | resize 16,20");
}

/* The random numbers of a stage do not depend on what else is drawn. */
static void draws_are_those_of_the_place_in_the_text(void)
{
    static scene begin;
    static scene got;
    static scene want;

    scene_fill(&begin);
    scene_run(&begin, "random_order (random_crop 9) (random_invert 1)", false, &got);
    scene_run(&begin, "random_order (random_crop 9) | random_invert 1", false, &want);
    T_TRUE(all_equal(&got, &want));
    scene_run(&begin, "random_apply 1 (random_crop 9) (random_rotation 40) | resize 9,9", false,
              &got);
    scene_run(&begin, "random_apply 1 (random_crop 9 | random_rotation 40) | resize 9,9", false,
              &want);
    T_TRUE(all_equal(&got, &want));
}

/* Each stage has random numbers of its own. */
static void stages_in_parentheses_draw_for_themselves(void)
{
    check_mixed("random_apply 1 (random_horizontal_flip | random_vertical_flip 1)",
                "random_vertical_flip 1", "random_horizontal_flip 1 | random_vertical_flip 1");
    check_mixed("random_apply 1 (random_apply 0.5 (random_horizontal_flip 1)) "
                "(random_apply 0.5 (random_horizontal_flip 1))",
                "random_apply 0 (random_invert)", "random_horizontal_flip 1");
}

static sluice_dataset *synthetic(const char *stages)
{
    char text[300];

    snprintf(text, sizeof(text), "synthetic 8 20,30,3 | %s | batch 2", stages);
    return parsed(text);
}

static void sizes_after_branches_are_known_or_named(void)
{
    static const char *const known[] = {
        "random_choice (resize 8,9) (center_crop 8,9)",
        "resize 8,9 | random_apply 0.3 (random_crop 8,9 padding=2)",
        "random_apply 0.3 (random_horizontal_flip | color_jitter 0.3)",
        "random_order (random_horizontal_flip) (random_vertical_flip | random_affine 9)",
        "random_choice (resize 30) (resize 6) | resize 8,8",
    };
    static const char *const unknown[][2] = {
        {"random_choice (resize 8,9) (center_crop 9,8)", "random_choice"},
        {"random_apply 0.3 (resize 8,9)", "random_apply"},
        {"resize 30,20 | random_order (center_crop 9) (resize 8)", "random_order"},
        {"resize 30,20 | random_choice (center_crop 9) (random_horizontal_flip)", "random_choice"},
        {"random_apply 0.5 (random_choice (pad_image 2))", "random_apply"},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        sluice_dataset *dataset = synthetic(known[i]);
        tape t = record(dataset, &(run_options){.workers = 2});

        T_EQ(t.end, SLUICE_END_OF_DATA);
        T_EQ(t.batches, 4);
        free(t.bytes);
        sluice_dataset_destroy(dataset);
    }
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
        const sli_run_settings settings = {.world = 1};
        sluice_dataset *dataset = synthetic(unknown[i][0]);
        sli_plan *plan = NULL;
        char words[100];

        T_STATUS(sli_plan_open(dataset, &settings, &plan), SLUICE_E_INVALID);
        snprintf(words, sizeof(words), "%s gives images of random sizes", unknown[i][1]);
        T_CONTAINS(sluice_last_error(), words);
        sluice_dataset_destroy(dataset);
    }
}

/* All that may be drawn counts, that of one branch or that of all. */
static void what_may_be_drawn_is_counted(void)
{
    static const char *const cases[][2] = {
        {"random_choice (resize 9,9) (elastic | aug_mix | color_jitter 0.4)",
         "elastic | aug_mix | color_jitter 0.4"},
        {"random_choice (elastic | aug_mix | color_jitter 0.4) (resize 9,9 | random_invert)",
         "elastic | aug_mix | color_jitter 0.4"},
        {"random_choice (resize 9,9) (random_perspective)", "random_perspective"},
        {"random_apply (resize 9,9 | elastic | aug_mix) (elastic | aug_mix)",
         "elastic | aug_mix | elastic | aug_mix"},
        {"random_order (resize 9,9 | elastic | aug_mix) (elastic | aug_mix)",
         "elastic | aug_mix | elastic | aug_mix"},
        {"random_order (resize 9,9) (random_order (rand_augment 16)) (rand_augment 16)",
         "rand_augment 16 | rand_augment 16"},
        /* branches of colours alone */
        {"random_choice (elastic | aug_mix) (elastic | aug_mix | color_jitter 0.4)",
         "elastic | aug_mix | color_jitter 0.4"},
        {"random_choice (aug_mix) (aug_mix) (aug_mix) (aug_mix) (aug_mix)", "aug_mix"},
        {"random_order (elastic | aug_mix) (aug_mix)", "elastic | aug_mix | aug_mix"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[300];
        sluice_dataset *got;
        sluice_dataset *want = synthetic(cases[i][1]);

        snprintf(text, sizeof(text), "%s | resize 20,30", cases[i][0]);
        got = synthetic(text);
        T_EQ(got->schema.colors.operations, want->schema.colors.operations);
        T_EQ(got->schema.colors.mixes, want->schema.colors.mixes);
        T_EQ(got->schema.colors.fields, want->schema.colors.fields);
        T_EQ(schema_has(&got->schema, STATE_NONAFFINE), schema_has(&want->schema, STATE_NONAFFINE));
        sluice_dataset_destroy(got);
        sluice_dataset_destroy(want);
    }
}

/* Each pass draws anew which branches an image goes through. */
static void passes_draw_anew(void)
{
    uint8_t first[4][2 * 6 * 6 * 3];
    uint32_t same = 0;
    engine_run run;

    open_own(&run, synthetic("random_choice (resize 6,6) (center_crop 6)"),
             &(run_options){.workers = 1, .batches = 8});
    for (uint32_t i = 0; i < 8; i++) {
        T_OK(next_batch(&run));
        for (uint32_t row = 0; row < 2; row++) {
            const uint8_t *image = column_row(&run, "image", row);
            uint8_t *kept = &first[i % 4][row * 6 * 6 * 3];

            same += i >= 4 && memcmp(kept, image, 6 * 6 * 3) == 0;
            memcpy(kept, image, 6 * 6 * 3);
        }
    }
    T_TRUE(same > 0 && same < 8);
    close_run(&run);
}

/* The error of a stage in parentheses is that of the sample, whatever comes after it. */
static void errors_in_parentheses_end_the_sample(void)
{
    static const char *const stages[] = {
        "random_apply 1 (random_resize 5,7) | random_apply 1 (random_crop 9 | random_vertical_flip "
        "1)",
        "random_apply 1 (random_resize 5,7) | random_choice (random_apply 1 (random_crop 9))",
        "random_apply 1 (random_resize 5,7) | random_apply 1 (random_crop 9) "
        "(random_vertical_flip)",
    };

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        char text[300];
        sluice_dataset *dataset;

        snprintf(text, sizeof(text), "%s | resize 6,6", stages[i]);
        dataset = synthetic(text);
        T_EQ(batches_to_error(dataset, &(run_options){.workers = 1}, SLUICE_E_INVALID,
                              "random_crop: sample 0"),
             0);
    }
}

/* Parts of the list that are run once for several: views, tiles, and what a cache keeps. */
static void views_mosaics_and_caches_go_with_branches(void)
{
    static const char *const cases[][2] = {
        {"random_choice (resize 9,9) (center_crop 9) | cache 1M | random_horizontal_flip",
         "cache comes after random_choice"},
        {"cache 1M | random_choice (resize 9,9) (center_crop 9)", NULL},
        {"resize 18,18 | cache 1M | random_choice (random_crop 9) (resize 9,9)", NULL},
        {"random_apply 0.5 (random_horizontal_flip 1) (center_crop 12) | views 2 | "
         "random_choice (random_crop 9) (resize 9,9)",
         NULL},
        {"random_apply 0.5 (center_crop 12) | mosaic 16,16 | random_choice (random_crop 9) "
         "(resize 9,9)",
         NULL},
        {"random_choice (random_invert) (resize 9,9) | mosaic 16,16", "mosaic comes after"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *folder = t_folder();
        char text[300];
        sluice_dataset *dataset;
        tape one;
        tape two;

        snprintf(text, sizeof(text), "decode | %s | batch 3", cases[i][0]);
        if (cases[i][1] != NULL) {
            snprintf(text, sizeof(text), "synthetic 8 20,30,3 | %s | batch 3", cases[i][0]);
            check_refused(text, cases[i][1]);
            continue;
        }
        dataset = jpeg_dataset(folder, text);
        one = record(dataset, &(run_options){.workers = 1, .batches = 12});
        two = record(dataset, &(run_options){.workers = 3, .batches = 12});
        check_equal_tapes(&one, &two, text);
        free(one.bytes);
        free(two.bytes);
        sluice_dataset_destroy(dataset);
    }
}

static void explain_names_the_branches(void)
{
    sluice_dataset *dataset = jpeg_dataset(
        t_folder(), "decode | random_choice (random_crop 8 | random_apply 0.3 (random_invert | "
                    "random_vertical_flip)) (resize 8,8) | batch 2");
    char *text;

    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "pixels: decode + random_choice (random_crop + random_apply (random_invert + "
                     "random_vertical_flip)) (resize): ");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
}

const t_test stage_branches_tests[] = {
    T_TEST(all_stages_in_parentheses_are_applied),
    T_TEST(samples_draw_what_is_applied),
    T_TEST(stages_in_parentheses_draw_for_themselves),
    T_TEST(draws_are_those_of_the_place_in_the_text),
    T_TEST(sizes_after_branches_are_known_or_named),
    T_TEST(what_may_be_drawn_is_counted),
    T_TEST(passes_draw_anew),
    T_TEST(errors_in_parentheses_end_the_sample),
    T_TEST(views_mosaics_and_caches_go_with_branches),
    T_TEST(explain_names_the_branches),
    T_END,
};
