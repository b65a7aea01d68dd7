/* SPDX-License-Identifier: Apache-2.0 */
/* lmdb: files that LMDB has written (tests/data/lmdb), and such with errors. */
#include "bytes_int.h"
#include "dataset_kit.h"
#include "list_kit.h"
#include "lmdb_kit.h"
#include "log_kit.h"
#include "source_kit.h"
#include "testing.h"

static const char folder[] = SLUICE_TEST_DATA "/lmdb";

/* Opens the first batch of "lmdb FOLDER REST". */
static void open_values(engine_run *run, const char *name, const char *rest)
{
    open_own(run, parsedf("lmdb %s %s", t_path(folder, name), rest), &one_worker);
    T_OK(next_batch(run));
}

static int32_t number_of(const engine_run *run, const char *name, uint32_t row)
{
    return *(const int32_t *)column_row(run, name, row);
}

static uint8_t pixel(uint32_t seed, uint32_t x, uint32_t y, uint32_t channel)
{
    return (uint8_t)(x * 5 + y * 3 * (channel + 1) + seed * 17);
}

static void check_pixels(const engine_run *run, uint32_t row, uint32_t width, bool is_bgr)
{
    const uint8_t *image = column_row(run, "image", row);

    for (uint32_t i = 0; i < 6; i++) {
        for (uint32_t c = 0; c < 3; c++) {
            T_EQ(image[(i * width + i) * 3 + (is_bgr ? 2 - c : c)], pixel(row, i, i, c));
        }
    }
}

static void datums_of_pixels_are_read_in_the_order_of_their_keys(void)
{
    sluice_dataset *dataset;
    engine_run run;

    kit_log_start(NULL, NULL);
    dataset = parsedf("lmdb %s | batch 5", t_path(folder, "caffe"));
    T_CONTAINS(kit_log_stop(), "fields=image:image@u8x8x6x3,label:label@i32;");
    open_own(&run, dataset, &one_worker);
    T_OK(next_batch(&run));
    for (uint32_t row = 0; row < 5; row++) {
        T_EQ(number_of(&run, "label", row), 3 * (int)row - 1);
        check_pixels(&run, row, 6, false);
    }
    close_run(&run);
    open_values(&run, "caffe",
                "fields=image:pixels@u8x8x6x3,c:channels@i32,h:height@i32,w:width@i32,"
                "e:encoded@i32,d:data@u8x3x8x6 | batch 5");
    check_pixels(&run, 4, 6, true);
    T_TRUE(number_of(&run, "c", 4) == 3 && number_of(&run, "h", 4) == 8 &&
           number_of(&run, "w", 4) == 6 && number_of(&run, "e", 4) == 0);
    T_EQ(((const uint8_t *)column_row(&run, "d", 4))[0], pixel(4, 0, 0, 2));
    close_run(&run);
}

static void files_of_images_in_datums_are_decoded(void)
{
    engine_run run;

    T_NEEDS(can_decode_png(), "this build has no libpng");
    open_values(&run, "encoded", "| decode | crop 6 | batch 4");
    for (uint32_t row = 0; row < 4; row += 2) {
        T_EQ(number_of(&run, "label", row), row);
        check_pixels(&run, row, 6, false);
    }
    T_EQ(number_of(&run, "label", 3), 3);
    close_run(&run);
}

static void files_of_images_are_values(void)
{
    sluice_dataset *dataset;
    engine_run run;

    T_NEEDS(can_decode_png(), "this build has no libpng");
    kit_log_start(NULL, NULL);
    dataset = parsedf("lmdb %s | decode | crop 7,9 | batch 3", t_path(folder, "images"));
    T_CONTAINS(kit_log_stop(), "fields=image:value@image;");
    open_own(&run, dataset, &one_worker);
    T_OK(next_batch(&run));
    for (uint32_t row = 0; row < 3; row++) {
        T_EQ(((const uint8_t *)column_row(&run, "image", row))[0], pixel(row, 0, 0, 0));
    }
    close_run(&run);
}

static void float_data_are_numbers(void)
{
    engine_run run;

    open_values(&run, "floats", "| batch 3");
    for (uint32_t row = 0; row < 3; row++) {
        const float *data = column_row(&run, "data", row);

        T_TRUE(data[0] == (float)row && data[1] == -0.5F * (float)row);
        T_EQ(number_of(&run, "label", row), row);
    }
    close_run(&run);
}

static void values_of_a_deep_tree_are_read(void)
{
    engine_run run;

    open_values(&run, "deep", "fields=y:value@i32x1 | batch 50");
    for (uint32_t row = 0; row < 50; row++) {
        T_EQ(number_of(&run, "y", row), row);
    }
    close_run(&run);
}

