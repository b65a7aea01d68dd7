/* SPDX-License-Identifier: Apache-2.0 */
/* The masks of the source coco: numbers of classes and instances, geometry, and bad samples. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "log_kit.h"
#include "source_kit.h"
#include "testing.h"

#ifdef SLI_HAVE_JANSSON

#define HEAD                                                                                       \
    "{\"images\": [{\"id\": 1, \"file_name\": \"a.ppm\", \"width\": 40, \"height\": 30},"          \
    "{\"id\": 2, \"file_name\": \"a.ppm\"}], \"categories\": [{\"id\": 5, \"name\": \"cat\"},"     \
    " {\"id\": 2, \"name\": \"ant\"}], \"annotations\": ["
#define OBJECT(image, category, box, rest)                                                         \
    "{\"image_id\": " #image ", \"category_id\": " #category ", \"bbox\": [" box "]" rest "}"
/* [4, 14) x [3, 13), [10, 30) x [8, 28), and a crowd in the first column. */
#define SHAPES                                                                                     \
    OBJECT(1, 5, "4,3,10,10", ", \"segmentation\": [[4,3,14,3,14,13,4,13]]")                       \
    "," OBJECT(1, 2, "10,8,20,20", ", \"segmentation\": [[10,8,30,8,30,28,10,28]]") "," OBJECT(    \
        1, 2, "0,0,1,30",                                                                          \
        ", \"iscrowd\": 1, \"segmentation\": {\"counts\": [0, 30, 1170],"                          \
        "\"size\": [30, 40]}")
#define FILE_OF_SHAPES HEAD SHAPES "]}"

static sluice_dataset *set_of(const char *json, const char *stages)
{
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    write_list(folder, "c.json", json);
    return parsedf("coco %s/c.json %s", folder, stages);
}

/* The number that a pixel of the image must have. */
static uint8_t number_at(uint32_t x, uint32_t y, bool is_semantic, bool has_crowd)
{
    const bool in_cat = x >= 4 && x < 14 && y >= 3 && y < 13;
    const bool in_ant = x >= 10 && x < 30 && y >= 8 && y < 28;

    if (x == 0 && has_crowd) {
        return is_semantic ? 1 : 3;
    }
    if (in_cat && in_ant) {
        return is_semantic ? 255 : 1; /* the smaller one is above */
    }
    return in_cat ? (is_semantic ? 2 : 1) : in_ant ? (is_semantic ? 1 : 2) : 0;
}

static void masks_have_the_numbers_of_classes_or_instances(void)
{
    for (uint32_t i = 0; i < 4; i++) {
        const bool is_semantic = i % 2 == 0;
        const bool has_crowd = i >= 2;
        char stages[200];
        engine_run run;
        const uint8_t *mask;

        snprintf(stages, sizeof(stages), "masks=%s%s | decode | batch 2",
                 is_semantic ? "semantic" : "instance", has_crowd ? " iscrowd=keep" : "");
        open_own(&run, set_of(FILE_OF_SHAPES, stages), &(run_options){.workers = 1});
        T_OK(next_batch(&run));
        mask = column_row(&run, "mask", 0);
        for (uint32_t k = 0; k < LIST_WIDTH * LIST_HEIGHT; k++) {
            T_EQ(mask[k], number_at(k % LIST_WIDTH, k / LIST_WIDTH, is_semantic, has_crowd));
        }
        /* The second image has no objects, and no size in the file. */
        T_TRUE(is_zero(column_row(&run, "mask", 1), LIST_WIDTH * LIST_HEIGHT));
        close_run(&run);
    }
}

