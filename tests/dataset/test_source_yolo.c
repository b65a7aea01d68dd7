/* SPDX-License-Identifier: Apache-2.0 */
/* The source yolo: label files, layouts of folders, and wrong labels. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "log_kit.h"
#include "source_kit.h"
#include "testing.h"
#include "yolo_set.h"

/* Makes a folder, and an image of 40x30 and its label file in each of the folders images and
 * labels; NULL: no label file. */
static void add_folder(const char *folder, const char *name)
{
    T_EQ(mkdir(t_path(folder, name), 0777), 0);
}

static void add_image(const char *folder, const char *name, const char *labels)
{
    char path[300];

    snprintf(path, sizeof(path), "images/%s.ppm", name);
    write_pair(folder, path, "m.pgm");
    if (labels != NULL) {
        snprintf(path, sizeof(path), "labels/%s.txt", name);
        write_list(folder, path, labels);
    }
}

/* A folder with the folders images and labels. */
static const char *yolo_folder(void)
{
    const char *folder = t_folder();

    add_folder(folder, "images");
    add_folder(folder, "labels");
    return folder;
}

static sluice_dataset *yolo_dataset(const char *folder, const char *stages)
{
    return parsedf("yolo %s %s", folder, stages);
}

static void boxes_are_pixels_of_the_image(void)
{
    static const float want[2][4] = {{10, 7.5F, 30, 22.5F}, {0, 0, 20, 15}};
    const char *folder = yolo_folder();
    engine_run run;
    sluice_dataset *dataset;
    char *name = NULL;

    add_image(folder, "b",
              "\xEF\xBB\xBF"
              "1 0.5 0.5 0.5 0.5\r\n\n0.0\t.25  .25 5e-1 0.5");
    add_image(folder, "a", "");
    write_list(folder, "classes.txt", "ant\r\n bee \n\n");
    dataset = yolo_dataset(folder, "max_boxes=3 | decode | batch 2");
    kit_log_start(NULL, NULL);
    open_run(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_STR(kit_log_stop(), "");
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 0);
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 1), 2);
    T_EQ(memcmp(column_row(&run, "boxes", 1), want, sizeof(want)), 0);
    T_EQ(memcmp(column_row(&run, "classes", 1), (const int32_t[]){1, 0, 0}, 12), 0);
    T_EQ(*(const int64_t *)column_row(&run, "image_id", 1), 1);
    close_run(&run);
    T_STR(name_of(dataset, 1), "images/b.ppm");
    T_OK(sluice_dataset_class_name(dataset, 1, &name));
    T_STR(name, "bee");
    sluice_string_free(name);
    sluice_dataset_destroy(dataset);
}

/* As a list with the same boxes. */
static void boxes_follow_as_those_of_a_list(void)
{
    static const char *const stages =
        "| take 1 | decode | random_crop 20,16 | random_horizontal_flip | batch 1";
    const char *folder = yolo_folder();
    uint32_t kept = 0;

    add_image(folder, "a", "1 0.05 0.5 0.1 1\n0 .5 .5 .5 .25\n1 0.95 0.05 0.1 0.1\n");
    for (uint64_t seed = 0; seed < 8; seed++) {
        engine_run runs[2];
        sluice_dataset *datasets[2] = {
            parsedf("yolo %s max_boxes=3 %s", folder, stages),
            list_dataset(folder,
                         "image\tboxes:darknet[3]\tclasses:i32[3]@boxes\n"
                         "images/a.ppm\t0.05,0.5,0.1,1;.5,.5,.5,.25;0.95,0.05,0.1,0.1\t1,0,1\n",
                         stages)};
        const void *columns[2][3];

        for (int i = 0; i < 2; i++) {
            open_run(&runs[i], datasets[i],
                     &(run_options){.workers = 1, .settings = {.seed = seed}});
            T_OK(next_batch(&runs[i]));
            columns[i][0] = column_row(&runs[i], "boxes", 0);
            columns[i][1] = column_row(&runs[i], "classes", 0);
            columns[i][2] = column_row(&runs[i], "image", 0);
            kept += (uint32_t) * (const int32_t *)column_row(&runs[i], "boxes_length", 0);
        }
        T_EQ(memcmp(columns[0][0], columns[1][0], 48), 0);
        T_EQ(memcmp(columns[0][1], columns[1][1], 12), 0);
        T_EQ(memcmp(columns[0][2], columns[1][2], 20 * 16 * 3), 0);
        for (int i = 0; i < 2; i++) {
            close_run(&runs[i]);
            sluice_dataset_destroy(datasets[i]);
        }
    }
    T_TRUE(kept > 0 && kept < 48);
}