static void what_is_not_read_is_refused(void)
{
    check_source_fails("lmdb", t_path(folder, "named"), "", SLUICE_E_UNSUPPORTED,
                       "beside 0 values its main database has 2 named databases and 0 keys");
    check_source_fails(
        "lmdb", t_path(folder, "deep"), "", SLUICE_E_UNSUPPORTED,
        "its first values are neither images nor Datums of Caffe; say what they are");
    check_source_fails("lmdb", t_path(folder, "floats"), "fields=x:image@bytes[9]",
                       SLUICE_E_INVALID, "have no value image");
    check_source_fails("lmdb", SLUICE_TEST_DATA "/formats/lossless.webp", "", SLUICE_E_CORRUPT,
                       "lossless.webp: this is not an LMDB file");
}

static void names_have_the_folder(void)
{
    sluice_dataset *dataset = parsedf("lmdb %s,%s fields=x:value@bytes[4096] | batch 1",
                                      t_path(folder, "caffe"), t_path(folder, "images/data.mdb"));
    char *name = NULL;

    T_OK(sluice_dataset_sample_name(dataset, 4, &name));
    T_STR(name, "caffe/data.mdb:4");
    sluice_string_free(name);
    T_OK(sluice_dataset_sample_name(dataset, 5, &name));
    T_STR(name, "images/data.mdb:0");
    sluice_string_free(name);
    sluice_dataset_destroy(dataset);
}

/* Writes a file with the values a, b and c, b on overflow pages. */
static const char *write_values(lmdb_bytes *file)
{
    static char path[500];
    char many[600];

    memset(many, 'x', sizeof(many));
    memset(file, 0, sizeof(*file));
    file->page_size = 512;
    lmdb_put_meta(file, 0, &(lmdb_root){.depth = 1, .entries = 3, .root = 2, .transaction = 2});
    lmdb_put_meta(file, 1, &(lmdb_root){.root = UINT64_MAX, .transaction = 1});
    lmdb_begin(file, 2, LMDB_KIT_LEAF);
    lmdb_add(file, 2, "a", 0, "1", 1);
    lmdb_add_overflow(file, 2, "b", 3, many, 511);
    lmdb_add(file, 2, "c", 0, "3", 1);
    snprintf(path, sizeof(path), "%s/data.mdb", t_folder());
    t_write_file(path, file->data, (size_t)file->pages * 512);
    return path;
}

static void a_wrong_overflow_page_is_a_bad_sample(void)
{
    static lmdb_bytes file;
    const char *path = write_values(&file);
    engine_run run;

    open_own(&run, parsedf("lmdb %s fields=x:value@bytes[600],k:key@text[3] | batch 3", path),
             &one_worker);
    T_OK(next_batch(&run));
    for (uint32_t row = 0; row < 3; row++) {
        T_EQ(number_of(&run, "k_length", row), 1);
        T_EQ(*(const char *)column_row(&run, "k", row), 'a' + (int)row);
    }
    T_EQ(number_of(&run, "x_length", 0), 1);
    T_EQ(number_of(&run, "x_length", 1), 511);
    T_EQ(*(const char *)column_row(&run, "x", 2), '3');
    close_run(&run);
    file.data[3 * 512] = 7;
    t_write_file(path, file.data, (size_t)file.pages * 512);
    T_TRUE(batches_to_error(parsedf("lmdb %s fields=x:value@bytes[600] | batch 1", path),
                            &one_worker, SLUICE_E_CORRUPT,
                            "page 3 at byte 1536 is corrupt: it is not the first") == 1);
}

static void a_lost_meta_page_is_said(void)
{
    static lmdb_bytes file;
    const char *path = write_values(&file);
    sluice_dataset *dataset;

    file.data[512 + 16] ^= 1;
    t_write_file(path, file.data, (size_t)file.pages * 512);
    dataset = parsedf("lmdb %s fields=x:value@bytes[600] | batch 3", path);
    T_CONTAINS(log_of_opening(dataset), "only one of its two meta pages is valid");
    sluice_dataset_destroy(dataset);
}

static void every_failure_of_memory_is_an_error(void)
{
    char text[600];

    snprintf(text, sizeof(text), "lmdb %s/caffe | batch 5", folder);
    kit_log_start(NULL, NULL);
    check_open_memory(text);
    (void)kit_log_stop();
}

const t_test source_lmdb_tests[] = {
    T_TEST(datums_of_pixels_are_read_in_the_order_of_their_keys),
    T_TEST(files_of_images_in_datums_are_decoded),
    T_TEST(files_of_images_are_values),
    T_TEST(float_data_are_numbers),
    T_TEST(values_of_a_deep_tree_are_read),
    T_TEST(what_is_not_read_is_refused),
    T_TEST(names_have_the_folder),
    T_TEST(a_wrong_overflow_page_is_a_bad_sample),
    T_TEST(a_lost_meta_page_is_said),
    T_TEST(every_failure_of_memory_is_an_error),
    T_END,
};
