/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of points: geometry moves them as the pixels of their image, flips exchange pairs. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/custom.h>

#include "custom_kit.h"
#include "dataset_kit.h"
#include "engine_kit.h"
#include "list_kit.h"
#include "point_pairs.h"
#include "testing.h"

enum { POINTS = 5 };

/* The first four are centres of pixels, the last one is outside the image of 40 x 30. */
static const float at[POINTS][2] = {
    {0.5F, 0.5F}, {12.5F, 7.5F}, {39.5F, 29.5F}, {20.5F, 15.5F}, {-3, 31}};

#define LIST_OF_POINTS                                                                             \
    "image\tmask:mask\tp:points[6]\tseen:u8[6]@p\n"                                                \
    "a.ppm\tm.pgm\t0.5,0.5;12.5,7.5;39.5,29.5;20.5,15.5;-3,31\t1,2,3,4,5\n"

/* Opens a run of LIST_OF_POINTS and takes its batch. */
static sluice_dataset *run_points(engine_run *run, const char *stages, const run_options *options)
{
    const char *folder = t_folder();
    char text[400];
    sluice_dataset *dataset;

    write_pair(folder, "a.ppm", "m.pgm");
    snprintf(text, sizeof(text), "| decode | %s | batch 1", stages);
    dataset = list_dataset(folder, LIST_OF_POINTS, text);
    open_run(run, dataset, options);
    T_OK(next_batch(run));
    return dataset;
}

static void close_points(engine_run *run, sluice_dataset *dataset)
{
    close_run(run);
    sluice_dataset_destroy(dataset);
}

/* True if the point is within half a pixel of a pixel of the image that comes from `from`. */
static bool is_at_pixel(const engine_run *run, const float *point, const float *from)
{
    const sluice_column *image = &run->plan->seen[0];
    const uint8_t *pixels = column_row(run, "image", 0);
    const int x = (int)floorf(point[0]);
    const int y = (int)floorf(point[1]);
    const uint8_t *pixel = pixels + 3 * ((size_t)y * image->shape[1] + (size_t)x);

    return abs(pixel[0] - (int)from[0]) <= 1 && abs(pixel[1] - (int)from[1]) <= 1;
}

/* ---- geometry -------------------------------------------------------------------------------- */

/* The map of stage geometry leads from each point back to where it was. */
static void check_inverse(const char *stages, uint64_t seed)
{
    const run_options options = {.workers = 1, .settings = {.seed = seed}};
    char text[300];
    sluice_dataset *dataset;
    engine_run run;
    const float *map;
    const float *points;

    snprintf(text, sizeof(text), "%s | geometry", stages);
    dataset = run_points(&run, text, &options);
    map = column_row(&run, "geometry", 0);
    points = column_row(&run, "p", 0);
    T_EQ(*(const int32_t *)column_row(&run, "p_length", 0), POINTS);
    for (int i = 0; i < POINTS; i++) {
        const float *p = &points[2 * i];

        T_TRUE(fabsf(map[0] * p[0] + map[1] * p[1] + map[2] - at[i][0]) < 2e-4F);
        T_TRUE(fabsf(map[3] * p[0] + map[4] * p[1] + map[5] - at[i][1]) < 2e-4F);
    }
    T_TRUE(points[2 * POINTS] == 0 && points[2 * POINTS + 1] == 0);
    close_points(&run, dataset);
}

static void points_follow_every_geometry(void)
{
    static const char *const stages[] = {
        "center_crop 20",
        "center_crop 60",
        "resize 17,23",
        "random_crop 20 padding=4",
        "random_resized_crop 16",
        "letterbox 50",
        "random_zoom_out p=1 | resize 50,40",
        "random_crop 50 padding=10 | resize 30",
        "resize 60 | random_crop 40 | resize 20",
        "random_horizontal_flip 1",
        "random_vertical_flip 1",
        "random_resized_crop 16 | random_horizontal_flip 1 | random_vertical_flip 1",
        "rotate 30",
        "random_affine 20 0.1,0.1 0.8,1.2 5 | random_horizontal_flip 1",
        "center_crop 20 | rotate 90 | random_vertical_flip 1 | affine 10 3,2 1.5",
    };

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        check_inverse(stages[i], i);
    }
}

