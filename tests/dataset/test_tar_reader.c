/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "tar_kit.h"
#include "testing.h"

static walked walk_and_free(tar_maker *tar)
{
    walked found = walk_bytes(tar->bytes, tar->size);

    tar_free(tar);
    return found;
}

static void check_names(const walked *found, const char *names)
{
    T_STATUS(found->st, SLUICE_END_OF_DATA);
    T_STR(found->names, names);
}

static void check_corrupt(const walked *found, const char *words)
{
    T_STATUS(found->st, SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), words);
    T_CONTAINS(sluice_last_error(), "x.tar");
}

/* ---- what tar writes ------------------------------------------------------------------------- */

static walked walk_path(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    size_t size;

    T_TRUE(file != NULL);
    size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    T_TRUE(size > 0 && size < sizeof(bytes));
    return walk_bytes(bytes, size);
}

static void archives_of_tar_are_read(void)
{
    static const char *const formats[] = {"v7", "oldgnu", "gnu", "ustar", "posix"};
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    t_write_file(t_path(folder, "a/1.jpg"), "first", 5);
    t_write_file(t_path(folder, "a/1.cls"), "7", 1);
    t_write_file(t_path(folder, "a/empty.jpg"), "", 0);
    shell("ln -s 1.jpg '%s/a/link.jpg' && ln '%s/a/1.jpg' '%s/a/same.jpg' && mkfifo '%s/a/fifo'",
          folder, folder, folder, folder);
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        bool knows_fifos = strcmp(formats[i], "v7") != 0;
        walked found;

        shell("cd '%s' && tar --format=%s --sort=name %s -cf t.tar a 2>/dev/null", folder,
              formats[i], knows_fifos ? "" : "--exclude=fifo");
        found = walk_path(t_path(folder, "t.tar"));
        check_names(&found, "a/1.cls\na/1.jpg\na/empty.jpg\n");
        T_EQ(memcmp(found.bytes, "7first", 7), 0);
        T_EQ(found.links, 2);
        T_EQ(found.specials, knows_fifos ? 1 : 0);
        T_TRUE(!found.has_more);
    }
}

static void long_and_strange_names_are_read(void)
{
    static const char *const formats[] = {"gnu", "posix"};
    char folder[300];
    char deep[400];
    char want[1200];
    char wide[260];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    memset(wide, 'w', sizeof(wide));
    memcpy(wide + 240, ".jpg", 5);
    memset(deep, 'd', sizeof(deep));
    for (int i = 60; i < 350; i += 60) {
        deep[i] = '/';
    }
    memcpy(deep + 350, ".jpg", 5);
    t_write_file(t_path(folder, "s/\xc3\xa9 \n\xff.jpg"), "odd", 3);
    t_write_file(t_path(t_path(folder, "s"), deep), "deep", 4);
    t_write_file(t_path(t_path(folder, "s"), wide), "wide", 4);
    snprintf(want, sizeof(want), "s/%s\ns/%s\ns/\xc3\xa9 \n\xff.jpg\n", deep, wide);
    for (int i = 0; i < 2; i++) {
        walked found;

        shell("cd '%s' && tar --format=%s --sort=name -cf t.tar s", folder, formats[i]);
        found = walk_path(t_path(folder, "t.tar"));
        check_names(&found, want);
        T_EQ(memcmp(found.bytes, "deepwideodd", 12), 0);
    }
}

static void ustar_names_have_a_part_before_them(void)
{
    char folder[300];
    char want[300];
    walked found;

    snprintf(folder, sizeof(folder), "%s", t_folder());
    memset(want, 'p', sizeof(want));
    want[120] = '/';
    strcpy(want + 190, ".jpg");
    t_write_file(t_path(folder, want), "x", 1);
    shell("cd '%s' && tar --format=ustar -cf t.tar %s", folder, want);
    found = walk_path(t_path(folder, "t.tar"));
    strcat(want, "\n");
    check_names(&found, want);
}

