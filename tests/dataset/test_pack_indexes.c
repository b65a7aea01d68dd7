/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a shard of a pack is the one that was packed, or an error: it is not rebuilt. */
#include <stdlib.h>
#include <unistd.h>

#include <sluice/log.h>

#include "log_kit.h"
#include "pack_kit.h"
#include "shard_kit.h"
#include "testing.h"

/* How a shell spoils the index of shard 1, and what is said of it. */
typedef struct spoilt_index {
    const char *how;
    const char *words;
} spoilt_index;

static const spoilt_index spoilt[] = {
    {"rm shard-000001.tar.sluice", "shard-000001.tar.sluice is missing"},
    {"printf XX | dd of=shard-000001.tar.sluice bs=1 seek=90 conv=notrunc status=none",
     "shard-000001.tar.sluice is corrupt"},
    {": >shard-000001.tar.sluice", "shard-000001.tar.sluice is"},
    {"cp shard-000000.tar.sluice shard-000001.tar.sluice", "shard-000001.tar.sluice is of a"},
    /* What a shard that is of no pack gets. */
    {"mv ../plain.tar.sluice shard-000001.tar.sluice", "has no checksums"},
};

enum { SPOILT = sizeof(spoilt) / sizeof(spoilt[0]) };

static void run_in(const char *folder, const char *command)
{
    shell("cd '%s' && { %s; }", folder, command);
}

/* Packs pictures into top/whole. Returns their dataset. */
static sluice_dataset *make_pack(const char *top)
{
    sluice_dataset *dataset = pictures(folder_named(top, "src"));
    sluice_pack_config config = config_of(dataset, folder_named(top, "whole"));

    T_OK(sluice_pack(&config, NULL));
    return dataset;
}

/* A copy of the pack, spoilt, in top/NAME. */
static void make_spoilt(const char *top, const spoilt_index *how)
{
    run_in(top, "rm -rf spoilt plain.tar.sluice && cp -rp whole spoilt && cp "
                "whole/shard-000001.tar plain.tar");
    sluice_dataset_destroy(open_web("webdataset @", folder_named(top, "plain.tar")));
    run_in(top, "test -e plain.tar.sluice");
    run_in(folder_named(top, "spoilt"), how->how);
    run_in(top, "rm -rf before && cp -rp spoilt before");
}

static sluice_status verify(const char *path, sluice_verify_stats *stats)
{
    sluice_verify_config check;

    sluice_verify_config_init(&check);
    sluice_verify_stats_init(stats);
    check.path = path;
    return sluice_pack_verify(&check, stats);
}

static void a_spoilt_index_is_an_error_and_stays_one(void)
{
    static const char *const pipelines[] = {"webdataset @", "webdataset @ label=none",
                                            "webdataset @/shard-000001.tar",
                                            "webdataset @/shard-{000000..000001}.tar"};
    const char *top = t_folder();
    sluice_verify_stats stats;

    T_NEEDS(can_pack(), "no libarchive");
    sluice_dataset_destroy(make_pack(top));
    for (int i = 0; i < SPOILT; i++) {
        const char *folder = folder_named(top, "spoilt");

        make_spoilt(top, &spoilt[i]);
        for (int k = 0; k < 4; k++) {
            check_web_fails(pipelines[k], folder, SLUICE_E_CORRUPT, spoilt[i].words);
            T_CONTAINS(sluice_last_error(), "run the same `sluice pack` again");
        }
        T_TRUE(same_folders(folder_named(top, "before"), folder_named(top, "spoilt")));
        T_STATUS(verify(folder_named(top, "spoilt"), &stats), SLUICE_E_CORRUPT);
        T_EQ(stats.problems, 1);
        T_STATUS(verify(folder_named(top, "spoilt/shard-000001.tar"), &stats), SLUICE_E_CORRUPT);
        T_EQ(stats.problems, 1);
    }
}

