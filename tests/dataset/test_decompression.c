/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed streams: one layer of one format, bombs, and requests to stop. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <sluice/version.h>

#include "byte_feed.h"
#include "compression.h"
#include "fault_kit.h"
#include "shard_kit.h"
#include "stream_kit.h"
#include "tar_reader.h"
#include "testing.h"

enum { MIB = 1 << 20 };

static const char quine[] = SLUICE_TEST_DATA "/gzip/quine.gz";

/* A gzip file of `zeros` MiB of zeros, in hundreds, behind `start`. */
static void make_bomb(const char *path, const void *start, size_t size, int zeros)
{
    const char *folder = t_folder();

    t_write_file(t_path(folder, "start"), start, size);
    shell("cd %s && gzip -c start >bomb && head -c 10485760 /dev/zero | gzip -9 >ten && "
          "for i in 0 1 2 3 4 5 6 7 8 9; do cat ten; done >hundred && "
          "for i in $(seq %d); do cat hundred; done >>bomb && mv bomb %s",
          folder, zeros / 100, path);
}

static tape run_stream(const char *path)
{
    tape got =
        record_own(stream_dataset("@ access=stream", path, "2"), &(run_options){.workers = 2});

    free(got.bytes);
    got.bytes = NULL;
    return got;
}

static void formats_are_known_by_magic_and_suffix(void)
{
    static const char *const packed[] = {"a.tar.gz", "a.tgz",     "a.tar.zst", "a.tzst", "a.tar.xz",
                                         "a.txz",    "a.tar.bz2", "a.tbz",     "a.tbz2"};
    static const char *const plain[] = {"a.tar", "gz", ".gz", "a.gz.tar", "a.tbz3", "a.GZ"};

    for (size_t i = 0; i < sizeof(packed) / sizeof(packed[0]); i++) {
        T_TRUE(compression_has_suffix(packed[i]));
    }
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        T_TRUE(!compression_has_suffix(plain[i]));
    }
    T_EQ(compression_of((const uint8_t *)"\x1f\x8b\x08", 3), COMPRESSION_GZIP);
    T_EQ(compression_of((const uint8_t *)"\x1f\x8b", 2), COMPRESSION_NONE);
    T_EQ(compression_of((const uint8_t *)"\x28\xb5\x2f\xfd", 4), COMPRESSION_ZSTD);
    T_EQ(compression_of((const uint8_t *)"\xfd\x37zXZ\0", 6), COMPRESSION_XZ);
    T_EQ(compression_of((const uint8_t *)"BZh91AY&SY", 10), COMPRESSION_BZIP2);
    T_EQ(compression_of((const uint8_t *)"BZh1\x17\x72\x45\x38\x50\x90", 10), COMPRESSION_BZIP2);
    T_EQ(compression_of((const uint8_t *)"BZh91AY&S", 9), COMPRESSION_NONE);
}

/* The name of its first member begins as a bzip2 file does. */
static void a_tar_archive_whose_name_begins_with_a_magic_is_one(void)
{
    const char *path = t_file("x.tar");
    tar_maker tar = {0};
    tape got;

    tar_add(&tar, "BZh9.ppm", '0', "P6 2 2 255\n123456789012", 23);
    tar_add_text(&tar, "BZh9.cls", "5");
    add_images(&tar, 0, 3);
    tar_write(&tar, path);
    got = run_stream(path);
    T_STATUS(got.end, SLUICE_END_OF_DATA);
    T_EQ(got.batches, 2);
}

static void a_file_that_decompresses_to_itself_is_refused(void)
{
    tape got;

    T_NEEDS(can_gunzip(), "no zlib");
    shell("gunzip <%s | cmp - %s", quine, quine);
    got = run_stream(quine);
    T_STATUS(got.end, SLUICE_E_UNSUPPORTED);
    T_CONTAINS(got.error, "quine.gz decompresses to gzip data in place of a tar archive");
}

static void one_layer_of_several_is_decompressed(void)
{
    const int stop = eventfd(0, EFD_CLOEXEC);
    const char *folder = t_folder();
    byte_feed *feed = NULL;
    uint8_t inner[1000];
    uint8_t got[1000];
    size_t size = 0;
    FILE *file;

    if (!can_gunzip()) {
        close(stop);
        T_SKIP("no zlib");
    }
    shell("cd %s && echo text | gzip >a && gzip <a >b", folder);
    T_OK(byte_feed_open(t_path(folder, "b"), false, stop, &feed));
    T_OK(byte_feed_read(feed, got, sizeof(got), &size));
    byte_feed_close(feed);
    file = fopen(t_path(folder, "a"), "rb");
    T_TRUE(file != NULL);
    T_EQ(fread(inner, 1, sizeof(inner), file), size);
    fclose(file);
    T_TRUE(memcmp(got, inner, size) == 0);
    close(stop);
}