/* What is left out or changed is counted, and logged with the first one. */
static void all_that_changes_is_said(void)
{
    static const float want[2][4] = {{10, 3, 30, 24}, {0, 0, 5, 30}};
    const char *folder = yolo_folder();
    engine_run run;
    sluice_dataset *dataset;
    const char *said;

    add_image(folder, "a",
              "0 .25 .1 .75 .1 .5 .8\n" /* a polygon: 10,3 to 30,24 */
              "0 .0 .5 .25 1\n"         /* -5,0,5,30 */
              "0 .5 .5 0 .5\n"          /* no area */
              "0 .25 .1 .75 .1 .5 .8\n" /* repeats the first */
              "0 0.0 0.5 0.25 1.0\n");  /* and the second */
    add_image(folder, "b", NULL);
    write_list(folder, "images/notes.doc", "x");
    dataset = yolo_dataset(folder, "max_boxes=2 | decode | batch 2");
    said = log_of_opening(dataset);
    T_CONTAINS(said, "2 lines are polygons; the box around each is used, the first "
                     "at labels/a.txt:1");
    T_CONTAINS(said, "1 boxes that reach beyond their image are clipped to it, the first at "
                     "labels/a.txt:2");
    T_CONTAINS(said, "1 boxes without an area are dropped, the first at labels/a.txt:3");
    T_CONTAINS(said, "2 boxes that their image has twice are dropped, the first at labels/a.txt:4");
    T_CONTAINS(said, "1 of 2 images have no label file, and so no boxes, the first: labels/b.txt");
    T_CONTAINS(said, "left out: 1 .doc (first images/notes.doc)");
    open_own(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 2);
    T_EQ(memcmp(column_row(&run, "boxes", 0), want, sizeof(want)), 0);
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 1), 0);
    close_run(&run);
}

static void wrong_lines_are_bad_samples_with_file_and_line(void)
{
    static const struct {
        const char *labels;
        const char *words;
    } bad[] = {
        {"0 .5 .5 .5 .5\n2 .5 .5 .5 .5\n",
         "labels/a.txt:2: the class is 2, and must be a whole number from 0 to 1"},
        {"-1 .5 .5 .5 .5", "labels/a.txt:1: the class is -1, and must be"},
        {"0.5 .5 .5 .5 .5", "the class is 0.5, and must be"},
        {"1e99 .5 .5 .5 .5", "the class is 1e+99, and must be"},
        {"\n\n0 .5 x .5 .5", "labels/a.txt:3: 'x' must be a number"},
        {"0 .5 nan .5 .5", "'nan' must be a number"},
        {"0 .5 .5 .5 .5.", "'.5.' must be a number"},
        {"0,.5,.5,.5,.5", "must be a number"},
        {"0 .5 .5 .5 00000000000000000000000000000000000000000000000000000000000000000000000000.5",
         "'000000000"},
        {"0 .5 .5 .5", "4 numbers must be 5, class x y width height"},
        {"0", "1 numbers must be 5"},
        {"0 .5 .5 .5 .5 .9", "a sixth number is the confidence of a prediction"},
        {"0 .5 .5 .5 .5 .9 .9 .9", "key points need data.yaml with kpt_shape"},
        {"0 20 15 .5 .5", "20 must be 0 to 1: coordinates are fractions of the image's size"},
        {"0 .5 -.02 .5 .5", "-0.02 must be 0 to 1"},
        {"0 .5 .5 -.001 .5", "width and height are -0.001 0.5, and must be"},
        {"0 .1 .1 .2 .2 1.02 .3", "1.02 must be 0 to 1"},
        {"0 1.005 .5 .001 .5", "line[1]: the box, 1.0045,0.25,1.0055,0.75, is wholly outside"},
        {"0 .5 .5 .1 .1\n0 .5 .5 .2 .1\n0 .5 .5 .3 .1\n",
         "images/a.ppm: this image has 3 boxes, more than max_boxes=2; all have room with "
         "max_boxes=3"},
    };
    const char *folder = yolo_folder();

    write_list(folder, "classes.txt", "ant\nbee");
    add_image(folder, "b", "");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        sluice_dataset *dataset;
        const char *said;

        add_image(folder, "a", bad[i].labels);
        dataset = yolo_dataset(folder, "max_boxes=2 | decode | batch 1");
        said = log_of_opening(dataset);
        T_CONTAINS(said, "1 of 2 images are bad samples, the first: ");
        T_CONTAINS(said, bad[i].words);
        check_read_fails(dataset, 0, SLUICE_E_CORRUPT, bad[i].words);
        sluice_dataset_destroy(dataset);
    }
}