/* geometry and the points could be wrong in the same way: the pixels are the reference. */
static void points_stay_at_their_pixels(void)
{
    static const char *const stages[] = {
        "random_horizontal_flip 1",
        "letterbox 40 | rotate 20 bilinear",
        "random_vertical_flip 1 | affine 20 1,2 0.9 | random_horizontal_flip 1",
        "perspective 4,3 33,1 36,25 2,27 bilinear",
        "random_horizontal_flip 1 | perspective 4,3 33,1 36,25 2,27 bilinear",
        "resize 30,40 | rotate 10 | perspective 4,3 33,1 36,25 2,27",
        "elastic 40 5",
        ("rotate 10 bilinear | elastic 30 6 | perspective 4,3 33,1 36,25 2,27 | elastic 30 6 | "
         "random_horizontal_flip 1"),
    };

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        engine_run run;
        sluice_dataset *dataset = run_points(&run, stages[i], &one_worker);
        const float *points = column_row(&run, "p", 0);

        T_TRUE(is_at_pixel(&run, &points[2], at[1]));
        T_TRUE(is_at_pixel(&run, &points[6], at[3]));
        close_points(&run, dataset);
    }
}

static void points_that_leave_the_image_stay(void)
{
    engine_run run;
    sluice_dataset *dataset = run_points(&run, "center_crop 10 | resize 20", &one_worker);
    const float *points = column_row(&run, "p", 0);
    static const float want[POINTS][2] = {{-29, -19}, {-5, -5}, {49, 39}, {11, 11}, {-36, 42}};

    T_EQ(*(const int32_t *)column_row(&run, "p_length", 0), POINTS);
    T_EQ(memcmp(points, want, sizeof(want)), 0);
    T_EQ(memcmp(column_row(&run, "seen", 0), "\1\2\3\4\5\0", 6), 0);
    close_points(&run, dataset);
}

/*
 * The corners of a perspective are those of torchvision, 0 and 39, 0 and 29. This one widens the
 * lower edge by two thirds, so its points of infinity are on the line y = 72.5.
 */
static void points_at_infinity_are_far_away(void)
{
    static const char list[] = "image\tp:points[3]\na.ppm\t19.5,29;19.5,72.5;7,73\n";
    const char *folder = t_folder();
    sluice_dataset *dataset;
    engine_run run;
    const float *points;

    write_pair(folder, "a.ppm", "m.pgm");
    dataset = list_dataset(folder, list, "| decode | perspective 0,0 39,0 52,29 -13,29 | batch 1");
    open_run(&run, dataset, &one_worker);
    T_OK(next_batch(&run));
    points = column_row(&run, "p", 0);
    T_TRUE(fabsf(points[0] - 19.5F) < 1e-3F && fabsf(points[1] - 29) < 1e-3F);
    T_TRUE(points[2] == -1e6F && points[3] == -1e6F);
    T_TRUE(points[4] > 100 && points[5] < -1000); /* it comes back from the other side */
    close_points(&run, dataset);
}

/* The image need not be in the batch, and GetNext may do the flip. */
static void points_need_no_image_in_the_batch(void)
{
    static const char *const stages[] = {
        "random_resized_crop 16 | random_horizontal_flip 1 swap=0:1 | normalize 0.5 0.5",
        "random_resized_crop 16 | random_horizontal_flip 1 swap=0:1 | project p,p_length,seen",
        "random_resized_crop 16 | device | random_horizontal_flip 1 swap=0:1 | normalize 0.5 0.5",
    };
    float first[2 * POINTS];

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        const run_options options = {.workers = 1, .settings = {.prefer_device = i == 2}};
        engine_run run;
        sluice_dataset *dataset = run_points(&run, stages[i], &options);

        if (i == 0) {
            memcpy(first, column_row(&run, "p", 0), sizeof(first));
        }
        T_EQ(memcmp(first, column_row(&run, "p", 0), sizeof(first)), 0);
        T_EQ(memcmp(column_row(&run, "seen", 0), "\2\1\3\4\5\0", 6), 0);
        close_points(&run, dataset);
    }
}

