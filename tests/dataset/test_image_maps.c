/* SPDX-License-Identifier: Apache-2.0 */
/* Image maps: maps and filters that are called with the whole image, before geometry. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/custom.h>
#include <sluice/reader.h>

#include "dataset_kit.h"
#include "image_map_kit.h"
#include "list_kit.h"
#include "testing.h"

/* ---- images ---------------------------------------------------------------------------------- */

static sluice_dataset *boxes_dataset(const char *folder, const char *stages)
{
    write_pair(folder, "a.ppm", "m.pgm");
    return list_dataset(folder, LIST_OF_BOXES, stages);
}

/* ---- what they give -------------------------------------------------------------------------- */

/* Checks the mask, the geometry and the boxes of an image whose pixels are in places. */
static void check_places(const engine_run *run, uint32_t width, uint32_t height)
{
    static const float boxes[3][4] = {{0, 0, 4, 30}, {10, 5, 30, 25}, {36, 0, 40, 3}};
    const uint8_t *image = column_row(run, "image", 0);
    const uint8_t *mask = column_row(run, "mask", 0);
    const float *map = column_row(run, "geometry", 0);
    float moved[3][4];
    const int32_t length = *(const int32_t *)column_row(run, "boxes_length", 0);
    int32_t kept = 0;

    memcpy(moved, column_row(run, "boxes", 0), sizeof(moved));
    for (uint32_t i = 0; i < width * height; i++) {
        const float x = (float)(i % width) + 0.5F;
        const float y = (float)(i / width) + 0.5F;

        T_EQ(mask[i], class_of(image[3 * i], image[3 * i + 1]));
        T_TRUE(fabsf(map[0] * x + map[1] * y + map[2] - (float)image[3 * i] - 0.5F) < 1e-3F);
        T_TRUE(fabsf(map[3] * x + map[4] * y + map[5] - (float)image[3 * i + 1] - 0.5F) < 1e-3F);
    }
    for (uint32_t i = 0; i < 3; i++) { /* reflections are their own inverse */
        const float x[] = {(boxes[i][0] - map[2]) * map[0], (boxes[i][2] - map[2]) * map[0]};
        const float left = fmaxf(fminf(x[0], x[1]), 0);
        const float right = fminf(fmaxf(x[0], x[1]), (float)width);
        const float top = fmaxf(boxes[i][1] - map[5], 0);
        const float bottom = fminf(boxes[i][3] - map[5], (float)height);

        if (left < right && top < bottom) {
            T_TRUE(kept < length);
            T_TRUE(fabsf(moved[kept][0] - left) < 1e-3F && fabsf(moved[kept][1] - top) < 1e-3F);
            T_TRUE(fabsf(moved[kept][2] - right) < 1e-3F && fabsf(moved[kept][3] - bottom) < 1e-3F);
            kept++;
        }
    }
    T_EQ(length, kept);
}

static void what_follows_the_image_follows_a_map(void)
{
    static const char *const stages[] = {
        "cut_map | random_crop 6,7",
        "mirror_map | random_crop 6,7",
        "cut_map | mirror_map | random_crop 6,7 | random_horizontal_flip",
        "random_crop 25,30 | cut_map | random_horizontal_flip 1 | mirror_map | random_crop 6,7",
        "random_horizontal_flip | cut_map | random_iou_crop | pad_image 5 | center_crop 6,7",
        "again_map | look_map | cut_map | random_apply 0.5 (random_crop 9) | random_crop 6,7",
        "cut_map | random_crop 6,7 | random_invert 0 | cast label i64",
        "center_crop 28 | cache 1M | cut_map | random_crop 6,7",
    };

    image_map_kit_begin(MAP_TELLS);
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        char text[300];
        engine_run run;

        snprintf(text, sizeof(text), "| decode | geometry | %s | batch 1", stages[i]);
        open_own(&run, boxes_dataset(t_folder(), text), &(run_options){.batches = UINT64_MAX});
        for (int pass = 0; pass < 20; pass++) {
            T_OK(next_batch(&run));
            if (strstr(text, "pad_image") == NULL) {
                check_places(&run, 7, 6);
            }
        }
        close_run(&run);
    }
}