static void a_gigabyte_of_zeros_is_an_empty_archive(void)
{
    const char *path = t_file("bomb.tar.gz");
    tape got;

    T_NEEDS(can_gunzip(), "no zlib");
    make_bomb(path, "", 0, 1000);
    got = run_stream(path);
    T_STATUS(got.end, SLUICE_E_INVALID);
    T_CONTAINS(got.error, "no image among 0 samples");
}

/* They are the body of a link name, which is passed over before the first file. */
static void ten_gigabytes_before_the_first_file_are_refused(void)
{
    const char *path = t_file("bomb.tar.gz");
    tar_maker tar = {0};
    size_t header;
    tape got;

    T_NEEDS(can_gunzip(), "no zlib");
    header = tar_add(&tar, "link", 'K', NULL, 0);
    tar_set(&tar, header, 124, "\x80\0\0\0\0\0\0\2\x40\0\0\0", 12); /* 9 GiB */
    make_bomb(path, tar.bytes, tar.size, 10000);
    tar_free(&tar);
    got = run_stream(path);
    T_STATUS(got.end, SLUICE_E_CORRUPT);
    T_CONTAINS(got.error, "bomb.tar.gz has no plain file in its first 256 MiB");
}

/* The file name in the header of gzip does not end. */
static void a_header_without_end_is_truncated(void)
{
    static const char header[] = "\x1f\x8b\x08\x08\0\0\0\0\0\x03";
    const char *path = t_file("name.tar.gz");
    uint8_t *bytes = malloc(MIB);
    tape got;

    if (!can_gunzip()) {
        free(bytes);
        T_SKIP("no zlib");
    }
    T_TRUE(bytes != NULL);
    memset(bytes, 'A', MIB);
    memcpy(bytes, header, 10);
    t_write_file(path, bytes, MIB);
    free(bytes);
    got = run_stream(path);
    T_STATUS(got.end, SLUICE_E_CORRUPT);
    T_CONTAINS(got.error, "its gzip data end too early, after 1048576 bytes");
}

/* Reads s.tar.gz of the folder, which shell() has made; its whole run, without its bytes. */
static tape run_gzip(const char *folder)
{
    char path[400];

    snprintf(path, sizeof(path), "%s/s.tar.gz", folder);
    return run_stream(path);
}

static void members_and_zeros_behind_them_are_read(void)
{
    const char *folder = t_folder();
    tape got;

    T_NEEDS(can_gunzip(), "no zlib");
    make_image_shard(t_path(folder, "s.tar"), 0, 5);
    shell("cd %s && (head -c 1000 s.tar | gzip; gzip </dev/null; tail -c +1001 s.tar | gzip; "
          "head -c 70000 /dev/zero) >s.tar.gz",
          folder);
    got = run_gzip(folder);
    T_STATUS(got.end, SLUICE_END_OF_DATA);
    T_EQ(got.batches, 3);
}

/* They may be a member whose header is damaged. */
static void other_bytes_behind_a_member_are_an_error(void)
{
    const char *folder = t_folder();
    tape got;

    T_NEEDS(can_gunzip(), "no zlib");
    make_image_shard(t_path(folder, "s.tar"), 0, 5);
    shell("cd %s && (gzip <s.tar; head -c 9 /dev/zero; echo x) >s.tar.gz", folder);
    got = run_gzip(folder);
    T_STATUS(got.end, SLUICE_E_CORRUPT);
    T_CONTAINS(got.error, "after gzip member 1, is 0x78, and must be 0x1f");
}

/* The archive ends before: the checksum is read nevertheless. */
static void checksum_and_length_of_each_member_are_verified(void)
{
    static const char *const errors[] = {"incorrect data check", "incorrect length check"};
    const char *folder = t_folder();
    static uint8_t bytes[MIB];
    size_t size;

    T_NEEDS(can_gunzip(), "no zlib");
    make_image_shard(t_path(folder, "s.tar"), 0, 5);
    shell("cd %s && head -c 100000 /dev/zero >>s.tar && gzip <s.tar >s.tar.gz", folder);
    size = read_file_bytes(t_path(folder, "s.tar.gz"), bytes, sizeof(bytes));
    for (size_t i = 0; i < 2; i++) {
        tape got;

        bytes[size - 8 + 4 * i] ^= 1;
        t_write_file(t_path(folder, "s.tar.gz"), bytes, size);
        bytes[size - 8 + 4 * i] ^= 1;
        got = run_gzip(folder);
        T_STATUS(got.end, SLUICE_E_CORRUPT);
        T_CONTAINS(got.error, errors[i]);
    }
}

