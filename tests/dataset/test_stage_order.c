/* SPDX-License-Identifier: Apache-2.0 */
/* Colours, warps and flips before geometry: a pipeline gives what its two halves give, one after
 * the other. */
#include <stdio.h>
#include <stdlib.h>

#include <sluice/arrays.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "list_kit.h"
#include "plan_kit.h"
#include "sample_draw.h"
#include "scene_kit.h"
#include "testing.h"

static void colours_and_warps_come_before_geometry(void)
{
    static const char *const halves[][2] = {
        {"random_invert 0.6", "center_crop 9"},
        {"color_jitter 0.5 0.5 0.5 0.2", "resize 8,9"},
        {"color_jitter 0.5 columns=s", "resize 8,9 | random_invert columns=image"},
        {"random_autocontrast 0.7", "random_resized_crop 8"},
        {"random_equalize 0.7 | gaussian_blur 3", "random_crop 9 padding=3"},
        {"random_erasing 1 value=9", "pad_image 2 | resize 9,9"},
        {"rotate 25", "center_crop 10"},
        {"random_affine 20 0.1,0.1 | color_jitter 0.3", "resize 13,11 | random_crop 8"},
        {"elastic 20 3", "random_resized_crop 9"},
        {"elastic 20 3", "resize 9,9 | random_affine 10"},
        {"resize 14,15 | random_perspective 0.4 1", "letterbox 10,12 | random_posterize 3"},
        {"random_apply 0.7 (affine 10 1,1 1 0,0)", "center_crop 9 | random_rotation 30"},
        {"trivial_augment", "random_resized_crop 8 | random_horizontal_flip"},
        {"resize 18,17 | random_solarize 90",
         "resize 12,12 | random_grayscale 0.5 | center_crop 7"},
        {"rotate 15 fill=3 | resize 12,12 | random_invert", "random_rotation 40 expand=true | "
                                                            "resize 9,9"},
    };

    for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++) {
        scene_check_halves(halves[i][0], halves[i][1], false);
    }
}

static void flips_come_before_geometry(void)
{
    static const char *const halves[][2] = {
        {"random_horizontal_flip", "resize 9,7"},
        {"random_vertical_flip", "random_crop 9"},
        {"random_horizontal_flip 1 | random_vertical_flip 0.4", "random_resized_crop 8"},
        {"resize 17,13 | random_horizontal_flip", "random_rotation 30 expand=true | resize 9,9"},
        {"random_horizontal_flip", "color_jitter 0.4 | gaussian_blur 3 | center_crop 11"},
        {"color_jitter 0.4 0.4 | random_horizontal_flip", "elastic 20 3 | resize 12,10"},
        {"random_vertical_flip",
         "random_affine 20 0.1,0.1 | random_crop 9 | random_horizontal_flip"},
        {"random_horizontal_flip 0.7", "random_zoom_out 5 1,2 1 | resize 12,12 | random_erasing 1"},
    };

    for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++) {
        scene_check_halves(halves[i][0], halves[i][1], false);
    }
    scene_check_halves("random_horizontal_flip", "five_crop 8 | random_invert", true);
}

/* A flip that is not drawn leaves nothing to do: the image is decoded down to the crop. */
static void what_is_not_drawn_is_no_step(void)
{
    static const struct {
        const char *stages;
        uint32_t steps;
    } cases[] = {
        {"random_horizontal_flip 0 | center_crop 8", 1},
        {"random_horizontal_flip 1 | center_crop 8", 2},
        {"random_invert 0 | center_crop 8", 1},
        {"random_invert 1 | center_crop 8", 2},
        {"random_horizontal_flip 0 | random_invert 1 | random_vertical_flip 0 | resize 9,9", 2},
        {"random_apply 0 (center_crop 8) | resize 9,9", 1},
        {"random_apply 1 (center_crop 8) | resize 9,9", 2},
        {"random_apply 1 (center_crop 8 | random_apply 0 (resize 7,7) | random_horizontal_flip 1)"
         " | resize 9,9",
         3},
        {"resize 9,9 | random_order (random_horizontal_flip 1) (random_vertical_flip 0)", 3},
        {"random_horizontal_flip 0 | random_invert 0 | views 2 | resize 9,9", 0}, /* before views */
        {"random_horizontal_flip 0 | mosaic 8,8", 0},                             /* of a tile */
        {"random_horizontal_flip 1 | resize 7,7 | mosaic 8,8", 2},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset;
        sli_plan *plan = plan_stages(cases[i].stages, false, &dataset);
        const struct plan_details *details = plan->details;
        const bool has_tiles = details->geometry.mosaic.tiles > 0;
        const plan_list *list =
            has_tiles ? &details->geometry.mosaic.list : &details->geometry.list;
        const image_draws draws = {0};
        sample_loader loader;
        sample_transform *transform = has_tiles ? &loader.drawn.tile : &loader.drawn.image;

        T_OK(sample_loader_init(&loader, plan));
        T_OK(draw_groups(&loader, transform, list, 0, list->shared, &draws, 20, 20));
        T_EQ(transform->step_count, cases[i].steps);
        T_TRUE(transform->step_count <= details->geometry.most_steps);
        sample_loader_end(&loader);
        sample_loader_fini(&loader);
        close_plan(plan, dataset);
    }
}

