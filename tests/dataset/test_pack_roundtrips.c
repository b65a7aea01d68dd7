/* SPDX-License-Identifier: Apache-2.0 */
/* What packs and conversions hold is read back by fields=auto to the same batches, and to the same
 * columns. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "idx_kit.h"
#include "list_kit.h"
#include "mindrecord_writer.h"
#include "npy_kit.h"
#include "pack_kit.h"
#include "testing.h"
#include "tokens_kit.h"

enum { LINES = 7 };

/* ---- sources --------------------------------------------------------------------------------- */

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
static void write_boxes(const char *folder)
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
static void write_numbers(const char *folder)
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
static void write_fractions(const char *folder)
{
    write_pair(folder, "a.ppm", "m.pgm");
    write_list(folder, "list.tsv",
               "image\tboxes:darknet[3]\tc:u8[3]@boxes\n"
               "a.ppm\t0.33,0.5,0.1,0.7\t7\n"
               "a.ppm\t\t\n"
               "a.ppm\t0.5,0.5,1,1;0.123,0.456,0.2,0.3\t1,2\n");
}

static void write_folder(const char *folder)
{
    for (uint32_t i = 0; i < LINES; i++) {
        char name[40];

        snprintf(name, sizeof(name), "class_%u/%02u.jpg", i % 3, i);
        make_jpeg(folder, name, 40 + i * 7, 90 - i, i);
    }
}

static void write_table(const char *folder)
{
    write_list(folder, "list.tsv",
               "x:f32\ty:i64[3]\tt:text[4]\tlabel\n0.5\t1,2\tab\t3\n-0\t\t\t4\n");
}

#ifdef SLI_HAVE_JANSSON

static void write_lines(const char *folder)
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

static void write_coco(const char *folder)
{
    write_category(folder, ", \"keypoints\": [\"head\", \"left_wing\", \"right_wing\"]");
}

static void write_coco_unnamed(const char *folder)
{
    write_category(folder, "");
}

#endif

static void write_yolo(const char *folder)
{
    T_EQ(mkdir(t_path(folder, "images"), 0777), 0);
    T_EQ(mkdir(t_path(folder, "labels"), 0777), 0);
    write_pair(folder, "images/a.ppm", "m.pgm");
    write_pair(folder, "images/b.ppm", "m.pgm");
    write_list(folder, "labels/a.txt",
               "1 .1 .1 .35 .1 .35 .43333333 .1 .43333333\n0 .25 .2 .75 .2 .75 .95 .25 .95\n");
    write_list(folder, "classes.txt", "ant\nbee\n");
}

static void write_arrays(const char *folder)
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

static void write_mnist(const char *folder)
{
    idx_write_pair(folder, "train-", 6, 1);
}

