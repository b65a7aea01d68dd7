/* SPDX-License-Identifier: Apache-2.0 */
/* What a pack holds is read back by fields=auto to the same batches, and to the same columns. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "engine_kit.h"
#include "list_kit.h"
#include "pack_kit.h"
#include "testing.h"

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
    read = parsedf("webdataset %s fields=auto", folder);
    check_same_columns(dataset, read);
    sluice_dataset_destroy(dataset);
    sluice_dataset_destroy(read);
    want = record_own(parsedf("%s | %s", source, stages), &one_worker);
    got = record_own(parsedf("webdataset %s fields=auto | %s", folder, stages), &one_worker);
    T_TRUE(want.batches > 0);
    T_EQ(want.end, SLUICE_END_OF_DATA);
    check_equal_tapes(&got, &want, source);
    free(want.bytes);
    free(got.bytes);
    sluice_verify_config_init(&check);
    check.path = folder;
    T_OK(sluice_pack_verify(&check, NULL));
}

static void check_round_trip(const char *source, const char *stages, const char *top)
{
    const char *packed = folder_named(top, "packed");
    const char *converted = folder_named(top, "converted");

    make_empty(packed);
    make_empty(converted);
    check_written(source, stages, NULL, packed);
    check_written(source, stages, "webdataset", converted);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void check_list(void (*write)(const char *folder), const char *stages)
{
    const char *folder = t_folder();
    char source[600];

    write(folder);
    snprintf(source, sizeof(source), "image_list %s/list.tsv", folder);
    check_round_trip(source, stages, folder);
}

static void boxes_masks_images_and_texts_come_back(void)
{
    T_NEEDS(can_pack(), "no libarchive");
    check_list(write_boxes, "decode | batch 3");
    check_list(write_boxes,
               "decode | random_resized_crop 16 | random_horizontal_flip 0.5 | batch 2");
}

static void points_and_numbers_come_back(void)
{
    T_NEEDS(can_pack(), "no libarchive");
    check_list(write_numbers, "decode | batch 3");
    check_list(write_numbers, "decode | random_horizontal_flip 0.5 swap=none | batch 2");
}

static void fractions_of_the_image_stay_fractions(void)
{
    T_NEEDS(can_pack(), "no libarchive");
    check_list(write_fractions, "decode | random_horizontal_flip 0.5 | batch 3");
}

const t_test pack_roundtrips_tests[] = {
    T_TEST(boxes_masks_images_and_texts_come_back),
    T_TEST(points_and_numbers_come_back),
    T_TEST(fractions_of_the_image_stay_fractions),
    T_END,
};
