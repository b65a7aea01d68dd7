/* SPDX-License-Identifier: Apache-2.0 */
/* Where the index of a shard is kept, and when it is built once more. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc_int.h"
#include "kept_shard.h"
#include "source_kit.h"
#include "testing.h"

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static int entries_in(const char *folder)
{
    char command[500];
    FILE *pipe;
    int count = -1;

    snprintf(command, sizeof(command), "ls -A '%s' 2>/dev/null | wc -l", folder);
    pipe = popen(command, "r");
    T_TRUE(pipe != NULL && fscanf(pipe, "%d", &count) == 1);
    pclose(pipe);
    return count;
}

static void an_index_is_kept_beside_its_shard_and_used(void)
{
    const kept_shard s = make_kept_shard();
    uint8_t bytes[2000];
    shard_index first;
    shard_index second;
    size_t size;

    first = obtained_index(s.path, NULL);
    T_CONTAINS(obtained_log(), "3 samples, is kept in ");
    T_CONTAINS(obtained_log(), s.index);
    T_EQ(obtained_warnings(), 0);
    second = obtained_index(s.path, NULL);
    T_STR(obtained_log(), "");
    check_same_index(&first, &second);
    shard_index_free(&second);
    /* It is what is used: a label in it that is another one comes out. */
    size = read_file_bytes(s.index, bytes, sizeof(bytes));
    put_in_index(bytes, size, 96 + 20, 77, 4);
    t_write_file(s.index, bytes, size);
    second = obtained_index(s.path, NULL);
    T_EQ(second.samples[0].label, 77);
    shard_index_free(&second);
    shard_index_free(&first);
}

static void other_fields_have_an_index_of_their_own(void)
{
    static const shard_fields fields = {"png", "cls"};
    const kept_shard s = make_kept_shard();
    shard_index index;

    index = obtained_index(s.path, NULL);
    T_EQ(index.count, 3);
    shard_index_free(&index);
    for (int i = 0; i < 2; i++) {
        index = obtained_with_fields(s.path, &fields, NULL);
        T_EQ(index.count, 1);
        T_EQ(obtained_warnings(), 0);
        T_EQ(obtained_log()[0] != '\0', i == 0);
        shard_index_free(&index);
    }
    index = obtained_index(s.path, NULL);
    T_STR(obtained_log(), "");
    shard_index_free(&index);
}

/* Any one byte of the index wrong, or its end missing: the same samples, by another walk. */
static void a_damaged_index_is_made_anew(void)
{
    const kept_shard s = make_kept_shard();
    uint8_t bytes[2000];
    shard_index first;
    size_t size;

    first = obtained_index(s.path, NULL);
    size = read_file_bytes(s.index, bytes, sizeof(bytes));
    for (size_t i = 0; i < 2 * size; i++) {
        shard_index again;
        uint8_t now[2000];

        if (i < size) {
            bytes[i] ^= (uint8_t)(1 << i % 8);
        }
        t_write_file(s.index, bytes, i < size ? size : i - size);
        if (i < size) {
            bytes[i] ^= (uint8_t)(1 << i % 8);
        }
        again = obtained_index(s.path, NULL);
        check_same_index(&first, &again);
        T_TRUE(again.is_remade);
        shard_index_free(&again);
        T_CONTAINS(obtained_log(), s.index);
        T_EQ(read_file_bytes(s.index, now, sizeof(now)), size);
        T_EQ(memcmp(now, bytes, size), 0);
    }
    shard_index_free(&first);
}