/* What the error advises. */
static void packing_again_writes_a_spoilt_index(void)
{
    const char *top = t_folder();
    sluice_dataset *dataset;
    sluice_pack_config config;
    sluice_pack_stats stats;
    const char *log;

    T_NEEDS(can_pack(), "no libarchive");
    dataset = make_pack(top);
    for (int i = 0; i < SPOILT; i++) {
        make_spoilt(top, &spoilt[i]);
        config = config_of(dataset, folder_named(top, "spoilt"));
        sluice_pack_stats_init(&stats);
        kit_log_start(NULL, NULL);
        T_OK(sluice_pack(&config, &stats));
        log = kit_log_stop();
        T_CONTAINS(log, spoilt[i].words);
        T_CONTAINS(log, "shard-000001.tar and all shards after it are packed again");
        T_TRUE(stats.resumed > 0 && stats.resumed < PACK_SAMPLES);
        T_TRUE(same_folders(folder_named(top, "whole"), folder_named(top, "spoilt")));
    }
    sluice_dataset_destroy(dataset);
}

/* Without the pack's index, which is said, and without another one beside it. */
static void a_pack_is_read_without_checksums_on_demand(void)
{
    static const char *const pipelines[] = {
        "webdataset @ index=none", "webdataset @ index=@-indexes", "webdataset @ image=jpg",
        "webdataset @ fields=image:jpg", "webdataset @ access=stream"};
    const char *top = t_folder();
    const char *log;

    T_NEEDS(can_pack(), "no libarchive");
    sluice_dataset_destroy(make_pack(top));
    make_spoilt(top, &spoilt[0]);
    T_EQ(setenv("XDG_CACHE_HOME", folder_named(top, "cache"), 1), 0);
    for (size_t i = 0; i < sizeof(pipelines) / sizeof(pipelines[0]); i++) {
        kit_log_start(NULL, NULL);
        sluice_dataset_destroy(open_web(pipelines[i], folder_named(top, "spoilt")));
        log = kit_log_stop();
        T_EQ(kit_log_count(SLUICE_LOG_WARN), 1);
        T_CONTAINS(log, "shards of packs are read without their checksums");
        T_TRUE(same_folders(folder_named(top, "before"), folder_named(top, "spoilt")));
    }
    T_EQ(unsetenv("XDG_CACHE_HOME"), 0);
}

/* A copy has other stamps, and its index is valid; a copy of the shards alone is no pack. */
static void copies_of_a_pack_are_read(void)
{
    const char *top = t_folder();

    T_NEEDS(can_pack(), "no libarchive");
    sluice_dataset_destroy(make_pack(top));
    run_in(top, "cp -r whole copy && mkdir shards && cp whole/*.tar shards && cp -r copy before");
    kit_log_start(NULL, NULL);
    sluice_dataset_destroy(open_web("webdataset @", folder_named(top, "copy")));
    sluice_dataset_destroy(open_web("webdataset @", folder_named(top, "shards")));
    kit_log_stop();
    T_EQ(kit_log_count(SLUICE_LOG_WARN), 0);
    T_TRUE(same_folders(folder_named(top, "copy"), folder_named(top, "before")));
    T_EQ(access(folder_named(top, "shards/shard-000001.tar.sluice"), F_OK), 0);
}

static void a_pack_that_lost_its_last_shard_is_a_problem(void)
{
    const char *top = t_folder();
    sluice_verify_stats stats;

    T_NEEDS(can_pack(), "no libarchive");
    sluice_dataset_destroy(make_pack(top));
    T_OK(verify(folder_named(top, "whole"), &stats));
    run_in(folder_named(top, "whole"), "rm $(ls shard-*.tar | tail -1)*");
    T_STATUS(verify(folder_named(top, "whole"), &stats), SLUICE_E_CORRUPT);
    T_EQ(stats.problems, 1);
    run_in(folder_named(top, "whole"), "echo '{}' >pack.json");
    T_STATUS(verify(folder_named(top, "whole"), &stats), SLUICE_E_CORRUPT);
}

const t_test pack_indexes_tests[] = {
    T_TEST(a_spoilt_index_is_an_error_and_stays_one),
    T_TEST(packing_again_writes_a_spoilt_index),
    T_TEST(a_pack_is_read_without_checksums_on_demand),
    T_TEST(copies_of_a_pack_are_read),
    T_TEST(a_pack_that_lost_its_last_shard_is_a_problem),
    T_END,
};