/* A map that mirrors gives what a flip gives. */
static void a_map_is_as_good_as_a_stage(void)
{
    static const char *const pairs[][2] = {
        {"mirror_map | resize 9,7", "random_horizontal_flip 1 | resize 9,7"},
        {"random_crop 20 | mirror_map | random_rotation 30 | resize 9,7",
         "random_crop 20 | random_horizontal_flip 1 | random_rotation 30 | resize 9,7"},
        {"color_jitter 0.4 | mirror_map | elastic 20 3 | random_crop 9",
         "color_jitter 0.4 | random_horizontal_flip 1 | elastic 20 3 | random_crop 9"},
        {"mirror_map | random_iou_crop | resize 8,8",
         "random_horizontal_flip 1 | random_iou_crop | resize 8,8"},
        {"mirror_map | resize 9,9 | normalize 0.5 0.5 | to_chw",
         "random_horizontal_flip 1 | resize 9,9 | normalize 0.5 0.5 | to_chw"},
        {"again_map | random_crop 9", "random_crop 9"},
        {"resize 9,9 | mirror_map | random_invert",
         "resize 9,9 | random_horizontal_flip 1 | random_invert"},
    };

    image_map_kit_begin(MAP_TELLS);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        tape tapes[2];

        for (int k = 0; k < 2; k++) {
            char text[300];
            sluice_dataset *dataset;

            snprintf(text, sizeof(text), "| decode | repeat 30 | %s | batch 1", pairs[i][k]);
            dataset = boxes_dataset(t_folder(), text);
            tapes[k] = record(dataset, &(run_options){.workers = 1, .settings = {.seed = 3}});
            T_EQ(tapes[k].end, SLUICE_END_OF_DATA);
            sluice_dataset_destroy(dataset);
        }
        check_equal_tapes(&tapes[0], &tapes[1], pairs[i][0]);
        free(tapes[0].bytes);
        free(tapes[1].bytes);
    }
}

/* Lines of decoded JPEG files have gaps between them. */
static void a_map_reads_images_with_gaps(void)
{
    static const char *const stages[] = {"look_map | ", ""};
    tape tapes[2];

    image_map_kit_begin(MAP_TELLS);
    for (int k = 0; k < 2; k++) {
        char text[300];
        sluice_dataset *dataset;

        snprintf(
            text, sizeof(text),
            "decode | %sresize 90,90 | random_invert 0.5 | random_crop 9 | project image,label | "
            "batch 2",
            stages[k]);
        dataset = jpeg_dataset(t_folder(), text);
        tapes[k] = record(dataset, &(run_options){.workers = 1, .settings = {.seed = 3}});
        T_EQ(tapes[k].end, SLUICE_END_OF_DATA);
        sluice_dataset_destroy(dataset);
    }
    check_equal_tapes(&tapes[0], &tapes[1], stages[0]);
    free(tapes[0].bytes);
    free(tapes[1].bytes);
}