static void write_tokens(const char *folder)
{
    tokens_write(folder, "t.bin", 2, 1, 5, 100);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static void check_same_columns(const sluice_dataset *want, const sluice_dataset *got)
{
    const stage_schema *a = &want->source_schema;
    const stage_schema *b = &got->source_schema;

    T_EQ(b->column_count, a->column_count);
    T_EQ(b->image, a->image);
    for (uint32_t i = 0; i < a->column_count; i++) {
        const column_info *x = &a->infos[i];
        const column_info *y = &b->infos[i];

        T_STR(b->columns[i].name, a->columns[i].name);
        T_EQ(b->columns[i].dtype, a->columns[i].dtype);
        T_EQ(b->columns[i].rank, a->columns[i].rank);
        T_EQ(memcmp(b->columns[i].shape, a->columns[i].shape, sizeof(a->columns[i].shape)), 0);
        T_EQ(y->role, x->role);
        T_EQ(y->in_parts, x->in_parts);
        T_EQ(y->is_tied, x->is_tied);
        T_EQ(y->numbers_mask, x->numbers_mask);
        T_EQ(schema_owner(b, i), schema_owner(a, i));
        T_EQ(schema_length_buffer(b, i), schema_length_buffer(a, i));
    }
}

/* Packs or converts `source`, and compares what it gives before `stages` with what the files give.
 */
static void check_written(const char *source, const char *stages, const char *format,
                          const char *folder)
{
    const char *reader = format != NULL ? format : "webdataset";
    const char *fields = strcmp(reader, "webdataset") == 0 ? " fields=auto" : "";
    sluice_dataset *dataset = parsed(source);
    sluice_pack_config config = config_of(dataset, folder);
    sluice_pack_stats stats = {.struct_size = sizeof(stats)};
    sluice_verify_config check;
    sluice_dataset *read;
    tape want;
    tape got;

    config.format = format;
    T_OK(sluice_pack(&config, &stats));
    T_TRUE(stats.complete);
    T_EQ(stats.written, stats.samples);
    T_OK(sluice_pack(&config, &stats)); /* nothing is left to do */
    T_EQ(stats.resumed, stats.samples);
    read = parsedf("%s %s%s", reader, folder, fields);
    check_same_columns(dataset, read);
    sluice_dataset_destroy(dataset);
    sluice_dataset_destroy(read);
    want = record_own(parsedf("%s | %s", source, stages), &one_worker);
    got = record_own(parsedf("%s %s%s | %s", reader, folder, fields, stages), &one_worker);
    T_TRUE(want.batches > 0);
    T_EQ(want.end, SLUICE_END_OF_DATA);
    check_equal_tapes(&got, &want, source);
    free(want.bytes);
    free(got.bytes);
    sluice_verify_config_init(&check);
    check.path = folder;
    T_OK(sluice_pack_verify(&check, NULL));
}

static const char *const record_formats[] = {"tfrecord", "mindrecord"};

/* Has the build what a format needs? */
static bool can_write(const char *format)
{
    return strcmp(format, "mindrecord") != 0 || mindrecord_writer_check() == SLUICE_OK;
}

/* refused: words of the error of a format that cannot keep a column. */
static void check_refused_format(const char *source, const char *format, const char *folder,
                                 const char *refused)
{
    sluice_dataset *dataset = parsed(source);
    sluice_pack_config config = config_of(dataset, folder);

    config.format = format;
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), refused);
    sluice_dataset_destroy(dataset);
}