/* ---- exchanges ------------------------------------------------------------------------------- */

static void check_exchange(const char *flips, const char *seen)
{
    engine_run run;
    sluice_dataset *dataset = run_points(&run, flips, &one_worker);
    const float *points = column_row(&run, "p", 0);
    const uint8_t *rows = column_row(&run, "seen", 0);

    T_EQ(memcmp(rows, seen, POINTS), 0);
    for (int i = 0; i < POINTS; i++) { /* the numbers of `seen` say which point it is */
        const float *from = at[rows[i] - 1];
        const bool is_flipped = strstr(flips, "horizontal_flip 1") != NULL;

        T_TRUE(points[2 * i] == (is_flipped ? LIST_WIDTH - from[0] : from[0]));
    }
    close_points(&run, dataset);
}

static void flips_exchange_points_and_their_rows(void)
{
    check_exchange("random_horizontal_flip 1 swap=0:1,4:2", "\2\1\5\4\3");
    check_exchange("random_vertical_flip 1 swap=0:1,4:2", "\2\1\5\4\3");
    check_exchange("random_horizontal_flip 1 swap=0:1,4:2 | resize 30,40", "\2\1\5\4\3");
    check_exchange("random_vertical_flip 1 swap=0:1 | resize 30,40 | random_vertical_flip 1 "
                   "swap=1:2",
                   "\2\3\1\4\5");
    check_exchange("random_choice (random_horizontal_flip 1 swap=0:1 | resize 30,40)",
                   "\2\1\3\4\5");
    check_exchange("random_apply 0 (random_vertical_flip 1 swap=0:1) | resize 30,40", "\1\2\3\4\5");
    check_exchange("random_invert 1 | random_vertical_flip 1 swap=0:1 | random_horizontal_flip 1 "
                   "swap=1:2 | resize 30,40",
                   "\2\3\1\4\5");
    check_exchange("random_horizontal_flip 0 swap=0:1 | resize 30,40", "\1\2\3\4\5");
    check_exchange("random_horizontal_flip 0 swap=0:1", "\1\2\3\4\5");
    check_exchange("random_horizontal_flip 1", "\1\2\3\4\5");
    /* Both flips are a turn, after which left is left again. */
    check_exchange("random_vertical_flip 1 swap=0:1 | random_horizontal_flip 1 swap=0:1",
                   "\1\2\3\4\5");
    check_exchange("random_vertical_flip 1 swap=0:1 | random_horizontal_flip 1 swap=1:2",
                   "\2\3\1\4\5");
    /* Points exchange where the flip is drawn: as the pixels. */
    for (uint64_t seed = 0; seed < 8; seed++) {
        const run_options options = {.workers = 1, .settings = {.seed = seed}};
        engine_run run;
        sluice_dataset *dataset = run_points(&run, "random_horizontal_flip 0.5 swap=0:1", &options);
        const bool is_flipped = *(const uint8_t *)column_row(&run, "image", 0) != 0;

        T_EQ(*(const uint8_t *)column_row(&run, "seen", 0), is_flipped ? 2 : 1);
        close_points(&run, dataset);
    }
}

