/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions and packs of all columns: without memory, of columns that fail, and of other folders.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc_int.h"
#include "dataset_kit.h"
#include "fault_kit.h"
#include "list_kit.h"
#include "pack_kit.h"
#include "tar_kit.h"
#include "testing.h"

enum { LINES = 4 };

static const char *const formats[] = {NULL, "webdataset", "tfrecord", "mindrecord"};

/* A list of images, masks, boxes, texts and numbers. */
static sluice_dataset *write_set(const char *folder)
{
    char text[2000] = "image\tlabel\tmask:mask\tboxes:boxes[3]\tc:i64[3]@boxes\tt:text[9]\tw:f64\n";

    for (uint32_t i = 0; i < LINES; i++) {
        char image[16];
        char mask[16];
        char line[200];

        snprintf(image, sizeof(image), "%u.ppm", i);
        snprintf(mask, sizeof(mask), "m%u.pgm", i);
        write_pair(folder, image, mask);
        snprintf(line, sizeof(line), "%s\t%u\t%s\t%s\t%s\tsome\t0.5\n", image, i, mask,
                 i % 2 == 0 ? "" : "0,0,4,30", i % 2 == 0 ? "" : "7");
        strcat(text, line);
    }
    return list_dataset(folder, text, "");
}

/* Whichever request fails: it is an error, no sample is left out, and the same call goes on. */
static void want_of_memory_ends_a_conversion_that_can_go_on(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = write_set(folder);

    T_NEEDS(can_pack(), "no libarchive");
    for (size_t i = 0; i < COUNT(formats); i++) {
        const char *whole = folder_named(folder, "whole");
        const char *broken = folder_named(folder, "broken");
        sluice_pack_config config = config_of(dataset, whole);
        sluice_status st = SLUICE_E_NO_MEMORY;

        if (!can_convert(formats[i])) {
            continue;
        }
        make_empty(whole);
        make_empty(broken);
        config.format = formats[i];
        T_OK(sluice_pack(&config, NULL));
        config.folder = broken;
        fault_pauses_begin();
        for (int64_t passed = 0; st == SLUICE_E_NO_MEMORY; passed += 1 + passed / 20) {
            sli_alloc_fail_after(passed);
            st = sluice_pack(&config, NULL);
            sli_alloc_fail_after(-1);
        }
        fault_pauses_end();
        T_OK(st);
        T_TRUE(same_folders(whole, broken));
    }
    sluice_dataset_destroy(dataset);
}

static void want_of_memory_ends_the_reading_of_columns(void)
{
    const char *folder = t_folder();
    const char *packed = folder_named(folder, "packed");
    sluice_dataset *dataset = write_set(folder);
    sluice_pack_config config = config_of(dataset, packed);
    sluice_verify_config check;
    sluice_status st = SLUICE_E_NO_MEMORY;
    char text[600];

    T_NEEDS(can_pack(), "no libarchive");
    T_OK(sluice_pack(&config, NULL));
    sluice_dataset_destroy(dataset);
    snprintf(text, sizeof(text), "webdataset %s fields=auto", packed);
    for (int64_t passed = 0; st == SLUICE_E_NO_MEMORY; passed++) {
        dataset = NULL;
        sli_alloc_fail_after(passed);
        st = sluice_dataset_parse(text, &dataset);
        sli_alloc_fail_after(-1);
    }
    T_OK(st);
    sluice_dataset_destroy(dataset);
    sluice_verify_config_init(&check);
    check.path = packed;
    check.workers = 1;
    st = SLUICE_E_NO_MEMORY;
    for (int64_t passed = 0; st == SLUICE_E_NO_MEMORY; passed += 1 + passed / 20) {
        sli_alloc_fail_after(passed);
        st = sluice_pack_verify(&check, NULL);
        sli_alloc_fail_after(-1);
    }
    T_OK(st);
}

/* A mask that cannot be read leaves its sample out, with its column in the reason. */
static void a_bad_mask_leaves_its_sample_out(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = write_set(folder);

    T_NEEDS(can_pack(), "no libarchive");
    T_EQ(unlink(t_path(folder, "m1.pgm")), 0);
    t_write_file(t_path(folder, "m2.pgm"), "no mask", 7);
    for (size_t i = 0; i < COUNT(formats); i++) {
        const char *packed = folder_named(folder, "packed");
        sluice_pack_config config = config_of(dataset, packed);
        sluice_pack_stats stats = {.struct_size = sizeof(stats)};
        char command[900];

        if (!can_convert(formats[i])) {
            continue;
        }
        make_empty(packed);
        config.format = formats[i];
        config.shard_bytes = 1 << 26;
        T_OK(sluice_pack(&config, &stats));
        T_EQ(stats.written, LINES - 2);
        T_EQ(stats.fates[SLUICE_PACK_LEFT_UNREADABLE], 1);
        T_EQ(stats.fates[SLUICE_PACK_LEFT_UNDECODABLE], 1);
        snprintf(command, sizeof(command), "grep -q '\tmask: ' %s/shard-000000.tsv", packed);
        T_EQ(system(command), 0);
    }
    sluice_dataset_destroy(dataset);
}

