/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "alloc_int.h"
#include "log_kit.h"
#include "shard_kit.h"
#include "source_kit.h"
#include "testing.h"

/* What was logged while a test looked, and how much of it is a warning. */
static const char *said = "";
static unsigned warnings;

static void catch_messages(bool on)
{
    sluice_log_set_level(on ? SLUICE_LOG_INFO : SLUICE_LOG_WARN);
    if (on) {
        kit_log_start(NULL, NULL);
        return;
    }
    said = kit_log_stop();
    warnings = kit_log_count(SLUICE_LOG_WARN);
}

/* The index of the shard. */
static shard_index obtained(const char *shard, const char *folder)
{
    shard_index index = {0};
    int fd = open(shard, O_RDONLY | O_CLOEXEC);

    T_TRUE(fd >= 0);
    catch_messages(true);
    T_OK(shard_index_obtain(fd, shard, &shard_default_fields, folder, &index));
    catch_messages(false);
    close(fd);
    return index;
}

static void make_shard(const char *path)
{
    tar_maker tar = {0};

    make_members(&tar);
    tar_write(&tar, path);
}

/* A shard in a folder of its own, and where its index is kept. */
typedef struct kept_shard {
    char folder[300];
    char path[400];
    char index[420];
} kept_shard;

static kept_shard make_kept_shard(void)
{
    kept_shard s;

    snprintf(s.folder, sizeof(s.folder), "%s", t_folder());
    snprintf(s.path, sizeof(s.path), "%s/s.tar", s.folder);
    snprintf(s.index, sizeof(s.index), "%s.sluice", s.path);
    make_shard(s.path);
    return s;
}

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

    first = obtained(s.path, NULL);
    T_CONTAINS(said, "3 samples, is kept in ");
    T_CONTAINS(said, s.index);
    T_EQ(warnings, 0);
    second = obtained(s.path, NULL);
    T_STR(said, "");
    check_same_index(&first, &second);
    shard_index_free(&second);
    /* It is what is used: a label in it that is another one comes out. */
    size = read_file_bytes(s.index, bytes, sizeof(bytes));
    put_in_index(bytes, size, 96 + 20, 77, 4);
    t_write_file(s.index, bytes, size);
    second = obtained(s.path, NULL);
    T_EQ(second.samples[0].label, 77);
    shard_index_free(&second);
    shard_index_free(&first);
}

static void other_fields_have_an_index_of_their_own(void)
{
    static const shard_fields fields = {"png", "cls"};
    const kept_shard s = make_kept_shard();
    shard_index index = {0};
    int fd;

    index = obtained(s.path, NULL);
    T_EQ(index.count, 3);
    shard_index_free(&index);
    fd = open(s.path, O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < 2; i++) {
        catch_messages(true);
        T_OK(shard_index_obtain(fd, s.path, &fields, NULL, &index));
        catch_messages(false);
        T_EQ(index.count, 1);
        T_EQ(warnings, 0);
        T_EQ(said[0] != '\0', i == 0);
        shard_index_free(&index);
    }
    close(fd);
    index = obtained(s.path, NULL);
    T_STR(said, "");
    shard_index_free(&index);
}

/* Any one byte of the index wrong, or its end missing: the same samples, by another walk. */
static void a_damaged_index_is_made_anew(void)
{
    const kept_shard s = make_kept_shard();
    uint8_t bytes[2000];
    shard_index first;
    size_t size;

    first = obtained(s.path, NULL);
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
        again = obtained(s.path, NULL);
        check_same_index(&first, &again);
        T_TRUE(again.is_remade);
        shard_index_free(&again);
        T_CONTAINS(said, s.index);
        T_EQ(read_file_bytes(s.index, now, sizeof(now)), size);
        T_EQ(memcmp(now, bytes, size), 0);
    }
    shard_index_free(&first);
}

