/* SPDX-License-Identifier: Apache-2.0 */
/* Packs and conversions have the same bytes for any number of workers, after stops and after kills.
 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dataset_kit.h"
#include "list_kit.h"
#include "pack_kit.h"
#include "source_sets.h"
#include "testing.h"

typedef struct format_case {
    const char *format; /* NULL: a pack */
    bool has_files;     /* it keeps files of images */
} format_case;

static const format_case formats[] = {
    {NULL, true}, {"webdataset", true}, {"tfrecord", true}, {"mindrecord", true}, {"npy", false},
};

/* A list of boxes, or of numbers and texts alone. */
static sluice_dataset *make_source(const format_case *format)
{
    const char *folder = t_folder();
    char text[600] = "a:f32\tb:i64[3]\tc:text[4]\tlabel\n";

    if (format->has_files) {
        write_box_list(folder);
        return parsedf("image_list %s/list.tsv", folder);
    }
    for (uint32_t i = 0; i < SOURCE_SET_LINES; i++) {
        char line[60];

        snprintf(line, sizeof(line), "%u.5\t%s\t%.*s\t%u\n", i, i % 2 == 0 ? "1,2" : "",
                 (int)(i % 5), "text", i);
        strcat(text, line);
    }
    return list_dataset(folder, text, "");
}

/* A conversion that nothing has disturbed, and the settings of another one of the same bytes. */
typedef struct byte_check {
    sluice_dataset *dataset;
    sluice_pack_config config; /* of the other one */
    char whole[512];
    char other[512];
} byte_check;

static void begin_check(byte_check *check, const format_case *format, uint64_t shard_bytes)
{
    const char *folder = t_folder();

    check->dataset = make_source(format);
    snprintf(check->whole, sizeof(check->whole), "%s", folder_named(folder, "whole"));
    snprintf(check->other, sizeof(check->other), "%s", folder_named(folder, "other"));
    check->config = config_of(check->dataset, check->whole);
    check->config.format = format->format;
    check->config.shard_bytes = format->has_files ? shard_bytes : 0; /* npy has a single file */
    T_OK(sluice_pack(&check->config, NULL));
    check->config.folder = check->other;
}

/* Ends the other conversion with nothing that disturbs it. */
static void finish_other(byte_check *check)
{
    check->config.stop = NULL;
    check->config.progress = NULL;
    T_OK(sluice_pack(&check->config, NULL));
    T_TRUE(same_folders(check->whole, check->other));
}

static void workers_and_stops_do_not_change_the_bytes(void)
{
    T_NEEDS(can_pack(), "no libarchive");
    for (size_t i = 0; i < COUNT(formats); i++) {
        stopper stop = {.after = 5};
        byte_check check;

        if (!can_convert(formats[i].format)) {
            continue;
        }
        begin_check(&check, &formats[i], 20000);
        check.config.workers = 3;
        check.config.progress = stop_after;
        check.config.user = &stop;
        T_OK(sluice_stop_create(&stop.stop));
        check.config.stop = stop.stop;
        T_STATUS(sluice_pack(&check.config, NULL), SLUICE_STOPPED);
        finish_other(&check);
        sluice_stop_destroy(stop.stop);
        sluice_dataset_destroy(check.dataset);
    }
}

/* The end of a process, after so many samples. */
static void kill_after(const sluice_pack_stats *stats, void *user)
{
    if (stats->done - stats->resumed == *(const uint64_t *)user) {
        (void)raise(SIGKILL);
    }
}

/* A shard for each sample: killed at every one of them, a conversion comes to the same bytes. */
static void kills_do_not_change_the_bytes(void)
{
    T_NEEDS(can_pack(), "no libarchive");
    for (size_t i = 0; i < COUNT(formats); i++) {
        byte_check check;

        if (!can_convert(formats[i].format)) {
            continue;
        }
        begin_check(&check, &formats[i], 1);
        for (uint64_t after = 1; after <= SOURCE_SET_LINES; after++) {
            pid_t child;
            int status = 0;

            make_empty(check.other);
            child = fork();
            T_TRUE(child >= 0);
            if (child == 0) {
                check.config.progress = kill_after;
                check.config.user = &after;
                _exit(sluice_pack(&check.config, NULL) == SLUICE_OK ? 1 : 2);
            }
            T_EQ(waitpid(child, &status, 0), child);
            T_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
            finish_other(&check);
        }
        sluice_dataset_destroy(check.dataset);
    }
}

/* A file that is lost after all was complete is reported, and written again. */
static void lost_files_are_written_again(void)
{
    static const char *const lost[] = {"shard-000003.tar", "shard-000006.tar",
                                       "shard-000006.tfrecord", "shard-000002.mindrecord.db",
                                       "b_length.npy"};

    T_NEEDS(can_pack(), "no libarchive");
    for (size_t i = 0; i < COUNT(formats); i++) {
        byte_check check;

        if (!can_convert(formats[i].format)) {
            continue;
        }
        begin_check(&check, &formats[i], 1);
        finish_other(&check);
        T_EQ(problems_of(check.other), 0);
        T_EQ(unlink(t_path(check.other, lost[i])), 0);
        T_TRUE(problems_of(check.other) > 0);
        finish_other(&check);
        sluice_dataset_destroy(check.dataset);
    }
}

const t_test convert_bytes_tests[] = {
    T_TEST(workers_and_stops_do_not_change_the_bytes),
    T_TEST(kills_do_not_change_the_bytes),
    T_TEST(lost_files_are_written_again),
    T_END,
};