static void half_a_file_is_truncated(void)
{
    static const char *const packers[] = {"gzip", "bzip2", "xz", "zstd -q"};
    const char *folder = t_folder();

    T_NEEDS(can_decompress() && system("command -v zstd xz bzip2 >/dev/null") == 0,
            "zlib, libarchive, zstd, xz or bzip2 is missing");
    make_image_shard(t_path(folder, "s.tar"), 0, 5);
    for (size_t i = 0; i < sizeof(packers) / sizeof(packers[0]); i++) {
        tape got;

        shell("cd %s && %s <s.tar >all && head -c $(($(wc -c <all) / 2)) all >s.tar.gz", folder,
              packers[i]);
        got = run_gzip(folder);
        T_STATUS(got.end, SLUICE_E_CORRUPT);
        T_CONTAINS(got.error, "data end too early, after");
        T_CONTAINS(got.error, "the file is truncated or corrupt");
    }
}

/* Of ten gigabytes, which a few compressed bytes become. */
static void a_stop_ends_decompression_at_once(void)
{
    const int stop = eventfd(0, EFD_CLOEXEC);
    const char *path = t_file("bomb.gz");
    byte_feed *feed = NULL;
    uint64_t skipped = 0;

    if (!can_gunzip()) {
        close(stop);
        T_SKIP("no zlib");
    }
    make_bomb(path, "", 0, 10000);
    T_OK(byte_feed_open(path, false, stop, &feed));
    T_OK(byte_feed_skip(feed, MIB, &skipped));
    T_EQ(skipped, MIB);
    T_EQ(eventfd_write(stop, 1), 0);
    T_EQ(byte_feed_skip(feed, UINT64_C(10) << 30, &skipped), SLUICE_CLOSED);
    T_TRUE(skipped <= MIB);
    byte_feed_close(feed);
    close(stop);
}

/* It is loaded at the first compressed shard; one descriptor is left, for the shard. */
static void libarchive_is_loaded_once_there_are_descriptors(void)
{
    static const char empty[] = "BZh9\x17\x72\x45\x38\x50\x90\0\0\0\0";
    byte_feed *feed = NULL;
    const char *path = t_file("empty.bz2");
    int last;

    if (strstr(sluice_build_options(), "archive on") == NULL) {
        T_SKIP("no libarchive");
    }
    if (dlopen("libarchive.so.13", RTLD_NOLOAD | RTLD_LAZY) != NULL) {
        T_SKIP("libarchive is loaded already: run this suite alone");
    }
    t_write_file(path, empty, sizeof(empty) - 1);
    fault_pauses_begin();
    last = dup(0);
    fault_take_descriptors();
    T_EQ(close(last), 0);
    T_STATUS(byte_feed_open(path, false, -1, &feed), SLUICE_E_IO);
    T_CONTAINS(sluice_last_error(), "libarchive cannot be loaded (libarchive.so.13: cannot open "
                                    "shared object file: Too many open files): raise ulimit -n");
    T_TRUE(pauses.slept_ns > INT64_C(9000000000));
    pauses.restore_at = pauses.count + 3;
    T_OK(byte_feed_open(path, false, -1, &feed));
    T_EQ(pauses.count, pauses.restore_at);
    fault_pauses_end();
    byte_feed_close(feed);
}

const t_test decompression_tests[] = {
    T_TEST(libarchive_is_loaded_once_there_are_descriptors),
    T_TEST(formats_are_known_by_magic_and_suffix),
    T_TEST(a_tar_archive_whose_name_begins_with_a_magic_is_one),
    T_TEST(a_file_that_decompresses_to_itself_is_refused),
    T_TEST(one_layer_of_several_is_decompressed),
    T_TEST(a_gigabyte_of_zeros_is_an_empty_archive),
    T_TEST(ten_gigabytes_before_the_first_file_are_refused),
    T_TEST(a_header_without_end_is_truncated),
    T_TEST(members_and_zeros_behind_them_are_read),
    T_TEST(other_bytes_behind_a_member_are_an_error),
    T_TEST(checksum_and_length_of_each_member_are_verified),
    T_TEST(half_a_file_is_truncated),
    T_TEST(a_stop_ends_decompression_at_once),
    T_END,
};
