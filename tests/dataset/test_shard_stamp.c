/* SPDX-License-Identifier: Apache-2.0 */
/* Which version of which shard an index is of: by the shard's stamp, and in a pack by its content.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kept_shard.h"
#include "log_kit.h"
#include "tar_kit.h"
#include "testing.h"

static void set_time(const char *path, time_t seconds, long ns)
{
    const struct timespec times[2] = {{seconds, ns}, {seconds, ns}};

    T_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
}

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

/* Whatever changes the file, or puts another one in its place, by the sizes and times it has. */
static void a_shard_with_another_stamp_is_walked_again(void)
{
    static const char *const changes[] = {
        "touch -d @1000 s.tar",        "chmod 600 s.tar", "cp -p s.tar x && cp -p x s.tar",
        "cp -p s.tar x && mv x s.tar", "ln s.tar x",      "mv s.tar x && ln -s x s.tar",
    };
    kept_shard s = make_kept_shard();
    shard_index index;

    set_time(s.path, 1000, 0);
    index = obtained_index(s.path, NULL);
    shard_index_free(&index);
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {

        shell("cd '%s' && rm -f x && %s", s.folder, changes[i]);
        index = obtained_index(s.path, NULL);
        T_TRUE(index.is_remade);
        T_CONTAINS(obtained_log(), "is of another shard, or of another version of this one");
        shard_index_free(&index);
        index = obtained_index(s.path, NULL);
        T_TRUE(!index.is_remade);
        T_STR(obtained_log(), "");
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
        index = obtained_index(s.path, NULL);
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

    index = obtained_index(s.path, NULL);
    shard_index_free(&index);
    size = read_file_bytes(s.index, before, sizeof(before));
    set_time(s.path, 2000, 0);
    fd = open(s.path, O_RDONLY | O_CLOEXEC);
    T_TRUE(fd >= 0);
    sluice_log_set_level(SLUICE_LOG_INFO);
    kit_log_start(rewrite_shard, s.path);
    T_OK(shard_index_obtain(fd, s.path, &shard_default_fields, NULL, false, &index));
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
    shard_index index = obtained_index(s.path, NULL);
    const size_t size = read_file_bytes(s.index, bytes, sizeof(bytes));

    shard_index_free(&index);
    T_EQ(bytes[8], 2);
    put_in_index(bytes, size, 72, 0, 8);
    put_in_index(bytes, size, 8, 1, 4);
    t_write_file(s.index, bytes, size);
    index = obtained_index(s.path, NULL);
    T_TRUE(index.is_remade);
    T_CONTAINS(obtained_log(), "is of version 1, which does not tell of which file it is");
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
        index = obtained_index(s.path, NULL);
        T_STR(obtained_log(), "");
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
    index = obtained_index(s.path, NULL);
    T_TRUE(!index.is_remade);
    T_STATUS(check_sample(&s, &index, 0), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "its key or its label is not that of the index");
    T_OK(check_sample(&s, &index, 1));
    shard_index_free(&index);
    put_in_index(bytes, size, 96 + 32 + 20, 7, 4); /* the label of the last sample */
    t_write_file(s.index, bytes, size);
    index = obtained_index(s.path, NULL);
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

    index = obtained_index(s.path, NULL);
    shard_index_free(&index);
    tar_add_text(&tar, "n.jpg", "new");
    tar_write(&tar, s.path);
    set_time(s.path, 1000, 0);
    index = obtained_index(s.path, NULL);
    T_TRUE(index.is_remade);
    T_CONTAINS(obtained_log(), "of another size");
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
        index = obtained_index(s.path, NULL);
        shard_index_free(&index);
        index = obtained_index(s.path, NULL);
        T_EQ(obtained_warnings(), 0);
        shard_index_free(&index);
        replace_shard(&s, others[i].name, others[i].text);
        index = obtained_index(s.path, NULL);
        T_TRUE(index.is_remade);
        T_CONTAINS(obtained_log(), "is of another shard");
        T_STR(shard_sample_name(&index, 1), others[i].name);
        T_EQ(index.samples[1].size, strlen(others[i].text));
        shard_index_free(&index);
    }
}

const t_test shard_stamp_tests[] = {
    T_TEST(size_times_and_inode_make_a_stamp),
    T_TEST(a_shard_with_another_stamp_is_walked_again),
    T_TEST(labels_of_the_shard_before_are_not_taken),
    T_TEST(the_index_of_a_shard_that_changes_is_not_stored),
    T_TEST(an_index_of_an_older_version_is_made_anew),
    T_TEST(a_copied_pack_keeps_its_index),
    T_TEST(an_index_of_another_pack_is_found_out),
    T_TEST(a_shard_of_another_size_is_walked_again),
    T_TEST(a_shard_in_another_ones_place_is_walked_again),
    T_END,
};