/* What a map has told of a sample is not kept for the next one. */
static void a_matrix_is_of_one_sample(void)
{
    engine_run run;

    image_map_kit_begin(MAP_TELLS);
    open_own(&run,
             sized_dataset(t_folder(), "| decode | geometry | even_map | center_crop 9 | batch 8"),
             &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    for (uint32_t i = 0; i < 8; i++) {
        const float *map = column_row(&run, "geometry", i);

        T_TRUE(map[0] == (i % 2 == 0 ? -1.0F : 1.0F));
    }
    close_run(&run);
}

/* The size that a map declares is that of the images after it. */
static void a_declared_size_is_the_size(void)
{
    static const char *const stages[] = {"corner_map | resize 5", "random_zoom_out | corner_map",
                                         "keep_wide_ones | views 2 | random_crop 22"};
    static const uint64_t sides[] = {5, 8, 22};

    image_map_kit_begin(MAP_TELLS);
    for (uint32_t i = 0; i < 3; i++) {
        char text[200];
        sluice_dataset *dataset;
        sluice_column_spec spec;
        tape t;

        snprintf(text, sizeof(text), "| decode | %s | batch 1", stages[i]);
        dataset = sized_dataset(t_folder(), text);
        T_OK(sluice_dataset_column_spec(dataset, "image", &spec));
        T_EQ(spec.shape[spec.rank - 2], sides[i]);
        t = record_own(dataset, &(run_options){.workers = 1});
        T_EQ(t.end, SLUICE_END_OF_DATA);
        free(t.bytes);
    }
}

/* A map that reads boxes is called after geometry, and those after it, too. */
static void maps_keep_their_order(void)
{
    engine_run run;

    image_map_kit_begin(MAP_KEEPS_SILENT);
    open_own(&run,
             boxes_dataset(t_folder(), "| decode | boxes_map | mirror_map | corner_map | batch 1"),
             &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(((const int32_t *)column_row(&run, "seen", 0))[2], 0);
    T_EQ(*(const uint8_t *)column_row(&run, "image", 0), LIST_WIDTH - 1);
    close_run(&run);
}

static void images_of_any_size_reach_a_map(void)
{
    engine_run run;

    image_map_kit_begin(MAP_TELLS);
    open_own(&run,
             sized_dataset(t_folder(), "| decode | look_map | corner_map | sum_map | batch 8"),
             &(run_options){.workers = 2});
    T_OK(next_batch(&run));
    for (uint32_t i = 0; i < 8; i++) {
        const int32_t *size = column_row(&run, "seen", i);
        const uint8_t *image = column_row(&run, "image", i);

        T_EQ(size[0], 24 + 3 * i);
        T_EQ(size[1], 20 + i);
        T_EQ(*(const int32_t *)column_row(&run, "sum", i), 2 * (24 + 3 * i) + i);
        T_EQ(image[3 * 63], 7);
        T_EQ(image[3 * 63 + 1], 7);
        T_EQ(image[2], 44 + 4 * i);
    }
    close_run(&run);
}

/* A map that reads only changes no image, and a filter no image of those that it keeps. */
static void readers_leave_the_image_as_it_is(void)
{
    sluice_dataset *plain = sized_dataset(t_folder(), "| decode | random_crop 9 | batch 1");
    sluice_dataset *dataset;
    engine_run run;

    image_map_kit_begin(MAP_TELLS);
    dataset =
        sized_dataset(t_folder(), "| decode | keep_wide_ones | look_map | random_crop 9 | batch 1 "
                                  "drop_remainder=true");
    open_run(&run, dataset, &(run_options){.workers = 2, .settings = {.seed = 9}});
    for (uint32_t i = 3; i < 8; i++) { /* 24 + 3 * i > 30 */
        uint8_t pixels[9 * 9 * 3];
        int32_t label;
        void *columns[] = {pixels, &label};

        T_OK(next_batch(&run));
        T_EQ(run.input.samples[0], i);
        T_EQ(*(const int32_t *)column_row(&run, "seen", 0), 24 + 3 * i);
        T_OK(sluice_dataset_get(plain, 9, 0, i, columns, NULL));
        T_TRUE(memcmp(pixels, column_row(&run, "image", 0), sizeof(pixels)) == 0);
    }
    close_run(&run);
    sluice_dataset_destroy(plain);
    sluice_dataset_destroy(dataset);
}

/* An image that only a map or filter reads needs no size of the batch. */
static void what_only_maps_read_has_any_size(void)
{
    static const char *const stages[] = {"keep_wide_ones | project label",
                                         "look_map | project seen",
                                         "cut_map | look_map | project seen",
                                         ("cut_map | look_map | views 8 | "
                                          "resize 300,300 | project seen")};

    image_map_kit_begin(MAP_TELLS);
    for (uint32_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        char text[200];
        char *explained;
        sluice_dataset *dataset;
        engine_run run;

        snprintf(text, sizeof(text), "| decode | %s | batch 1", stages[i]);
        dataset = sized_dataset(t_folder(), text);
        T_OK(sluice_dataset_explain(dataset, &explained));
        T_TRUE(strstr(explained, "others are errors") == NULL);
        T_TRUE((strstr(explained, "others may have other sizes") != NULL) == (i < 3));
        sluice_string_free(explained);
        open_own(&run, dataset, &(run_options){.workers = 2});
        for (int32_t k = i == 0 ? 3 : 0; k < 8; k++) {
            T_OK(next_batch(&run));
            T_TRUE(i == 0   ? *(const int32_t *)column_row(&run, "label", 0) == k
                   : i == 1 ? *(const int32_t *)column_row(&run, "seen", 0) == 24 + 3 * k
                            : *(const int32_t *)column_row(&run, "seen", 0) < 19);
        }
        T_EQ(next_batch(&run), SLUICE_END_OF_DATA);
        close_run(&run);
    }
}

/* The same batches with any number of workers, and from a cache. */
static void workers_and_caches_change_nothing(void)
{
    static const char *const stages[] = {
        "cut_map | random_resized_crop 8 | random_horizontal_flip",
        "keep_wide_ones | cut_map | resize 8,8",
        "cut_map | views 2 | random_crop 8",
        "mosaic 20 | cut_map | resize 8,8",
        "cut_map | color_jitter 0.3 | resize 8,8 | device | random_invert",
        "corner_map | cache 1M | random_horizontal_flip | normalize 0.5 0.5",
        "again_map | resize 9,9 | cache 1M | to_dtype f32",
        "cache 1M | decode | cut_map | resize 8,8",
        "one_hot label 9 | cut_map | resize 8,8",
    };

    image_map_kit_begin(MAP_TELLS);
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        const bool decodes = strstr(stages[i], "decode") == NULL;
        tape tapes[2];

        for (uint32_t k = 0; k < 2; k++) {
            char text[300];
            sluice_dataset *dataset;

            snprintf(text, sizeof(text), "| %s %s | batch 2", decodes ? "decode |" : "", stages[i]);
            dataset = sized_dataset(t_folder(), text);
            tapes[k] = record(dataset, &(run_options){.workers = 1 + 2 * k, .batches = 16});
            T_TRUE(tapes[k].end == SLUICE_OK || tapes[k].end == SLUICE_END_OF_DATA);
            T_TRUE(tapes[k].batches > 1);
            sluice_dataset_destroy(dataset);
        }
        check_equal_tapes(&tapes[0], &tapes[1], stages[i]);
        free(tapes[0].bytes);
        free(tapes[1].bytes);
    }
}

static void the_profile_counts_each_call(void)
{
    static const char *const names[] = {"look_map", "cut_map", "mirror_map"};
    engine_run run;

    image_map_kit_begin(MAP_TELLS);
    open_own(&run,
             sized_dataset(t_folder(), "| decode | look_map | cut_map | random_invert | mirror_map"
                                       " | center_crop 9 | batch 8"),
             &(run_options){.workers = 2});
    while (next_batch(&run) == SLUICE_OK) {
    }
    sli_engine_stop(run.engine);
    sli_profile_stop(&run.profile);
    for (uint32_t i = 0; i < 3; i++) {
        sli_stage_summary summary;

        T_TRUE(strcmp(run.plan->stage_names[PLAN_MAPS + i], names[i]) == 0);
        sli_profile_summarise(&run.profile, PLAN_MAPS + i, &summary);
        T_EQ(summary.samples, 8);
    }
    close_run(&run);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void what_a_map_cannot_do_there_is_refused(void)
{
    static const char *const cases[][2] = {
        {"decode | boxes_map | resize 8,8",
         "boxes_map: it works on boxes, and comes before a crop, resize, flip or colour stage, "
         "where a map reads image and plain columns of the source, and writes image and plain "
         "columns; put boxes_map after those stages"},
        {"decode | other_map | resize 8,8", "other_map: it works on view, and comes before"},
        {"decode | count_map | resize 8,8", "count_map: it works on boxes, and comes before"},
        {"decode | over_map | resize 8,8", "over_map: it works on mask, and comes before"},
        {"decode | marks_map | resize 8,8", "marks_map: it works on marks, and comes before"},
        {"decode | view_map | resize 8,8", "view_map: it works on view, and comes before"},
        {"decode | project image | views 2 | paint_map | random_crop 8",
         "paint_map: it works on image, before a crop, resize, flip or colour stage, where the "
         "image must be decoded, uint8 (height, width, channels) and one view"},
        {"paint_map | decode | resize 8,8", "paint_map: it works on image, before a crop"},
        {"decode | resize 9,9 | boxes_map | random_horizontal_flip",
         "random_horizontal_flip comes after a map"},
        {"decode | cast label f32 | look_map | sum_map | resize 8,8",
         "sum_map: it works on label, and comes before"},
        {"decode | resize 9,9 | to_chw | look_map | random_crop 8",
         "look_map: it works on image, before a crop, resize, flip or colour stage, where the "
         "image must be decoded, uint8"},
        {"look_map | decode | resize 8,8", "look_map: image is still encoded"},
        {"decode | cut_map | mosaic 8", "mosaic comes after cut_map, a map or filter"},
        {"decode | random_horizontal_flip offload=device | cut_map | resize 8,8",
         "random_horizontal_flip offload=device comes before cut_map"},
        {"decode | resize 9,9 | again_map | cache 1M | resize 8,8",
         "resize comes after cache, which keeps the image as map again_map leaves it; put resize "
         "before cache"},
        {"decode | again_map | cache 1M | random_horizontal_flip",
         "random_horizontal_flip comes after a map; put it before, since masks, boxes and points"},
        {"decode | again_map | cache 1M | geometry", "geometry comes after a map"},
    };

    image_map_kit_begin(MAP_TELLS);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *folder = t_folder();
        char text[400];
        sluice_dataset *dataset = NULL;

        sluice_dataset_destroy(boxes_dataset(folder, "| take 1"));
        snprintf(text, sizeof(text), "image_list %s/list.tsv | %s | batch 1", folder, cases[i][0]);
        T_STATUS(sluice_dataset_parse(text, &dataset), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), cases[i][1]);
    }
}