/* A sample without points has none to exchange; one with half a pair is a bad sample. */
static void a_sample_has_both_points_of_a_pair_or_none(void)
{
    const char *folder = t_folder();
    tape got;

    write_pair(folder, "a.ppm", "m.pgm");
    got = record_own(
        list_dataset(folder, "image\tp:points[4]\na.ppm\t\na.ppm\t1,1;2,2\na.ppm\t1,1;2,2;3,3\n",
                     "| decode | random_horizontal_flip 1 swap=2:3 | batch 1"),
        &one_worker);
    T_EQ(got.batches, 2);
    T_STATUS(got.end, SLUICE_E_CORRUPT);
    T_CONTAINS(got.error, "p has 3 points, and the flip exchanges points 2 and 3");
    free(got.bytes);
}

static void bad_pairs_are_refused(void)
{
    static const char *const bad[][2] = {
        {"swap=1", "must be at most 64 pairs of points"},
        {"swap=1:", "such as 1:2,3:4"},
        {"swap=1:2,", "such as 1:2,3:4"},
        {"swap=1:2;3:4", "such as 1:2,3:4"},
        {"swap=-1:2", "such as 1:2,3:4"},
        {"swap=1:65536", "such as 1:2,3:4"},
        {"swap=1:99999999999999999999", "such as 1:2,3:4"},
        {"swap=1:1", "a point is in two pairs: 1:1"},
        {"swap=1:2,3:1", "a point is in two pairs: 3:1"},
        {"swap=1:6", "column p has points 0 to 5"},
    };
    const char *folder = t_folder();
    char text[2000];
    size_t used;

    write_pair(folder, "a.ppm", "m.pgm");
    write_list(folder, "list.tsv", LIST_OF_POINTS);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(text, sizeof(text),
                 "image_list %s/list.tsv | decode | random_horizontal_flip 0.5 %s", folder,
                 bad[i][0]);
        check_refused(text, bad[i][1]);
    }
    used = (size_t)snprintf(text, sizeof(text), "synthetic 1 8,8,3 | random_vertical_flip swap=");
    for (int i = 0; i < MOST_POINT_PAIRS + 1; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%d:%d", i > 0 ? "," : "",
                                 2 * i, 2 * i + 1);
    }
    check_refused(text, "must be at most 64 pairs");
    check_refused("synthetic 1 8,8,3 | random_vertical_flip swap=0:1",
                  "there is no column of points");
    snprintf(text, sizeof(text),
             "image_list %s/list.tsv | decode | random_horizontal_flip 0.5 swap=0:1 points=p,seen",
             folder);
    check_refused(text,
                  "must name columns of points; seen is a column that belongs to boxes or points");
}

/* ---- sources --------------------------------------------------------------------------------- */

static void bad_points_of_lists_say_where(void)
{
    static const char *const bad[][2] = {
        {"image\tp:points\na\t1,1\n", "'p:points' must be a column"},
        {"image\tp:points[2]\na\t1,1;2\n", "list.tsv:2:3: point 2, '2', must be x,y"},
        {"image\tp:points[2]\na\t1,1,1\n", "must be x,y with numbers"},
        {"image\tp:points[2]\na\t1,nan\n",
         "point 1, '1,nan', must be x,y with numbers from -1e6 to 1e6"},
        {"image\tp:points[2]\na\t1,2000000\n", "must be x,y with numbers"},
        {"image\tp:points[2]\na\t1,1;2,2;3,3\n", "more than 2 points"},
        {"image\tp:points[2]\ts:u8[2]@p\na\t1,1\t1,2\n",
         "2:7: the field has 2 numbers, and must have one for each of the 1 points"},
        {"image\tp:points[2]\ts:u8[3]@p\na\t1,1\t1\n", "s must have [2], as many as p"},
        {"image\ts:u8[2]@p\tp:points[2]\na\t1\t1,1\n", "no column p of boxes or points before it"},
    };
    const char *folder = t_folder();

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sluice_dataset *dataset = NULL;

        write_list(folder, "list.tsv", bad[i][0]);
        T_TRUE(sluice_dataset_parsef(&dataset, "image_list %s", t_path(folder, "list.tsv")) < 0);
        T_CONTAINS(sluice_last_error(), bad[i][1]);
    }
}