static void flips_before_geometry_run_on_the_workers(void)
{
    sluice_dataset *dataset = NULL;
    char *text;

    T_STATUS(sluice_dataset_parse("synthetic 6 20,20,3 | random_horizontal_flip offload=device | "
                                  "resize 8,8 | batch 2",
                                  &dataset),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(),
               "random_horizontal_flip offload=device comes before resize, and what comes before a "
               "crop or resize runs on the workers; leave offload out, or put it after resize");
    T_OK(sluice_dataset_parse("synthetic 6 20,20,3 | random_horizontal_flip | resize 8,8 | batch 2",
                              &dataset));
    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "pixels: random_horizontal_flip: the whole image, if it is flipped; after all "
                     "crops and resizes it would cost next to nothing\npixels: resize: one pass\n");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
}

/* What masks and boxes cannot follow. */
static void views_and_mixed_copies_too(void)
{
    static const char *const halves[][2] = {
        {"aug_mix", "random_resized_crop 9"},
        {"aug_mix | resize 14,14", "rand_augment | center_crop 8"},
        {"color_jitter 0.4 0.4", "views 2 | random_crop 9 | random_invert"},
        {"random_rotation 30 | resize 15,15", "five_crop 8 | random_grayscale"},
    };

    for (size_t i = 0; i < sizeof(halves) / sizeof(halves[0]); i++) {
        scene_check_halves(halves[i][0], halves[i][1], true);
    }
}

/* Also of encoded images of different sizes; colours of single pixels commute with a crop. */
static void encoded_images_too(void)
{
    const char *folder = t_folder();
    sluice_dataset *before =
        jpeg_dataset(folder, "decode | random_invert 0.5 | random_posterize 3 | "
                             "random_crop 8 padding=0 | batch 3");
    sluice_dataset *after = jpeg_dataset(folder, "decode | random_crop 8 padding=0 | random_invert "
                                                 "0.5 | random_posterize 3 | batch 3");
    const run_options options = {.workers = 2, .batches = 10};
    tape got = record(before, &options);
    tape want = record(after, &options);

    check_equal_tapes(&got, &want, "colours before a crop");
    free(got.bytes);
    free(want.bytes);
    sluice_dataset_destroy(before);
    sluice_dataset_destroy(after);
}

static void what_depends_on_samples_comes_first(void)
{
    static const refused_case cases[] = {
        {"random_invert | mosaic 8,8", "mosaic comes after a stage that changes colours or warps"},
        {"random_invert | cache 1M | center_crop 8", "cache comes after random_invert"},
        {"device | random_invert | center_crop 8", "center_crop comes after device"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static scene s;
        const sluice_array arrays[] = {
            {"image", s.image, SLUICE_U8, 4, {SCENE_SAMPLES, 8, 8, 3}},
            {"b", s.boxes, SLUICE_F32, 3, {SCENE_SAMPLES, SCENE_BOXES, 4}},
        };
        sluice_dataset *dataset = NULL;

        T_OK(sluice_dataset_memory(arrays, 2, &dataset));
        T_OK(sluice_dataset_add(dataset, "column b boxes"));
        T_EQ(sluice_dataset_add(dataset, cases[i].text), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), cases[i].words);
        sluice_dataset_destroy(dataset);
    }
}

/* Between two steps an image is in memory. */
static void huge_images_are_bad_samples(void)
{
    static const char *const cases[][2] = {
        {"random_invert 1 | center_crop 8",
         "random_invert: sample 0, synthetic/0: the image is 16400x16400, and may have 268435456 "
         "pixels where colours come before a crop or resize; put a resize before random_invert"},
        {"random_apply 1 (random_vertical_flip 1) | center_crop 8",
         "random_vertical_flip: sample 0, synthetic/0: the image is 16400x16400, and may have "
         "268435456 pixels where flips come before a crop or resize; put a resize before "
         "random_vertical_flip"},
        {"random_apply 1 (pad_image 1) | random_invert 1 | center_crop 8",
         "pad_image: sample 0, synthetic/0: the image would be 16402x16402 before the next resize"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset = NULL;
        char text[200];

        snprintf(text, sizeof(text), "synthetic 1 16400,16400,1 | %s | batch 1", cases[i][0]);
        T_OK(sluice_dataset_parse(text, &dataset));
        batches_to_error(dataset, &(run_options){.workers = 1}, SLUICE_E_INVALID, cases[i][1]);
    }
}

static void explain_shows_the_steps(void)
{
    sluice_dataset *dataset = NULL;
    char *text;

    T_OK(sluice_dataset_parse("synthetic 6 20,20,3 | resize 16,16 | random_invert | rotate 9 | "
                              "center_crop 8 | random_grayscale | batch 2",
                              &dataset));
    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "pixels: resize: one pass\ncolours: random_invert + rotate: on each line");
    T_CONTAINS(text, "pixels: center_crop: one pass\ncolours: random_grayscale: on each line");
    T_CONTAINS(text, "equalize wait for the whole image of the batch's size\n");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);

    dataset = jpeg_dataset(t_folder(), "decode | random_invert | rotate 9 | resize 8,8 | batch 2");
    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "equalize wait for the whole image\npixels: resize: one pass\n");
    T_CONTAINS(text, "pixels: decode, whole images if a stage before resize changes them\n");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
}

const t_test stage_order_tests[] = {
    T_TEST(colours_and_warps_come_before_geometry),
    T_TEST(flips_come_before_geometry),
    T_TEST(what_is_not_drawn_is_no_step),
    T_TEST(flips_before_geometry_run_on_the_workers),
    T_TEST(views_and_mixed_copies_too),
    T_TEST(encoded_images_too),
    T_TEST(what_depends_on_samples_comes_first),
    T_TEST(huge_images_are_bad_samples),
    T_TEST(explain_shows_the_steps),
    T_END,
};