/* The mask of a list with these pixels, through the same stages. */
static void masks_follow_as_those_of_files(void)
{
    static const char *const stages[] = {
        "random_crop 20,16 | random_horizontal_flip", "resize 31,47 | random_rotation 20",
        "mosaic 32,24 | random_vertical_flip", "cache 1M | random_resized_crop 16"};
    uint8_t pixels[20 + LIST_WIDTH * LIST_HEIGHT];
    const size_t head =
        (size_t)snprintf((char *)pixels, 20, "P5 %d %d 255\n", LIST_WIDTH, LIST_HEIGHT);

    for (uint32_t k = 0; k < LIST_WIDTH * LIST_HEIGHT; k++) {
        pixels[head + k] = number_at(k % LIST_WIDTH, k / LIST_WIDTH, false, false);
    }
    for (uint32_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        const char *folder;
        char text[200];
        engine_run runs[2];

        snprintf(text, sizeof(text),
                 "masks=instance | take 1 | drop instances | decode | %s | batch 1", stages[i]);
        open_own(&runs[0], set_of(FILE_OF_SHAPES, text),
                 &(run_options){.workers = 1, .batches = UINT64_MAX, .settings.seed = i});
        folder = t_folder();
        write_pair(folder, "a.ppm", "x.pgm");
        t_write_file(t_path(folder, "m.pgm"), pixels, head + LIST_WIDTH * LIST_HEIGHT);
        snprintf(text, sizeof(text), "| decode | %s | batch 1", stages[i]);
        open_own(&runs[1], list_dataset(folder, "image\tmask:mask\na.ppm\tm.pgm\n", text),
                 &(run_options){.workers = 1, .batches = UINT64_MAX, .settings.seed = i});
        for (int step = 0; step < 3; step++) {
            const int32_t column = sli_layout_find(&runs[0].layout, "mask");
            const size_t bytes = runs[0].layout.row_bytes[column];

            T_OK(next_batch(&runs[0]));
            T_OK(next_batch(&runs[1]));
            T_EQ(memcmp(column_row(&runs[0], "mask", 0), column_row(&runs[1], "mask", 0), bytes),
                 0);
        }
        close_run(&runs[0]);
        close_run(&runs[1]);
    }
}

/* Checks the numbers of boxes of a row: as many as there are, then zeros. */
static void check_instances(const engine_run *run, uint32_t row, const int32_t *want, int32_t count)
{
    const int32_t *numbers = column_row(run, "instances", row);

    T_EQ(*(const int32_t *)column_row(run, "boxes_length", row), count);
    for (int32_t i = 0; i < 4; i++) {
        T_EQ(numbers[i], i < count ? want[i] : 0);
    }
}

/* A crop that drops the first box moves the others up, with their numbers in the mask. */
static void numbers_of_instances_follow_their_boxes(void)
{
    static const char *const others[] = {"", " iscrowd=keep"};
    engine_run run;

    for (uint32_t i = 0; i < 2; i++) {
        char stages[200];
        const float *box;
        const uint8_t *mask;

        snprintf(stages, sizeof(stages), "masks=instance max_boxes=4%s | decode | batch 2",
                 others[i]);
        open_own(&run, set_of(FILE_OF_SHAPES, stages), &(run_options){.workers = 1});
        T_OK(next_batch(&run));
        check_instances(&run, 0, (const int32_t[]){1, 2, 3}, i == 0 ? 2 : 3);
        check_instances(&run, 1, NULL, 0);
        close_run(&run);
        /* Of the ant [16, 30) x [8, 28) is left, and nothing of the others. */
        snprintf(stages, sizeof(stages),
                 "masks=instance max_boxes=4%s | decode | crop 24 6 16 | batch 1", others[i]);
        open_own(&run, set_of(FILE_OF_SHAPES, stages), &(run_options){.workers = 1});
        T_OK(next_batch(&run));
        check_instances(&run, 0, (const int32_t[]){2}, 1);
        box = column_row(&run, "boxes", 0);
        mask = column_row(&run, "mask", 0);
        for (uint32_t k = 0; k < 24 * 24; k++) {
            const float x = (float)(k % 24);
            const float y = (float)(k / 24); /* NOLINT(bugprone-integer-division) */

            T_EQ(mask[k], x >= box[0] && x < box[2] && y >= box[1] && y < box[3] ? 2 : 0);
        }
        close_run(&run);
    }
}

/* Wrong segmentations are errors of their samples, when these are read. */
static void wrong_shapes_make_bad_samples(void)
{
    static const struct wrong {
        const char *json;
        const char *words;
    } cases[] = {
        {HEAD OBJECT(1, 5, "4,3,10,10", ", \"segmentation\": [[1,2]]") "]}",
         "mask: byte 260: segmentation: a polygon has 1 points"},
        {HEAD OBJECT(1, 5, "4,3,10,10", ", \"segmentation\": []") "]}", "it has no polygon"},
        {HEAD OBJECT(1, 5, "4,3,10,10",
                     ", \"segmentation\": {\"counts\": [12], \"size\": [4, 3]}") "]}",
         "its size is [4, 3], and must be [height, width] of the image, [30, 40]"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        engine_run run;

        open_own(&run, set_of(cases[i].json, "masks=semantic | take 1 | decode | batch 1"),
                 &(run_options){.workers = 1});
        T_STATUS(next_batch(&run), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), cases[i].words);
        close_run(&run);
    }
}

