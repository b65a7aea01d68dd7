/* SPDX-License-Identifier: Apache-2.0 */
/* Source tfrecord as a stream: compressed files and pipes. */
#include <stdlib.h>

#include "dataset_kit.h"
#include "source_kit.h"
#include "stream_kit.h"
#include "testing.h"
#include "tfrecord_kit.h"

/* Records of a compressed file are those of the same file without compression, in its order. */
static void compressed_files_are_read_in_sequence(void)
{
    static const char *const names[] = {"gzip"};
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
    T_TEST(a_pipe_that_is_cut_or_corrupt_is_an_error),
    T_END,
};
