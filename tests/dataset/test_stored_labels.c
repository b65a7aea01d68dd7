/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations and masks of the size that an image has before its Exif orientation: they follow the
 * image, and give the batches of those that are upright.
 */
#include <stdlib.h>

#include "dataset_kit.h"
#include "image_notes_int.h"
#include "list_kit.h"
#include "log_kit.h"
#include "sample_transform.h"
#include "testing.h"
#include "upright_kit.h"

enum { FILES = 8, BOXES = 3 };

/* ---- maps ------------------------------------------------------------------------------------ */

/* Points go to the upright image, and the map of the stage geometry goes back. */
static void points_follow_and_come_back(void)
{
    for (uint32_t orientation = 5; orientation <= 8; orientation++) {
        const sample_transform transform = {
            .width = LIST_HEIGHT,
            .height = LIST_WIDTH,
            .applied = {(uint8_t)orientation, (uint8_t)orientation}};
        transform_place place = {0};
        transform_leg leg;
        float back[6];

        T_TRUE(transform_join(&transform, &place, &leg) && leg.is_last);
        transform_invert(&transform, back);
        for (uint32_t i = 0; i < LIST_WIDTH * LIST_HEIGHT; i++) {
            const uint32_t x = i % LIST_WIDTH;
            const uint32_t y = i / LIST_WIDTH;
            uint32_t want[2];
            double to[2];

            upright_place(orientation, LIST_WIDTH, LIST_HEIGHT, x, y, want);
            (void)warp_point(&leg.map, x + 0.5, y + 0.5, to);
            T_TRUE(to[0] == want[0] + 0.5 && to[1] == want[1] + 0.5);
            T_TRUE((double)back[0] * to[0] + (double)back[1] * to[1] + (double)back[2] == x + 0.5);
            T_TRUE((double)back[3] * to[0] + (double)back[4] * to[1] + (double)back[5] == y + 0.5);
        }
    }
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* A mask of the size of the stored image; upright: of the upright one. */
static void write_mask(const char *folder, const char *name, uint32_t orientation, bool upright)
{
    const uint32_t width = upright && orientation >= 5 ? LIST_HEIGHT : LIST_WIDTH;
    const uint32_t height = upright && orientation >= 5 ? LIST_WIDTH : LIST_HEIGHT;
    uint8_t file[20 + LIST_WIDTH * LIST_HEIGHT];
    const size_t at = (size_t)snprintf((char *)file, 20, "P5 %u %u 255\n", width, height);

    for (uint32_t y = 0; y < LIST_HEIGHT; y++) {
        for (uint32_t x = 0; x < LIST_WIDTH; x++) {
            uint32_t to[2] = {x, y};

            if (upright) {
                upright_place(orientation, LIST_WIDTH, LIST_HEIGHT, x, y, to);
            }
            file[at + to[1] * width + to[0]] = (uint8_t)(x * 7 + y * 40);
        }
    }
    t_write_file(t_path(folder, name), file, at + (size_t)width * height);
}

/* A run of images with orientations, and of masks of one of the two sizes. */
static tape run_masks(const char *folder, const char *mask, const char *stages,
                      sli_image_counts *counts)
{
    char list[600];
    size_t at = (size_t)snprintf(list, sizeof(list), "image\tm:mask\n");
    engine_run run;
    tape t = {0};

    for (uint32_t i = 4; i < FILES; i++) {
        at += (size_t)snprintf(list + at, sizeof(list) - at, "%u.jpg\t%s%u.pgm\n", i, mask, i);
    }
    open_own(&run, list_dataset(folder, list, stages),
             &(run_options){.settings = {.seed = 4}, .batches = 6});
    while (next_batch(&run) == SLUICE_OK) {
        tape_batch(&t, &run);
        done_with_batch(&run);
    }
    sli_engine_stop(run.engine);
    sli_engine_image_counts(run.engine, counts);
    close_run(&run);
    T_EQ(t.batches, 6);
    return t;
}

static void masks_of_the_stored_size_follow(void)
{
    static const char *const stages[] = {
        "| decode | random_crop 25 | random_horizontal_flip | batch 2",
        "| decode | random_resized_crop 20 | random_rotation 20 | batch 2",
        "| decode | mosaic 44 | batch 2",
        "| cache 1M | decode | random_crop 25 | batch 2",
        "| decode | resize 28,29 | cache 1M | random_crop 25 | batch 2",
    };
    const char *folder = t_folder();

    for (uint32_t i = 4; i < FILES; i++) {
        char name[20];

        snprintf(name, sizeof(name), "%u.jpg", i);
        write_oriented(folder, name, LIST_WIDTH, LIST_HEIGHT, i + 1, i + 1);
        snprintf(name, sizeof(name), "stored%u.pgm", i);
        write_mask(folder, name, i + 1, false);
        snprintf(name, sizeof(name), "upright%u.pgm", i);
        write_mask(folder, name, i + 1, true);
    }
    kit_log_start(NULL, NULL);
    for (size_t i = 0; i < COUNT(stages); i++) {
        sli_image_counts counts[2];
        tape want = run_masks(folder, "upright", stages[i], &counts[0]);
        tape got = run_masks(folder, "stored", stages[i], &counts[1]);

        check_equal_tapes(&got, &want, stages[i]);
        T_EQ(counts[0].of[SLI_IMAGE_LABELS_STORED], 0);
        T_TRUE(counts[1].of[SLI_IMAGE_LABELS_STORED] >= 12);
        free(want.bytes);
        free(got.bytes);
    }
    T_CONTAINS(kit_log_stop(), "jpg is the first image whose annotations fit only its size before "
                               "the Exif orientation: they follow the image");
}

/* With orient=false nothing follows. */
static void masks_do_not_follow_pixels_as_stored(void)
{
    const char *folder = t_folder();

    write_oriented(folder, "a.jpg", LIST_WIDTH, LIST_HEIGHT, 6, 1);
    write_mask(folder, "m.pgm", 6, true);
    kit_log_start(NULL, NULL);
    (void)batches_to_error(list_dataset(folder, "image\tm:mask\na.jpg\tm.pgm\n",
                                        "| decode orient=false | resize 9,9 | batch 1"),
                           &one_worker, SLUICE_E_CORRUPT, "the mask is 30x40, its image 40x30");
    kit_log_stop();
}

/* ---- boxes ----------------------------------------------------------------------------------- */

#ifdef SLI_HAVE_JANSSON
/* A box of the stored image, or of the upright one, as COCO's x, y, width, height. */
static size_t add_box(uint32_t orientation, uint32_t box, bool upright, char *to, size_t size)
{
    static const uint32_t stored[BOXES][4] = {{2, 3, 11, 9}, {20, 10, 20, 20}, {0, 0, 40, 30}};
    const uint32_t *b = stored[box];
    uint32_t first[2] = {b[0], b[1]};
    uint32_t last[2] = {b[0] + b[2] - 1, b[1] + b[3] - 1};
    uint32_t x[2];
    uint32_t y[2];

    if (upright) {
        upright_place(orientation, LIST_WIDTH, LIST_HEIGHT, b[0], b[1], first);
        upright_place(orientation, LIST_WIDTH, LIST_HEIGHT, b[0] + b[2] - 1, b[1] + b[3] - 1, last);
    }
    x[0] = first[0] < last[0] ? first[0] : last[0];
    x[1] = first[0] + last[0] - x[0] + 1;
    y[0] = first[1] < last[1] ? first[1] : last[1];
    y[1] = first[1] + last[1] - y[0] + 1;
    return (size_t)snprintf(to, size,
                            "{\"id\": %u, \"image_id\": %u, \"category_id\": %u, \"iscrowd\": 0, "
                            "\"bbox\": [%u, %u, %u, %u]},",
                            orientation * 10 + box, orientation, box + 1, x[0], y[0], x[1] - x[0],
                            y[1] - y[0]);
}

/* COCO's JSON for images of orientations 5 to 8. */
static void write_coco(const char *folder, const char *name, bool upright)
{
    static char json[4000];
    size_t at = (size_t)snprintf(json, sizeof(json), "{\"images\": [");

    for (uint32_t i = 5; i <= FILES; i++) {
        at += (size_t)snprintf(json + at, sizeof(json) - at,
                               "%s{\"id\": %u, \"file_name\": \"%u.jpg\", \"width\": %d, "
                               "\"height\": %d}",
                               i == 5 ? "" : ",", i, i, upright ? LIST_HEIGHT : LIST_WIDTH,
                               upright ? LIST_WIDTH : LIST_HEIGHT);
    }
    at += (size_t)snprintf(json + at, sizeof(json) - at, "], \"annotations\": [");
    for (uint32_t i = 0; i < 4 * BOXES; i++) {
        at += add_box(5 + i / BOXES, i % BOXES, upright, json + at, sizeof(json) - at);
    }
    at--; /* the last comma */
    at += (size_t)snprintf(json + at, sizeof(json) - at,
                           "], \"categories\": [{\"id\": 1, \"name\": \"a\"}, {\"id\": 2, "
                           "\"name\": \"b\"}, {\"id\": 3, \"name\": \"c\"}]}");
    t_write_file(t_path(folder, name), json, at);
}

static tape run_coco(const char *folder, const char *name, const char *stages, uint64_t batches)
{
    const tape t = record_own(parsedf("coco %s/%s max_boxes=5 %s", folder, name, stages),
                              &(run_options){.settings = {.seed = 4}, .batches = batches});

    if (t.batches != batches) {
        T_FAIL_("%s %s: %s", name, stages, t.error);
    }
    return t;
}

static void boxes_for_the_stored_size_follow(void)
{
    static const char *const stages[] = {
        "| decode | random_crop 25 | random_horizontal_flip | batch 2",
        "| decode | random_resized_crop 20 | random_vertical_flip | batch 2",
        "| decode | random_iou_crop | resize 20,20 | batch 2",
        "| decode | resize 30,30 | random_rotation 20 | batch 2",
        "| decode | mosaic 44 | batch 2",
        "| cache 1M | decode | random_crop 25 | batch 2",
        "| decode | cache 1M | random_iou_crop | resize 20,20 | batch 2",
        "| decode | resize 28,29 | cache 1M | random_crop 25 | batch 2",
        "| cache 1M | decode | mosaic 44 | batch 2",
    };
    const char *folder = t_folder();

    for (uint32_t i = 5; i <= FILES; i++) {
        char name[20];

        snprintf(name, sizeof(name), "%u.jpg", i);
        write_oriented(folder, name, LIST_WIDTH, LIST_HEIGHT, i, i);
    }
    write_coco(folder, "stored.json", false);
    write_coco(folder, "upright.json", true);
    kit_log_start(NULL, NULL);
    for (size_t i = 0; i < COUNT(stages); i++) {
        tape want = run_coco(folder, "upright.json", stages[i], 6);
        tape got = run_coco(folder, "stored.json", stages[i], 6);

        check_equal_tapes(&got, &want, stages[i]);
        free(want.bytes);
        free(got.bytes);
    }
    kit_log_stop();
}

/* The map of geometry ends in the image that the annotations are for. */
static void geometry_ends_in_the_annotated_image(void)
{
    const char *folder = t_folder();
    engine_run runs[2];

    for (uint32_t i = 5; i <= FILES; i++) {
        char name[20];

        snprintf(name, sizeof(name), "%u.jpg", i);
        write_oriented(folder, name, LIST_WIDTH, LIST_HEIGHT, i, i);
    }
    write_coco(folder, "stored.json", false);
    write_coco(folder, "upright.json", true);
    kit_log_start(NULL, NULL);
    for (int i = 0; i < 2; i++) {
        open_own(&runs[i],
                 parsedf("coco %s/%s.json | decode | random_crop 16 | geometry | batch 4", folder,
                         i == 0 ? "stored" : "upright"),
                 &one_worker);
        T_OK(next_batch(&runs[i]));
    }
    for (uint32_t row = 0; row < 4; row++) {
        const float *stored = column_row(&runs[0], "geometry", row);
        const float *upright = column_row(&runs[1], "geometry", row);
        const float at[2] = {3.5F, 6.5F};
        float from[2];
        float to[2];
        uint32_t want[2];

        for (int k = 0; k < 2; k++) {
            from[k] = stored[3 * k] * at[0] + stored[3 * k + 1] * at[1] + stored[3 * k + 2];
            to[k] = upright[3 * k] * at[0] + upright[3 * k + 1] * at[1] + upright[3 * k + 2];
        }
        upright_place(5 + row, LIST_WIDTH, LIST_HEIGHT, (uint32_t)from[0], (uint32_t)from[1], want);
        T_TRUE(to[0] == (float)want[0] + 0.5F && to[1] == (float)want[1] + 0.5F);
    }
    close_run(&runs[0]);
    close_run(&runs[1]);
    kit_log_stop();
}

static void explain_names_labels_that_follow(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;
    char *text = NULL;

    for (uint32_t i = 5; i <= FILES; i++) {
        char name[20];

        snprintf(name, sizeof(name), "%u.jpg", i);
        write_oriented(folder, name, LIST_WIDTH, LIST_HEIGHT, i, i);
    }
    write_coco(folder, "stored.json", false);
    kit_log_start(NULL, NULL);
    dataset = parsedf("coco %s/stored.json | decode | resize 9,9 | batch 1", folder);
    T_OK(sluice_dataset_explain_sample(dataset, 1, 0, 1, &text));
    T_CONTAINS(text, "file: 40x30, Exif orientation 6 applied: 30x40\n"
                     "labels: for the image as stored, and follow it\n");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
    kit_log_stop();
}
#endif

const t_test stored_labels_tests[] = {
    T_TEST(points_follow_and_come_back),
    T_TEST(masks_of_the_stored_size_follow),
    T_TEST(masks_do_not_follow_pixels_as_stored),
#ifdef SLI_HAVE_JANSSON
    T_TEST(boxes_for_the_stored_size_follow),
    T_TEST(geometry_ends_in_the_annotated_image),
    T_TEST(explain_names_labels_that_follow),
#endif
    T_END,
};