/* A box without a segmentation is a bad sample at once, with its number; not without masks=. */
static void missing_shapes_are_found_at_opening(void)
{
    static const char *const jsons[] = {
        HEAD OBJECT(1, 5, "4,3,10,10", "") "]}",
        HEAD OBJECT(1, 5, "4,3,10,10", ", \"segmentation\": null") "]}"};

    for (size_t i = 0; i < 2; i++) {
        const char *log;
        sluice_dataset *dataset = set_of(jsons[i], "masks=semantic | decode | batch 1");

        log = log_of_opening(dataset);
        T_CONTAINS(log, "1 of 2 images are bad samples");
        T_CONTAINS(log, "annotations[0]: segmentation is missing, and masks=");
        sluice_dataset_destroy(dataset);
        dataset = set_of(jsons[i], "| decode | batch 1");
        T_STR(log_of_opening(dataset), "");
        sluice_dataset_destroy(dataset);
    }
}

static void sizes_must_be_those_of_the_image(void)
{
    engine_run run;

    open_own(&run,
             set_of("{\"images\": [{\"id\": 1, \"file_name\": \"a.ppm\", \"width\": 2000000000, "
                    "\"height\": 2000000000}], \"categories\": [], \"annotations\": []}",
                    "masks=semantic | decode | batch 1"),
             &(run_options){.workers = 1});
    T_STATUS(next_batch(&run), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(),
               "the image is 40x30, and its annotations are for 2000000000x2000000000");
    close_run(&run);
}

static void semantic_masks_have_room_for_254_classes(void)
{
    for (uint32_t classes = 254; classes <= 255; classes++) {
        char json[16384];
        size_t at = (size_t)snprintf(json, sizeof(json),
                                     "{\"images\": [{\"id\": 1, \"file_name\": \"a.ppm\"}], "
                                     "\"annotations\": [], \"categories\": [");
        sluice_dataset *dataset;
        char *explained = NULL;

        for (uint32_t i = 0; i < classes; i++) {
            at += (size_t)snprintf(json + at, sizeof(json) - at, "%s{\"id\": %u, \"name\": \"c\"}",
                                   i > 0 ? "," : "", i);
        }
        snprintf(json + at, sizeof(json) - at, "]}");
        dataset = set_of(json, "masks=semantic | decode | batch 1");
        T_STATUS(sluice_dataset_explain(dataset, &explained),
                 classes == 254 ? SLUICE_OK : SLUICE_E_UNSUPPORTED);
        if (classes == 255) {
            T_CONTAINS(sluice_last_error(), "there are 255 classes");
        }
        sluice_string_free(explained);
        sluice_dataset_destroy(dataset);
    }
}
#endif

/* The four samples of a mosaic have the same numbers. */
static void mosaics_refuse_numbers_of_instances(void)
{
    check_refused("coco x.json masks=instance | decode | mosaic 32 | batch 1",
                  "mosaic: column instances has numbers of objects in masks");
}

static void instances_have_numbers_of_a_byte(void)
{
    check_refused("coco x.json masks=instance max_boxes=255 | decode | batch 1",
                  "max_boxes=255 must be at most 254 with masks=instance");
}

const t_test coco_masks_tests[] = {
#ifdef SLI_HAVE_JANSSON
    T_TEST(masks_have_the_numbers_of_classes_or_instances),
    T_TEST(masks_follow_as_those_of_files),
    T_TEST(numbers_of_instances_follow_their_boxes),
    T_TEST(wrong_shapes_make_bad_samples),
    T_TEST(missing_shapes_are_found_at_opening),
    T_TEST(sizes_must_be_those_of_the_image),
    T_TEST(semantic_masks_have_room_for_254_classes),
#endif
    T_TEST(mosaics_refuse_numbers_of_instances),
    T_TEST(instances_have_numbers_of_a_byte),
    T_END,
};