static void set_time(const char *path, time_t seconds, long ns)
{
    const struct timespec times[2] = {{seconds, ns}, {seconds, ns}};

    T_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Whatever changes the file, or puts another one in its place, by the sizes and times it has. */
/* By each of them alone; a file has other times than another one, as a rule. */
static void size_times_and_inode_make_a_stamp(void)
{
    struct stat info = {.st_size = 10, .st_ino = 7};
    const uint64_t stamp = shard_stamp(&info);

    info.st_size++;
    T_TRUE(shard_stamp(&info) != stamp);
    info.st_size--;
    info.st_ino++;
    T_TRUE(shard_stamp(&info) != stamp);
    info.st_ino--;
    info.st_mtim.tv_nsec++;
    T_TRUE(shard_stamp(&info) != stamp);
    info.st_mtim.tv_nsec--;
    info.st_ctim.tv_nsec++;
    T_TRUE(shard_stamp(&info) != stamp);
    info.st_ctim.tv_nsec--;
    T_EQ(shard_stamp(&info), stamp);
}

static void a_shard_with_another_stamp_is_walked_again(void)
{
    static const char *const changes[] = {
        "touch -d @1000 s.tar",        "chmod 600 s.tar", "cp -p s.tar x && cp -p x s.tar",
        "cp -p s.tar x && mv x s.tar", "ln s.tar x",      "mv s.tar x && ln -s x s.tar",
    };
    kept_shard s = make_kept_shard();
    shard_index index;

    set_time(s.path, 1000, 0);
    index = obtained(s.path, NULL);
    shard_index_free(&index);
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        char command[500];

        snprintf(command, sizeof(command), "cd '%s' && rm -f x && %s", s.folder, changes[i]);
        T_EQ(system(command), 0);
        index = obtained(s.path, NULL);
        T_TRUE(index.is_remade);
        T_CONTAINS(said, "is of another shard, or of another version of this one");
        shard_index_free(&index);
        index = obtained(s.path, NULL);
        T_TRUE(!index.is_remade);
        T_STR(said, "");
        shard_index_free(&index);
    }
}

/* The last sample is the same, the label of the first one is not. */
static void labels_of_the_shard_before_are_not_taken(void)
{
    const kept_shard s = make_kept_shard();
    shard_index index;

    for (int i = 0; i < 8; i++) {
        char label[2] = {(char)('0' + i), '\0'};
        tar_maker tar = {0};

        tar_add_text(&tar, "a.jpg", "first");
        tar_add_text(&tar, "a.cls", label);
        tar_add_text(&tar, "b.jpg", "last");
        tar_write(&tar, s.path);
        set_time(s.path, 1000, 0);
        index = obtained(s.path, NULL);
        T_EQ(index.samples[0].label, i);
        shard_index_free(&index);
    }
}

static void rewrite_shard(const char *message, void *user)
{
    if (strstr(message, "it is not used") != NULL) {
        set_time(user, 3000, 0);
    }
}

/* Between the look at its stamp and the walk. */
static void the_index_of_a_shard_that_changes_is_not_stored(void)
{
    kept_shard s = make_kept_shard();
    shard_index index = {0};
    uint8_t before[2000];
    uint8_t after[2000];
    size_t size;
    int fd;

    index = obtained(s.path, NULL);
    shard_index_free(&index);
    size = read_file_bytes(s.index, before, sizeof(before));
    set_time(s.path, 2000, 0);
    fd = open(s.path, O_RDONLY | O_CLOEXEC);
    T_TRUE(fd >= 0);
    sluice_log_set_level(SLUICE_LOG_INFO);
    kit_log_start(rewrite_shard, s.path);
    T_OK(shard_index_obtain(fd, s.path, &shard_default_fields, NULL, &index));
    T_CONTAINS(kit_log_stop(), "was changed while its index was built");
    sluice_log_set_level(SLUICE_LOG_WARN);
    close(fd);
    T_EQ(index.count, 3);
    shard_index_free(&index);
    T_EQ(read_file_bytes(s.index, after, sizeof(after)), size);
    T_EQ(memcmp(before, after, size), 0);
}

static void an_index_of_an_older_version_is_made_anew(void)
{
    const kept_shard s = make_kept_shard();
    uint8_t bytes[2000];
    shard_index index = obtained(s.path, NULL);
    const size_t size = read_file_bytes(s.index, bytes, sizeof(bytes));

    shard_index_free(&index);
    T_EQ(bytes[8], 2);
    put_in_index(bytes, size, 72, 0, 8);
    put_in_index(bytes, size, 8, 1, 4);
    t_write_file(s.index, bytes, size);
    index = obtained(s.path, NULL);
    T_TRUE(index.is_remade);
    T_CONTAINS(said, "is of version 1, which does not tell of which file it is");
    shard_index_free(&index);
    T_EQ(read_file_bytes(s.index, bytes, sizeof(bytes)), size);
    T_EQ(bytes[8], 2);
}

