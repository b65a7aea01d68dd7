/* SPDX-License-Identifier: Apache-2.0 */
/* Which columns a pack has: all but those that the caller leaves out. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "mindrecord_writer.h"
#include "pack_kit.h"
#include "source_kit.h"
#include "source_sets.h"
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

static void what_cannot_be_left_out_is_named_before_anything_is_written(void)
{
    const char *folder = t_folder();
    const char *packed = folder_named(folder, "packed");
    sluice_dataset *dataset;

    write_pair(folder, "a.ppm", "m.pgm");
    dataset = list_dataset(folder, two_images, "");
    T_STATUS(pack_with(dataset, packed, "boxes"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "the rows of c belong to boxes");
    T_STATUS(pack_with(dataset, packed, "mask,colour"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "there is no column 'colour'");
    T_STATUS(pack_with(dataset, packed, "image,mask"), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "drop=image must not be the image, which is packed");
    T_TRUE(access(packed, F_OK) != 0);
    sluice_dataset_destroy(dataset);
}

static void the_columns_are_in_the_summary(void)
{
    const char *folder = t_folder();
    const char *packed = folder_named(folder, "packed");
    sluice_dataset *dataset;

    T_NEEDS(can_pack(), "no libarchive");
    write_pair(folder, "a.ppm", "m.pgm");
    dataset = list_dataset(folder, two_images, "");
    T_OK(pack_with(dataset, packed, "other"));
    T_TRUE(file_has(packed, "pack.json",
                    "\"fields\":\"image:jpg/png/ppm/pgm/pbm/bmp/gif/webp/tif/jp2,label:cls,"
                    "mask:mask.png/pgm/pbm/ppm/jpg/bmp/gif/webp/tif/jp2@mask,"
                    "boxes:boxes[3]=boxes.npy,c:c.npy[3]@boxes,caption:caption.txt[9]\""));
    T_TRUE(file_has(packed, "pack.json",
                    "{\"name\":\"boxes\",\"kind\":\"boxes\",\"type\":\"f32\",\"shape\":[4],"
                    "\"most\":3},{\"name\":\"c\",\"kind\":\"values\",\"type\":\"i32\","
                    "\"shape\":[],\"most\":3,\"of\":\"boxes\"}"));
    T_TRUE(file_has(packed, "pack.txt", "\nfields image:jpg/png/ppm/pgm"));
    T_OK(pack_with(dataset, packed, "other")); /* goes on */
    sluice_dataset_destroy(dataset);
    dataset = list_dataset(folder, "image\tlabel\tw:f32\na.ppm\t1\t2\n", "");
    T_STATUS(pack_with(dataset, packed, NULL), SLUICE_E_INVALID);
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

/* Names are those of the columns that the file chooses, which the conversion has named. */
static void record_files_have_the_names_of_classes(void)
{
    static const char *const formats[] = {"tfrecord", "mindrecord"};
    const char *folder = t_folder();

    T_NEEDS(can_pack(), "no libarchive");
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        const char *converted = folder_named(folder, formats[i]);
        sluice_dataset *dataset = pictures(folder_named(folder, "src"));
        sluice_pack_config config = config_of(dataset, converted);

        config.format = formats[i];
        if (i == 0 || mindrecord_writer_check() == SLUICE_OK) {
            T_OK(sluice_pack(&config, NULL));
            sluice_dataset_destroy(dataset);
            dataset = parsedf("%s %s", formats[i], converted);
            check_class(dataset, 0, "c0");
            check_class(dataset, 2, "c2");
            sluice_dataset_destroy(dataset);
            dataset = parsedf("%s %s fields=n:label@i32", formats[i], converted);
            T_STATUS(sluice_dataset_class_name(dataset, 0, &(char *){NULL}), SLUICE_E_UNSUPPORTED);
        }
        sluice_dataset_destroy(dataset);
    }
}

static void a_label_of_any_type_is_kept(void)
{
    const char *folder = t_folder();
    const char *packed = folder_named(folder, "packed");
    sluice_dataset *dataset;

    T_NEEDS(can_pack(), "no libarchive");
    write_pair(folder, "a.ppm", "m.pgm");
    dataset = list_dataset(folder, "image\tlabel:f32\na.ppm\t1.5\n", "");
    T_OK(pack_with(dataset, packed, NULL));
    T_TRUE(
        file_has(packed, "pack.json",
                 "\"fields\":\"image:jpg/png/ppm/pgm/pbm/bmp/gif/webp/tif/jp2,label:label.npy\""));
    sluice_dataset_destroy(dataset);
}

/* Overwrites the bytes of a shard where `text` is first. */
static void damage(const char *path, const char *text)
{
    static char bytes[1 << 20];
    FILE *file = fopen(path, "r+b");
    size_t size;
    uint8_t *at;

    CU_ASSERT_PTR_NOT_NULL_FATAL(file);
    size = fread(bytes, 1, sizeof(bytes), file);
    at = memmem(bytes, size, text, strlen(text));
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    T_EQ(fseek(file, (long)(at - (uint8_t *)bytes), SEEK_SET), 0);
    T_TRUE(fwrite("damaged", 1, 7, file) == 7);
    T_EQ(fclose(file), 0);
}