/* Two people with three key points each, on an image of 20 x 10; the second box leaves the image
 * with a crop to the left half. */
typedef struct people {
    float x; /* of a key point: a number that is none makes a bad sample */
} people;

static sluice_status give(sluice_sample *sample, const char *column, const uint64_t *shape,
                          const void *bytes, size_t size)
{
    void *room;
    const sluice_status st = sluice_sample_room(sample, column, shape, &room);

    if (st == SLUICE_OK) {
        memcpy(room, bytes, size);
    }
    return st;
}

static sluice_status read_people(sluice_sample *sample, uint64_t index, void *user)
{
    const people *p = user;
    const float boxes[2][4] = {{0, 0, 6, 10}, {17, 0, 20, 10}};
    const float points[2][3][2] = {{{p->x, 2}, {4, 2}, {3, 8}}, {{15, 2}, {17, 2}, {16, 8}}};
    const uint8_t seen[2][3] = {{1, 2, 3}, {4, 5, 6}};
    const int32_t ids[2] = {7, 8};
    const float place[1][2] = {{5, 5}};
    static const uint8_t pixels[10 * 20];
    sluice_status st = give(sample, "image", NULL, pixels, sizeof(pixels));

    (void)index;
    if (st == SLUICE_OK) {
        st = give(sample, "boxes", (uint64_t[]){2, 4}, boxes, sizeof(boxes));
    }
    if (st == SLUICE_OK) {
        st = give(sample, "joints", (uint64_t[]){2, 3, 2}, points, sizeof(points));
    }
    if (st == SLUICE_OK) {
        st = give(sample, "seen", (uint64_t[]){2, 3}, seen, sizeof(seen));
    }
    if (st == SLUICE_OK) {
        st = give(sample, "ids", (uint64_t[]){2}, ids, sizeof(ids));
    }
    return st == SLUICE_OK ? give(sample, "place", NULL, place, sizeof(place)) : st;
}

static sluice_dataset *people_dataset(people *p, const char *stages)
{
    static const sluice_column_spec columns[] = {
        {"image", SLUICE_U8, 3, {10, 20, 1}, SLUICE_ROLE_IMAGE, 0, NULL},
        {"boxes", SLUICE_F32, 2, {4, 4}, SLUICE_ROLE_BOXES, 0, NULL},
        {"joints", SLUICE_F32, 3, {4, 3, 2}, SLUICE_ROLE_POINTS, 0, "boxes"},
        {"seen", SLUICE_U8, 2, {4, 3}, SLUICE_ROLE_PLAIN, 0, "joints"},
        {"ids", SLUICE_I32, 1, {4}, SLUICE_ROLE_PLAIN, 0, "joints"},
        {"place", SLUICE_F32, 2, {1, 2}, SLUICE_ROLE_POINTS, 0, NULL},
    };
    sluice_source source;

    sluice_source_init(&source);
    source.name = "people";
    source.columns = columns;
    source.column_count = 6;
    source.count = 1;
    source.read = read_people;
    source.user = p;
    return custom_dataset(&source, stages);
}

static void points_of_boxes_are_dropped_with_them(void)
{
    static const char *const stages[] = {
        "center_crop 10,12 | random_horizontal_flip 1 swap=0:1 points=joints | batch 1",
        "random_horizontal_flip 1 swap=0:1 points=joints | center_crop 10,12 | batch 1",
    };
    static const float want[4][3][2] = {{{12, 2}, {14, 2}, {13, 8}}};

    for (size_t i = 0; i < sizeof(stages) / sizeof(stages[0]); i++) {
        people p = {.x = 2};
        engine_run run;

        open_own(&run, people_dataset(&p, stages[i]), &one_worker);
        T_OK(next_batch(&run));
        T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 1);
        T_EQ(sli_layout_find(&run.layout, "joints_length"), -1);
        T_EQ(memcmp(column_row(&run, "joints", 0), want, sizeof(want)), 0);
        T_EQ(memcmp(column_row(&run, "seen", 0), (uint8_t[12]){2, 1, 3}, 12), 0);
        T_EQ(memcmp(column_row(&run, "ids", 0), (int32_t[4]){7}, 16), 0);
        T_EQ(memcmp(column_row(&run, "place", 0), (float[2]){11, 5}, 8), 0);
        close_run(&run);
    }
}