/* Names that stand before the header, or in it only in part. */
static void shards_with_names_of_any_kind_keep_their_index(void)
{
    const kept_shard s = make_kept_shard();
    char long_name[301];
    char record[310];
    tar_maker tar = {0};
    shard_index index;

    memset(long_name, 'x', 296);
    strcpy(long_name + 296, ".jpg");
    snprintf(record, sizeof(record), "path=%s", long_name);
    for (int i = 0; i < 3; i++) {
        memset(&tar, 0, sizeof(tar));
        if (i == 0) {
            tar_add_text(&tar, "m\303\274ll.jpg", "x");
        } else if (i == 1) {
            tar_add(&tar, "././@LongLink", 'L', long_name, sizeof(long_name));
            tar_add_text(&tar, long_name, "x");
        } else {
            tar_add_pax(&tar, 'x', (const char *const[]){record}, 1);
            tar_add_text(&tar, long_name, "x");
        }
        tar_write(&tar, s.path);
        index = obtained_index(s.path, NULL);
        shard_index_free(&index);
        index = obtained_index(s.path, NULL);
        T_EQ(obtained_warnings(), 0);
        T_EQ(index.count, 1);
        shard_index_free(&index);
        unlink(s.index);
    }
}

/* Environment of the caches for one test. */
static void set_caches(const char *cache, const char *home)
{
    T_EQ(cache != NULL ? setenv("XDG_CACHE_HOME", cache, 1) : unsetenv("XDG_CACHE_HOME"), 0);
    T_EQ(home != NULL ? setenv("HOME", home, 1) : unsetenv("HOME"), 0);
}

static void where_shards_cannot_have_company_the_cache_has_it(void)
{
    char folder[300];
    char shard[400];
    char cache[400];
    char home[400];
    char old_home[400];
    char up[400];
    const char *was = getenv("HOME");
    shard_index index;

    snprintf(old_home, sizeof(old_home), "%s", was != NULL ? was : "/");
    snprintf(folder, sizeof(folder), "%s", t_folder());
    snprintf(shard, sizeof(shard), "%s/data/s.tar", folder);
    snprintf(cache, sizeof(cache), "%s/open/cache", folder);
    snprintf(home, sizeof(home), "%s/open", folder);
    make_shard(shard);
    T_EQ(mkdir(home, 0777), 0);
    T_EQ(chmod(home, 0777), 0);
    snprintf(up, sizeof(up), "%s/..", folder);
    T_EQ(chmod(up, 0755) | chmod(folder, 0755) | chmod(t_path(folder, "data"), 0555) |
             chmod(shard, 0644),
         0);
    T_NEEDS(become_nobody(), "cannot become anybody else");
    set_caches(cache, home);
    index = obtained_index(shard, NULL);
    T_CONTAINS(obtained_log(), "Permission denied");
    T_CONTAINS(obtained_log(), cache);
    T_EQ(obtained_warnings(), 0);
    shard_index_free(&index);
    T_EQ(entries_in(t_path(cache, "sluice")), 1);
    index = obtained_index(shard, NULL);
    T_STR(obtained_log(), "");
    shard_index_free(&index);
    set_caches("relative", home); /* which the specification says to ignore */
    index = obtained_index(shard, NULL);
    T_CONTAINS(obtained_log(), "/.cache/sluice/");
    T_EQ(entries_in(t_path(home, ".cache/sluice")), 1);
    shard_index_free(&index);
    set_caches(NULL, "/proc");
    index = obtained_index(shard, NULL);
    T_CONTAINS(obtained_log(), "is kept in memory only");
    T_EQ(index.count, 3);
    shard_index_free(&index);
    set_caches(NULL, NULL);
    index = obtained_index(shard, NULL);
    T_CONTAINS(obtained_log(), "is kept in memory only");
    shard_index_free(&index);
    become_oneself();
    set_caches(NULL, old_home);
}