static void verify_reads_every_column(void)
{
    static const char *const formats[] = {NULL, "webdataset", "tfrecord"};
    const char *folder = t_folder();
    char source[600];

    T_NEEDS(can_pack(), "no libarchive");
    write_box_list(folder);
    snprintf(source, sizeof(source), "image_list %s/list.tsv", folder);
    for (size_t i = 0; i < COUNT(formats); i++) {
        const char *packed = folder_named(folder, "packed");
        sluice_dataset *dataset = parsed(source);
        sluice_pack_config config = config_of(dataset, packed);

        make_empty(packed);
        config.format = formats[i];
        config.shard_bytes = 1 << 20;
        T_OK(sluice_pack(&config, NULL));
        T_EQ(problems_of(packed), 0);
        damage(t_path(packed, i == 2 ? "shard-000000.tfrecord" : "shard-000000.tar"),
               i == 2 ? "caption" : "\x93NUMPY");
        T_TRUE(problems_of(packed) > 0);
        sluice_dataset_destroy(dataset);
    }
}

/* pack.json is written last; pack.txt has the columns before. */
static void columns_of_a_pack_that_is_not_complete_are_known(void)
{
    const char *folder = t_folder();
    const char *packed = folder_named(folder, "packed");
    sluice_dataset *dataset;
    sluice_dataset *read;
    sluice_pack_config config;

    T_NEEDS(can_pack(), "no libarchive");
    write_box_list(folder);
    dataset = parsedf("image_list %s/list.tsv", folder);
    config = config_of(dataset, packed);
    T_OK(sluice_pack(&config, NULL));
    T_EQ(unlink(t_path(packed, "pack.json")), 0);
    read = parsedf("webdataset %s fields=auto", packed);
    check_same_columns(dataset, read);
    sluice_dataset_destroy(read);
    sluice_dataset_destroy(dataset);
}

/* Also those of image and label alone. */
static void columns_of_conversions_are_in_pack_txt(void)
{
    static const char *const with[] = {"webdataset", "tfrecord", "mindrecord"};
    static const char *const fields[] = {"\nfields image:jpg/png/",
                                         "\nfields image:image@image,label",
                                         "\nfields image:image@image,label"};
    const char *folder = t_folder();
    sluice_dataset *dataset;

    T_NEEDS(can_pack(), "no libarchive");
    write_class_folders(folder);
    dataset = parsedf("image_folder %s", folder);
    for (size_t i = 0; i < COUNT(with); i++) {
        sluice_pack_config config = config_of(dataset, folder_named(t_folder(), "out"));

        config.format = with[i];
        if (can_convert(with[i])) {
            T_OK(sluice_pack(&config, NULL));
            T_TRUE(file_has(config.folder, "pack.txt", fields[i]));
        }
    }
    sluice_dataset_destroy(dataset);
}

/* A path alone stands for all columns, so nothing is lost when it is converted again. */
static void the_path_of_a_pack_is_read_with_all_columns(void)
{
    const char *folder = t_folder();
    const char *packed = folder_named(folder, "packed");
    sluice_dataset *dataset;
    sluice_dataset *read = NULL;
    sluice_pack_config config;

    T_NEEDS(can_pack(), "no libarchive");
    write_box_list(folder);
    dataset = parsedf("image_list %s/list.tsv", folder);
    config = config_of(dataset, packed);
    T_OK(sluice_pack(&config, NULL));
    T_OK(sluice_dataset_parse_path(packed, &read));
    check_same_columns(dataset, read);
    sluice_dataset_destroy(read);
    make_empty(packed);
    config.drop = "mask,boxes,c,other,caption,id";
    T_OK(sluice_pack(&config, NULL));
    T_OK(sluice_dataset_parse_path(packed, &read)); /* with the checksums of its index */
    T_TRUE(strstr(described(read), "fields") == NULL);
    sluice_dataset_destroy(read);
    sluice_dataset_destroy(dataset);
}

const t_test pack_columns_tests[] = {
    T_TEST(what_cannot_be_left_out_is_named_before_anything_is_written),
    T_TEST(the_columns_are_in_the_summary),
    T_TEST(dropped_columns_are_part_of_the_pack),
    T_TEST(classes_go_with_the_label),
    T_TEST(the_last_class_may_lack_its_line_feed),
    T_TEST(record_files_have_the_names_of_classes),
    T_TEST(a_label_of_any_type_is_kept),
    T_TEST(verify_reads_every_column),
    T_TEST(columns_of_a_pack_that_is_not_complete_are_known),
    T_TEST(columns_of_conversions_are_in_pack_txt),
    T_TEST(the_path_of_a_pack_is_read_with_all_columns),
    T_END,
};
