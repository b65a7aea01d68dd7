/* SPDX-License-Identifier: Apache-2.0 */
/* Key points of the sources coco and yolo: columns, geometry, and the pairs that a flip exchanges.
 */
#include <math.h>
#include <sys/stat.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "log_kit.h"
#include "source_kit.h"
#include "testing.h"

enum { POINTS = 3 };

#if defined(SLI_HAVE_JANSSON) || defined(SLI_HAVE_YAML)

/* Opens a dataset, and takes its first batch. Returns what was logged. */
static const char *run_set(engine_run *run, sluice_dataset *dataset)
{
    kit_log_start(NULL, NULL);
    open_own(run, dataset, &(run_options){.workers = 1, .batches = UINT64_MAX});
    T_OK(next_batch(run));
    return kit_log_stop();
}

/* Checks the key points of the first box of a row, and what they show. */
static void check_row(const engine_run *run, const float want[POINTS][2], const uint8_t *visible)
{
    const float *points = column_row(run, "keypoints", 0);

    for (int i = 0; i < POINTS; i++) {
        T_TRUE(fabsf(points[2 * i] - want[i][0]) < 1e-4F);
        T_TRUE(fabsf(points[2 * i + 1] - want[i][1]) < 1e-4F);
    }
    T_EQ(memcmp(column_row(run, "visibility", 0), visible, POINTS), 0);
}

#endif

#ifdef SLI_HAVE_JANSSON

/* Two boxes with 3 points: of the first one nothing is left of x 20. */
#define HEAD            "{\"images\": [{\"id\": 1, \"file_name\": \"a.ppm\", \"width\": 40, \"height\": 30}],"
#define CATEGORY(names) "\"categories\": [{\"id\": 1, \"name\": \"fly\"" names "}],"
#define NAMES           ", \"keypoints\": [\"head\", \"left_wing\", \"right_wing\"]"
#define BOX(box, rest)  "{\"image_id\": 1, \"category_id\": 1, \"bbox\": [" box "]" rest "}"
#define FIRST           BOX("2,2,10,10", ", \"keypoints\": [3,4,2, 5,6.5,1, 0,0,0]")
#define SECOND          BOX("22,6,10,12", ", \"keypoints\": [24,8,2, 26,9,2, 30,16,1]")

static sluice_dataset *coco_of(const char *json, const char *stages)
{
    const char *folder = t_folder();

    write_pair(folder, "a.ppm", "m.pgm");
    write_list(folder, "c.json", json);
    return parsedf("coco %s/c.json %s", folder, stages);
}

#define FILE_WITH(names, boxes) HEAD CATEGORY(names) "\"annotations\": [" boxes "]}"

/* The points of a box are dropped with it, and the others move up. */
static void points_of_coco_follow_their_boxes(void)
{
    static const float all[POINTS][2] = {{3, 4}, {5, 6.5F}, {0, 0}};
    static const float cropped[POINTS][2] = {{4, 8}, {6, 9}, {10, 16}};
    static const char file[] = FILE_WITH(NAMES, FIRST "," SECOND);
    engine_run run;

    T_STR(run_set(&run, coco_of(file, "keypoints=3 max_boxes=4 | decode | batch 1")), "");
    check_row(&run, all, (const uint8_t[]){2, 1, 0});
    T_EQ(memcmp(column_row(&run, "visibility", 0), "\2\1\0\2\2\1\0\0\0\0\0\0", 12), 0);
    close_run(&run);
    T_STR(run_set(&run, coco_of(file, "keypoints=3 iscrowd=keep | decode | crop 30,20 0 20 | "
                                      "batch 1")),
          "");
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 1);
    check_row(&run, cropped, (const uint8_t[]){2, 2, 1});
    close_run(&run);
}

/* The stages of a set whose images are all flipped. */
static const char *flipped(const char *swap, const char *after)
{
    static char text[200];

    snprintf(text, sizeof(text), "keypoints=3 | decode | random_horizontal_flip 1%s%s | batch 1",
             swap, after);
    return text;
}

