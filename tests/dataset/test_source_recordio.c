/* SPDX-License-Identifier: Apache-2.0 */
/* recordio: files of MXNet's writer (tests/data/recordio), and such with errors. */
#include <unistd.h>

#include "bytes_int.h"
#include "dataset_kit.h"
#include "list_kit.h"
#include "log_kit.h"
#include "recordio_kit.h"
#include "source_kit.h"
#include "testing.h"

static const char folder[] = SLUICE_TEST_DATA "/recordio";

/* Opens the first batch of "recordio PATH REST". */
static void open_records(engine_run *run, const char *path, const char *rest)
{
    open_own(run, parsedf("recordio %s %s", path, rest), &one_worker);
    T_OK(next_batch(run));
}

static const float *floats(const engine_run *run, uint32_t row)
{
    return column_row(run, "label", row);
}

static uint8_t pixel(uint32_t seed, uint32_t x, uint32_t y, uint32_t channel)
{
    return (uint8_t)(x * 5 + y * 3 * (channel + 1) + seed * 17);
}

static void images_and_whole_labels_are_read(void)
{
    engine_run run;

    T_NEEDS(can_decode_png(), "this build has no libpng");
    open_records(&run, t_path(folder, "whole.rec"), "| decode | crop 8,6 | batch 5");
    for (uint32_t row = 0; row < 5; row++) {
        const uint8_t *image = column_row(&run, "image", row);

        T_EQ(*(const int32_t *)column_row(&run, "label", row), 3 * (int)row - 1);
        for (uint32_t c = 0; c < 3; c++) {
            T_EQ(image[c], pixel(row, 0, 0, c));
            T_EQ(image[(7 * 6 + 5) * 3 + c], pixel(row, 5, 7, c));
        }
    }
    T_EQ(run.layout.columns[sli_layout_find(&run.layout, "label")].dtype, SLUICE_I32);
    close_run(&run);
}

static void several_labels_are_a_row(void)
{
    engine_run run;

    T_NEEDS(can_decode_png(), "this build has no libpng");
    open_records(&run, t_path(folder, "several.rec"), "| decode | batch 4");
    for (uint32_t row = 0; row < 4; row++) {
        T_TRUE(floats(&run, row)[0] == (float)row + 0.5F && floats(&run, row)[1] == -1 &&
               floats(&run, row)[2] == 2 * (float)row);
    }
    close_run(&run);
    open_records(&run, t_path(folder, "several.rec"),
                 "fields=label:label@f32[5],n:id@i64 | batch 4");
    T_TRUE(floats(&run, 3)[0] == 3.5F && floats(&run, 3)[2] == 6 && floats(&run, 3)[4] == 0);
    T_EQ(*(const int32_t *)column_row(&run, "label_length", 3), 3);
    T_EQ(*(const int64_t *)column_row(&run, "n", 3), 3);
    close_run(&run);
}

static void labels_with_fractions_become_floats(void)
{
    sluice_dataset *dataset;
    engine_run run;

    kit_log_start(NULL, NULL);
    dataset = parsedf("recordio %s | decode", t_path(folder, "escaped.rec"));
    T_CONTAINS(kit_log_stop(), "fields=image:image@image,label:label@f32;");
    sluice_dataset_destroy(dataset);
    open_records(&run, t_path(folder, "escaped.rec"), "fields=label:label@f32 | batch 3");
    T_TRUE(*floats(&run, 0) == 1 && *floats(&run, 1) == 0.25F && *floats(&run, 2) == 2);
    close_run(&run);
    dataset =
        parsedf("recordio %s fields=label:label@i32 | batch 3", t_path(folder, "escaped.rec"));
    T_TRUE(batches_to_error(dataset, &one_worker, SLUICE_E_CORRUPT,
                            "label (column label): number 1, 0.25, must be one of type i32") == 0);
}

static void escaped_bytes_come_back(void)
{
    static const char want[] = "\x0a\x23\xd7\xce"
                               "abcd\x0a\x23\xd7\xce\x0a\x23\xd7\xce"
                               "e\x0a\x23\xd7\xce"
                               "fg";
    engine_run run;

    open_records(&run, t_path(folder, "escaped.rec"), "fields=image:image@bytes[64] | batch 3");
    T_EQ(*(const int32_t *)column_row(&run, "image_length", 0), sizeof(want) - 1);
    T_TRUE(memcmp(column_row(&run, "image", 0), want, sizeof(want)) == 0);
    T_EQ(*(const int32_t *)column_row(&run, "image_length", 1), 0);
    close_run(&run);
}

/* Writes a file of five records of other sizes; their labels are their numbers. Its folder has no
 * index. */
