/* SPDX-License-Identifier: Apache-2.0 */
/* The stage device: GetNext gives the bits of the workers, and what it refuses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/dataset.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "filter_kit.h"
#include "list_kit.h"
#include "plan_kit.h"
#include "stage_runs.h"
#include "testing.h"

#define SOURCE "synthetic 48 24,20,3"

/* Checks that `early | late` has the same batches as `early | device | late`. */
static void check_device(const char *source, const char *early, const char *late)
{
    char without[500];
    char with[500];

    snprintf(without, sizeof(without), "%s | %s", early, late);
    snprintf(with, sizeof(with), "%s | device | %s", early, late);
    check_stages(source, without, with, true);
}

static void each_stage_has_the_bits_of_the_workers(void)
{
    static const char *const stages[] = {
        "color_jitter 0.9",
        "color_jitter saturation=1",
        "color_jitter hue=0.5",
        "color_jitter 0.5 0 0.5 0.3",
        "random_grayscale 0.5",
        "random_invert",
        "random_posterize 3",
        "random_posterize 0 1",
        "random_solarize 100.5",
        "random_solarize 0 1",
        "random_erasing 1 value=1,2,3",
        "random_erasing | random_invert | random_erasing value=7 | random_solarize 20",
        "normalize imagenet | to_chw",
        "random_horizontal_flip | to_chw",
        "random_invert 0",
        "rotate 30",
        "rotate -120 bilinear 1,2,3",
        "random_rotation 180 | to_chw",
        "affine 10 3,-2 1.2 5,3 bilinear",
        "affine 10 3,-2 1.2 5,3 bilinear fill=200 border=constant",
        "random_affine 20 0.2,0.1 0.7,1.3 10 filter=bilinear | normalize imagenet | to_chw",
        "random_perspective 0.6 1 | normalize imagenet dtype=f16",
        "random_perspective 0.9 0.5 nearest 7",
    };

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        check_device(SOURCE, "shuffle", stages[i]);
    }
}

/* Workers apply operations of the whole image, before the device applies its own. */
static void workers_and_device_share_the_colours(void)
{
    check_device(SOURCE, "gaussian_blur 3 | random_equalize | color_jitter 0.4 0.4",
                 "random_erasing 1 value=200 | color_jitter 0.4 hue=0.4 | normalize 0.5 0.5");
    check_device(SOURCE, "rotate 30 bilinear | random_invert", "random_solarize 100");
    check_device(SOURCE, "random_erasing 1", "random_invert | random_vertical_flip | to_chw");
}

/* Operations before a warp change its samples, those after it its result. */
static void colours_and_warps_keep_their_order(void)
{
    check_device(SOURCE, "shuffle",
                 "color_jitter 0.5 saturation=0.5 | random_erasing 1 value=200 | random_affine 40 "
                 "filter=bilinear fill=9 | random_solarize 90 1 | random_erasing 1 value=3");
    check_device(SOURCE, "shuffle", "random_erasing 1 value=200 | rotate 20 | random_invert 1");
    check_device("synthetic 12 9,7,1", "shuffle",
                 "random_posterize 4 1 | random_perspective | random_erasing 1 | to_chw");
    check_device("synthetic 12 9,7,4", "shuffle",
                 "random_erasing 1 value=9 | random_affine 90 filter=bilinear | to_dtype f32");
    check_device("synthetic 4 1,1,3", "shuffle", "rotate 45 bilinear 200 | rotate 5 bilinear 200");
}

/* Adjacent warps are one on both sides, also with flips between them. */
static void warps_are_composed_and_follow_flips(void)
{
    check_device(SOURCE, "random_horizontal_flip",
                 "rotate 30 bilinear | random_horizontal_flip | random_affine 10 filter=bilinear | "
                 "random_erasing 1 | to_chw");
    check_device(SOURCE, "random_horizontal_flip", "random_rotation 20 | affine 0 5,3");
    check_device(SOURCE, "random_vertical_flip", "random_affine 30 filter=bilinear | to_chw");
    check_device(SOURCE, "random_vertical_flip | random_horizontal_flip",
                 "rotate 30 | random_vertical_flip | rotate 9 | random_horizontal_flip | "
                 "random_vertical_flip | normalize imagenet dtype=f16");
}

/* Flips are conversions, which follow the colours wherever they are written. */
static void rectangles_follow_flips(void)
{
    static const char *const stages[][2] = {
        {"random_horizontal_flip", "random_erasing 1 value=1,2,3 | to_chw"},
        {"shuffle", "random_erasing 1 value=9 | random_horizontal_flip | normalize imagenet f16"},
        {"random_horizontal_flip", "random_erasing 1 | random_horizontal_flip | random_erasing 1"},
        {"random_vertical_flip", "random_erasing 1 value=1,2,3 | to_chw"},
        {"shuffle", "random_erasing 1 value=9 | random_vertical_flip | normalize imagenet f16"},
        {"random_vertical_flip", "random_invert | random_vertical_flip"},
        {"random_vertical_flip", "to_chw | random_vertical_flip"}, /* without programs */
    };

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        check_device(SOURCE, stages[i][0], stages[i][1]);
    }
}