/* A flip exchanges the points whose names say so, or what swap= says; else it warns. */
static void flips_exchange_points_by_their_names(void)
{
    static const float swapped[POINTS][2] = {{16, 8}, {10, 16}, {14, 9}};
    static const float kept[POINTS][2] = {{16, 8}, {14, 9}, {10, 16}};
    static const float other[POINTS][2] = {{14, 9}, {16, 8}, {10, 16}};
    static const char named[] = FILE_WITH(NAMES, SECOND);
    static const char unnamed[] = FILE_WITH("", SECOND);
    /* After all geometry, and before some of it. */
    static const char *const after[] = {"", " | resize 30,40"};
    engine_run run;

    for (size_t i = 0; i < 2; i++) {
        T_STR(run_set(&run, coco_of(named, flipped("", after[i]))), "");
        check_row(&run, swapped, (const uint8_t[]){2, 1, 2});
        close_run(&run);
        T_CONTAINS(run_set(&run, coco_of(unnamed, flipped("", after[i]))),
                   "random_horizontal_flip: the source does not say which points of keypoints");
        check_row(&run, kept, (const uint8_t[]){2, 2, 1});
        close_run(&run);
        T_STR(run_set(&run, coco_of(named, flipped(" swap=none", after[i]))), "");
        check_row(&run, kept, (const uint8_t[]){2, 2, 1});
        close_run(&run);
        T_STR(run_set(&run, coco_of(unnamed, flipped(" swap=0:1", after[i]))), "");
        check_row(&run, other, (const uint8_t[]){2, 2, 1});
        close_run(&run);
    }
}

/* Groups pass on the pairs of their parts. */
static void groups_pass_pairs_on(void)
{
    static const float swapped[POINTS][2] = {{16, 8}, {10, 16}, {14, 9}};
    const char *folder = t_folder();
    engine_run run;

    write_pair(folder, "a.ppm", "m.pgm");
    write_list(folder, "c.json", FILE_WITH(NAMES, SECOND));
    T_STR(run_set(&run, parsedf("concat (coco %s/c.json keypoints=3) (coco %s/c.json keypoints=3) |"
                                " decode | random_horizontal_flip 1 | batch 1",
                                folder, folder)),
          "");
    check_row(&run, swapped, (const uint8_t[]){2, 1, 2});
    close_run(&run);
}

static void wrong_points_of_coco_say_what_they_must_be(void)
{
    static const struct wrong {
        const char *json;
        const char *words;
    } cases[] = {
        {FILE_WITH("", BOX("2,2,9,9", ", \"keypoints\": [1,2,0, 3,4,0]")),
         "annotations[0]: keypoints must be a list of 9 numbers, x, y and visibility of each of 3"},
        {FILE_WITH("", BOX("2,2,9,9", ", \"keypoints\": [1,2,0, 3,4,0, 1,1,0.5]")),
         "the visibility 0.5 must be a whole number from 0 to 255"},
        {FILE_WITH("", BOX("2,2,9,9", ", \"keypoints\": [1,2,0, 3,4,0, 1,2e6,1]")),
         "the point 1,2000000 must be within 1e+06 pixels"},
        {FILE_WITH("", BOX("2,2,9,9", ", \"keypoints\": [1,2,0, 3,4,0, 1,\"a\",1]")),
         "keypoints must be a list of 9 numbers"},
        {FILE_WITH(", \"keypoints\": [\"head\"]", FIRST),
         "the category has the names of 1 keypoints; keypoints=3 must be their number"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset = coco_of(cases[i].json, "keypoints=3 | decode | batch 1");
        char *explained = NULL;

        T_STATUS(sluice_dataset_explain(dataset, &explained), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), cases[i].words);
        sluice_dataset_destroy(dataset);
    }
}