static const char *write_file(const char *where, size_t *offsets)
{
    static char path[500];
    static uint8_t data[2000];
    recordio_bytes file = {data, 0};

    for (uint32_t i = 0; i < 5; i++) {
        const float label = (float)i;
        uint8_t bytes[100];

        offsets[i] = recordio_add(&file, bytes,
                                  recordio_image_bytes(bytes, i, &label, 0, "0123456789", 2 * i));
    }
    snprintf(path, sizeof(path), "%s/a.rec", where);
    t_write_file(path, data, file.size);
    return path;
}

static void write_index(const char *where, const char *text)
{
    t_write_file(t_path(where, "a.idx"), text, strlen(text));
}

/* Checks the labels of all records: "0 1 4". */
static void check_labels(const char *path, const char *want)
{
    sluice_dataset *dataset = parsedf("recordio %s fields=y:label@i32 | batch 1", path);
    char got[100] = "";
    size_t size = 0;
    engine_run run;

    open_own(&run, dataset, &one_worker);
    while (next_batch(&run) == SLUICE_OK) {
        size += (size_t)snprintf(got + size, sizeof(got) - size, "%s%d", size > 0 ? " " : "",
                                 *(const int32_t *)column_row(&run, "y", 0));
        done_with_batch(&run);
    }
    T_STR(got, want);
    close_run(&run);
}

/* Checks that the index beside a file of write_file() is rejected with one warning. */
static void check_scanned(const char *path, const char *words)
{
    const char *log;

    kit_log_start(NULL, NULL);
    check_labels(path, "0 1 2 3 4");
    log = kit_log_stop();
    T_CONTAINS(log, "a.idx");
    T_CONTAINS(log, words);
    T_CONTAINS(log, "it is not used, and the file is scanned");
    T_EQ(kit_log_count(SLUICE_LOG_WARN), 1);
}

static void an_index_that_does_not_fit_is_scanned_over(void)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"0\t0\n1\t0\n", "line 2 has the offset 0"},
        {"0\t0\n1\t2\n", "line 2 has the offset 2"},
        {"0\t400000\n", "line 1 has the offset 400000"},
        {"0\t18446744073709551616\n", "line 1 must be a key, a tab and the offset"},
        {"0 0\n", "line 1 must be a key, a tab and the offset"},
        {"x\n", "line 1 must be a key, a tab and the offset"},
        {"0\t\n", "line 1 must be a key, a tab and the offset"},
        {"0\t0x\n", "line 1 must be a key, a tab and the offset"},
        {"", "is not an index"},
    };
    const char *where = t_folder();
    size_t offsets[5];
    const char *path = write_file(where, offsets);

    for (size_t i = 0; i < COUNT(cases); i++) {
        write_index(where, cases[i].text);
        check_scanned(path, cases[i].words);
    }
}

/* An index that lacks its last lines would make one record of several. */
static void an_index_that_lacks_records_is_scanned_over(void)
{
    const char *where = t_folder();
    size_t offsets[5];
    const char *path = write_file(where, offsets);
    char text[200];

    snprintf(text, sizeof(text), "0\t%zu\n1\t%zu\n2\t%zu\n", offsets[0], offsets[1], offsets[2]);
    write_index(where, text);
    check_scanned(path, "its last record ends at byte");
    snprintf(text, sizeof(text), "3\t%zu\r\n4\t%zu", offsets[3], offsets[4]);
    write_index(where, text);
    check_scanned(path, "and must be at byte 0 of");
    /* a last offset without its last digits */
    snprintf(text, sizeof(text), "0\t%zu\n1\t%zu\n2\t%zu\n", offsets[0], offsets[1],
             offsets[1] + 4);
    write_index(where, text);
    check_scanned(path, "must begin with 0xced7230a");
}

static void wrong_places_are_bad_samples(void)
{
    const char *where = t_folder();
    size_t offsets[5];
    const char *path = write_file(where, offsets);
    char text[200];

    snprintf(text, sizeof(text), "0\t0\n2\t%zu\n3\t%zu\n4\t%zu\n", offsets[2] + 4, offsets[3],
             offsets[4]);
    write_index(where, text);
    T_TRUE(batches_to_error(parsedf("recordio %s fields=y:label@i32 | batch 1", path), &one_worker,
                            SLUICE_E_CORRUPT, "by its index it must have") == 0);
}

