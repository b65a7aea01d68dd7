/* SPDX-License-Identifier: Apache-2.0 */
/* sanitize_boxes: which boxes it keeps, by the definitions of torchvision and albumentations. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sluice/arrays.h>

#include "dataset_kit.h"
#include "filter_kit.h"
#include "format_int.h"
#include "image_notes_int.h"
#include "list_kit.h"
#include "log_kit.h"
#include "random_kit.h"
#include "testing.h"

enum { BOXES = 12 };

typedef struct limits {
    double size;
    double area;
    double visibility;
} limits;

/* A box after geometry, before it is clipped to the image. */
typedef struct moved {
    double x0;
    double y0;
    double x1;
    double y1;
} moved;

/* What torchvision's SanitizeBoundingBoxes and albumentations' filter_bboxes keep. */
static bool is_kept(const moved *b, double width, double height, const limits *l)
{
    const double w = fmin(b->x1, width) - fmax(b->x0, 0);
    const double h = fmin(b->y1, height) - fmax(b->y0, 0);

    return w > 0 && h > 0 && w >= l->size && h >= l->size && w * h >= l->area &&
           w * h / ((b->x1 - b->x0) * (b->y1 - b->y0)) >= l->visibility;
}

/* Writes a list of one image with random boxes, whose coordinates are multiples of 1 / 8. */
static void random_boxes(uint32_t state, double boxes[BOXES][4], char *list, size_t size)
{
    size_t used = (size_t)sli_print(list, size, "image\tboxes:boxes[12]\tc:i32[12]@boxes\na.ppm\t");

    for (uint32_t i = 0; i < BOXES; i++) {
        for (int axis = 0; axis < 2; axis++) {
            const uint32_t side = 8 * (axis == 0 ? LIST_WIDTH : LIST_HEIGHT);
            const uint32_t low = test_below(&state, side - 9);
            const uint32_t length = 1 + test_below(&state, side - low > 140 ? 140 : side - low);

            boxes[i][axis] = low / 8.0;
            boxes[i][axis + 2] = (low + length) / 8.0;
        }
        used +=
            (size_t)sli_print(list + used, size - used, "%s%.17g,%.17g,%.17g,%.17g",
                              i > 0 ? ";" : "", boxes[i][0], boxes[i][1], boxes[i][2], boxes[i][3]);
    }
    used += (size_t)sli_print(list + used, size - used, "\t0");
    for (uint32_t i = 1; i < BOXES; i++) {
        used += (size_t)sli_print(list + used, size - used, ",%u", i);
    }
    sli_print(list + used, size - used, "\n");
}

/* Checks the classes of the boxes of a batch of one sample. */
static uint32_t check_kept(const engine_run *run, const bool kept[BOXES])
{
    const int32_t *classes = column_row(run, "c", 0);
    uint32_t count = 0;

    for (int32_t i = 0; i < BOXES; i++) {
        if (kept[i]) {
            T_EQ(classes[count], i);
            count++;
        }
    }
    T_EQ(*(const int32_t *)column_row(run, "boxes_length", 0), count);
    T_TRUE(is_zero(classes + count, (BOXES - count) * sizeof(*classes)));
    T_TRUE(is_zero((const float *)column_row(run, "boxes", 0) + 4 * (size_t)count,
                   (BOXES - count) * 4 * sizeof(float)));
    return count;
}

static const limits cases[] = {
    {1, 1, 0}, {0, 0, 0.5}, {0, 0, 1}, {3, 0, 0}, {0, 20.3, 0}, {2.01, 9.1, 0.3}, {0, 0, 0.81},
};