static void what_a_map_does_wrong_is_said(void)
{
    static const struct {
        const char *stages;
        map_telling telling;
        const char *words; /* NULL: it is right */
    } cases[] = {
        {"cut_map | resize 8,8", MAP_KEEPS_SILENT, "cut_map: sample 0, a.ppm: it makes "},
        {"cut_map | resize 8,8", MAP_KEEPS_SILENT, "call sluice_sample_warped() with the matrix"},
        {"cut_map | resize 8,8 | project image", MAP_KEEPS_SILENT, NULL},
        {"cut_map | random_iou_crop | resize 8,8 | project image", MAP_KEEPS_SILENT,
         "cut_map: sample 0, a.ppm: it makes "},
        {"center_crop 20,8 | corner_map | resize 8,8", MAP_KEEPS_SILENT,
         "it makes 8x8 of an image of 8x20, which masks"},
        {"cut_map | resize 8,8", MAP_TELLS_A_LINE,
         "maps the image to a line; the matrix must have an inverse"},
        {"cut_map | resize 8,8", MAP_TELLS_NAN, "matrix[0] is nan, and must be finite"},
        {"resize 16,20 | again_map | center_crop 8", MAP_TELLS, NULL},
        {"center_crop 8 | corner_map", MAP_TELLS,
         "corner_map: sluice_sample_warped() is for a map that writes"},
        {"cut_map | project image", MAP_TELLS, " where the batch has 40x30x3"},
    };

    image_map_kit_begin(MAP_TELLS);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[300];
        tape t;

        image_map_kit_begin(cases[i].telling);
        snprintf(text, sizeof(text), "| decode | %s | batch 1", cases[i].stages);
        t = record_own(boxes_dataset(t_folder(), text), &(run_options){.workers = 1});
        T_EQ(t.end, cases[i].words != NULL ? SLUICE_E_INVALID : SLUICE_END_OF_DATA);
        if (cases[i].words != NULL) {
            T_CONTAINS(t.error, cases[i].words);
        }
        free(t.bytes);
    }
    T_STATUS(sluice_sample_warped(NULL, (double[6]){1}), SLUICE_E_INVALID);
}

