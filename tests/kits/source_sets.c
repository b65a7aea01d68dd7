/* SPDX-License-Identifier: Apache-2.0 */
#include "source_sets.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "dataset_kit.h"
#include "idx_kit.h"
#include "list_kit.h"
#include "npy_kit.h"
#include "pack_kit.h"
#include "testing.h"
#include "tokens_kit.h"

enum { LINES = SOURCE_SET_LINES };

static void write_pairs(const char *folder)
{
    for (uint32_t i = 0; i < LINES; i++) {
        char image[16];
        char mask[16];

        snprintf(image, sizeof(image), "%u.ppm", i);
        snprintf(mask, sizeof(mask), "m%u.pgm", i);
        write_pair(folder, image, mask);
    }
}

/* A list of boxes, what belongs to them, masks, further images and text. */
void write_box_list(const char *folder)
{
    static const char *const boxes[] = {"", "0,0,4,30", "10,5.5,30,25;36,0,40,3"};
    static const char *const numbers[] = {"", "9007199254740993", "-1,5"};
    char text[4000];
    size_t at = (size_t)snprintf(text, sizeof(text),
                                 "image\tlabel\tmask:mask\tboxes:boxes[3]\tc:i64[3]@boxes\t"
                                 "other:image\tcaption:text[9]\tid:i32\n");

    write_pairs(folder);
    for (uint32_t i = 0; i < LINES; i++) {
        at += (size_t)snprintf(text + at, sizeof(text) - at,
                               "%u.ppm\t%d\tm%u.pgm\t%s\t%s\t%u.ppm\t%.*s\t%d\n", i, (int)i - 3, i,
                               boxes[i % 3], numbers[i % 3], LINES - 1 - i, (int)(i % 5), "caption",
                               INT32_MIN + (int)i);
    }
    write_list(folder, "list.tsv", text);
}

/* A list of points, and numbers of several types. */
void write_number_list(const char *folder)
{
    char text[4000];
    size_t at = (size_t)snprintf(text, sizeof(text),
                                 "image\teyes:points[4]\tseen:u8[4]@eyes\tw:f32\td:f64\tn:i64[4]\t"
                                 "bytes:u8[5]\tsmall:i8\n");

    write_pairs(folder);
    for (uint32_t i = 0; i < LINES; i++) {
        at += (size_t)snprintf(
            text + at, sizeof(text) - at, "%u.ppm\t%s\t%s\t%s\t%u.125\t%s\t%s\t-%u\n", i,
            i % 2 == 0 ? "1.5,2;39,29" : "", i % 2 == 0 ? "1,0" : "", i % 2 == 0 ? "0.1" : "-1e-42",
            i, i == 2 ? "" : "1,-2,9223372036854775807", i % 2 == 0 ? "" : "7,8", i);
    }
    write_list(folder, "list.tsv", text);
}

/* The same of fractions. */
void write_fraction_list(const char *folder)
{
    write_pair(folder, "a.ppm", "m.pgm");
    write_list(folder, "list.tsv",
               "image\tboxes:darknet[3]\tc:u8[3]@boxes\n"
               "a.ppm\t0.33,0.5,0.1,0.7\t7\n"
               "a.ppm\t\t\n"
               "a.ppm\t0.5,0.5,1,1;0.123,0.456,0.2,0.3\t1,2\n");
}

void write_class_folders(const char *folder)
{
    for (uint32_t i = 0; i < LINES; i++) {
        char name[40];

        snprintf(name, sizeof(name), "class_%u/%02u.jpg", i % 3, i);
        make_jpeg(folder, name, 40 + i * 7, 90 - i, i);
    }
}

void write_table(const char *folder)
{
    write_list(folder, "list.tsv",
               "x:f32\ty:i64[3]\tt:text[4]\tlabel\n0.5\t1,2\tab\t3\n-0\t\t\t4\n");
}

void write_json_list(const char *folder)
{
    write_pairs(folder);
    write_list(folder, "list.jsonl",
               "{\"image\": \"0.ppm\", \"k\": \"dog\", \"w\": 1.5, \"b\": [[1, 2, 30, 20]]}\n"
               "{\"image\": \"1.ppm\", \"k\": \"cat\", \"w\": -2, \"b\": []}\n");
}

/* Two boxes with key points and polygons; `names` are the points of their category. */
static void write_category(const char *folder, const char *names)
{
    char text[2000];

    write_pair(folder, "a.ppm", "m.pgm");
    write_pair(folder, "b.ppm", "m.pgm");
    snprintf(
        text, sizeof(text),
        "{\"images\": [{\"id\": 1, \"file_name\": \"a.ppm\", \"width\": 40, \"height\": 30}, "
        "{\"id\": 2, \"file_name\": \"b.ppm\", \"width\": 40, \"height\": 30}],"
        "\"categories\": [{\"id\": 1, \"name\": \"fly\"%s}],\"annotations\": ["
        "{\"image_id\": 1, \"category_id\": 1, \"bbox\": [2,2,10,10], \"keypoints\": [3,4,2, "
        "5,6.5,1, 0,0,0], \"segmentation\": [[2,2, 12,2, 12,12, 2,12]]},"
        "{\"image_id\": 1, \"category_id\": 1, \"bbox\": [22,6,10,12], \"keypoints\": [24,8,2, "
        "26,9,2, 30,16,1], \"segmentation\": [[22,6, 32,6, 32,18]]}]}",
        names);
    write_list(folder, "c.json", text);
}

