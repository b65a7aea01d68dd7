/* SPDX-License-Identifier: Apache-2.0 */
/* Packs that are known to be wrong are not read, those that are not complete are with a warning. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <sluice/log.h>

#include "dataset_kit.h"
#include "log_kit.h"
#include "mindrecord_writer.h"
#include "pack_kit.h"
#include "shard_kit.h"
#include "testing.h"

/* All ways of reading. */
static const char *const pipelines[] = {
    "webdataset @",
    "webdataset @/shard-000001.tar label=none",
    "webdataset @ index=none image=jpg",
    "webdataset @ fields=image:jpg,label:cls",
    "webdataset @ access=stream",
};

enum { PIPELINES = sizeof(pipelines) / sizeof(pipelines[0]) };

/* Packs pictures into top/pack. Returns their dataset. */
static sluice_dataset *make_pack(const char *top)
{
    sluice_dataset *dataset = pictures(folder_named(top, "src"));
    sluice_pack_config config = config_of(dataset, folder_named(top, "pack"));

    T_OK(sluice_pack(&config, NULL));
    return dataset;
}

/* Opens all pipelines. Returns how many of them warn of a pack that is not complete. */
static int count_warnings(const char *folder)
{
    int warnings = 0;

    for (int i = 0; i < PIPELINES; i++) {
        const char *log;
        const char *found;

        kit_log_start(NULL, NULL);
        sluice_dataset_destroy(open_web(pipelines[i], folder));
        log = kit_log_stop();
        found = strstr(log, "not complete");
        warnings += found != NULL;
        T_TRUE(found == NULL || strstr(found + 1, "not complete") == NULL);
    }
    return warnings;
}

/* Parses and opens a pipeline; fields= opens the shards to learn the columns. */
static sluice_status opened(const char *text, const char *folder)
{
    const char *at = strchr(text, '@');
    sluice_dataset *dataset = NULL;
    char filled[1000];
    sluice_status st;

    snprintf(filled, sizeof(filled), "%.*s%s%s", (int)(at - text), text, folder, at + 1);
    st = sluice_dataset_parse(filled, &dataset);
    if (st == SLUICE_OK) {
        st = dataset_open(dataset);
        sluice_dataset_destroy(dataset);
    }
    return st;
}

static void note_advice(const char *name, const char *why, void *user)
{
    (void)name;
    snprintf(user, 1000, "%s", why);
}

/* Verifies the pack. Returns the text of the last problem. */
static const char *last_problem(const char *folder)
{
    static char why[1000];
    sluice_verify_config check;

    sluice_verify_config_init(&check);
    check.path = folder;
    check.problem = note_advice;
    check.user = why;
    T_STATUS(sluice_pack_verify(&check, NULL), SLUICE_E_CORRUPT);
    return why;
}

static void a_pack_that_is_marked_is_not_read(void)
{
    const char *top = t_folder();
    const char *folder = folder_named(top, "pack");
    const char *again = folder_named(top, "again");
    sluice_dataset *dataset;
    sluice_pack_config config;

    T_NEEDS(can_pack(), "no libarchive");
    sluice_dataset_destroy(make_pack(top));
    t_write_file(t_path(folder, "pack.corrupt"), "why", 3);
    for (int i = 0; i < PIPELINES; i++) {
        T_STATUS(opened(pipelines[i], folder), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), "pack/pack.corrupt: the pack was written from");
        T_CONTAINS(sluice_last_error(), "delete the whole pack");
    }
    dataset = web_dataset("webdataset @", folder);
    config = config_of(dataset, again);
    T_STATUS(sluice_pack(&config, NULL), SLUICE_E_CORRUPT);
    T_TRUE(access(again, F_OK) != 0);
    sluice_dataset_destroy(dataset);
    T_CONTAINS(last_problem(folder), "delete the whole pack");
    T_CONTAINS(last_problem(t_path(folder, "shard-000001.tar")), "delete the whole pack");
}

