/* SPDX-License-Identifier: Apache-2.0 */
/* Packing, as a program that only sees the public headers does it. */
#include <stdlib.h>

#include <sluice/sluice.h>

#include "testing.h"

static sluice_dataset *synthetic(void)
{
    sluice_dataset *dataset = NULL;

    T_OK(sluice_dataset_parse("synthetic samples=10 shape=20,30,3 classes=4", &dataset));
    return dataset;
}

/* Does this build pack? Else the test is skipped. */
static bool can_pack(void)
{
    return strstr(sluice_build_options(), "archive on") != NULL;
}

static void pixels_are_packed_and_counted(void)
{
    sluice_pack_config config;
    sluice_pack_stats stats = {.struct_size = sizeof(stats)};

    T_NEEDS(can_pack(), "no libarchive");
    sluice_pack_config_init(&config);
    config.dataset = synthetic();
    config.folder = t_folder();
    config.raw = true;
    T_OK(sluice_pack(&config, &stats));
    T_TRUE(stats.complete);
    T_EQ(stats.written, 10);
    T_EQ(stats.fates[SLUICE_PACK_RAW], 10);
    T_EQ(stats.bytes_in, 10 * 20 * 30 * 3);
    T_EQ(stats.shards, 1);
    sluice_dataset_destroy(config.dataset);
}

/* Notes the problem in the text that user is. */
static void note(const char *name, const char *why, void *user)
{
    snprintf(user, 400, "%s: %s", name, why);
}

static void a_pack_is_verified_until_a_byte_changes(void)
{
    sluice_pack_config config;
    sluice_verify_config check;
    sluice_verify_stats stats = {.struct_size = sizeof(stats)};
    char said[400] = "";
    FILE *file;

    T_NEEDS(can_pack(), "no libarchive");
    sluice_pack_config_init(&config);
    config.dataset = synthetic();
    config.folder = t_folder();
    config.quality = 80;
    T_OK(sluice_pack(&config, NULL));
    sluice_verify_config_init(&check);
    check.path = config.folder;
    check.problem = note;
    check.user = said;
    T_OK(sluice_pack_verify(&check, &stats));
    T_TRUE(stats.is_pack);
    T_EQ(stats.samples, 10);
    T_EQ(stats.checked, 10);
    T_EQ(stats.problems + stats.bad, 0);
    file = fopen(t_path(config.folder, "shard-000000.tar"), "r+b");
    T_TRUE(file != NULL);
    T_EQ(fseek(file, 512 + 400, SEEK_SET), 0);
    T_EQ(fputc(0x55, file), 0x55);
    T_EQ(fclose(file), 0);
    T_STATUS(sluice_pack_verify(&check, &stats), SLUICE_E_CORRUPT);
    T_EQ(stats.problems, 1);
    T_EQ(stats.bad, 1);
    T_EQ(stats.done, 10);
    T_CONTAINS(said, "shard-000000.tar: 000000000.jpg: the checksum differs");
    sluice_dataset_destroy(config.dataset);
}

static void a_check_of_nothing_is_refused(void)
{
    sluice_verify_config check;

    T_STATUS(sluice_pack_verify(NULL, NULL), SLUICE_E_INVALID);
    sluice_verify_config_init(&check);
    T_STATUS(sluice_pack_verify(&check, NULL), SLUICE_E_INVALID);
    check.path = t_path(t_folder(), "nothing");
    T_STATUS(sluice_pack_verify(&check, NULL), SLUICE_E_IO);
    check.path = t_folder();
    T_STATUS(sluice_pack_verify(&check, NULL), SLUICE_E_INVALID);
    check.workers = 1025;
    T_STATUS(sluice_pack_verify(&check, NULL), SLUICE_E_INVALID);
}

static void every_fate_has_a_word_and_a_text(void)
{
#define CHECK_FATE(name, number, word, text)                                                       \
    T_STR(sluice_pack_fate_name(SLUICE_PACK_##name), word);                                        \
    T_STR(sluice_pack_fate_text(SLUICE_PACK_##name), text);
    SLUICE_PACK_FATE_MAP(CHECK_FATE)
#undef CHECK_FATE
    T_STR(sluice_pack_fate_name((sluice_pack_fate)99), "?");
    T_STR(sluice_pack_fate_text((sluice_pack_fate)99), "?");
}

static void arguments_that_make_no_sense_are_refused(void)
{
    sluice_pack_config config;
    sluice_pack_stats stats = {.struct_size = 1};

    T_STATUS(sluice_pack(NULL, NULL), SLUICE_E_INVALID);
    memset(&config, 0, sizeof(config));
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    sluice_pack_config_init(&config);
    config.folder = t_folder();
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "dataset is NULL");
    config.dataset = synthetic();
    config.folder = NULL;
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    config.folder = t_folder();
    config.quality = 101;
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    config.quality = 0;
    config.subsampling = (sluice_pack_subsampling)411;
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    config.subsampling = SLUICE_PACK_SUBSAMPLING_420;
    config.raw = true;
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    config.raw = false;
    config.interval = 65536;
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "interval is 65536; it must be at most 65535 pixels");
    config.subsampling = SLUICE_PACK_SUBSAMPLING_AUTO;
    config.interval = 16;
    config.raw = true;
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "raw pixels have no restart markers");
    config.raw = false;
    config.interval = 0;
    config.workers = 1025;
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    config.workers = 1;
    if (can_pack()) {
        T_STATUS(sluice_pack(&config, &stats), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), "struct_size");
    }
    T_OK(sluice_dataset_add(config.dataset, "batch 2"));
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "and the dataset has batch");
    sluice_dataset_destroy(config.dataset);
}

const t_test pack_api_tests[] = {
    T_TEST(pixels_are_packed_and_counted),
    T_TEST(a_pack_is_verified_until_a_byte_changes),
    T_TEST(a_check_of_nothing_is_refused),
    T_TEST(every_fate_has_a_word_and_a_text),
    T_TEST(arguments_that_make_no_sense_are_refused),
    T_END,
};