void write_coco_set(const char *folder)
{
    write_category(folder, ", \"keypoints\": [\"head\", \"left_wing\", \"right_wing\"]");
}

void write_unnamed_coco_set(const char *folder)
{
    write_category(folder, "");
}

void write_yolo_set(const char *folder)
{
    T_EQ(mkdir(t_path(folder, "images"), 0777), 0);
    T_EQ(mkdir(t_path(folder, "labels"), 0777), 0);
    write_pair(folder, "images/a.ppm", "m.pgm");
    write_pair(folder, "images/b.ppm", "m.pgm");
    write_list(folder, "labels/a.txt",
               "1 .1 .1 .35 .1 .35 .43333333 .1 .43333333\n0 .25 .2 .75 .2 .75 .95 .25 .95\n");
    write_list(folder, "classes.txt", "ant\nbee\n");
}

void write_array_set(const char *folder)
{
    uint8_t images[3][8][10][3];
    uint8_t masks[3][8][10];
    float vectors[3][2][3];
    double ragged[5][2];
    const int32_t lengths[3] = {2, 0, 3};

    for (size_t i = 0; i < sizeof(images); i++) {
        (&images[0][0][0][0])[i] = (uint8_t)(i * 7);
    }
    for (size_t i = 0; i < sizeof(masks); i++) {
        (&masks[0][0][0])[i] = (uint8_t)(i % 5);
    }
    for (size_t i = 0; i < 18; i++) {
        (&vectors[0][0][0])[i] = (float)i / 3;
    }
    for (size_t i = 0; i < 10; i++) {
        (&ragged[0][0])[i] = (double)i / 7;
    }
    npy_write(folder, "image.npy", "|u1", "(3, 8, 10, 3)", images, sizeof(images));
    npy_write(folder, "m.npy", "|u1", "(3, 8, 10)", masks, sizeof(masks));
    npy_write(folder, "v.npy", "<f4", "(3, 2, 3)", vectors, sizeof(vectors));
    npy_write(folder, "r.npy", "<f8", "(5, 2)", ragged, sizeof(ragged));
    npy_write(folder, "r_length.npy", "<i4", "(3,)", lengths, sizeof(lengths));
}

void write_cifar10_set(const char *folder)
{
    static uint8_t record[1 + 32 * 32 * 3];

    for (uint32_t i = 1; i <= 5; i++) {
        char name[32];

        memset(record, (int)(i * 30), sizeof(record));
        record[0] = (uint8_t)i;
        record[100 * i] = 7;
        snprintf(name, sizeof(name), "data_batch_%u.bin", i);
        t_write_file(t_path(folder, name), record, sizeof(record));
    }
}

void write_cifar100_set(const char *folder)
{
    static uint8_t records[3][2 + 32 * 32 * 3];

    for (uint32_t i = 0; i < 3; i++) {
        memset(records[i], (int)(i * 50), sizeof(records[i]));
        records[i][0] = (uint8_t)i;
        records[i][1] = (uint8_t)(90 + i);
    }
    t_write_file(t_path(folder, "train.bin"), records, sizeof(records));
}

void write_voc_set(const char *folder)
{
    static const char *const folders[] = {"Annotations", "JPEGImages", "ImageSets",
                                          "ImageSets/Main"};

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        T_EQ(mkdir(t_path(folder, folders[i]), 0777), 0);
    }
    write_pair(folder, "JPEGImages/a.ppm", "m.pgm");
    write_pair(folder, "JPEGImages/b.ppm", "m.pgm");
    write_list(folder, "ImageSets/Main/train.txt", "b\na\n");
    write_list(folder, "Annotations/a.xml",
               "<annotation><size><width>40</width><height>30</height><depth>3</depth></size>"
               "</annotation>");
    write_list(folder, "Annotations/b.xml",
               "<annotation><size><width>40</width><height>30</height><depth>3</depth></size>"
               "<object><name>dog</name><difficult>1</difficult><bndbox><xmin>3</xmin>"
               "<ymin>4</ymin><xmax>20</xmax><ymax>29</ymax></bndbox></object></annotation>");
}

void write_mnist_set(const char *folder)
{
    idx_write_pair(folder, "train-", 6, 1);
}

void write_token_set(const char *folder)
{
    tokens_write(folder, "t.bin", 2, 1, 5, 100);
}

/* ---- files of conversions -------------------------------------------------------------------- */

/* Converts a list of boxes to FOLDER/made. */
static void convert_boxes(const char *folder, const char *format)
{
    sluice_dataset *dataset;
    sluice_pack_config config;

    write_box_list(folder);
    dataset = parsedf("image_list %s/list.tsv", folder);
    config = config_of(dataset, folder_named(folder, "made"));
    config.format = format;
    T_OK(sluice_pack(&config, NULL));
    sluice_dataset_destroy(dataset);
}

void write_tar_set(const char *folder)
{
    convert_boxes(folder, "webdataset");
}

void write_tfrecord_set(const char *folder)
{
    convert_boxes(folder, "tfrecord");
}

void write_mindrecord_set(const char *folder)
{
    convert_boxes(folder, "mindrecord");
}