/* An index by content, as a pack has it, of an image and a label; two samples. */
static void make_pack_shard(const kept_shard *s, const char *first_label)
{
    tar_maker tar = {0};
    shard_index index;
    int fd;

    tar_add_text(&tar, "0.jpg", "first");
    tar_add_text(&tar, "0.cls", first_label);
    tar_add_text(&tar, "1.jpg", "last");
    tar_add_text(&tar, "1.cls", "6");
    tar_write(&tar, s->path);
    fd = open(s->path, O_RDONLY | O_CLOEXEC);
    T_OK(shard_index_build(fd, s->path, &shard_default_fields, true, &index));
    T_OK(shard_index_write(&index, &shard_default_fields, false, s->index));
    shard_index_free(&index);
    close(fd);
}

static sluice_status check_sample(const kept_shard *s, const shard_index *index, uint64_t sample)
{
    const int fd = open(s->path, O_RDONLY | O_CLOEXEC);
    const sluice_status st = shard_sample_check(fd, index, sample);

    close(fd);
    return st;
}

/* Also of version 1, which is the same for it. */
static void a_copied_pack_keeps_its_index(void)
{
    const kept_shard s = make_kept_shard();
    uint8_t bytes[2000];
    shard_index index;
    size_t size;

    make_pack_shard(&s, "5");
    size = read_file_bytes(s.index, bytes, sizeof(bytes));
    for (int i = 0; i < 2; i++) {
        set_time(s.path, 2000000000 + i, 0);
        index = obtained(s.path, NULL);
        T_STR(said, "");
        T_TRUE(!index.is_remade);
        T_EQ(index.samples[0].label, 5);
        T_OK(check_sample(&s, &index, 0));
        T_OK(check_sample(&s, &index, 1));
        shard_index_free(&index);
        put_in_index(bytes, size, 8, 1, 4);
        t_write_file(s.index, bytes, size);
    }
}

/* Keys and labels of the shard, not of the index: each at its sample, the last one at once. */
static void an_index_of_another_pack_is_found_out(void)
{
    const kept_shard s = make_kept_shard();
    uint8_t bytes[2000];
    shard_index index;
    size_t size;

    make_pack_shard(&s, "5");
    size = read_file_bytes(s.index, bytes, sizeof(bytes));
    make_pack_shard(&s, "4");
    t_write_file(s.index, bytes, size);
    index = obtained(s.path, NULL);
    T_TRUE(!index.is_remade);
    T_STATUS(check_sample(&s, &index, 0), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "its key or its label is not that of the index");
    T_OK(check_sample(&s, &index, 1));
    shard_index_free(&index);
    put_in_index(bytes, size, 96 + 32 + 20, 7, 4); /* the label of the last sample */
    t_write_file(s.index, bytes, size);
    index = obtained(s.path, NULL);
    T_TRUE(index.is_remade);
    T_EQ(index.samples[0].label, 4);
    T_EQ(index.samples[1].label, 6);
    shard_index_free(&index);
}

static void a_shard_of_another_size_is_walked_again(void)
{
    const kept_shard s = make_kept_shard();
    tar_maker tar = {0};
    shard_index index;

    index = obtained(s.path, NULL);
    shard_index_free(&index);
    tar_add_text(&tar, "n.jpg", "new");
    tar_write(&tar, s.path);
    set_time(s.path, 1000, 0);
    index = obtained(s.path, NULL);
    T_TRUE(index.is_remade);
    T_CONTAINS(said, "of another size");
    T_EQ(index.count, 1);
    T_STR(shard_sample_name(&index, 0), "n.jpg");
    shard_index_free(&index);
}

/* A shard of one member; the index of the one before it is younger, and says the same size. */
static void replace_shard(const kept_shard *s, const char *name, const char *text)
{
    tar_maker tar = {0};

    tar_add_text(&tar, "a.jpg", "first");
    tar_add_text(&tar, name, text);
    tar_write(&tar, s->path);
    set_time(s->path, 1000, 0);
}