/* Names with as many pairs as a flip exchanges, and with one more, which would not be exchanged. */
static void names_have_at_most_64_pairs(void)
{
    for (int count = 64; count <= 65; count++) {
        static char names[8192];
        static char json[16384];
        char stages[100];
        size_t at = (size_t)snprintf(names, sizeof(names), ", \"keypoints\": [\"nose\"");
        const char *log;
        engine_run run;

        for (int i = 0; i < count; i++) {
            at += (size_t)snprintf(names + at, sizeof(names) - at, ", \"left_%d\", \"right_%d\"", i,
                                   i);
        }
        snprintf(names + at, sizeof(names) - at, "]");
        snprintf(json, sizeof(json), HEAD CATEGORY("%s") "\"annotations\": [%s]}", names,
                 BOX("22,6,10,12", ""));
        snprintf(stages, sizeof(stages),
                 "keypoints=%d | decode | random_horizontal_flip 1 | batch 1", 2 * count + 1);
        log = run_set(&run, coco_of(json, stages));
        if (count == 64) {
            T_TRUE(strstr(log, "pairs") == NULL && strstr(log, "does not say") == NULL);
        } else {
            T_CONTAINS(log, "the names of key points have more than 64 pairs of left and right");
            T_CONTAINS(log, "random_horizontal_flip: the source does not say which points");
        }
        close_run(&run);
    }
}

static void annotations_without_points_are_counted(void)
{
    static const float none[POINTS][2] = {{0, 0}, {0, 0}, {0, 0}};
    engine_run run;

    T_CONTAINS(run_set(&run, coco_of(FILE_WITH(NAMES, BOX("2,2,9,9", "")),
                                     "keypoints=3 | decode | batch 1")),
               "1 annotations have no key points; theirs are zero, with the visibility 0");
    check_row(&run, none, (const uint8_t[]){0, 0, 0});
    close_run(&run);
}
#endif

#ifdef SLI_HAVE_YAML

/* A set of one image of 40x30, with its data.yaml. */
static sluice_dataset *yolo_of(const char *yaml, const char *labels, const char *stages)
{
    const char *folder = t_folder();

    T_EQ(mkdir(t_path(folder, "images"), 0777), 0);
    T_EQ(mkdir(t_path(folder, "labels"), 0777), 0);
    write_pair(folder, "images/a.ppm", "m.pgm");
    write_list(folder, "labels/a.txt", labels);
    write_list(folder, "data.yaml", yaml);
    return parsedf("yolo %s %s", folder, stages);
}

static void points_of_yolo_are_pixels_of_the_image(void)
{
    static const float all[POINTS][2] = {{10, 15}, {20, 7.5F}, {30, 3}};
    static const float flipped[POINTS][2] = {{30, 15}, {10, 3}, {20, 7.5F}};
    static const float tiny[POINTS][2] = {{5, 7.5F}, {10, 3.75F}, {15, 1.5F}};
    static const char three[] = "0 .5 .5 .8 .9 .25 .5 2 .5 .25 1 .75 .1 0\n";
    static const char two[] = "0 .5 .5 .8 .9 .25 .5 .5 .25 .75 .1\n";
    engine_run run;

    T_STR(run_set(&run, yolo_of("kpt_shape: [3, 3]\nflip_idx: [0, 2, 1]\nnames: [fly]\n", three,
                                "keypoints=3 | decode | batch 1")),
          "");
    check_row(&run, all, (const uint8_t[]){2, 1, 0});
    close_run(&run);
    T_STR(run_set(&run, yolo_of("kpt_shape: [3, 3]\nflip_idx: [0, 2, 1]\nnames: [fly]\n", three,
                                "keypoints=3 | decode | random_horizontal_flip 1 | batch 1")),
          "");
    check_row(&run, flipped, (const uint8_t[]){2, 0, 1});
    close_run(&run);
    T_STR(run_set(&run, yolo_of("kpt_shape: [3, 2]\nnames: [fly]\n", two,
                                "keypoints=3 | decode | resize 15,20 | batch 1")),
          "");
    check_row(&run, tiny, (const uint8_t[]){1, 1, 1});
    close_run(&run);
}