static void boxes_of_crops_keep_the_limits(void)
{
    uint32_t counts[2] = {0};

    for (uint64_t seed = 0; seed < 42; seed++) {
        const limits *l = &cases[seed % (sizeof(cases) / sizeof(cases[0]))];
        double boxes[BOXES][4];
        bool kept[BOXES];
        char list[2000];
        char stages[200];
        engine_run run;

        random_boxes((uint32_t)seed * 1000 + 1, boxes, list, sizeof(list));
        /* 20 lines from 5, 25 columns from 10, to 40 x 75; flipped */
        sli_print(stages, sizeof(stages),
                  "crop 20,25 top=5 left=10 | resize 40,75 | random_horizontal_flip 1 | "
                  "sanitize_boxes min_size=%g min_area=%g min_visibility=%g",
                  l->size, l->area, l->visibility);
        open_list(&run, list, "decode", stages, seed);
        for (uint32_t i = 0; i < BOXES; i++) {
            const moved b = {(boxes[i][0] - 10) * 3, (boxes[i][1] - 5) * 2, (boxes[i][2] - 10) * 3,
                             (boxes[i][3] - 5) * 2};

            kept[i] = is_kept(&b, 75, 40, l);
        }
        counts[0] += check_kept(&run, kept);
        counts[1] += BOXES;
        close_run(&run);
    }
    T_TRUE(counts[0] > counts[1] / 10 && counts[0] < counts[1] * 3 / 4);
}

/* A rotation: the bounding box of the turned corners, before and after it is clipped. */
static void boxes_of_a_rotation_keep_the_limits(void)
{
    static const double angle = 30 * 3.14159265358979323846 / 180;

    for (uint64_t seed = 0; seed < 24; seed++) {
        const limits l = {1, 1, 0.2 + 0.1 * (double)(seed % 8)};
        double boxes[BOXES][4];
        bool kept[BOXES];
        char list[2000];
        char stages[200];
        engine_run run;

        random_boxes((uint32_t)seed * 1000 + 7, boxes, list, sizeof(list));
        sli_print(stages, sizeof(stages), "rotate 30 | sanitize_boxes min_visibility=%g",
                  l.visibility);
        open_list(&run, list, "decode", stages, seed);
        for (uint32_t i = 0; i < BOXES; i++) {
            moved b = {1e9, 1e9, -1e9, -1e9};

            for (int k = 0; k < 4; k++) {
                const double x = boxes[i][k & 1 ? 2 : 0] - LIST_WIDTH / 2.0;
                const double y = boxes[i][k & 2 ? 3 : 1] - LIST_HEIGHT / 2.0;
                const double to[2] = {LIST_WIDTH / 2.0 + x * cos(angle) + y * sin(angle),
                                      LIST_HEIGHT / 2.0 - x * sin(angle) + y * cos(angle)};

                b = (moved){fmin(b.x0, to[0]), fmin(b.y0, to[1]), fmax(b.x1, to[0]),
                            fmax(b.y1, to[1])};
            }
            kept[i] = is_kept(&b, LIST_WIDTH, LIST_HEIGHT, &l);
        }
        (void)check_kept(&run, kept);
        close_run(&run);
    }
}

/* A mosaic's tile is clipped to its part of the canvas, which does not count as clipping. */
static void a_mosaic_counts_from_its_canvas(void)
{
    static const char *const ends[] = {"", "| sanitize_boxes 0 0 min_visibility=1"};
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    for (uint64_t seed = 0; seed < 6; seed++) {
        float boxes[2][3][4];

        for (int i = 0; i < 2; i++) {
            char text[200];
            engine_run run;

            snprintf(text, sizeof(text), "| decode | mosaic 24 %s | batch 1", ends[i]);
            open_own(&run, list_dataset(folder, LIST_OF_BOXES, text),
                     &(run_options){.workers = 1, .settings = {.seed = seed}});
            T_OK(next_batch(&run));
            memcpy(boxes[i], column_row(&run, "boxes", 0), sizeof(boxes[i]));
            close_run(&run);
        }
        T_TRUE(memcmp(boxes[0], boxes[1], sizeof(boxes[0])) == 0);
    }
}