/* Columns of points may be in the batch without the boxes, which are then computed all the same. */
static void columns_of_points_need_no_points_in_the_batch(void)
{
    static const char stages[] =
        "center_crop 10,12 | random_horizontal_flip 1 swap=0:1 points=joints";
    static const char *const columns[] = {"seen", "ids", "joints"};
    people p = {.x = 2};

    for (size_t i = 0; i < 3; i++) {
        char text[200];
        engine_run run;

        snprintf(text, sizeof(text), "%s | project %s | batch 1", stages, columns[i]);
        open_own(&run, people_dataset(&p, text), &one_worker);
        T_OK(next_batch(&run));
        T_EQ(((const uint8_t *)column_row(&run, columns[i], 0))[0], i == 0 ? 2 : i == 1 ? 7 : 0);
        close_run(&run);
    }
}

static void points_of_user_code_are_checked(void)
{
    static const sluice_column_spec bad[][2] = {
        {{"image", SLUICE_U8, 3, {1, 1, 1}, SLUICE_ROLE_IMAGE, 0, NULL},
         {"p", SLUICE_I32, 2, {4, 2}, SLUICE_ROLE_POINTS, 0, NULL}},
        {{"image", SLUICE_U8, 3, {1, 1, 1}, SLUICE_ROLE_IMAGE, 0, NULL},
         {"p", SLUICE_F32, 2, {4, 3}, SLUICE_ROLE_POINTS, 0, NULL}},
        {{"image", SLUICE_U8, 3, {1, 1, 1}, SLUICE_ROLE_IMAGE, 0, NULL},
         {"p", SLUICE_F32, 2, {0, 2}, SLUICE_ROLE_POINTS, 0, NULL}},
        {{"image", SLUICE_U8, 3, {1, 1, 1}, SLUICE_ROLE_IMAGE, 0, NULL},
         {"p", SLUICE_F32, 3, {4, 5, 2}, SLUICE_ROLE_POINTS, 0, "image"}},
        {{"p", SLUICE_F32, 2, {4, 2}, SLUICE_ROLE_POINTS, 0, NULL},
         {"q", SLUICE_F32, 2, {4, 2}, SLUICE_ROLE_POINTS, 0, NULL}},
    };
    people p = {.x = NAN};
    sluice_dataset *dataset = people_dataset(&p, "batch 1");

    batches_to_error(dataset, &one_worker, SLUICE_E_CORRUPT,
                     "people: joints: point 1, nan,2, must be x,y");
    check_refused("synthetic 1 8,8,3 | random_horizontal_flip points=image", "is for swap=");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sluice_source source;

        sluice_source_init(&source);
        source.name = "bad";
        source.columns = bad[i];
        source.column_count = 2;
        source.count = 1;
        source.read = read_people;
        T_STATUS(sluice_dataset_source(&source, &dataset), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "bad: p");
    }
}

const t_test points_tests[] = {
    T_TEST(points_follow_every_geometry),
    T_TEST(points_stay_at_their_pixels),
    T_TEST(points_that_leave_the_image_stay),
    T_TEST(points_at_infinity_are_far_away),
    T_TEST(points_need_no_image_in_the_batch),
    T_TEST(flips_exchange_points_and_their_rows),
    T_TEST(a_sample_has_both_points_of_a_pair_or_none),
    T_TEST(bad_pairs_are_refused),
    T_TEST(bad_points_of_lists_say_where),
    T_TEST(points_of_boxes_are_dropped_with_them),
    T_TEST(columns_of_points_need_no_points_in_the_batch),
    T_TEST(points_of_user_code_are_checked),
    T_END,
};