static void a_shard_in_another_ones_place_is_walked_again(void)
{
    static const struct {
        const char *name;
        const char *text;
    } others[] = {{"c.jpg", "same"}, {"b.jpg", "longer"}, {"b.png", "same"}};
    const kept_shard s = make_kept_shard();
    shard_index index;

    for (int i = 0; i < 3; i++) {
        replace_shard(&s, "b.jpg", "same");
        index = obtained(s.path, NULL);
        shard_index_free(&index);
        index = obtained(s.path, NULL);
        T_EQ(warnings, 0);
        shard_index_free(&index);
        replace_shard(&s, others[i].name, others[i].text);
        index = obtained(s.path, NULL);
        T_TRUE(index.is_remade);
        T_CONTAINS(said, "is of another shard");
        T_STR(shard_sample_name(&index, 1), others[i].name);
        T_EQ(index.samples[1].size, strlen(others[i].text));
        shard_index_free(&index);
    }
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
        index = obtained(s.path, NULL);
        shard_index_free(&index);
        index = obtained(s.path, NULL);
        T_EQ(warnings, 0);
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
    if (!become_nobody()) {
        T_SKIP("cannot become anybody else");
    }
    set_caches(cache, home);
    index = obtained(shard, NULL);
    T_CONTAINS(said, "Permission denied");
    T_CONTAINS(said, cache);
    T_EQ(warnings, 0);
    shard_index_free(&index);
    T_EQ(entries_in(t_path(cache, "sluice")), 1);
    index = obtained(shard, NULL);
    T_STR(said, "");
    shard_index_free(&index);
    set_caches("relative", home); /* which the specification says to ignore */
    index = obtained(shard, NULL);
    T_CONTAINS(said, "/.cache/sluice/");
    T_EQ(entries_in(t_path(home, ".cache/sluice")), 1);
    shard_index_free(&index);
    set_caches(NULL, "/proc");
    index = obtained(shard, NULL);
    T_CONTAINS(said, "is kept in memory only");
    T_EQ(index.count, 3);
    shard_index_free(&index);
    set_caches(NULL, NULL);
    index = obtained(shard, NULL);
    T_CONTAINS(said, "is kept in memory only");
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
    index = obtained(shard, "none");
    T_STR(said, "");
    shard_index_free(&index);
    T_EQ(entries_in(t_path(folder, "a")), 1);
    index = obtained(shard, own);
    shard_index_free(&index);
    index = obtained(twin, own);
    shard_index_free(&index);
    T_EQ(entries_in(t_path(folder, "a")), 1);
    T_EQ(entries_in(own), 2);
    index = obtained(shard, own);
    T_STR(said, "");
    shard_index_free(&index);
}

static void nothing_is_left_of_an_index_that_cannot_be_written(void)
{
    const kept_shard s = make_kept_shard();
    shard_index index;

    T_EQ(mkdir(s.index, 0755), 0); /* what a rename does not replace */
    t_write_file(t_path(s.index, "x"), "", 0);
    set_caches("/proc", getenv("HOME"));
    index = obtained(s.path, NULL);
    set_caches(NULL, getenv("HOME"));
    T_EQ(index.count, 3);
    T_CONTAINS(said, "is kept in memory only");
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

            if (shard_index_obtain(fd, s.path, &shard_default_fields, NULL, &index) != SLUICE_OK ||
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
            st = shard_index_obtain(fd, s.path, &shard_default_fields, NULL, &index);
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
    T_TEST(size_times_and_inode_make_a_stamp),
    T_TEST(a_shard_with_another_stamp_is_walked_again),
    T_TEST(labels_of_the_shard_before_are_not_taken),
    T_TEST(the_index_of_a_shard_that_changes_is_not_stored),
    T_TEST(an_index_of_an_older_version_is_made_anew),
    T_TEST(a_copied_pack_keeps_its_index),
    T_TEST(an_index_of_another_pack_is_found_out),
    T_TEST(a_shard_of_another_size_is_walked_again),
    T_TEST(a_shard_in_another_ones_place_is_walked_again),
    T_TEST(shards_with_names_of_any_kind_keep_their_index),
    T_TEST(where_shards_cannot_have_company_the_cache_has_it),
    T_TEST(a_folder_of_ones_own_or_none_is_obeyed),
    T_TEST(nothing_is_left_of_an_index_that_cannot_be_written),
    T_TEST(several_processes_may_make_one_index),
    T_TEST(failing_allocations_of_an_index_are_reported),
    T_END,
};