/* `refused`: what the error of a format of records has; NULL: it keeps all columns. */
static void check_round_trip(const char *source, const char *stages, const char *top,
                             const char *refused)
{
    const char *packed = folder_named(top, "packed");
    const char *converted = folder_named(top, "converted");

    make_empty(packed);
    make_empty(converted);
    check_written(source, stages, NULL, packed);
    check_written(source, stages, "webdataset", converted);
    for (size_t i = 0; i < COUNT(record_formats); i++) {
        make_empty(converted);
        if (!can_write(record_formats[i])) {
            continue;
        }
        if (refused == NULL) {
            check_written(source, stages, record_formats[i], converted);
        } else {
            check_refused_format(source, record_formats[i], converted, refused);
        }
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* A source, %s is its folder. */
typedef struct source_case {
    void (*write)(const char *folder);
    const char *source;
    const char *stages;
    const char *refused; /* by formats of records; NULL: not */
} source_case;

static void check_cases(const source_case *cases, size_t count)
{
    T_NEEDS(can_pack(), "no libarchive");
    for (size_t i = 0; i < count; i++) {
        char folder[300];
        char source[600];
        const char *mark = strstr(cases[i].source, "%s");

        snprintf(folder, sizeof(folder), "%s", t_folder());
        cases[i].write(folder);
        snprintf(source, sizeof(source), "%.*s%s%s", (int)(mark - cases[i].source), cases[i].source,
                 folder, mark + 2);
        check_round_trip(source, cases[i].stages, t_folder(), cases[i].refused);
    }
}

static void lists_come_back(void)
{
    static const source_case cases[] = {
        {write_boxes, "image_list %s/list.tsv", "decode | batch 3", NULL},
        {write_boxes, "image_list %s/list.tsv",
         "decode | random_resized_crop 16 | random_horizontal_flip 0.5 | batch 2", NULL},
        {write_numbers, "image_list %s/list.tsv", "decode | batch 3", NULL},
        {write_numbers, "image_list %s/list.tsv",
         "decode | random_horizontal_flip 0.5 swap=none | batch 2", NULL},
        {write_fractions, "image_list %s/list.tsv", "decode | random_horizontal_flip 0.5 | batch 3",
         NULL},
#ifdef SLI_HAVE_JANSSON
        {write_lines, "image_list %s/list.jsonl fields=image,k:class,w:f64,b:boxes[2]",
         "decode | batch 2", NULL},
#endif
    };

    check_cases(cases, COUNT(cases));
}

static void images_with_labels_come_back(void)
{
    static const source_case cases[] = {
        {write_folder, "image_folder %s", "decode | resize 20,20 | batch 4", NULL},
        {write_mnist, "mnist %s", "batch 4", NULL},
    };

    check_cases(cases, COUNT(cases));
}

static void boxes_and_masks_of_sets_come_back(void)
{
    static const source_case cases[] = {
#ifdef SLI_HAVE_JANSSON
        {write_coco, "coco %s/c.json masks=instance max_boxes=4", "decode | batch 2", NULL},
        {write_coco, "coco %s/c.json masks=semantic",
         "decode | random_horizontal_flip 0.5 | batch 2", NULL},
        {write_coco, "coco %s/c.json keypoints=3 max_boxes=4",
         "decode | random_horizontal_flip 0.5 | batch 2",
         "cannot have the column keypoints: a flip exchanges"},
        {write_coco_unnamed, "coco %s/c.json keypoints=3 max_boxes=4 masks=instance",
         "decode | random_horizontal_flip 0.5 swap=none | batch 2", NULL},
#endif
        {write_yolo, "yolo %s masks=instance", "decode | random_horizontal_flip 0.5 | batch 2",
         NULL},
    };

    check_cases(cases, COUNT(cases));
}

static void arrays_come_back(void)
{
    static const source_case cases[] = {
        {write_arrays, "npy %s ragged=r[3]", "batch 2", NULL},
        {write_arrays, "npy %s ragged=r[3] | column m role=mask",
         "random_horizontal_flip 0.5 | batch 2", NULL},
    };

    check_cases(cases, COUNT(cases));
}

static void samples_without_images_are_converted(void)
{
    static const char *const formats[] = {"webdataset", "tfrecord", "mindrecord"};
    const char *folder = t_folder();

    T_NEEDS(can_pack(), "no libarchive");
    write_table(folder);
    write_tokens(folder);
    for (size_t i = 0; i < COUNT(formats); i++) {
        char source[600];
        char name[40];

        if (!can_write(formats[i])) {
            continue;
        }
        snprintf(source, sizeof(source), "image_list %s/list.tsv", folder);
        snprintf(name, sizeof(name), "table_%s", formats[i]);
        check_written(source, "batch 2", formats[i], folder_named(folder, name));
        snprintf(source, sizeof(source), "tokens %s/t.bin seq=8", folder);
        snprintf(name, sizeof(name), "tokens_%s", formats[i]);
        check_written(source, "batch 2", formats[i], folder_named(folder, name));
    }
}

static uint64_t problems_of(const char *folder)
{
    sluice_verify_config check;
    sluice_verify_stats stats = {.struct_size = sizeof(stats)};

    sluice_verify_config_init(&check);
    check.path = folder;
    T_TRUE(sluice_pack_verify(&check, &stats) == (stats.problems > 0 ? SLUICE_E_CORRUPT : 0));
    return stats.problems;
}

/* The columns have the order of the names of their files. */
static void arrays_of_numbers_become_arrays(void)
{
    const char *folder = t_folder();
    const char *out = folder_named(folder, "out");
    sluice_pack_config config;
    sluice_dataset *dataset;
    tape want;
    tape got;

    T_NEEDS(can_pack(), "no libarchive");
    write_list(
        folder, "list.tsv",
        "a:f32\tb:i64[3]\tc:text[4]\tlabel\n0.5\t1,2\tab\t3\n-0\t\t\t4\n7\t1,2,3\tabcd\t5\n");
    dataset = parsedf("image_list %s/list.tsv", folder);
    config = config_of(dataset, out);
    config.format = "npy";
    config.shard_bytes = 1; /* all samples are in one file */
    T_OK(sluice_pack(&config, NULL));
    T_OK(sluice_pack(&config, NULL));
    sluice_dataset_destroy(dataset);
    want = record_own(parsedf("image_list %s/list.tsv | batch 2", folder), &one_worker);
    got = record_own(parsedf("npy %s ragged=b[3],c[4] | batch 2", out), &one_worker);
    check_equal_tapes(&got, &want, "npy");
    free(want.bytes);
    free(got.bytes);
    T_EQ(problems_of(out), 0);
    make_empty(out);
    write_mnist(folder);
    dataset = parsedf("mnist %s", folder);
    config = config_of(dataset, out);
    config.format = "npy";
    T_OK(sluice_pack(&config, NULL));
    sluice_dataset_destroy(dataset);
    want = record_own(parsedf("mnist %s | batch 2", folder), &one_worker);
    got = record_own(parsedf("npy %s | batch 2", out), &one_worker);
    check_equal_tapes(&got, &want, "npy of images");
    free(want.bytes);
    free(got.bytes);
    write_boxes(folder);
    make_empty(out);
    dataset = parsedf("image_list %s/list.tsv", folder);
    config = config_of(dataset, out);
    config.format = "npy";
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "arrays cannot have the column image: it has files of images");
    sluice_dataset_destroy(dataset);
}

/* A conversion that was stopped after some samples, and one by several workers, have the same
 * bytes. */
static void workers_and_stops_do_not_change_the_bytes(void)
{
    const char *folder = t_folder();
    char source[600];

    T_NEEDS(can_pack(), "no libarchive");
    write_boxes(folder);
    snprintf(source, sizeof(source), "image_list %s/list.tsv", folder);
    for (size_t i = 0; i < COUNT(record_formats) + 1; i++) {
        const char *format = i == 0 ? "webdataset" : record_formats[i - 1];
        const char *whole = folder_named(folder, "whole");
        const char *other = folder_named(folder, "other");
        sluice_dataset *dataset = parsed(source);
        sluice_pack_config config = config_of(dataset, whole);
        stopper stop = {.after = 5};

        if (!can_write(format)) {
            sluice_dataset_destroy(dataset);
            continue;
        }
        make_empty(whole);
        make_empty(other);
        config.format = format;
        T_OK(sluice_pack(&config, NULL));
        config.folder = other;
        config.workers = 3;
        config.progress = stop_after;
        config.user = &stop;
        T_OK(sluice_stop_create(&stop.stop));
        config.stop = stop.stop;
        T_STATUS(sluice_pack(&config, NULL), SLUICE_STOPPED);
        sluice_stop_destroy(stop.stop);
        config.stop = NULL;
        config.progress = NULL;
        T_OK(sluice_pack(&config, NULL));
        T_TRUE(same_folders(whole, other));
        sluice_dataset_destroy(dataset);
    }
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
    write_boxes(folder);
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
    write_boxes(folder);
    dataset = parsedf("image_list %s/list.tsv", folder);
    config = config_of(dataset, packed);
    T_OK(sluice_pack(&config, NULL));
    T_EQ(unlink(t_path(packed, "pack.json")), 0);
    read = parsedf("webdataset %s fields=auto", packed);
    check_same_columns(dataset, read);
    sluice_dataset_destroy(read);
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
    write_boxes(folder);
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

const t_test pack_roundtrips_tests[] = {
    T_TEST(lists_come_back),
    T_TEST(images_with_labels_come_back),
    T_TEST(boxes_and_masks_of_sets_come_back),
    T_TEST(arrays_come_back),
    T_TEST(samples_without_images_are_converted),
    T_TEST(arrays_of_numbers_become_arrays),
    T_TEST(workers_and_stops_do_not_change_the_bytes),
    T_TEST(verify_reads_every_column),
    T_TEST(columns_of_a_pack_that_is_not_complete_are_known),
    T_TEST(the_path_of_a_pack_is_read_with_all_columns),
    T_END,
};