/* Lines with the same box and other key points are two objects. */
static void lines_repeat_only_with_their_points(void)
{
    engine_run run;

    T_CONTAINS(run_set(&run, yolo_of("kpt_shape: [3, 2]\nnames: [fly]\n",
                                     "0 .5 .5 .8 .9 .25 .5 .5 .25 .75 .1\n"
                                     "0 .5 .5 .8 .9 .25 .5 .5 .25 .75 .2\n"
                                     "0 .5 .5 .8 .9 .25 .5 .5 .25 .75 .1\n",
                                     "keypoints=3 | decode | batch 1")),
               "1 boxes that their image has twice are dropped, the first at labels/a.txt:3");
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 2);
    close_run(&run);
}

static void wrong_points_of_yolo_say_what_they_must_be(void)
{
    static const struct wrong {
        const char *yaml;
        const char *labels;
        const char *words;
    } cases[] = {
        {"names: [fly]\n", "", "keypoints=3 needs a data.yaml with kpt_shape: [3, 3] or [3, 2]"},
        {"kpt_shape: [4, 3]\n", "", "keypoints=3 must be 4, the points of kpt_shape"},
        {"kpt_shape: [3, 3]\nflip_idx: [0, 1]\n", "", "flip_idx has 2 points, and kpt_shape 3"},
        {"kpt_shape: [3, 3]\nflip_idx: [1, 2, 0]\n", "", "flip_idx: point 0 becomes point 1"},
        {"kpt_shape: [3, 3]\nflip_idx: 3\n", "", "flip_idx must be a list of the indexes"},
        {"kpt_shape: [3, 2]\nnames: [fly]\n", "0 .5 .5 .8 .9\n",
         "labels/a.txt:1: 5 numbers must be 11, class x y width height and the key points"},
        {"kpt_shape: [3, 2]\nnames: [fly]\n", "0 .5 .5 .8 .9 .2 .5 .5 .25 .75 1.5\n",
         "labels/a.txt:1: 1.5 must be 0 to 1"},
        {"kpt_shape: [3, 3]\nnames: [fly]\n", "0 .5 .5 .8 .9 .2 .5 1 .5 .25 .5 .75 .5 1\n",
         "the visibility 0.5 must be a whole number"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset =
            yolo_of(cases[i].yaml, cases[i].labels, "keypoints=3 | decode | batch 1");
        char *explained = NULL;

        T_TRUE(sluice_dataset_explain(dataset, &explained) != SLUICE_OK);
        T_CONTAINS(sluice_last_error(), cases[i].words);
        sluice_dataset_destroy(dataset);
    }
}
#endif

static void polygons_and_points_are_not_of_one_set(void)
{
    check_refused("yolo x masks=instance keypoints=3 | decode | batch 1",
                  "masks= and keypoints= cannot both be set");
}

const t_test keypoints_tests[] = {
#ifdef SLI_HAVE_JANSSON
    T_TEST(points_of_coco_follow_their_boxes),
    T_TEST(flips_exchange_points_by_their_names),
    T_TEST(groups_pass_pairs_on),
    T_TEST(wrong_points_of_coco_say_what_they_must_be),
    T_TEST(names_have_at_most_64_pairs),
    T_TEST(annotations_without_points_are_counted),
#endif
#ifdef SLI_HAVE_YAML
    T_TEST(points_of_yolo_are_pixels_of_the_image),
    T_TEST(lines_repeat_only_with_their_points),
    T_TEST(wrong_points_of_yolo_say_what_they_must_be),
#endif
    T_TEST(polygons_and_points_are_not_of_one_set),
    T_END,
};