static void sparse_members_of_tar_are_passed_over(void)
{
    static const char *const formats[] = {"--format=gnu", "--format=posix --sparse-version=0.0",
                                          "--format=posix --sparse-version=0.1",
                                          "--format=posix --sparse-version=1.0"};
    char folder[300];

    snprintf(folder, sizeof(folder), "%s", t_folder());
    t_write_file(t_path(folder, "a.jpg"), "a", 1);
    t_write_file(t_path(folder, "z.jpg"), "z", 1);
    shell(
        "cd '%s' && truncate -s 100G huge.jpg && cp a.jpg many.jpg && "
        "for i in $(seq 1 60); do printf x | dd of=many.jpg bs=1 seek=$((i * 65536)) conv=notrunc "
        "2>/dev/null; done",
        folder);
    for (size_t i = 0; i < 4; i++) {
        walked found;

        shell("cd '%s' && tar %s -Scf t.tar a.jpg huge.jpg many.jpg z.jpg", folder, formats[i]);
        found = walk_path(t_path(folder, "t.tar"));
        check_names(&found, "a.jpg\nz.jpg\n");
        T_EQ(found.sparse, 2);
        T_EQ(memcmp(found.bytes, "az", 3), 0);
    }
}

/* ---- made by hand ---------------------------------------------------------------------------- */

static void names_are_names_and_no_paths(void)
{
    tar_maker tar = {0};
    walked found;

    tar_add_text(&tar, "../../etc/x.jpg", "1");
    tar_add_text(&tar, "/abs/y.jpg", "2");
    tar_add_text(&tar, "", "3");
    found = walk_and_free(&tar);
    check_names(&found, "../../etc/x.jpg\n/abs/y.jpg\n\n");
}

static void names_and_sizes_of_extended_headers_hold_for_the_next_member(void)
{
    static const char *const own[] = {"mtime=1.5", "path=own/name.jpg", "size=3"};
    static const char *const all[] = {"path=all.jpg"};
    static const char *const taken_back[] = {"path="};
    tar_maker tar = {0};
    walked found;

    tar_add_pax(&tar, 'x', own, 3);
    tar_add_text(&tar, "short", "abc");
    tar_set(&tar, tar.size - 1024, 124, "00000000000", 11); /* pax has the last word */
    tar_add_text(&tar, "plain.jpg", "d");
    tar_add_pax(&tar, 'g', all, 1);
    tar_add_text(&tar, "b.jpg", "e");
    tar_add_pax(&tar, 'x', own, 2);
    tar_add_text(&tar, "c.jpg", "f");
    tar_add_text(&tar, "d.jpg", "g");
    tar_add_pax(&tar, 'g', taken_back, 1);
    tar_add_text(&tar, "e.jpg", "h");
    tar_add(&tar, "././@LongLink", 'L', "long.jpg", 9);
    tar_add_text(&tar, "f.jpg", "i");
    tar_add(&tar, "././@LongLink", 'K', "target", 7);
    tar_add(&tar, "ln", '2', NULL, 0);
    tar_add_text(&tar, "g.jpg", "j");
    found = walk_and_free(&tar);
    check_names(&found, "own/name.jpg\nplain.jpg\nall.jpg\nown/name.jpg\nall.jpg\ne.jpg\nlong.jpg\n"
                        "g.jpg\n");
    T_STR(found.bytes, "abcdefghij");
}

/* What is said of a member that is passed over does not go on to the one behind it. */
static void extended_headers_end_with_what_is_passed_over(void)
{
    static const char *const records[] = {"path=folder.jpg", "size=0", "GNU.sparse.major=1"};
    tar_maker tar = {0};
    walked found;

    tar_add_pax(&tar, 'x', records, 1);
    tar_add(&tar, "folder", '5', NULL, 0);
    tar_add_text(&tar, "a.jpg", "a");
    tar_add_pax(&tar, 'x', records, 3);
    tar_add(&tar, "sparse", '0', NULL, 0);
    tar_add_text(&tar, "b.jpg", "b");
    found = walk_and_free(&tar);
    check_names(&found, "a.jpg\nb.jpg\n");
    T_STR(found.bytes, "ab");
    T_EQ(found.sparse, 1);
}

