/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary files that a killed pack leaves in its folder. */
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "log_kit.h"
#include "pack_kit.h"
#include "testing.h"

static const char *const dead[] = {"shard-000002.tar.sluice.4242-0.tmp",
                                   "shard-000002.tar.sluice.4243-17.tmp",
                                   "shard-000900.tar.sluice.1-1.tmp"};

/* Of a finished shard: a reader may be at it; and files with names of other forms. */
static const char *const others[] = {
    "shard-000000.tar.sluice.4242-0.tmp",   "shard-000002.tar.sluice.tmp",
    "shard-000002.tar.sluice.4242-.tmp",    "shard-000002.tar.sluice.4242-0.tmp2",
    "shard-2.tar.sluice.4242-0.tmp",        "shard-.tar.sluice.4242-0.tmp",
    "my-shard-000002.tar.sluice.4242-0.tmp"};

enum { DEAD = sizeof(dead) / sizeof(dead[0]), OTHERS = sizeof(others) / sizeof(others[0]) };

static bool is_there(const char *folder, const char *name)
{
    return access(t_path(folder, name), F_OK) == 0;
}

/* A pack that was killed while it wrote the index of shard 2, or has lost it and those after it. */
static sluice_dataset *make_broken(const char *top, const char *folder)
{
    sluice_dataset *dataset = pictures(folder_named(top, "src"));
    sluice_pack_config config = config_of(dataset, folder);
    sluice_pack_stats stats = {.struct_size = sizeof(stats)};
    char name[40];

    T_OK(sluice_pack(&config, &stats));
    T_TRUE(stats.shards > 3);
    for (uint32_t i = 2; i < stats.shards; i++) {
        snprintf(name, sizeof(name), "shard-%06u.tar", i);
        T_EQ(unlink(t_path(folder, name)), 0);
    }
    T_EQ(unlink(t_path(folder, "pack.json")), 0);
    for (int i = 0; i < DEAD + OTHERS; i++) {
        t_write_file(t_path(folder, i < DEAD ? dead[i] : others[i - DEAD]), "part", 4);
    }
    return dataset;
}

static void the_next_run_removes_what_cannot_be_in_use(void)
{
    const char *top = t_folder();
    const char *folder = folder_named(top, "packed");
    sluice_dataset *dataset;
    sluice_pack_config config;

    T_NEEDS(can_pack(), "no libarchive");
    dataset = make_broken(top, folder);
    config = config_of(dataset, folder);
    T_OK(sluice_pack(&config, NULL));
    for (int i = 0; i < DEAD; i++) {
        T_TRUE(!is_there(folder, dead[i]));
    }
    for (int i = 0; i < OTHERS; i++) {
        T_TRUE(is_there(folder, others[i]));
    }
    sluice_dataset_destroy(dataset);
}

static const char *verify_log(const char *folder, sluice_status want)
{
    sluice_verify_config config;

    sluice_verify_config_init(&config);
    config.path = folder;
    kit_log_start(NULL, NULL);
    T_STATUS(sluice_pack_verify(&config, NULL), want);
    return kit_log_stop();
}

static void verify_mentions_them_and_finds_no_fault(void)
{
    const char *top = t_folder();
    const char *folder = folder_named(top, "packed");
    sluice_dataset *dataset;
    sluice_pack_config config;

    T_NEEDS(can_pack(), "no libarchive");
    dataset = make_broken(top, folder);
    T_CONTAINS(verify_log(folder, SLUICE_E_CORRUPT), /* it is not complete */
               "temporary files that killed processes have left: 4, first "
               "shard-000000.tar.sluice.4242-0.tmp");
    config = config_of(dataset, folder);
    T_OK(sluice_pack(&config, NULL));
    T_CONTAINS(verify_log(folder, SLUICE_OK), "have left: 1, first shard-000000.tar.sluice.4242-0");
    T_EQ(unlink(t_path(folder, others[0])), 0);
    T_STR(verify_log(folder, SLUICE_OK), "");
    sluice_dataset_destroy(dataset);
}

/* They are the running pack's own. */
static void verify_mentions_none_while_a_process_packs(void)
{
    const char *top = t_folder();
    const char *folder = folder_named(top, "packed");
    sluice_dataset *dataset;
    int fd;

    T_NEEDS(can_pack(), "no libarchive");
    dataset = make_broken(top, folder);
    fd = open(t_path(folder, "pack.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    T_TRUE(fd >= 0);
    T_EQ(flock(fd, LOCK_EX), 0);
    T_STR(verify_log(folder, SLUICE_E_CORRUPT), "");
    close(fd); /* what a killed process leaves behind */
    T_CONTAINS(verify_log(folder, SLUICE_E_CORRUPT), "have left: 4");
    sluice_dataset_destroy(dataset);
}

const t_test pack_strays_tests[] = {
    T_TEST(the_next_run_removes_what_cannot_be_in_use),
    T_TEST(verify_mentions_them_and_finds_no_fault),
    T_TEST(verify_mentions_none_while_a_process_packs),
    T_END,
};