/* Two columns of boxes; points belong to boxes of the first one, and numbers to the points. */
static void all_columns_of_boxes_and_what_belongs_to_them(void)
{
    static const uint8_t image[30 * 40 * 3] = {0};
    static const float b[3][4] = {{0, 0, 3, 20}, {5, 5, 25, 25}, {30, 0, 40, 2}};
    static const float d[2][4] = {{0, 0, 30, 4}, {1, 2, 11, 12}};
    static const float k[3][2][2] = {{{1, 1}, {2, 9}}, {{6, 7}, {20, 21}}, {{31, 1}, {39, 1}}};
    static const uint8_t v[3][2] = {{1, 2}, {3, 4}, {5, 6}};
    static const sluice_array arrays[] = {
        {"image", image, SLUICE_U8, 4, {1, 30, 40, 3}},
        {"b", b, SLUICE_F32, 3, {1, 3, 4}},
        {"d", d, SLUICE_F32, 3, {1, 2, 4}},
        {"k", k, SLUICE_F32, 4, {1, 3, 2, 2}},
        {"v", v, SLUICE_U8, 3, {1, 3, 2}},
    };
    sluice_dataset *dataset;
    engine_run run;

    T_OK(sluice_dataset_memory(arrays, 5, &dataset));
    T_OK(sluice_dataset_add(dataset, "column b boxes | column d boxes | column k points of=b | "
                                     "column v of=k | sanitize_boxes min_size=5 | batch 1"));
    open_own(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(*(const int32_t *)column_row(&run, "b_length", 0), 1);
    T_EQ(*(const int32_t *)column_row(&run, "d_length", 0), 1);
    T_TRUE(memcmp(column_row(&run, "b", 0), b[1], sizeof(b[1])) == 0);
    T_TRUE(memcmp(column_row(&run, "d", 0), d[1], sizeof(d[1])) == 0);
    T_TRUE(memcmp(column_row(&run, "k", 0), k[1], sizeof(k[1])) == 0);
    T_TRUE(memcmp(column_row(&run, "v", 0), v[1], sizeof(v[1])) == 0);
    T_TRUE(is_zero((const uint8_t *)column_row(&run, "v", 0) + 2, 4));
    close_run(&run);
}

/* The stages that may follow do not change which boxes are kept; nor does a dropped column. */
static void it_stands_anywhere_after_geometry(void)
{
    static const char *const stages[] = {
        "center_crop 12 | sanitize_boxes 6 | normalize imagenet | to_chw | drop image",
        "center_crop 12 | normalize imagenet | to_chw | sanitize_boxes 6 | drop image",
        "center_crop 12 | sanitize_boxes min_size=6 | sanitize_boxes | drop image,boxes",
        "center_crop 12 | color_jitter 0.4 | sanitize_boxes 6 0 | color_jitter 0.2 | drop image",
    };

    for (uint64_t i = 0; i < 4; i++) {
        engine_run run;

        open_list(&run, LIST_OF_BOXES, "decode", stages[i], i);
        T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 1);
        T_EQ(*(const int32_t *)column_row(&run, "c", 0), 2);
        close_run(&run);
    }
}

static void explain_says_it(void)
{
    sluice_dataset *dataset = decoded_list();
    char *text = NULL;

    T_OK(sluice_dataset_add(dataset, "center_crop 12 | sanitize_boxes 6 | batch 1"));
    T_OK(sluice_dataset_explain(dataset, &text));
    T_CONTAINS(text, "below the limits of sanitize_boxes are");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);
}

static void a_run_counts_the_images(void)
{
    sli_image_counts counts;
    const char *logged;
    engine_run run;

    sluice_log_set_level(SLUICE_LOG_INFO);
    kit_log_start(NULL, NULL);
    open_list(&run, LIST_OF_BOXES, "decode", "sanitize_boxes 6", 0);
    while (next_batch(&run) == SLUICE_OK) {
        done_with_batch(&run);
    }
    sli_engine_stop(run.engine);
    sli_engine_image_counts(run.engine, &counts);
    T_TRUE(counts.of[SLI_IMAGE_BOXES_BELOW] >= 1);
    close_run(&run);
    logged = kit_log_stop();
    sluice_log_set_level(SLUICE_LOG_WARN);
    T_EQ(kit_log_count(SLUICE_LOG_WARN), 0);
    T_CONTAINS(logged, "sanitize_boxes: a.ppm is the first image with boxes below the limits of "
                       "sanitize_boxes: they are dropped; the report counts such images");
}