static void sizes_in_binary_are_read(void)
{
    static const uint8_t three[12] = {0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3};
    static const uint8_t wrong[][12] = {
        {0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3},
        {0x81, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3},
        {0xFF, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255},
        {0xC0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 3}};
    static const uint8_t huge[][12] = {{0x80, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255},
                                       {0x80, 0, 0, 0, 255, 255, 255, 255, 255, 255, 254, 0},
                                       {0x80, 0, 0, 0, 127, 255, 255, 255, 255, 255, 255, 255},
                                       {0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1}};
    tar_maker tar = {0};
    walked found;

    tar_add_text(&tar, "a.jpg", "abc");
    tar_set(&tar, 0, 124, three, 12);
    found = walk_bytes(tar.bytes, tar.size);
    check_names(&found, "a.jpg\n");
    T_STR(found.bytes, "abc");
    for (size_t i = 0; i < 4; i++) {
        tar_set(&tar, 0, 124, wrong[i], 12);
        found = walk_bytes(tar.bytes, tar.size);
        check_corrupt(&found, "member 'a.jpg' at offset 0: its size is not a number");
    }
    for (size_t i = 0; i < 4; i++) {
        tar_set(&tar, 0, 124, huge[i], 12);
        found = walk_bytes(tar.bytes, tar.size);
        check_corrupt(&found, "member 'a.jpg' at offset 0: it has ");
        T_CONTAINS(sluice_last_error(), "reaches beyond the end of the file, which has 1024");
    }
    tar_free(&tar);
}

static void sizes_in_digits_may_have_blanks_and_zeros_around_them(void)
{
    static const char *const good[] = {"3          ",          "   3       ",
                                       "3\000         ",       "00000000003",
                                       "\0000000000003",       "\000\000\000\000\000000003",
                                       "\000 \000 \000     3", "000000000003"};
    static const char *const bad[] = {"8          ",       "3 3        ",   "-3         ",
                                      "0x3        ",       "3a         ",   "3\0003        ",
                                      "\000\0008        ", "\000-3        "};
    tar_maker tar = {0};
    walked found;

    tar_add_text(&tar, "a.jpg", "abc");
    for (size_t i = 0; i < 8; i++) {
        tar_set(&tar, 0, 124, good[i], i == 7 ? 12 : 11);
        found = walk_bytes(tar.bytes, tar.size);
        check_names(&found, "a.jpg\n");
        T_STR(found.bytes, "abc");
        tar_set(&tar, 0, 124, bad[i], 11);
        tar.bytes[135] = 0;
        tar_seal(&tar, 0);
        found = walk_bytes(tar.bytes, tar.size);
        check_corrupt(&found, "its size is not a number");
    }
    tar_set(&tar, 0, 124, "\0\0\0\0\0\0\0\0\0\0\0\0", 12); /* empty is 0 */
    found = walk_bytes(tar.bytes, 512);
    check_names(&found, "a.jpg\n");
    T_STR(found.bytes, "");
    tar_free(&tar);
}

