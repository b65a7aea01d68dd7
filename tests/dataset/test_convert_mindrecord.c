/* SPDX-License-Identifier: Apache-2.0 */
/* MindRecord files of conversions: their sizes, rows that are too large, bytes and texts. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "mindrecord_kit.h"
#include "mindrecord_writer.h"
#include "pack_kit.h"
#include "testing.h"

#if defined(SLI_HAVE_SQLITE) && defined(SLI_HAVE_JANSSON)

enum { SAMPLES = 12 };

/* Converts a list to files with so many bytes. */
static sluice_status convert(const char *folder, const char *list, uint64_t shard_bytes,
                             sluice_pack_stats *stats)
{
    sluice_dataset *dataset = list_dataset(folder, list, "");
    sluice_pack_config config = config_of(dataset, folder_named(folder, "out"));
    sluice_status st;

    config.format = "mindrecord";
    config.shard_bytes = shard_bytes;
    *stats = (sluice_pack_stats){.struct_size = sizeof(*stats)};
    st = sluice_pack(&config, stats);
    sluice_dataset_destroy(dataset);
    return st;
}

/* Opens file `number`. */
static void open_file(const char *folder, uint32_t number, mindrecord_file *file)
{
    char name[40];

    snprintf(name, sizeof(name), "out/shard-%06u.mindrecord", number);
    T_OK(mindrecord_file_open(t_path(folder, name), file));
}

/* Checks that files but the last have so many rows, and that all have pages of one size, as
 * MindSpore needs to read them together. */
static void check_files(const char *folder, uint32_t files, uint64_t rows, uint64_t page)
{
    for (uint32_t i = 0; i < files; i++) {
        mindrecord_file file;

        open_file(folder, i, &file);
        T_EQ(file.header.page_size, page);
        T_TRUE(i + 1 == files ? file.index.count <= rows : file.index.count == rows);
        mindrecord_file_close(&file);
    }
}

static void files_have_as_many_images_as_their_size_allows(void)
{
    const char *folder = t_folder();
    char text[2000] = "image\tlabel\n";
    sluice_pack_stats stats;

    T_NEEDS(can_pack(), "no libarchive");
    for (uint32_t i = 0; i < SAMPLES; i++) {
        char name[16];
        char line[40];

        snprintf(name, sizeof(name), "%u.ppm", i);
        write_pair(folder, name, "m.pgm");
        snprintf(line, sizeof(line), "%s\t%u\n", name, i);
        strcat(text, line);
    }
    T_OK(convert(folder, text, 20000, &stats)); /* an image has 3.6 KB */
    T_EQ(stats.shards, 3);
    check_files(folder, 3, 5, 1 << 25);
    make_empty(folder_named(folder, "out"));
    T_OK(convert(folder, text, 1, &stats));
    T_EQ(stats.shards, SAMPLES);
    make_empty(folder_named(folder, "out"));
    T_OK(convert(folder, text, 1 << 20, &stats));
    T_EQ(stats.shards, 1);
}

/* Rows without files have a limit, so that small files have small pages. */
static void files_of_numbers_are_not_larger_than_they_need(void)
{
    const char *folder = t_folder();
    char text[8000] = "x:f64\tn:u32[100]\n";
    sluice_pack_stats stats;

    T_NEEDS(can_pack(), "no libarchive");
    for (uint32_t i = 0; i < 300; i++) {
        strcat(text, "0.5\t1,2,3\n");
    }
    T_OK(convert(folder, text, 10000, &stats));
    T_EQ(stats.shards, 4);
    T_TRUE(stats.tar_bytes < 4 * 200000);
    check_files(folder, 4, 84, 1 << 15); /* a row has 20 bytes, and at most 98 around them */
    make_empty(folder_named(folder, "out"));
    T_OK(convert(folder, "t:text[50000]\nabc\n", 10000, &stats));
    check_files(folder, 1, 1, 1 << 17);
    make_empty(folder_named(folder, "out"));
    T_OK(convert(folder, "x:f64\n1\n", UINT64_C(1) << 36, &stats));
    check_files(folder, 1, 1, 1 << 25);
}

/* An image of more bytes than a page has. */
static void a_row_larger_than_a_page_is_named(void)
{
    static const char header[] = "P6 4000 3000 255\n"; /* and 36,000,000 bytes */
    const char *folder = t_folder();
    const char *image = t_path(folder, "large.ppm");
    sluice_pack_stats stats;

    T_NEEDS(can_pack(), "no libarchive");
    write_pair(folder, "a.ppm", "m.pgm");
    t_write_file(image, header, strlen(header));
    T_EQ(truncate(image, 36000000 + (off_t)strlen(header)), 0);
    T_STATUS(convert(folder, "image\tid:i32\na.ppm\t1\nlarge.ppm\t2\n", 1 << 20, &stats),
             SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "cannot write sample large.ppm: the column image has "
                                    "36000017 bytes; a row of MindRecord must have at most "
                                    "33554432");
    T_CONTAINS(sluice_last_error(), "--format webdataset keeps it");
}

/* MindSpore decodes strings as UTF-8, so bytes are no strings. */
static void bytes_are_bytes_and_texts_are_strings(void)
{
    const char *folder = t_folder();
    const char *list = "b:u8[5]\tt:text[9]\n255,0,128\tna\xC3\xAFve\n\t\n";
    mindrecord_file file;
    sluice_pack_stats stats;
    tape want;
    tape got;

    T_NEEDS(can_pack(), "no libarchive");
    T_OK(convert(folder, list, 1 << 20, &stats));
    open_file(folder, 0, &file);
    T_EQ(mindrecord_find_column(&file.header, "b")->type, MINDRECORD_BYTES);
    T_EQ(mindrecord_find_column(&file.header, "t")->type, MINDRECORD_STRING);
    mindrecord_file_close(&file);
    want = record_own(parsedf("image_list %s/list.tsv | batch 1", folder), &one_worker);
    got = record_own(parsedf("mindrecord %s/out | batch 1", folder), &one_worker);
    check_equal_tapes(&got, &want, "bytes");
    free(want.bytes);
    free(got.bytes);
}

static void texts_that_are_not_utf_8_are_named(void)
{
    const char *folder = t_folder();
    sluice_pack_stats stats;

    T_NEEDS(can_pack(), "no libarchive");
    T_STATUS(convert(folder, "t:text[9]\nna\xC3\xAFve\nna\xEFve\n", 1 << 20, &stats),
             SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(),
               "cannot write sample 1: column t: byte 3 of the text is not valid UTF-8");
}

#else

static void a_build_without_sqlite_or_jansson_refuses(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = list_dataset(folder, "x:f64\n1\n", "");
    sluice_pack_config config = config_of(dataset, folder_named(folder, "out"));

    config.format = "mindrecord";
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "this build has no ");
    sluice_dataset_destroy(dataset);
}

#endif

const t_test convert_mindrecord_tests[] = {
#if defined(SLI_HAVE_SQLITE) && defined(SLI_HAVE_JANSSON)
    T_TEST(files_have_as_many_images_as_their_size_allows),
    T_TEST(files_of_numbers_are_not_larger_than_they_need),
    T_TEST(a_row_larger_than_a_page_is_named),
    T_TEST(bytes_are_bytes_and_texts_are_strings),
    T_TEST(texts_that_are_not_utf_8_are_named),
#else
    T_TEST(a_build_without_sqlite_or_jansson_refuses),
#endif
    T_END,
};
