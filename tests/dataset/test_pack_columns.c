/* SPDX-License-Identifier: Apache-2.0 */
/* A pack has the first image and a label; other columns are lost only if the caller agrees. */
#include <stdlib.h>
#include <unistd.h>

#include <sluice/arrays.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "pack_kit.h"
#include "testing.h"

static const char two_images[] =
    "image\tlabel\tmask:mask\tboxes:boxes[3]\tc:i32[3]@boxes\tother:image\t"
    "caption:text[9]\n"
    "a.ppm\t1\tm.pgm\t0,0,4,30\t1\ta.ppm\thi\n";

static sluice_status pack_with(sluice_dataset *dataset, const char *folder, const char *drop)
{
    sluice_pack_config config = config_of(dataset, folder);

    config.drop = drop;
    return sluice_pack(&config, NULL);
}

static bool file_has(const char *folder, const char *name, const char *words)
{
    char *text = malloc(100000);
    FILE *file = fopen(t_path(folder, name), "rb");
    bool has = false;

    CU_ASSERT_PTR_NOT_NULL_FATAL(text);
    if (file != NULL) {
        text[fread(text, 1, 99999, file)] = '\0';
        has = strstr(text, words) != NULL;
        fclose(file);
    }
    free(text);
    return has;
}

static void lost_columns_are_named_before_anything_is_written(void)
{
    const char *folder = t_folder();
    const char *packed = folder_named(folder, "packed");
    sluice_dataset *dataset;

    write_pair(folder, "a.ppm", "m.pgm");
    dataset = list_dataset(folder, two_images, "");
    T_STATUS(pack_with(dataset, packed, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "these columns of image_list would be lost: "
                                    "mask,boxes,c,other,caption; to pack without them");
    T_STATUS(pack_with(dataset, packed, "mask,boxes,c"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "would be lost: other,caption; ");
    T_CONTAINS(sluice_last_error(), "(--drop mask,boxes,c,other,caption)");
    T_STATUS(pack_with(dataset, packed, "mask,boxes,c,other,caption,colour"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "there is no column 'colour'");
    T_STATUS(pack_with(dataset, packed, "image,mask"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "drop=image must not be the image, which is packed");
    T_TRUE(access(packed, F_OK) != 0);
    sluice_dataset_destroy(dataset);
}

static void dropped_columns_are_part_of_the_pack(void)
{
    static const char all[] = "mask,boxes,c,other,caption";
    const char *folder = t_folder();
    const char *packed = folder_named(folder, "packed");
    sluice_dataset *dataset;

    T_NEEDS(can_pack(), "no libarchive");
    write_pair(folder, "a.ppm", "m.pgm");
    dataset = list_dataset(folder, two_images, "");
    T_OK(pack_with(dataset, packed, all));
    T_TRUE(file_has(packed, "pack.json",
                    "\"dropped\":[\"mask\",\"boxes\",\"c\",\"other\",\"caption\"]"));
    T_TRUE(file_has(packed, "pack.txt", "\ndrop mask,boxes,c,other,caption\n"));
    T_OK(pack_with(dataset, packed, all)); /* goes on */
    T_STATUS(pack_with(dataset, packed, "mask,boxes,c,other,caption,label"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "drop the same columns to continue");
    sluice_dataset_destroy(dataset);
}

static void classes_go_with_the_label(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset;

    T_NEEDS(can_pack(), "no libarchive");
    dataset = pictures(folder);
    T_OK(pack_with(dataset, folder_named(folder, "packed"), ""));
    T_TRUE(file_has(folder_named(folder, "packed"), "pack.json", "\"dropped\":[]"));
    T_TRUE(!file_has(folder_named(folder, "packed"), "pack.txt", "drop"));
    T_TRUE(access(t_path(folder_named(folder, "packed"), "classes.txt"), F_OK) == 0);
    T_OK(pack_with(dataset, folder_named(folder, "bare"), "label"));
    T_TRUE(access(t_path(folder_named(folder, "bare"), "classes.txt"), F_OK) != 0);
    sluice_dataset_destroy(dataset);
}

/* A classes.txt that was edited may lack its last line feed; its last name counts, too. */
static void the_last_class_may_lack_its_line_feed(void)
{
    static const char *const names[] = {"ant\tbee", "c\\", "dog"};
    const char *folder = t_folder();
    sluice_dataset *dataset;
    char text[800];

    T_NEEDS(can_pack(), "no libarchive");
    dataset = pictures(folder);
    T_OK(pack_with(dataset, folder_named(folder, "packed"), ""));
    sluice_dataset_destroy(dataset);
    write_list(folder_named(folder, "packed"), "classes.txt", "ant\\tbee\nc\\\\\ndog");
    snprintf(text, sizeof(text), "webdataset %s", folder_named(folder, "packed"));
    dataset = parsed(text);
    for (int32_t i = 0; i < 3; i++) {
        char *name = NULL;

        T_OK(sluice_dataset_class_name(dataset, i, &name));
        T_STR(name, names[i]);
        sluice_string_free(name);
    }
    T_TRUE(sluice_dataset_class_name(dataset, 3, &(char *){NULL}) != SLUICE_OK);
    sluice_dataset_destroy(dataset);
}

static void check_pack_refused(const char *folder, const char *text, const char *words)
{
    sluice_dataset *dataset = parsed(text);

    T_STATUS(pack_with(dataset, folder_named(folder, "packed"), NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), words);
    sluice_dataset_destroy(dataset);
}

static void every_source_is_refused(void)
{
    static const uint8_t pixels[2][4][4][3];
    static const float points[2][3][2];
    static const int32_t numbers[2];
    const sluice_array arrays[] = {
        {"image", pixels, SLUICE_U8, 4, {2, 4, 4, 3}},
        {"eyes", points, SLUICE_F32, 3, {2, 3, 2}},
        {"number", numbers, SLUICE_I32, 1, {2}},
    };
    const char *folder = t_folder();
    sluice_dataset *dataset = NULL;
    char text[800];

    write_pair(folder, "a.ppm", "m.pgm");
    write_list(folder, "list.tsv", two_images);
    T_OK(sluice_dataset_memory(arrays, 3, &dataset));
    T_OK(sluice_dataset_add(dataset, "column eyes role=points"));
    T_TRUE(pack_with(dataset, folder_named(folder, "packed"), NULL) < 0);
    sluice_dataset_destroy(dataset);
    T_OK(sluice_dataset_memory(arrays, 3, &dataset));
    T_STATUS(pack_with(dataset, folder_named(folder, "packed"), NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "columns of memory would be lost: eyes,number; ");
    sluice_dataset_destroy(dataset);
    snprintf(text, sizeof(text), "concat (image_list %s/list.tsv) (image_list %s/list.tsv)", folder,
             folder);
    check_pack_refused(folder, text, "concat would be lost: mask,boxes,c,other,caption;");
    snprintf(text, sizeof(text),
             "zip (image_list %s/list.tsv) (synthetic 1 4,4,3 2 | project label | rename label n)",
             folder);
    check_pack_refused(folder, text, "zip would be lost: mask,boxes,c,other,caption,n;");
    snprintf(text, sizeof(text), "coco %s/c.json", folder);
    check_pack_refused(folder, text, "coco would be lost: boxes,classes,image_id;");
}

const t_test pack_columns_tests[] = {
    T_TEST(lost_columns_are_named_before_anything_is_written),
    T_TEST(dropped_columns_are_part_of_the_pack),
    T_TEST(classes_go_with_the_label),
    T_TEST(the_last_class_may_lack_its_line_feed),
    T_TEST(every_source_is_refused),
    T_END,
};