/* It may have overwritten anything, so no policy goes on after it. */
static void an_overrun_ends_the_run(void)
{
    sluice_dataset *dataset;
    tape t;

    image_map_kit_begin(MAP_TELLS);
    setenv("SLUICE_GUARDS", "on", 1);
    dataset = sized_dataset(t_folder(), "| decode | overrun_map | center_crop 9 | batch 8");
    unsetenv("SLUICE_GUARDS");
    t = record_own(dataset,
                   &(run_options){.settings = {.on_error = SLI_ON_ERROR_ZERO, .world = 1}});
    T_EQ(t.end, SLUICE_E_CALLBACK);
    T_CONTAINS(t.error, "overrun_map: map() wrote past the 1440 bytes of image");
    T_EQ(t.errors.zeroed, 0);
    free(t.bytes);
}

static void a_further_image_cannot_follow(void)
{
    static const char *const stages[] = {"mirror_map | resize 8,8", "look_map | resize 8,8"};

    image_map_kit_begin(MAP_TELLS);
    for (int i = 0; i < 2; i++) {
        const char *folder = t_folder();
        char text[300];
        tape t;

        write_pair(folder, "a.ppm", "m.pgm");
        snprintf(text, sizeof(text), "| decode | %s | batch 1", stages[i]);
        t = record_own(list_dataset(folder, "image\tlabel\tb:image\na.ppm\t0\ta.ppm\n", text),
                       &(run_options){.workers = 1});
        T_EQ(t.end, i == 0 ? SLUICE_E_INVALID : SLUICE_END_OF_DATA);
        if (i == 0) {
            T_CONTAINS(t.error, "b: mirror_map has changed the geometry of the first image");
        }
        free(t.bytes);
    }
}

