/* SPDX-License-Identifier: Apache-2.0 */
/* The masks of the source yolo: polygons of label files, numbers, and lines that are none. */
#include <sys/stat.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "log_kit.h"
#include "source_kit.h"
#include "testing.h"

#include <sluice/reader.h>

/* Of an image of 40x30: [4, 14) x [3, 13) of class 1, [10, 30) x [6, 28.5) of class 0. */
#define BEE "1 .1 .1 .35 .1 .35 .43333333 .1 .43333333\n"
#define ANT "0 .25 .2 .75 .2 .75 .95 .25 .95\n"

static const char *folder; /* of the last set */

static sluice_dataset *set_of(const char *labels, const char *stages)
{
    folder = t_folder();

    T_EQ(mkdir(t_path(folder, "images"), 0777), 0);
    T_EQ(mkdir(t_path(folder, "labels"), 0777), 0);
    write_pair(folder, "images/a.ppm", "m.pgm");
    write_pair(folder, "images/b.ppm", "m.pgm");
    write_list(folder, "labels/a.txt", labels);
    write_list(folder, "classes.txt", "ant\nbee\n");
    return parsedf("yolo %s %s", folder, stages);
}

static uint8_t number_at(uint32_t x, uint32_t y, bool is_semantic)
{
    const bool in_bee = x >= 4 && x < 14 && y >= 3 && y < 13;
    const bool in_ant = x >= 10 && x < 30 && y >= 6 && y < 29;

    if (in_bee && in_ant) {
        return is_semantic ? 255 : 1;
    }
    return in_bee ? (is_semantic ? 2 : 1) : in_ant ? (is_semantic ? 1 : 2) : 0;
}

/* The second bee is repeated, and dropped; the second image has no label file. */
static void masks_have_the_numbers_of_classes_or_instances(void)
{
    for (int is_semantic = 0; is_semantic < 2; is_semantic++) {
        engine_run run;
        const uint8_t *mask;

        open_own(&run,
                 set_of(BEE BEE ANT, is_semantic == 1 ? "masks=semantic | decode | batch 2"
                                                      : "masks=instance | decode | batch 2"),
                 &(run_options){.workers = 1});
        T_OK(next_batch(&run));
        mask = column_row(&run, "mask", 0);
        for (uint32_t k = 0; k < LIST_WIDTH * LIST_HEIGHT; k++) {
            T_EQ(mask[k], number_at(k % LIST_WIDTH, k / LIST_WIDTH, is_semantic == 1));
        }
        T_TRUE(is_zero(column_row(&run, "mask", 1), LIST_WIDTH * LIST_HEIGHT));
        T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 2);
        close_run(&run);
    }
}

/* A crop drops the bee, and the ant keeps its number. */
static void numbers_of_instances_follow_their_boxes(void)
{
    engine_run run;

    open_own(&run, set_of(BEE ANT, "masks=instance | decode | crop 15 12 16 | batch 1"),
             &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    T_EQ(*(const int32_t *)column_row(&run, "boxes_length", 0), 1);
    T_EQ(((const int32_t *)column_row(&run, "instances", 0))[0], 2);
    T_TRUE(is_zero((const uint8_t *)column_row(&run, "instances", 0) + 4, 4 * 99));
    T_EQ(*(const uint8_t *)column_row(&run, "mask", 0), 2);
    close_run(&run);
}

/* With masks every line must be a polygon. Without, the log says that polygons could be drawn. */
static void lines_must_be_polygons(void)
{
    sluice_dataset *dataset = set_of(BEE "1 .5 .5 .5 .5\n", "masks=instance | decode | batch 1");
    const char *log = log_of_opening(dataset);

    T_CONTAINS(log, "1 of 2 images are bad samples");
    T_CONTAINS(log, "labels/a.txt:2: this is a box, and masks= needs a polygon");
    T_TRUE(strstr(log, "are polygons") == NULL);
    sluice_dataset_destroy(dataset);
    dataset = set_of(BEE "1 .5 .5 .5 .5\n", "| decode | batch 1");
    T_CONTAINS(log_of_opening(dataset), "masks=semantic or masks=instance draws them");
    sluice_dataset_destroy(dataset);
}

/* A label file that becomes another one is a bad sample, not another mask. */
static void changed_files_are_bad_samples(void)
{
    engine_run run;
    sluice_dataset *dataset = set_of(BEE ANT, "masks=instance | take 1 | decode | batch 1");

    open_own(&run, dataset, &(run_options){.workers = 1, .batches = UINT64_MAX});
    write_list(folder, "new.txt", BEE);
    T_EQ(rename(t_path(folder, "new.txt"), t_path(folder, "labels/a.txt")), 0); /* at once */
    do {
    } while (next_batch(&run) == SLUICE_OK);
    T_CONTAINS(sluice_last_error(), "labels/a.txt: byte 42: the file is shorter");
    close_run(&run);
}

/* A reader of the source, which decodes no image, gives the mask in the image's size. */
static void readers_have_masks(void)
{
    sluice_dataset *dataset = set_of(BEE ANT, "masks=semantic");
    sluice_reader *reader = NULL;
    sluice_sample_view view;

    T_OK(sluice_reader_create(dataset, &reader));
    T_OK(sluice_reader_get(reader, 0, 5, &view));
    T_EQ(view.shape[0], LIST_HEIGHT);
    T_EQ(view.shape[1], LIST_WIDTH);
    for (uint32_t k = 0; k < LIST_WIDTH * LIST_HEIGHT; k++) {
        T_EQ(((const uint8_t *)view.data)[k], number_at(k % LIST_WIDTH, k / LIST_WIDTH, true));
    }
    sluice_reader_destroy(reader);
    sluice_dataset_destroy(dataset);
}

static void instances_have_numbers_of_a_byte(void)
{
    check_refused("yolo x masks=instance max_boxes=255 | decode | batch 1",
                  "max_boxes=255 must be at most 254 with masks=instance");
}

const t_test yolo_masks_tests[] = {
    T_TEST(masks_have_the_numbers_of_classes_or_instances),
    T_TEST(numbers_of_instances_follow_their_boxes),
    T_TEST(lines_must_be_polygons),
    T_TEST(changed_files_are_bad_samples),
    T_TEST(readers_have_masks),
    T_TEST(instances_have_numbers_of_a_byte),
    T_END,
};