/* Coordinates beyond the image by rounding are accepted, as Ultralytics does. */
static void rounding_is_accepted(void)
{
    const char *folder = yolo_folder();
    sluice_dataset *dataset;

    add_image(folder, "a", "0 .5 .5 1.01 1.01\n0 -.009 .5 .2 .5\n");
    dataset = yolo_dataset(folder, "| decode | batch 1");
    T_CONTAINS(log_of_opening(dataset), "2 boxes that reach beyond their image are clipped");
    sluice_dataset_destroy(dataset);
}

/* The parts of a set, in both layouts; folders in a part are read, too. */
static void a_split_is_a_folder(void)
{
    const char *folder = yolo_folder();
    sluice_dataset *dataset;
    char *text = NULL;

    add_folder(folder, "images/train");
    add_folder(folder, "labels/train");
    add_folder(folder, "images/train/x");
    add_folder(folder, "labels/train/x");
    add_image(folder, "train/b", "7 .5 .5 .5 .5");
    add_image(folder, "train/x/a", "0 .5 .5 .5 .5");
    dataset = yolo_dataset(folder, "split=train | decode | batch 1");
    T_STR(log_of_opening(dataset), "");
    T_STR(name_of(dataset, 0), "images/train/b.ppm");
    T_STR(name_of(dataset, 1), "images/train/x/a.ppm");
    T_OK(sluice_dataset_class_name(dataset, 7, &text));
    T_STR(text, "7");
    sluice_string_free(text);
    sluice_dataset_destroy(dataset);

    dataset = yolo_dataset(folder, "| decode | batch 1");
    T_STATUS(sluice_dataset_explain(dataset, &text), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(),
               "split= must name the images to read; the set has train; `yolo ");
    T_CONTAINS(sluice_last_error(), " split=train` reads one of its splits");
    sluice_dataset_destroy(dataset);

    add_folder(folder, "test");
    add_folder(folder, "test/images");
    add_folder(folder, "test/labels");
    write_pair(folder, "test/images/c.ppm", "m.pgm");
    write_list(folder, "test/labels/c.txt", "0 .5 .5 .5 .5");
    dataset = yolo_dataset(folder, "split=test | decode | batch 1");
    T_STR(log_of_opening(dataset), "");
    T_STR(name_of(dataset, 0), "test/images/c.ppm");
    sluice_dataset_destroy(dataset);

    T_EQ(rename(t_path(folder, "images"), t_path(folder, "none")), 0);
    add_folder(folder, "val");
    add_folder(folder, "val/images");
    dataset = yolo_dataset(folder, "| decode | batch 1");
    T_STATUS(sluice_dataset_explain(dataset, &text), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "the set has val, test; `yolo ");
    sluice_dataset_destroy(dataset);
}