/* The advice is true: the same pack again is complete. */
static void a_pack_that_is_not_complete_is_read_with_a_warning(void)
{
    const char *top = t_folder();
    const char *folder = folder_named(top, "pack");
    sluice_dataset *dataset;
    sluice_pack_config config;
    int lock;

    T_NEEDS(can_pack(), "no libarchive");
    dataset = make_pack(top);
    T_EQ(count_warnings(folder), 0);
    T_EQ(unlink(t_path(folder, "pack.json")), 0);
    T_EQ(count_warnings(folder), PIPELINES);
    T_CONTAINS(last_problem(folder), "run the same `sluice pack` again");
    lock = open(t_path(folder, "pack.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    T_TRUE(lock >= 0 && flock(lock, LOCK_EX) == 0);
    T_CONTAINS(last_problem(folder), "wait for its end");
    close(lock);
    config = config_of(dataset, folder);
    T_OK(sluice_pack(&config, NULL));
    T_EQ(count_warnings(folder), 0);
    sluice_dataset_destroy(dataset);
}

/* Files of the same names that `sluice pack` did not write. */
static void other_folders_of_shards_are_no_packs(void)
{
    static const char *const files[][2] = {
        {"pack.txt", "sluice\n"}, {"pack.txt", ""}, {"pack.json", "{\"schema\":1}\n"}};
    const char *top = t_folder();
    const char *folder = folder_named(top, "mine");
    const char *index = folder_named(top, "mine/shard-000001.tar.sluice");
    sluice_verify_stats stats;
    sluice_verify_config check;

    sluice_verify_config_init(&check);
    sluice_verify_stats_init(&stats);
    check.path = folder;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        t_write_file(t_path(folder, files[i][0]), files[i][1], strlen(files[i][1]));
        make_web_shard(t_path(folder, "shard-000001.tar"), "mine", 4);
        (void)unlink(index);
        T_EQ(count_warnings(folder), 0);
        T_EQ(access(index, F_OK), 0);
        T_STATUS(sluice_pack_verify(&check, &stats), SLUICE_E_CORRUPT); /* of texts, not images */
        T_TRUE(!stats.is_pack && stats.problems == 4);
        T_EQ(unlink(t_path(folder, files[i][0])), 0);
    }
}

/* Without pack.json records are missing; a mark says that they may be wrong. */
static void records_that_are_not_complete_are_told(void)
{
    static const char *const formats[] = {"tfrecord", "mindrecord"};
    const char *folder = t_folder();

    T_NEEDS(can_pack(), "no libarchive");
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        const char *packed = folder_named(folder, formats[i]);
        sluice_dataset *dataset = pictures(folder_named(folder, "src"));
        sluice_pack_config config = config_of(dataset, packed);
        sluice_dataset *read = NULL;
        char text[700];

        if (i == 0 || mindrecord_writer_check() == SLUICE_OK) {
            snprintf(text, sizeof(text), "%s %s", formats[i], packed);
            config.format = formats[i];
            T_OK(sluice_pack(&config, NULL));
            kit_log_start(NULL, NULL);
            sluice_dataset_destroy(parsed(text));
            T_EQ(kit_log_count(SLUICE_LOG_WARN), 0);
            T_EQ(unlink(t_path(packed, "pack.json")), 0);
            sluice_dataset_destroy(parsed(text));
            T_CONTAINS(kit_log_stop(), "of a pack or conversion that is not complete");
            t_write_file(t_path(packed, "pack.corrupt"), "why", 3);
            T_STATUS(sluice_dataset_parse(text, &read), SLUICE_E_CORRUPT);
            T_CONTAINS(sluice_last_error(), "delete the whole pack");
        }
        sluice_dataset_destroy(dataset);
    }
}

/* Writes pictures into top/NAME, in files of about 2 samples; NULL: as a pack. */
static const char *write_files(const char *top, const char *name, const char *format)
{
    const char *folder = folder_named(top, name);
    sluice_dataset *dataset = pictures(folder_named(top, "src"));
    sluice_pack_config config = config_of(dataset, folder);

    config.format = format;
    T_OK(sluice_pack(&config, NULL));
    sluice_dataset_destroy(dataset);
    return folder;
}