static void images_of_any_channels_are_changed(void)
{
    check_device("synthetic 12 9,7,1", "shuffle",
                 "color_jitter 0.5 0 0.5 0.2 | random_grayscale 1 | random_erasing 1 value=5");
    check_device("synthetic 12 9,7,4", "shuffle", "random_erasing 1 value=1,2,3,4 | to_dtype f32");
    check_device("synthetic 12 9,7,2", "shuffle", "random_erasing 1 value=1,2 | to_chw");
    check_device("synthetic 4 1,1,3", "shuffle", "random_erasing 1 | random_invert 1");
}

static void workers_devices_and_types_do_not_matter(void)
{
    static const char *const ends[] = {"normalize imagenet", "normalize imagenet dtype=bf16",
                                       "to_dtype f16 scale=true | to_chw", "to_chw"};

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        char stages[400];

        snprintf(stages, sizeof(stages),
                 "shuffle | random_horizontal_flip | device | color_jitter 0.4 saturation=0.4 "
                 "hue=0.1 | random_erasing 1 value=9,8,7 | random_posterize 4 | %s",
                 ends[i]);
        check_workers_and_devices(SOURCE, stages);
    }
}

static void single_samples_are_the_batches(void)
{
    sluice_dataset *dataset =
        parsed(SOURCE " | shuffle | device | color_jitter 0.4 hue=0.3 | random_erasing 1 | "
                      "random_horizontal_flip | normalize imagenet | batch 1");
    tape all = record(dataset, &one_worker);
    const size_t bytes = 24 * 20 * 3 * sizeof(float);
    uint8_t *image = malloc(bytes);

    T_TRUE(image != NULL);
    for (uint32_t i = 0; i < 48; i++) {
        void *columns[2] = {image, NULL};

        T_OK(sluice_dataset_get(dataset, 0, 0, i, columns, NULL));
        T_EQ(memcmp(image, all.bytes + (i + 1) * (all.size / 48) - bytes - sizeof(int32_t), bytes),
             0);
    }
    free(image);
    free(all.bytes);
    sluice_dataset_destroy(dataset);
}

/* Records a pass of a dataset, and destroys it. */
static tape recorded(sluice_dataset *dataset)
{
    tape all = record(dataset, &one_worker);

    T_STATUS(all.end, SLUICE_END_OF_DATA);
    sluice_dataset_destroy(dataset);
    return all;
}

/* Masks, boxes and further images stay on the workers; a hidden image needs no program. */
static void followers_stay_on_the_workers(void)
{
    static const char list[] = "left:image\tright:image\tm:mask\tboxes:boxes[2]\n"
                               "a.ppm\tb.ppm\tm.pgm\t0,0,40,30;3,4,9,20\n";
    static const char *const ends[] = {"", "| project right,m", "| project m,boxes"};
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    write_pair(folder, "b.ppm", "m.pgm");
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        char text[2][300];

        for (int k = 0; k < 2; k++) {
            snprintf(text[k], sizeof(text[k]),
                     "| decode | random_crop 20 | random_horizontal_flip | random_vertical_flip "
                     "%s| random_solarize 99 1 "
                     "columns=right | random_erasing 1 value=9 | random_rotation 90 | "
                     "random_invert %s | batch 1",
                     k == 0 ? "| device " : "", ends[i]);
        }
        check_same_pass(recorded(list_dataset(folder, list, text[0])),
                        recorded(list_dataset(folder, list, text[1])), ends[i]);
    }
}

/* Samples are in private rows until a filter keeps them; their programs are copied with them. */
static void filtered_rows_keep_their_programs(void)
{
    static const char *const stages[] = {
        "device | random_erasing 1 value=77 | random_invert",
        "random_erasing 1 value=77 | random_invert",
    };
    tape tapes[2];

    for (int k = 0; k < 2; k++) {
        script_reset(40, GOOD);
        tapes[k] = recorded(filtered_dataset(stages[k], BY_LABEL, 3, false));
    }
    T_TRUE(tapes[0].batches > 5);
    check_same_pass(tapes[0], tapes[1], "filter");
}

/* A bad sample's row has the program of its replacement, or is zero. */
static void bad_samples_are_replaced_and_zeroed(void)
{
    check_bad_samples("random_horizontal_flip | device | random_erasing 1 value=77 | "
                      "random_invert | to_dtype f32 | batch 4",
                      "random_horizontal_flip | random_erasing 1 value=77 | random_invert | "
                      "to_dtype f32 | batch 4");
}