static void what_does_not_fit_is_refused(void)
{
    static const refused_case bad[] = {
        {"sanitize_boxes min_size=-1", "sanitize_boxes: min_size=-1 must be from 0 to"},
        {"sanitize_boxes min_visibility=2", "min_visibility=2 must be from 0 to 1"},
        {"sanitize_boxes 0 0", "sanitize_boxes: all limits are 0, which drops nothing"},
        {"drop boxes | sanitize_boxes", "sanitize_boxes: there is no column of boxes, as coco"},
        {"sanitize_boxes | resize 9", "resize comes after sanitize_boxes, which works on the boxes "
                                      "of the final image; put resize before sanitize_boxes"},
        {"sanitize_boxes | random_rotation 9", "random_rotation comes after sanitize_boxes"},
        {"sanitize_boxes | box_format | sanitize_boxes",
         "sanitize_boxes: there is no column of boxes any more; put sanitize_boxes before "
         "box_format, box_encoder, drop and project"},
        {"skip_empty | sanitize_boxes", "sanitize_boxes comes after skip_empty, a map or filter"},
    };

    check_refused_stages(decoded_list, bad, sizeof(bad) / sizeof(bad[0]));
    check_refused("synthetic 4 8,8,3 | sanitize_boxes | batch 1",
                  "sanitize_boxes: there is no column of boxes");
    check_refused("coco a.json | sanitize_boxes | decode | batch 1",
                  "sanitize_boxes: the image is still encoded; put decode before it");
}

static sluice_status keep_boxes_left(sluice_sample *sample, uint32_t *keep_out, void *user)
{
    sluice_sample_view length;
    const sluice_status st = sluice_sample_get(sample, "boxes_length", &length);

    (void)user;
    *keep_out = st == SLUICE_OK && *(const int32_t *)length.data > 0;
    return st;
}

/* Filters and bucket read the number of boxes that is left, not that of the source: only the second
 * of three samples has a small box alone. */
static void filters_and_bucket_count_what_is_left(void)
{
    static const char *const stages[] = {
        "sanitize_boxes min_size=3",
        "sanitize_boxes min_size=3 | box_format | normalize imagenet",
        "sanitize_boxes min_size=3 | drop image | drop boxes",
        "bucket",
    };
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        const bool is_bucket = strcmp(stages[i], "bucket") == 0;
        char text[200];
        sluice_dataset *dataset;
        engine_run run;

        snprintf(text, sizeof(text), "| decode | %s",
                 is_bucket ? "sanitize_boxes min_size=3 | bucket boxes_length 0" : stages[i]);
        dataset = list_dataset(folder,
                               "image\tlabel\tboxes:boxes[2]\na.ppm\t0\t1,1,9,9\n"
                               "a.ppm\t1\t2,2,4,4\na.ppm\t2\t3,3,9,9;3,3,5,5\n",
                               text);
        if (!is_bucket) {
            add_filter(dataset, "left", keep_boxes_left, "boxes_length", NULL);
        }
        T_OK(sluice_dataset_addf(dataset, "batch 2"));
        open_own(&run, dataset, &(run_options){.workers = 2});
        T_OK(next_batch(&run));
        for (uint32_t row = 0; row < 2; row++) {
            T_EQ(*(const int32_t *)column_row(&run, "label", row), 2 * row);
            T_EQ(*(const int32_t *)column_row(&run, "boxes_length", row), 1);
        }
        close_run(&run);
    }
}

const t_test sanitize_boxes_tests[] = {
    T_TEST(boxes_of_crops_keep_the_limits),
    T_TEST(boxes_of_a_rotation_keep_the_limits),
    T_TEST(a_mosaic_counts_from_its_canvas),
    T_TEST(all_columns_of_boxes_and_what_belongs_to_them),
    T_TEST(it_stands_anywhere_after_geometry),
    T_TEST(filters_and_bucket_count_what_is_left),
    T_TEST(explain_says_it),
    T_TEST(a_run_counts_the_images),
    T_TEST(what_does_not_fit_is_refused),
    T_END,
};