static void a_folder_of_ones_own_or_none_is_obeyed(void)
{
    char folder[300];
    char shard[400];
    char twin[400];
    char own[400];
    shard_index index;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    snprintf(shard, sizeof(shard), "%s/a/s.tar", folder);
    snprintf(twin, sizeof(twin), "%s/b/s.tar", folder);
    snprintf(own, sizeof(own), "%s/own/deep", folder);
    make_shard(shard);
    make_shard(twin);
    index = obtained_index(shard, "none");
    T_STR(obtained_log(), "");
    shard_index_free(&index);
    T_EQ(entries_in(t_path(folder, "a")), 1);
    index = obtained_index(shard, own);
    shard_index_free(&index);
    index = obtained_index(twin, own);
    shard_index_free(&index);
    T_EQ(entries_in(t_path(folder, "a")), 1);
    T_EQ(entries_in(own), 2);
    index = obtained_index(shard, own);
    T_STR(obtained_log(), "");
    shard_index_free(&index);
}

static void nothing_is_left_of_an_index_that_cannot_be_written(void)
{
    const kept_shard s = make_kept_shard();
    shard_index index;

    T_EQ(mkdir(s.index, 0755), 0); /* what a rename does not replace */
    t_write_file(t_path(s.index, "x"), "", 0);
    set_caches("/proc", getenv("HOME"));
    index = obtained_index(s.path, NULL);
    set_caches(NULL, getenv("HOME"));
    T_EQ(index.count, 3);
    T_CONTAINS(obtained_log(), "is kept in memory only");
    T_EQ(entries_in(s.folder), 2);
    shard_index_free(&index);
}

static void several_processes_may_make_one_index(void)
{
    enum { CHILDREN = 4, TIMES = 50 };
    const kept_shard s = make_kept_shard();
    pid_t children[CHILDREN];

    for (int i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        T_TRUE(children[i] >= 0);
        for (int k = 0; children[i] == 0 && k < TIMES; k++) {
            shard_index index = {0};
            int fd = open(s.path, O_RDONLY | O_CLOEXEC);

            if (shard_index_obtain(fd, s.path, &shard_default_fields, NULL, false, &index) !=
                    SLUICE_OK ||
                index.count != 3) {
                _exit(1);
            }
            shard_index_free(&index);
            unlink(s.index);
            close(fd);
        }
        if (children[i] == 0) {
            _exit(0);
        }
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;

        T_EQ(waitpid(children[i], &status, 0), children[i]);
        T_EQ(status, 0);
    }
    T_TRUE(entries_in(s.folder) <= 2);
}

static void failing_allocations_of_an_index_are_reported(void)
{
    const kept_shard s = make_kept_shard();
    int failures = 0;
    int fd;
    sluice_status st;

    fd = open(s.path, O_RDONLY | O_CLOEXEC);
    for (int again = 0; again < 2; again++) {
        bool passed = false;

        for (failures = 0; !passed; failures++) {
            shard_index index = {0};

            if (again == 0) {
                unlink(s.index);
            }
            sli_alloc_fail_after(failures);
            st = shard_index_obtain(fd, s.path, &shard_default_fields, NULL, false, &index);
            sli_alloc_fail_after(-1);
            T_TRUE(st == SLUICE_OK || st == SLUICE_E_NO_MEMORY);
            passed = st == SLUICE_OK && exists(s.index);
            T_EQ(index.count, st == SLUICE_OK ? 3 : 0);
            shard_index_free(&index);
            T_TRUE(failures < 100);
        }
        T_TRUE(failures > 4);
    }
    close(fd);
}

const t_test shard_cache_tests[] = {
    T_TEST(an_index_is_kept_beside_its_shard_and_used),
    T_TEST(other_fields_have_an_index_of_their_own),
    T_TEST(a_damaged_index_is_made_anew),
    T_TEST(shards_with_names_of_any_kind_keep_their_index),
    T_TEST(where_shards_cannot_have_company_the_cache_has_it),
    T_TEST(a_folder_of_ones_own_or_none_is_obeyed),
    T_TEST(nothing_is_left_of_an_index_that_cannot_be_written),
    T_TEST(several_processes_may_make_one_index),
    T_TEST(failing_allocations_of_an_index_are_reported),
    T_END,
};