/* A run may be resumed with the stage, or without it. */
static void it_does_not_identify_a_run(void)
{
    static const char *const stages[] = {"random_invert | normalize imagenet",
                                         "random_invert | device | normalize imagenet",
                                         "device | random_invert | normalize imagenet"};
    char *texts[3];

    for (int i = 0; i < 3; i++) {
        sli_dataset_identity identity;
        sluice_dataset *dataset;
        sli_plan *plan = plan_stages(stages[i], false, &dataset);

        T_OK(sli_plan_identity(plan, &identity));
        texts[i] = identity.stages;
        sluice_string_free(identity.source);
        close_plan(plan, dataset);
        T_STR(texts[i], texts[0]);
    }
    for (int i = 0; i < 3; i++) {
        sluice_string_free(texts[i]);
    }
}

static void the_plan_has_a_column_for_programs_and_explains_it(void)
{
    sluice_dataset *dataset;
    sli_plan *plan = plan_stages(
        "random_invert | device | random_erasing | normalize imagenet | random_vertical_flip",
        false, &dataset);
    char *text = explained(plan);

    T_EQ(plan->column_count, 2);
    T_EQ(plan->wire_count, 3);
    T_EQ(plan->program_column, 2);
    T_TRUE(plan->device_converts);
    T_EQ(plan->wire[plan->image_column].dtype, SLUICE_U8);
    T_CONTAINS(text, "colours: random_invert: on each line");
    T_CONTAINS(text, "random_erasing: in the device's GetNext, by a program of each row");
    T_CONTAINS(text, "normalize: in the device's GetNext");
    T_CONTAINS(text, "random_vertical_flip: in the device's GetNext");
    sluice_string_free(text);
    close_plan(plan, dataset);
    plan = plan_stages("random_invert | device | normalize imagenet | random_vertical_flip", false,
                       &dataset);
    text = explained(plan);
    T_EQ(plan->program_column, -1);
    T_EQ(plan->wire_count, 2);
    T_CONTAINS(text, "random_vertical_flip: in the workers' write to the row"); /* no programs */
    sluice_string_free(text);
    close_plan(plan, dataset);
}

/* Opening a dataset refuses what its stages only show together. */
static void conversions_on_the_host_are_refused_after_it(void)
{
    static const char *const cases[][2] = {
        {"device | normalize imagenet offload=host",
         "normalize offload=host comes after device; what is on the device does not come back"},
        {"random_horizontal_flip offload=host | device | random_invert",
         "colour stages run on the device, and conversions after them"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset;
        char *explanation = NULL;

        dataset = parsedf("synthetic 4 8,8,3 | %s | batch 4", cases[i][0]);
        T_STATUS(sluice_dataset_explain(dataset, &explanation), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), cases[i][1]);
        sluice_dataset_destroy(dataset);
    }
}

static void offload_says_how_colours_get_to_the_device(void)
{
    check_refused("synthetic 8 8,8,3 | rotate 9 offload=device | batch 4",
                  "rotate has no argument 'offload'; put the stage device before it");
    check_refused("synthetic 8 8,8,3 | gaussian_blur 3 offload=device | batch 4",
                  "gaussian_blur has no argument 'offload'; it takes kernel_size");
}

static void what_the_device_cannot_run_is_refused(void)
{
    static const char *const cases[][2] = {
        {"device | color_jitter 0.4 0.4", "color_jitter comes after device"},
        {"device | random_equalize", "blurring, sharpening and elastic need the whole image"},
        {"device | trivial_augment", "trivial_augment comes after device"},
        {"device | gaussian_blur 3", "gaussian_blur comes after device"},
        {"rotate 30 | device | affine 10", "affine comes after device, and another warp before"},
        {"device | rotate 30 | random_invert | affine 10", "affine is a second warp after device"},
        {"device | rotate 30 | affine 10 filter=bilinear", "affine is a second warp after device"},
        {"device | center_crop 4", "crops and resizes run on the workers"},
        {"device | device", "this is the second"},
        {"device | color_jitter 0.4 | color_jitter 0.4 | random_erasing",
         "random_erasing: the colour stages and warps after device have more than 8 operations"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[400];

        snprintf(text, sizeof(text), "synthetic 4 8,8,3 | %s", cases[i][0]);
        check_refused(text, cases[i][1]);
    }
}

const t_test device_stage_tests[] = {
    T_TEST(each_stage_has_the_bits_of_the_workers),
    T_TEST(workers_and_device_share_the_colours),
    T_TEST(colours_and_warps_keep_their_order),
    T_TEST(warps_are_composed_and_follow_flips),
    T_TEST(rectangles_follow_flips),
    T_TEST(images_of_any_channels_are_changed),
    T_TEST(workers_devices_and_types_do_not_matter),
    T_TEST(single_samples_are_the_batches),
    T_TEST(followers_stay_on_the_workers),
    T_TEST(filtered_rows_keep_their_programs),
    T_TEST(bad_samples_are_replaced_and_zeroed),
    T_TEST(it_does_not_identify_a_run),
    T_TEST(the_plan_has_a_column_for_programs_and_explains_it),
    T_TEST(conversions_on_the_host_are_refused_after_it),
    T_TEST(offload_says_how_colours_get_to_the_device),
    T_TEST(what_the_device_cannot_run_is_refused),
    T_END,
};
