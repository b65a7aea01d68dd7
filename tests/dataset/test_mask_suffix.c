/* SPDX-License-Identifier: Apache-2.0 */
/* image_list of a folder whose masks have a suffix, NAME_mask.png. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "source_kit.h"
#include "testing.h"

static sluice_status open_pairs(const char *folder, const char *masks, const char *suffix,
                                sluice_dataset **dataset_out)
{
    char text[900];
    sluice_status st;

    snprintf(text, sizeof(text), "image_list %s/photos masks=%s/%s suffix=%s | decode | batch 3",
             folder, folder, masks, suffix);
    st = sluice_dataset_parse(text, dataset_out);
    return st == SLUICE_OK ? dataset_open(*dataset_out) : st;
}

static void make_folders(const char *folder)
{
    T_EQ(mkdir(t_path(folder, "photos"), 0700), 0);
    T_EQ(mkdir(t_path(folder, "masks"), 0700), 0);
}

/* Sorted with the suffix a2_mask would be before a_mask. The first pixels of a mask tell which one
 * it is. */
static void check_pairs(sluice_dataset *dataset)
{
    engine_run run;

    T_EQ(dataset->source_count, 3);
    T_STR(name_of(dataset, 0), "a.ppm");
    T_STR(name_of(dataset, 1), "a2.ppm");
    T_STR(name_of(dataset, 2), "b.ppm");
    open_own(&run, dataset, &(run_options){.workers = 1});
    T_OK(next_batch(&run));
    for (uint32_t row = 0; row < 3; row++) {
        const uint8_t *mask = column_row(&run, "mask", row);

        T_EQ(mask[0], row + 1);
    }
    close_run(&run);
}

static void make_mask(const char *folder, const char *name, char value)
{
    static char text[20 + LIST_WIDTH * LIST_HEIGHT];
    const int at = snprintf(text, sizeof(text), "P5 %d %d 255\n", LIST_WIDTH, LIST_HEIGHT);

    memset(text + at, value, (size_t)LIST_WIDTH * LIST_HEIGHT);
    t_write_file(t_path(folder, name), text, (size_t)at + (size_t)LIST_WIDTH * LIST_HEIGHT);
}

static void make_images(const char *folder)
{
    write_pair(folder, "photos/a.ppm", "unused.pgm");
    write_pair(folder, "photos/a2.ppm", "unused.pgm");
    write_pair(folder, "photos/b.ppm", "unused.pgm");
}

static void masks_have_the_suffix(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = NULL;

    make_folders(folder);
    make_images(folder);
    make_mask(folder, "masks/a_mask.pgm", 1);
    make_mask(folder, "masks/a2_mask.PGM", 2);
    make_mask(folder, "masks/b_mask.pgm", 3);
    T_OK(open_pairs(folder, "masks", "_mask", &dataset));
    check_pairs(dataset);
}

static void both_may_be_in_one_folder(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = NULL;

    make_folders(folder);
    make_images(folder);
    make_mask(folder, "photos/a_mask.pgm", 1);
    make_mask(folder, "photos/a2_mask.pgm", 2);
    make_mask(folder, "photos/b_mask.pgm", 3);
    T_OK(open_pairs(folder, "masks/../photos", "_mask", &dataset));
    check_pairs(dataset);
}

static void masks_without_the_suffix_are_refused(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = NULL;

    make_folders(folder);
    make_images(folder);
    make_mask(folder, "masks/a_mask.pgm", 1);
    make_mask(folder, "masks/b_mask.pgm", 3);
    T_STATUS(open_pairs(folder, "masks", "_mask", &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "photos/a2.ppm has no mask of the same name and suffix _mask");
    make_mask(folder, "masks/a2.pgm", 2);
    T_STATUS(open_pairs(folder, "masks", "_mask", &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "masks/a2.pgm must be NAME_mask and an extension");
    make_mask(folder, "masks/a2_mask.pgm", 2);
    T_STATUS(open_pairs(folder, "masks", "''", &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "for masks such as NAME_mask.png give suffix=_mask");
    T_STATUS(open_pairs(folder, "photos", "''", &dataset), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "is the folder of the images, so suffix= must tell masks");
    T_STATUS(sluice_dataset_parsef(&dataset, "image_list %s suffix=_mask", folder),
             SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "suffix= needs masks=");
}

const t_test mask_suffix_tests[] = {
    T_TEST(masks_have_the_suffix),
    T_TEST(both_may_be_in_one_folder),
    T_TEST(masks_without_the_suffix_are_refused),
    T_END,
};