/* A folder is read as a whole or not at all; a list of files reads those that it names. */
static void a_lost_file_of_a_complete_pack_is_an_error(void)
{
    static const struct {
        const char *format;
        const char *text;
        const char *lost;
        const char *other; /* reads a file that is there */
    } cases[] = {
        {NULL, "webdataset @", "shard-000001.tar", "webdataset @/shard-000000.tar"},
        {NULL, "webdataset @ fields=auto", "shard-000001.tar",
         "webdataset @/shard-000000.tar fields=auto"},
        {NULL, "webdataset @ access=stream", "shard-000000.tar",
         "webdataset @/shard-000001.tar access=stream"},
        {"webdataset", "webdataset @ fields=auto", "shard-000001.tar",
         "webdataset @/shard-000000.tar fields=auto"},
        {"tfrecord", "tfrecord @", "shard-000001.tfrecord", "tfrecord @/shard-000000.tfrecord"},
        {"mindrecord", "mindrecord @", "shard-000001.mindrecord",
         "mindrecord @/shard-000000.mindrecord"},
    };

    T_NEEDS(can_pack(), "no libarchive");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const bool has_writer = cases[i].format == NULL || cases[i].format[0] != 'm' ||
                                mindrecord_writer_check() == SLUICE_OK;
        const char *folder = NULL;

        if (!has_writer) {
            continue;
        }
        folder = write_files(t_folder(), "pack", cases[i].format);
        T_OK(opened(cases[i].text, folder));
        T_EQ(unlink(t_path(folder, cases[i].lost)), 0);
        T_STATUS(opened(cases[i].text, folder), SLUICE_E_CORRUPT);
        T_CONTAINS(sluice_last_error(), cases[i].lost);
        T_CONTAINS(sluice_last_error(), "is missing: by pack.json its folder must have");
        T_OK(opened(cases[i].other, folder));
    }
}

/* A folder that is copied over a larger one keeps files of that. */
static void a_file_after_the_last_one_is_an_error(void)
{
    const char *folder;
    char command[1500];

    T_NEEDS(can_pack(), "no libarchive");
    folder = write_files(t_folder(), "pack", "tfrecord");
    snprintf(command, sizeof(command), "cd %s && set -- *.tfrecord && cp $1 shard-00000$#.tfrecord",
             folder);
    T_EQ(system(command), 0);
    T_STATUS(opened("tfrecord @", folder), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), ".tfrecord is of another pack: by pack.json its folder must");
}

/* A file of another conversion has the name of the one that is lost. */
static void another_number_of_samples_is_an_error(void)
{
    const char *top = t_folder();
    const char *folder;

    T_NEEDS(can_pack(), "no libarchive");
    folder = write_files(top, "pack", "tfrecord");
    t_write_file(t_path(folder, "shard-000001.tfrecord"), "", 0);
    T_STATUS(opened("tfrecord @", folder), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "samples, and by pack.json they must have");
    make_web_shard(t_path(write_files(top, "web", "webdataset"), "shard-000001.tar"), "x", 1);
    T_STATUS(opened("webdataset @ fields=auto", folder_named(top, "web")), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "samples, and by pack.json they must have");
    T_STATUS(opened("webdataset @", folder_named(top, "web")), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "samples, and by pack.json they must have");
}

/* MindSpore needs the .db of each file. */
static void a_lost_db_is_found_and_written_again(void)
{
    const char *folder = t_folder();
    const char *whole = folder_named(folder, "whole");
    const char *other = folder_named(folder, "other");
    sluice_dataset *dataset;
    sluice_pack_config config;

    T_NEEDS(can_pack() && mindrecord_writer_check() == SLUICE_OK, "no libarchive or no SQLite");
    dataset = pictures(folder_named(folder, "src"));
    config = config_of(dataset, whole);
    config.format = "mindrecord";
    T_OK(sluice_pack(&config, NULL));
    config.folder = other;
    T_OK(sluice_pack(&config, NULL));
    T_EQ(unlink(t_path(other, "shard-000000.mindrecord.db")), 0);
    T_TRUE(strstr(last_problem(other), "that belongs to it is missing") != NULL);
    T_OK(sluice_pack(&config, NULL));
    T_TRUE(same_folders(whole, other));
    t_write_file(t_path(other, "shard-000000.mindrecord.db"), "", 0);
    T_TRUE(strstr(last_problem(other), "that belongs to it is missing") != NULL);
    T_OK(sluice_pack(&config, NULL));
    T_TRUE(same_folders(whole, other));
    sluice_dataset_destroy(dataset);
}

const t_test pack_marks_tests[] = {
    T_TEST(a_pack_that_is_marked_is_not_read),
    T_TEST(a_pack_that_is_not_complete_is_read_with_a_warning),
    T_TEST(other_folders_of_shards_are_no_packs),
    T_TEST(records_that_are_not_complete_are_told),
    T_TEST(a_lost_file_of_a_complete_pack_is_an_error),
    T_TEST(a_file_after_the_last_one_is_an_error),
    T_TEST(another_number_of_samples_is_an_error),
    T_TEST(a_lost_db_is_found_and_written_again),
    T_END,
};
