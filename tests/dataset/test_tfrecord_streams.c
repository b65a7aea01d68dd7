/* SPDX-License-Identifier: Apache-2.0 */
/* Source tfrecord as a stream: compressed files and pipes. */
#include <stdlib.h>

#include "bytes_int.h"
#include "compression.h"
#include "dataset_kit.h"
#include "source_kit.h"
#include "stream_kit.h"
#include "testing.h"
#include "tfrecord_format.h"
#include "tfrecord_kit.h"

/* Records of a compressed file are those of the same file without compression, in its order. */
static void compressed_files_are_read_in_sequence(void)
{
    static const char *const names[] = {"gzip", "zlib"};
    const run_options options = {.workers = 2, .settings = {.seed = 3}};
    tape want = record_own(parsed("tfrecord " SLUICE_TEST_DATA
                                  "/tfrecord/examples.tfrecord " TFRECORD_OF_TENSORFLOW
                                  " | decode | resize 1,2 | batch 4"),
                           &options);

    T_TRUE(want.batches > 0);
    for (size_t i = 0; i < COUNT(names); i++) {
        sluice_dataset *dataset =
            parsedf("tfrecord " SLUICE_TEST_DATA "/tfrecord/%s.tfrecord " TFRECORD_OF_TENSORFLOW
                    " | decode | resize 1,2 | batch 4",
                    names[i]);
        char path[400];

        if (can_gunzip()) {
            tape got = record(dataset, &options);

            check_equal_tapes(&got, &want, names[i]);
            free(got.bytes);
        }
        sluice_dataset_destroy(dataset);
        snprintf(path, sizeof(path), SLUICE_TEST_DATA "/tfrecord/%s.tfrecord", names[i]);
        check_source_fails("tfrecord", path, "", SLUICE_E_INVALID, "needs fields=");
    }
    free(want.bytes);
}

/* A zlib stream has a short magic number, which other files may begin with, too. */
static void only_zlib_streams_are_taken_for_zlib(void)
{
    static const char *const names[] = {"x^ 2024/image.jpg", "x^ \xd0\xb0\xd0\xb1\xd0\xb2\xd0\xb3",
                                        "x\xda\x80 image.jpg"};
    static const uint8_t stream[] = {0x78, 0x5e, 0x4b, 0x4c, 0x4a, 0x4e, 0x49, 0x4d, 0x4b, 0xcf};
    uint8_t head[TFRECORD_HEAD];

    for (size_t i = 0; i < COUNT(names); i++) {
        T_EQ(compression_of((const uint8_t *)names[i], COMPRESSION_MAGIC), COMPRESSION_NONE);
    }
    T_EQ(compression_of(stream, sizeof(stream)), COMPRESSION_ZLIB);
    for (uint64_t length = 0x9c78; length < 1 << 24; length += 1 << 16) {
        sli_put_u64(head, length);
        sli_put_u32(head + 8, tfrecord_crc(head, 8));
        T_EQ(compression_of(head, sizeof(head)), COMPRESSION_NONE);
    }
}

/* Changed or cut bytes are errors of the checksum at the end. */
static void corrupt_zlib_streams_are_errors(void)
{
    uint8_t bytes[1000];
    const char *path = t_path(t_folder(), "a.tfrecord");
    FILE *file;
    size_t size;

    T_NEEDS(can_gunzip(), "no zlib");
    file = fopen(SLUICE_TEST_DATA "/tfrecord/zlib.tfrecord", "rb");
    T_TRUE(file != NULL);
    size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    for (int i = 0; i < 3; i++) {
        static const char *const words[] = {"its zlib data are corrupt",
                                            "its zlib data end too early",
                                            "after zlib member 1, is 0x07, and must be 0x78"};
        tape got;

        bytes[size - 1] ^= i == 0;
        bytes[size] = 7;
        t_write_file(path, bytes, i == 0 ? size : i == 1 ? size - 2 : size + 1);
        got = record_own(
            parsedf("tfrecord %s " TFRECORD_OF_TENSORFLOW " | decode | resize 1,2 | batch 1", path),
            &(run_options){.workers = 1});
        T_STATUS(got.end, SLUICE_E_CORRUPT);
        T_CONTAINS(got.error, words[i]);
        free(got.bytes);
        bytes[size - 1] ^= i == 0;
    }
}

/* Runs the bytes of a pipe to the end. */
static tape run_pipe(const void *bytes, size_t size, const char *arguments)
{
    fifo_writer writer;
    tape got;

    fifo_write(&writer, t_path(t_folder(), "pipe"), bytes, size);
    got = record_own(parsedf("tfrecord %s fields=label:image/class/label@i32 %s | batch 1",
                             writer.path, arguments),
                     &(run_options){.workers = 2});
    fifo_join(&writer);
    return got;
}

static void a_pipe_that_is_cut_or_corrupt_is_an_error(void)
{
    static const struct {
        const char *words;
        long at;          /* of the byte that is changed, behind the first record; -1: none */
        long size;        /* behind the first record */
        const char *more; /* arguments */
    } cases[] = {
        {"the data end within its head", -1, 5, ""},
        {"beyond the end of the data", -1, 20, ""},
        {"checksum of its length is wrong", 3, 60, ""},
        {"the checksum of its", 30, 1000, ""},
        {"must have at most max_sample=100", -1, 1000, "max_sample=100"},
    };
    record_bytes file = {NULL, 0, 0};
    size_t first;

    tfrecord_add(&file, 0);
    first = file.size;
    tfrecord_add(&file, 1);
    for (size_t i = 0; i < COUNT(cases); i++) {
        const size_t whole = first + (size_t)cases[i].size;
        uint8_t *byte = cases[i].at >= 0 ? &file.data[first + (size_t)cases[i].at] : NULL;
        tape got;

        if (byte != NULL) {
            *byte ^= 4;
        }
        got = run_pipe(file.data, whole < file.size ? whole : file.size, cases[i].more);
        T_TRUE(got.end < SLUICE_OK);
        T_CONTAINS(got.error, cases[i].words);
        free(got.bytes);
        if (byte != NULL) {
            *byte ^= 4;
        }
    }
    record_bytes_free(&file);
}

const t_test tfrecord_streams_tests[] = {
    T_TEST(compressed_files_are_read_in_sequence),
    T_TEST(only_zlib_streams_are_taken_for_zlib),
    T_TEST(corrupt_zlib_streams_are_errors),
    T_TEST(a_pipe_that_is_cut_or_corrupt_is_an_error),
    T_END,
};