static void the_list_beside_the_file_has_paths_and_labels(void)
{
    static const char list[] =
        "4\t40\t0.5\tb/4.png\r\n\n2\t20\ta b/2.png\n0\t0.25\tx\n1\t1\t1.png\n"
        "77\t1\t77.png\n";
    const char *where = t_folder();
    size_t offsets[5];
    const char *path = write_file(where, offsets);
    engine_run run;

    t_write_file(t_path(where, "a.lst"), list, sizeof(list) - 1);
    open_records(&run, path, "fields=path:path@text[16],y:list_label@f32[2],n:id@i32 | batch 5");
    T_STR(column_row(&run, "path", 2), "a b/2.png");
    T_STR(column_row(&run, "path", 4), "b/4.png");
    T_EQ(*(const int32_t *)column_row(&run, "path_length", 3), 0); /* not in the list */
    T_EQ(*(const int32_t *)column_row(&run, "y_length", 4), 2);
    T_TRUE(((const float *)column_row(&run, "y", 4))[1] == 0.5F);
    T_TRUE(((const float *)column_row(&run, "y", 0))[0] == 0.25F);
    T_EQ(*(const int32_t *)column_row(&run, "n", 4), 4);
    close_run(&run);
}

/* Checks that a list is refused when a sample needs it, and else not read. */
static void check_bad_list(const char *list, const char *words)
{
    const char *where = t_folder();
    size_t offsets[5];
    const char *path = write_file(where, offsets);

    t_write_file(t_path(where, "a.lst"), list, strlen(list));
    check_labels(path, "0 1 2 3 4");
    T_TRUE(batches_to_error(parsedf("recordio %s fields=p:path@text[9] | batch 1", path),
                            &one_worker, SLUICE_E_CORRUPT, words) == 0);
}

static void bad_lists_are_errors_with_the_line(void)
{
    check_bad_list("0\t1\ta\n1 2 b\n", "line 2 of ");
    check_bad_list("0\ta\n", "it must be an id, labels and a path, with tabs between them");
    check_bad_list("x\t1\ta\n", "the id 'x' must be a whole number");
    check_bad_list("0\t1\ta\n\n3\tx\tb\n", "a.lst: the label 'x' must be a number");
    check_bad_list("3\t1\ta\n0\t1\tb\n3\t1\tc\n", "a.lst: the id 3 appears twice");
}

static void bad_files_are_refused_with_the_offset(void)
{
    const char *where = t_folder();
    size_t offsets[5];
    const char *path = write_file(where, offsets);

    check_source_fails("recordio", SLUICE_TEST_DATA "/formats/lossless.webp", "", SLUICE_E_CORRUPT,
                       "lossless.webp: at byte 0 a part of a record must begin");
    t_write_file(path, "", 0);
    check_source_fails("recordio", path, "", SLUICE_E_INVALID, "there is no record in 1 file");
}

/* A file with a hole: the head of one record of 256 MiB. */
static void a_large_first_record_is_not_looked_at(void)
{
    const char *path = t_file("a.rec");
    uint8_t head[8];

    sli_put_u32(head, RECORDIO_MAGIC);
    sli_put_u32(head + 4, 1 << 28);
    t_write_file(path, head, sizeof(head));
    T_EQ(truncate(path, 8 + (1 << 28)), 0);
    check_source_fails("recordio", path, "", SLUICE_E_UNSUPPORTED,
                       "its first record has 268435464 bytes, more than are looked at");
}

static void every_failure_of_memory_is_an_error(void)
{
    static const char list[] = "0\t1\t0.5\ta.png\n1\t2\tb.png\n";
    const char *where = t_folder();
    size_t offsets[5];
    const char *path = write_file(where, offsets);
    char text[600];

    t_write_file(t_path(where, "a.lst"), list, sizeof(list) - 1);
    kit_log_start(NULL, NULL);
    snprintf(text, sizeof(text), "recordio %s fields=p:path@text[9] | batch 1", path);
    check_open_memory(text);
    if (can_decode_png()) {
        snprintf(text, sizeof(text), "recordio %s | decode | resize 4 | batch 1",
                 t_path(folder, "whole.rec"));
        check_open_memory(text);
    }
    (void)kit_log_stop();
}

const t_test source_recordio_tests[] = {
    T_TEST(images_and_whole_labels_are_read),
    T_TEST(several_labels_are_a_row),
    T_TEST(labels_with_fractions_become_floats),
    T_TEST(escaped_bytes_come_back),
    T_TEST(an_index_that_does_not_fit_is_scanned_over),
    T_TEST(an_index_that_lacks_records_is_scanned_over),
    T_TEST(wrong_places_are_bad_samples),
    T_TEST(the_list_beside_the_file_has_paths_and_labels),
    T_TEST(bad_lists_are_errors_with_the_line),
    T_TEST(bad_files_are_refused_with_the_offset),
    T_TEST(a_large_first_record_is_not_looked_at),
    T_TEST(every_failure_of_memory_is_an_error),
    T_END,
};