/* A part with fractions and one with pixels differ, which the message must show. */
static void fractions_and_pixels_are_not_joined(void)
{
    const char *folder = yolo_folder();
    sluice_dataset *dataset = NULL;
    char text[700];

    add_image(folder, "a", "0 .5 .5 .5 .5");
    write_list(folder, "l.tsv", "image\tboxes:boxes[3]\nimages/a.ppm\t0,0,4,30\n");
    snprintf(
        text, sizeof(text),
        "concat (yolo %s max_boxes=3 | project image,boxes,boxes_length) (image_list %s/l.tsv) "
        "| decode | batch 1",
        folder, folder);
    T_STATUS(sluice_dataset_parse(text, &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "that of part 1 is boxes f32 (3, 4) (boxes) (fractions of the "
                                    "image)");
}

/* Checks that a dataset cannot be opened. */
static void check_refused_set(const char *folder, const char *args, sluice_status want,
                              const char *words)
{
    sluice_dataset *dataset = parsedf("yolo %s %s | decode | batch 1", folder, args);
    char *text = NULL;

    T_STATUS(sluice_dataset_explain(dataset, &text), want);
    T_CONTAINS(sluice_last_error(), "yolo: ");
    T_CONTAINS(sluice_last_error(), words);
    sluice_dataset_destroy(dataset);
}

static void sets_that_are_not_there_are_named(void)
{
    const char *folder = yolo_folder();
    sluice_dataset *dataset = NULL;

    check_refused_set("/nonexistent", "", SLUICE_E_IO, "/nonexistent: cannot open");
    check_refused_set(folder, "", SLUICE_E_INVALID, "the folder images has no files with");
    check_refused_set(folder, "split=val", SLUICE_E_INVALID,
                      "neither a folder images/val nor val/images");
    check_refused_set(t_path(folder, "labels"), "", SLUICE_E_INVALID, "there is no folder images");
    T_STATUS(sluice_dataset_parse("yolo x split=../y | decode | batch 1", &dataset),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "split=../y must be the name of a split");
    add_image(folder, "a", NULL);
    check_refused_set(folder, "", SLUICE_E_INVALID,
                      "none of the 1 images has a label file; that of the first must be "
                      "labels/a.txt");
    add_image(folder, "a", "0 .5 .5 .5 .5 .5");
    check_refused_set(folder, "", SLUICE_E_CORRUPT,
                      "all 1 images are bad; the first: labels/a.txt:1");
    write_list(folder, "classes.txt", "a\n\nb\n");
    check_refused_set(folder, "", SLUICE_E_CORRUPT, "classes.txt:2: the line is empty");
}

static void labels_lie_beside_images(void)
{
    static const struct {
        const char *image;
        const char *labels;
    } paths[] = {
        {"images/a.jpg", "labels/a.txt"},
        {"images/train/a.b.jpg", "labels/train/a.b.txt"},
        {"train/images/a.jpg", "train/labels/a.txt"},
        {"images/x/images/a.jpg", "images/x/labels/a.txt"},
        {"/images/images/a", "/images/labels/a.txt"},
        {"myimages/a.b/c", "myimages/a.b/c.txt"},
        {"a.jpg", "a.txt"},
    };
    char path[64];

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        T_TRUE(yolo_label_path(paths[i].image, path, sizeof(path)));
        T_STR(path, paths[i].labels);
    }
    T_TRUE(!yolo_label_path("images/a.jpg", path, 12));
}

/* A label file that cannot be read is a bad sample; a link to a folder is left out. */
static void files_that_cannot_be_read_are_bad_samples(void)
{
    const char *folder = yolo_folder();
    sluice_dataset *dataset;
    const char *said;

    add_image(folder, "a", NULL);
    add_image(folder, "b", "");
    add_folder(folder, "labels/a.txt");
    T_EQ(symlink("..", t_path(folder, "images/up")), 0);
    dataset = yolo_dataset(folder, "| decode | batch 1");
    said = log_of_opening(dataset);
    T_CONTAINS(said, "the first: labels/a.txt: this is a folder, and must be a regular file");
    T_CONTAINS(said, "left out: 1 folder (first images/up)");
    check_read_fails(dataset, 0, SLUICE_E_IO, "labels/a.txt: this is a folder");
    sluice_dataset_destroy(dataset);
}

/* Names with a dot are not read, nor counted; the first file that is left out has its folder. */
static void hidden_folders_are_not_read(void)
{
    const char *folder = yolo_folder();
    sluice_dataset *dataset;

    add_image(folder, "a", "0 .5 .5 .5 .5\n");
    add_folder(folder, "images/.trash");
    add_folder(folder, "images/sub");
    write_pair(folder, "images/.trash/b.ppm", "m.pgm");
    write_pair(folder, "images/.c.ppm", "m.pgm");
    write_list(folder, "images/sub/n.doc", "x");
    dataset = yolo_dataset(folder, "| decode | batch 1");
    T_CONTAINS(log_of_opening(dataset), "left out: 1 .doc (first images/sub/n.doc);");
    T_EQ(dataset_source(dataset)->count(dataset->source), 1);
    sluice_dataset_destroy(dataset);
}

const t_test source_yolo_tests[] = {
    T_TEST(hidden_folders_are_not_read),
    T_TEST(boxes_are_pixels_of_the_image),
    T_TEST(boxes_follow_as_those_of_a_list),
    T_TEST(all_that_changes_is_said),
    T_TEST(wrong_lines_are_bad_samples_with_file_and_line),
    T_TEST(rounding_is_accepted),
    T_TEST(a_split_is_a_folder),
    T_TEST(fractions_and_pixels_are_not_joined),
    T_TEST(sets_that_are_not_there_are_named),
    T_TEST(labels_lie_beside_images),
    T_TEST(files_that_cannot_be_read_are_bad_samples),
    T_END,
};