static void records_of_pax_with_wrong_lengths_are_refused(void)
{
    static const struct {
        const char *text;
        const char *words;
    } wrong[] = {
        {"99 path=a.jpg\n", "wrong length"},
        {"13 path=a.jpg\n", "wrong length"},
        {"0 path=a.jpg\n", "wrong length"},
        {"2 path=a.jpg\n", "wrong length"},
        {"-4 path=a.jpg\n", "wrong length"},
        {"path=a.jpg\n", "wrong length"},
        {"18446744073709551629 path=a\n", "wrong length"},
        {"14 path=a.jpg\n0", "wrong length"},
        {"7 path\n", "no '='"},
        {"4 a\n", "no '='"},
        {"11 size=-1\n", "the size in its extended header is not a number"},
        {"29 size=18446744073709551616\n", "the size in its extended header is not a number"},
        {"11 size=1x\n", "the size in its extended header is not a number"},
        {"29 size=18446744073709551615\n", "reaches beyond the end"},
        {"29 size=18446744073709551104\n", "reaches beyond the end"},
        {"28 size=9223372036854775807\n", "reaches beyond the end"},
        {"13 size=1025\n", "reaches beyond the end"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        tar_maker tar = {0};
        walked found;

        tar_add(&tar, "pax", 'x', wrong[i].text, strlen(wrong[i].text));
        tar_add_text(&tar, "short.jpg", "abc");
        found = walk_and_free(&tar);
        check_corrupt(&found, wrong[i].words);
    }
}

/* GNU's headers have times where those of POSIX have a part of the name. */
static void times_of_gnu_are_no_part_of_a_name(void)
{
    tar_maker tar = {0};
    walked found;

    tar_add_text(&tar, "a.jpg", "abc");
    tar_set(&tar, 0, 257, "ustar  ", 8);
    tar_set(&tar, 0, 345, "13000000000", 12);
    found = walk_and_free(&tar);
    check_names(&found, "a.jpg\n");
}

static void zero_bytes_in_names_are_refused(void)
{
    tar_maker tar = {0};
    walked found;

    tar_add(&tar, "pax", 'x', "15 path=a\0.jpg\n", 15);
    tar_add_text(&tar, "short.jpg", "abc");
    found = walk_and_free(&tar);
    check_corrupt(&found, "zero byte");
}

static void extended_headers_too_large_to_believe_are_refused(void)
{
    tar_maker tar = {0};
    char *much = calloc(1, (1 << 20) + 1);
    walked found;

    memset(much, 'a', (1 << 20) + 1);
    tar_add(&tar, "././@LongLink", 'L', much, (1 << 20) + 1);
    tar_add_text(&tar, "short.jpg", "abc");
    found = walk_and_free(&tar);
    check_corrupt(&found, "larger than 1 MiB");
    free(much);
}

/* A header for nothing, one that claims more than there is, and a chain of sparse maps without end.
 */
static void what_reaches_beyond_the_end_is_refused(void)
{
    static const char types[] = {'0', '\0', '7', 'x', 'g', 'L', 'K', 'D', 'S', 'V', 'Q'};
    static const char *const records[] = {"path=a.jpg"};
    tar_maker tar = {0};
    uint8_t more = 1;
    walked found;
    size_t header;

    for (size_t i = 0; i < sizeof(types); i++) {
        tar_add_text(&tar, "a.jpg", "abc");
        header = tar_add(&tar, "b.jpg", types[i], "abc", 3);
        tar_set(&tar, header, 124, "00000002000", 11); /* 1024 where 512 are left */
        found = walk_and_free(&tar);
        check_corrupt(&found, "member 'b.jpg' at offset 1024: it has 1024 bytes and reaches beyond "
                              "the end of the file, which has 2048");
        T_STR(found.names, "a.jpg\n");
    }
    tar_add_pax(&tar, 'x', records, 1);
    found = walk_bytes(tar.bytes, tar.size);
    check_corrupt(&found, "no member follows its extended header");
    tar_add_zeros(&tar, 2);
    found = walk_and_free(&tar);
    check_corrupt(&found, "no member follows its extended header");
    header = tar_add(&tar, "s.jpg", 'S', NULL, 0);
    tar_set(&tar, header, 482, &more, 1);
    for (int i = 0; i < 3; i++) {
        tar_add_zeros(&tar, 1);
        tar.bytes[tar.size - 8] = 1;
    }
    found = walk_and_free(&tar);
    check_corrupt(&found, "member 's.jpg' at offset 0");
}

static void links_and_folders_have_no_bytes_whatever_they_say(void)
{
    tar_maker tar = {0};
    walked found;

    for (char type = '1'; type <= '6'; type++) {
        size_t header = tar_add(&tar, "x", type, NULL, 0);

        tar_set(&tar, header, 124, "77777777777", 11);
    }
    tar_add_text(&tar, "a.jpg", "abc");
    tar_add(&tar, "old/", '\0', NULL, 0);
    tar_add(&tar, "new/", '0', NULL, 0);
    found = walk_and_free(&tar);
    check_names(&found, "a.jpg\n");
    T_EQ(found.links, 2);
    T_EQ(found.specials, 3);
}

static void wrong_checksums_are_refused(void)
{
    tar_maker tar = {0};
    walked found;

    tar_add_text(&tar, "a.jpg", "abc");
    tar_add_text(&tar, "b.jpg", "def");
    tar_add_zeros(&tar, 2);
    for (size_t i = 0; i < 512; i++) {
        if (i == 154 || i == 155) {
            continue; /* behind the digits there may be a zero, a blank or both */
        }
        tar.bytes[1024 + i] ^= 1;
        found = walk_bytes(tar.bytes, tar.size);
        check_corrupt(&found, "no header at offset 1024");
        T_STR(found.names, "a.jpg\n");
        tar.bytes[1024 + i] ^= 1;
    }
    /* Sums of signed bytes are as good. */
    tar.bytes[1024] = 0xE9;
    tar_seal(&tar, 1024);
    {
        unsigned sum = (unsigned)strtoul((const char *)tar.bytes + 1024 + 148, NULL, 8) - 256;
        char text[16];

        snprintf(text, sizeof(text), "%06o", sum);
        memcpy(tar.bytes + 1024 + 148, text, 7);
    }
    found = walk_and_free(&tar);
    check_names(&found, "a.jpg\n\xe9.jpg\n");
}

/* ---- ends ------------------------------------------------------------------------------------ */

/* Cut anywhere it is an error, or what is whole of it is read. */
static void archives_cut_anywhere_are_no_surprise(void)
{
    static const char *const records[] = {"path=longer/name.jpg"};
    tar_maker tar = {0};

    tar_add_text(&tar, "a.jpg", "abc");
    tar_add_pax(&tar, 'x', records, 1);
    tar_add_text(&tar, "b.jpg", "defg");
    tar_add(&tar, "././@LongLink", 'L', "long.jpg", 9);
    tar_add_text(&tar, "c.jpg", "hi");
    tar_add_zeros(&tar, 2);
    for (size_t size = 0; size <= tar.size; size++) {
        const walked found = walk_bytes(tar.bytes, size);
        const unsigned whole = (size >= 515) + (size >= 2564) + (size >= 4610);
        const bool at_border =
            (size >= 515 && size <= 1024) || (size >= 2564 && size <= 3072) || size >= 4610;

        T_EQ(found.members, whole);
        T_STATUS(found.st, at_border ? SLUICE_END_OF_DATA : SLUICE_E_CORRUPT);
        T_TRUE(!at_border || found.lacks_end == (size < tar.size - 512));
    }
    tar_free(&tar);
}

static void a_shard_that_shrinks_meanwhile_is_an_error(void)
{
    tar_maker tar = {0};
    walked found;
    int fd;

    tar_add_text(&tar, "a.jpg", "abc");
    tar_add_text(&tar, "b.jpg", "abc");
    fd = bytes_file(tar.bytes, 1024 + 300);
    found = walk_fd(fd, tar.size);
    close(fd);
    tar_free(&tar);
    check_corrupt(&found, "became shorter while it was read");
}

static void a_block_of_zeros_is_the_end(void)
{
    for (size_t zeros = 1; zeros <= 21; zeros++) {
        tar_maker tar = {0};
        walked found;

        tar_add_text(&tar, "a.jpg", "abc");
        tar_add_zeros(&tar, zeros);
        found = walk_bytes(tar.bytes, tar.size);
        check_names(&found, "a.jpg\n");
        T_TRUE(!found.has_more);
        tar_add_text(&tar, "b.jpg", "abc");
        found = walk_and_free(&tar);
        check_names(&found, "a.jpg\n");
        T_EQ(found.has_more, zeros <= 20);
    }
}

static void what_is_no_archive_is_said_to_be_none(void)
{
    char text[2000];
    walked found = walk_bytes("", 0);

    check_corrupt(&found, "x.tar is empty");
    memset(text, 'x', sizeof(text));
    found = walk_bytes(text, sizeof(text));
    check_corrupt(&found, "x.tar is not a tar archive");
    found = walk_bytes(text, 5);
    check_corrupt(&found, "x.tar is not a tar archive");
    memcpy(text, "\x1f\x8b\x08", 3);
    found = walk_bytes(text, sizeof(text));
    T_STATUS(found.st, SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "x.tar is compressed (gzip)");
    memcpy(text, "\x28\xb5\x2f\xfd", 4);
    found = walk_bytes(text, sizeof(text));
    T_STATUS(found.st, SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "zstd");
}

static void rubbish_behind_the_members_is_an_error(void)
{
    tar_maker tar = {0};
    walked found;

    tar_add_text(&tar, "a.jpg", "abc");
    tar_add_bytes(&tar, "rubbish", 7);
    found = walk_bytes(tar.bytes, tar.size);
    check_corrupt(&found, "no header at offset 1024");
    check_corrupt(&found, "the file ends there, and may be truncated");
    for (int i = 0; i < 100; i++) {
        tar_add_bytes(&tar, "rubbish", 7);
    }
    found = walk_and_free(&tar);
    check_corrupt(&found, "no header at offset 1024");
    T_TRUE(strstr(sluice_last_error(), "truncated") == NULL);
}

static void failing_allocations_are_reported(void)
{
    static const char *const records[] = {"path=longer/name.jpg"};
    int failures = 0;
    tar_maker tar = {0};
    walked found;

    tar_add_pax(&tar, 'x', records, 1);
    tar_add_text(&tar, "b.jpg", "defg");
    do {
        sli_alloc_fail_after(failures++);
        found = walk_bytes(tar.bytes, tar.size);
        sli_alloc_fail_after(-1);
        T_TRUE(found.st == SLUICE_E_NO_MEMORY || found.st == SLUICE_END_OF_DATA);
    } while (found.st != SLUICE_END_OF_DATA);
    T_EQ(failures, 3);
    tar_free(&tar);
}

const t_test tar_reader_tests[] = {
    T_TEST(archives_of_tar_are_read),
    T_TEST(long_and_strange_names_are_read),
    T_TEST(ustar_names_have_a_part_before_them),
    T_TEST(sparse_members_of_tar_are_passed_over),
    T_TEST(names_are_names_and_no_paths),
    T_TEST(names_and_sizes_of_extended_headers_hold_for_the_next_member),
    T_TEST(extended_headers_end_with_what_is_passed_over),
    T_TEST(sizes_in_binary_are_read),
    T_TEST(sizes_in_digits_may_have_blanks_and_zeros_around_them),
    T_TEST(records_of_pax_with_wrong_lengths_are_refused),
    T_TEST(times_of_gnu_are_no_part_of_a_name),
    T_TEST(zero_bytes_in_names_are_refused),
    T_TEST(extended_headers_too_large_to_believe_are_refused),
    T_TEST(what_reaches_beyond_the_end_is_refused),
    T_TEST(links_and_folders_have_no_bytes_whatever_they_say),
    T_TEST(wrong_checksums_are_refused),
    T_TEST(archives_cut_anywhere_are_no_surprise),
    T_TEST(a_shard_that_shrinks_meanwhile_is_an_error),
    T_TEST(a_block_of_zeros_is_the_end),
    T_TEST(what_is_no_archive_is_said_to_be_none),
    T_TEST(rubbish_behind_the_members_is_an_error),
    T_TEST(failing_allocations_are_reported),
    T_END,
};