static void a_folder_holds_one_format(void)
{
    const char *folder = t_folder();
    const char *packed = folder_named(folder, "packed");
    sluice_dataset *dataset = write_set(folder);
    sluice_pack_config config = config_of(dataset, packed);

    T_NEEDS(can_pack(), "no libarchive");
    config.format = "webdataset";
    T_OK(sluice_pack(&config, NULL));
    config.format = "tfrecord";
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    config.format = NULL;
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(),
               "holds files of `sluice convert`, and these are of `sluice pack`");
    config.format = "parquet";
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(),
               "format=parquet must be one of webdataset, tfrecord, mindrecord, npy");
    config.format = "tfrecord";
    config.quality = 90;
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "with a format images are stored as they are");
    config.format = NULL;
    config.quality = 0;
    config.max_side = 20;
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "max_side resizes images, and mask has positions in them");
    sluice_dataset_destroy(dataset);
}

static void note_problem(const char *name, const char *why, void *user)
{
    (void)name;
    snprintf(user, 300, "%s", why);
}

/* Verifies a folder, and copies the last problem. */
static sluice_verify_stats verify(const char *folder, char why[300])
{
    sluice_verify_config check;
    sluice_verify_stats stats = {.struct_size = sizeof(stats)};

    sluice_verify_config_init(&check);
    check.path = folder;
    check.problem = note_problem;
    check.user = why;
    T_TRUE(sluice_pack_verify(&check, &stats) <= SLUICE_OK);
    return stats;
}

static void what_is_wrong_names_the_command_that_mends_it(void)
{
    static const char *const commands[] = {"pack", "convert", "convert", "convert"};
    const char *folder = t_folder();
    sluice_dataset *dataset = write_set(folder);

    T_NEEDS(can_pack(), "no libarchive");
    for (size_t i = 0; i < COUNT(formats); i++) {
        const char *packed = folder_named(folder, "packed");
        sluice_pack_config config = config_of(dataset, packed);
        char words[80];
        char why[300] = "";

        if (!can_convert(formats[i])) {
            continue;
        }
        make_empty(packed);
        config.format = formats[i];
        T_OK(sluice_pack(&config, NULL));
        t_write_file(t_path(packed, "pack.json"), "{", 1);
        (void)verify(packed, why);
        snprintf(words, sizeof(words), "corrupt; run the same `sluice %s` again", commands[i]);
        T_CONTAINS(why, words);
        T_EQ(unlink(t_path(packed, "pack.json")), 0);
        (void)verify(packed, why);
        snprintf(words, sizeof(words), "the %s is not complete; run the same `sluice %s` again",
                 i == 0 ? "pack" : "conversion", commands[i]);
        T_CONTAINS(why, words);
    }
    sluice_dataset_destroy(dataset);
}

static void stages_of_a_conversion_are_refused_as_such(void)
{
    const char *folder = t_folder();
    sluice_dataset *dataset = list_dataset(folder, "image\na.ppm\n", "| decode");
    sluice_pack_config config = config_of(dataset, folder_named(folder, "packed"));

    config.format = "webdataset";
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "a conversion must be of a source");
    config.format = NULL;
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "a pack must be of a source");
    sluice_dataset_destroy(dataset);
}

/* Pixels and numbers are bytes that were read, too. */
static void verify_counts_the_bytes_of_all_columns(void)
{
    static const char *const with[] = {"webdataset", "tfrecord", "mindrecord"};
    const char *folder = t_folder();

    T_NEEDS(can_pack(), "no libarchive");
    for (size_t i = 0; i < COUNT(with); i++) {
        const char *packed = folder_named(folder, "packed");
        sluice_dataset *dataset = parsed("synthetic 5 6,7,3");
        sluice_pack_config config = config_of(dataset, packed);
        char why[300];

        make_empty(packed);
        config.format = with[i];
        if (can_convert(with[i])) {
            T_OK(sluice_pack(&config, NULL));
            T_EQ(verify(packed, why).bytes, 5 * (6 * 7 * 3 + 4));
        }
        sluice_dataset_destroy(dataset);
    }
}

const t_test convert_faults_tests[] = {
    T_TEST(want_of_memory_ends_a_conversion_that_can_go_on),
    T_TEST(want_of_memory_ends_the_reading_of_columns),
    T_TEST(a_bad_mask_leaves_its_sample_out),
    T_TEST(a_folder_holds_one_format),
    T_TEST(what_is_wrong_names_the_command_that_mends_it),
    T_TEST(stages_of_a_conversion_are_refused_as_such),
    T_TEST(verify_counts_the_bytes_of_all_columns),
    T_END,
};
