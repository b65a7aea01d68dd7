/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints on disks that are full or read-only, and copies that have lost something. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint_files.h"
#include "checkpoint_kit.h"
#include "crc32c_int.h"
#include "source_kit.h"
#include "testing.h"

/* Bytes of the user's file. */
enum { SAVED = 40 };

static sluice_status save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    char path[600];
    char bytes[SAVED] = "";
    FILE *file;
    size_t written = 0;

    (void)user;
    (void)rank;
    (void)world;
    snprintf(path, sizeof(path), "%s/weights", folder);
    file = fopen(path, "wb");
    if (file != NULL) {
        written = fwrite(bytes, 1, sizeof(bytes), file);
        written = fclose(file) == 0 ? written : 0;
    }
    return written == sizeof(bytes) ? SLUICE_OK : sluice_fail(SLUICE_E_IO, "weights: disk full");
}

static sluice_status load(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    (void)user;
    (void)folder;
    (void)rank;
    (void)world;
    return SLUICE_OK;
}

/* A checkpoint every 20 of 50 steps. */
static void init(kit *k, const char *folder)
{
    kit_init(k);
    k->model.save = save;
    k->model.load = load;
    k->config.epochs = 0;
    k->config.max_steps = 50;
    k->checkpoint.folder = folder;
    k->checkpoint.every_steps = 20;
    k->checkpoint.resume = true;
}

/* From now on a file gets no more bytes than so many, as on a full disk; the least it had allowed
 * before is given back by allow(). */
static rlim_t limit(rlim_t bytes)
{
    struct rlimit now;
    rlim_t before;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &now);
    before = now.rlim_cur;
    now.rlim_cur = bytes;
    T_EQ(setrlimit(RLIMIT_FSIZE, &now), 0);
    return before;
}

static void allow(rlim_t bytes)
{
    (void)limit(bytes);
    signal(SIGXFSZ, SIG_DFL);
}

/* Whatever file the disk has no room for: it is named, and the checkpoint before stays. */
static void a_full_disk_is_named_and_the_last_checkpoint_stays(void)
{
    static const struct {
        rlim_t room;
        const char *why;
    } cases[] = {
        {10, "weights: disk full"}, /* the user's file */
        {SAVED, "sluice_state"},    /* ours */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char folder[300];
        rlim_t before;
        kit k;

        snprintf(folder, sizeof(folder), "%s/c%zu", t_folder(), i);
        init(&k, folder);
        T_OK(kit_run(&k));
        before = limit(cases[i].room);
        (void)kit_run(&k); /* 50 steps more */
        allow(before);
        T_STATUS(k.status, SLUICE_E_IO);
        T_CONTAINS(k.error, cases[i].why);
        T_EQ(k.report->stats.first_step, 50);
        T_EQ(k.report->stats.steps, 10); /* up to the checkpoint of step 60 */
        T_TRUE(is_there(folder, "step-000000000050/DONE"));
        T_TRUE(!is_there(folder, "step-000000000060"));
        T_OK(kit_run(&k)); /* there is room again */
        T_EQ(k.report->stats.first_step, 50);
        T_TRUE(is_there(folder, "step-000000000100/DONE"));
        T_TRUE(!is_there(folder, ".partial-step"));
        kit_fini(&k);
    }
}

static void a_folder_that_is_read_only_is_named(void)
{
    const char *base = t_folder();
    char folder[300];
    kit k;

    snprintf(folder, sizeof(folder), "%s/c", base);
    init(&k, folder);
    T_OK(kit_run(&k));
    T_EQ(chmod(folder, 0555), 0);
    T_EQ(chmod(base, 0755), 0);
    T_EQ(chmod(t_path(base, ".."), 0755), 0);
    T_NEEDS(become_nobody(), "cannot become another user");
    kit_log_start(NULL, NULL);
    (void)kit_run(&k);
    kit_log_stop();
    become_oneself();
    T_STATUS(k.status, SLUICE_E_IO);
    T_CONTAINS(k.error, "checkpoint: cannot make ");
    T_CONTAINS(k.error, "Permission denied");
    T_EQ(k.report->stats.first_step, 50); /* it could be read */
    T_EQ(chmod(folder, 0755), 0);
    kit_fini(&k);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void check_refused(const char *folder, const char *why)
{
    kit k;

    init(&k, folder);
    T_STATUS(kit_run(&k), SLUICE_E_CORRUPT);
    T_CONTAINS(k.error, "cannot resume from");
    T_CONTAINS(k.error, why);
    kit_fini(&k);
}

static void a_copy_that_lost_something_is_refused(void)
{
    const char *folder = t_file("c");
    char weights[400];
    kit k;

    init(&k, folder);
    T_OK(kit_run(&k));
    kit_fini(&k);
    snprintf(weights, sizeof(weights), "%s", t_path(folder, "step-000000000050/weights"));
    T_EQ(truncate(weights, 39), 0);
    check_refused(folder, "weights has 39 bytes, and must have 40");
    T_EQ(unlink(weights), 0);
    check_refused(folder, "weights is missing: No such file");
    T_EQ(mkdir(weights, 0777), 0);
    check_refused(folder, "weights is a folder");
    T_EQ(unlink(t_path(folder, "step-000000000050/sluice_files")), 0);
    check_refused(folder, "sluice_files: No such file");
}

/* A list with each byte changed to each other: what it says is so, or it is refused. */
static void any_bytes_may_stand_in_a_list(void)
{
    const char *good = "364b3fb7 3 a/b\n00000000 0 c\n";
    const size_t size = strlen(good);
    const char *folder = t_folder();
    checkpoint_check check = {.has_sums = true, .world = 1};
    uint64_t accepted = 0;
    char list[400];
    int fd;

    t_write_file(t_path(folder, "x/a/b"), "abc", 3);
    t_write_file(t_path(folder, "x/c"), "", 0);
    snprintf(list, sizeof(list), "%s", t_path(folder, "x/sluice_files"));
    fd = open(folder, O_RDONLY | O_DIRECTORY);
    T_TRUE(fd >= 0);
    for (size_t i = 0; i < size; i++) {
        for (int change = 0; change < 256; change++) {
            char bytes[40] = "";
            sluice_status st;

            memcpy(bytes, good, size);
            bytes[i] = (char)change;
            t_write_file(list, bytes, size);
            check.sum = sli_crc32c(0, bytes, strlen(bytes));
            st = checkpoint_files_check(fd, "x", "x", &check);
            accepted += st == SLUICE_OK;
            T_TRUE(st == SLUICE_OK || st == SLUICE_E_CORRUPT);
        }
    }
    T_EQ(accepted, size); /* as it was, once for each byte */
    close(fd);
}

const t_test checkpoint_disk_tests[] = {
    T_TEST(a_full_disk_is_named_and_the_last_checkpoint_stays),
    T_TEST(a_folder_that_is_read_only_is_named),
    T_TEST(a_copy_that_lost_something_is_refused),
    T_TEST(any_bytes_may_stand_in_a_list),
    T_END,
};