/* Maps after geometry, and those that do not work on the image, are not called with it. */
static void explain_names_no_other(void)
{
    static const char *const stages[] = {
        "label_map | resize 8,8", "resize 8,8 | look_map | random_horizontal_flip",
        "geometry | resize 8,8 | look_map | random_horizontal_flip", "look_map | resize 8,8"};

    image_map_kit_begin(MAP_TELLS);
    for (uint32_t i = 0; i < 4; i++) {
        char stage_text[200];
        sluice_dataset *dataset;
        char *text;

        snprintf(stage_text, sizeof(stage_text), "| decode fast_scale=true | %s | batch 1",
                 stages[i]);
        dataset = sized_dataset(t_folder(), stage_text);
        T_OK(sluice_dataset_explain(dataset, &text));
        T_TRUE((strstr(text, "called with the whole image") != NULL) == (i >= 2));
        T_TRUE((strstr(text, "without effect: decode fast_scale") != NULL) == (i == 3));
        sluice_string_free(text);
        sluice_dataset_destroy(dataset);
    }
}

static void explain_names_them(void)
{
    sluice_dataset *dataset;
    char *text;

    image_map_kit_begin(MAP_TELLS);
    dataset = boxes_dataset(t_folder(), "| decode | mirror_map | look_map | center_crop 8 | "
                                        "batch 1");
    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "pixels: decode + mirror_map: a map, called with the whole image\n"
                     "pixels: look_map: a map, called with the whole image\n"
                     "pixels: center_crop: one pass\n");
    sluice_string_free(text);
    T_OK(sluice_dataset_explain_sample(dataset, 0, 0, 0, &text));
    T_CONTAINS(text, "step 0: mirror_map: 40x30 warped to 40x30 by (-1, 0, 40, 0, 1, 0)\n"
                     "step 1: center_crop: 8x8 at (16, 11) of 40x30\n");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
    image_map_kit_begin(MAP_KEEPS_SILENT);
    dataset = boxes_dataset(t_folder(), "| decode | corner_map | center_crop 6 | project image | "
                                        "batch 1");
    T_OK(sluice_dataset_explain_sample(dataset, 0, 0, 0, &text));
    T_CONTAINS(text, "step 0: corner_map: 40x30, resized to 8x8\n"
                     "step 1: center_crop: 6x6 at (1, 1) of 8x8\n");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
}

const t_test image_maps_tests[] = {
    T_TEST(what_follows_the_image_follows_a_map),
    T_TEST(a_map_is_as_good_as_a_stage),
    T_TEST(a_map_reads_images_with_gaps),
    T_TEST(a_matrix_is_of_one_sample),
    T_TEST(a_declared_size_is_the_size),
    T_TEST(maps_keep_their_order),
    T_TEST(images_of_any_size_reach_a_map),
    T_TEST(readers_leave_the_image_as_it_is),
    T_TEST(what_only_maps_read_has_any_size),
    T_TEST(workers_and_caches_change_nothing),
    T_TEST(the_profile_counts_each_call),
    T_TEST(what_a_map_cannot_do_there_is_refused),
    T_TEST(what_a_map_does_wrong_is_said),
    T_TEST(an_overrun_ends_the_run),
    T_TEST(a_further_image_cannot_follow),
    T_TEST(explain_names_no_other),
    T_TEST(explain_names_them),
    T_END,
};
