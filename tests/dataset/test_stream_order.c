/* SPDX-License-Identifier: Apache-2.0 */
/* Streams give what the same shards give by their indexes, whoever reads them. */
#include <stdlib.h>
#include <unistd.h>

#include "shard_kit.h"
#include "stream_kit.h"
#include "testing.h"

static const char *const batches[] = {"4", "4 drop_remainder=true"};

/* Streams whose end falls on every place of a batch, and beyond. */
static void check_lengths(uint64_t passes)
{
    for (int count = 4; count <= 13; count++) {
        const char *folder = t_folder();

        make_two(folder, count);
        for (int i = 0; i < 12; i++) {
            check_stream("@ access=stream", "", folder, batches[i % 2],
                         &(run_options){.device = devices[i / 2 % 2],
                                        .workers = worker_counts[i / 4],
                                        .slots = 3 + (uint32_t)i % 3,
                                        .passes = passes});
        }
    }
}

static void streams_end_at_every_place_of_a_batch(void)
{
    check_lengths(1);
}

static void passes_follow_each_other(void)
{
    check_lengths(3);
}

static tape record_inverted(const char *access, const char *path)
{
    const run_options options = {.workers = 2, .passes = 3, .batches = 9};
    char text[200];

    snprintf(text, sizeof(text),
             "webdataset @ %s | decode | center_crop 2 | random_invert | batch 4", access);
    return record_own(web_dataset(text, path), &options);
}

static void random_stages_draw_by_the_pass(void)
{
    const char *path = t_file("x.tar");
    tape got;
    tape want;

    make_image_shard(path, 0, 12);
    got = record_inverted("access=stream", path);
    want = record_inverted("index=none", path);
    check_equal_tapes(&got, &want, "random_invert");
    free(got.bytes);
    free(want.bytes);
}

static void each_rank_gets_its_own(void)
{
    for (int count = 12; count <= 26; count++) {
        const char *folder = t_folder();

        make_two(folder, count);
        for (uint32_t i = 0; i < 6; i++) {
            check_stream("@ access=stream", "", folder, batches[i % 2],
                         &(run_options){.workers = worker_counts[i / 2],
                                        .settings = {.rank = i / 2, .world = 3},
                                        .passes = 2});
        }
    }
}

static void a_stream_goes_on_where_a_run_stopped(void)
{
    const char *folder = t_folder();

    make_two(folder, 11);
    for (uint64_t first = 0; first <= 2; first++) {
        for (uint32_t i = 0; i < 2; i++) {
            sluice_dataset *whole = stream_dataset("@ index=none", folder, batches[i]);
            sluice_dataset *stream = stream_dataset("@ access=stream", folder, batches[i]);
            const run_options options = {.workers = 2, .first_step = first, .batches = 7};
            tape want = record(whole, &options);
            tape got = record(stream, &options);

            check_equal_tapes(&got, &want, "resumed");
            free(got.bytes);
            free(want.bytes);
            sluice_dataset_destroy(whole);
            sluice_dataset_destroy(stream);
        }
    }
}

/* A checkpoint at the end of a pass may have been made before anybody knew that it was one. */
static void a_run_that_begins_at_the_end_of_a_pass_begins_the_next(void)
{
    const char *folder = t_folder();
    sluice_dataset *whole;
    sluice_dataset *stream;
    run_options options = {.workers = 2, .first_step = 3, .batches = 5};
    tape want;
    tape got;

    make_two(folder, 11);
    whole = stream_dataset("@ index=none", folder, "4");
    stream = stream_dataset("@ access=stream", folder, "4");
    want = record(whole, &options); /* begins at {1, 0} */
    got = record(stream, &options); /* begins at {0, 12} */
    check_equal_tapes(&got, &want, "at the end");
    free(got.bytes);
    free(want.bytes);
    sluice_dataset_destroy(whole);
    sluice_dataset_destroy(stream);
}

static void compressed_shards_are_decompressed(void)
{
    static const char *const packers[] = {"gzip", "zstd -q", "xz", "bzip2"};
    static const char *const ends[] = {"gz", "zst", "xz", "bz2"};

    T_NEEDS(can_decompress(), "no libarchive");
    for (int i = 0; i < 4; i++) {
        const char *folder = t_folder();
        char what[100];

        if (i > 0 && system("command -v zstd xz bzip2 >/dev/null") != 0) {
            break;
        }
        make_two(folder, 11);
        shell("cd %s && %s -k a.tar && %s -k b.tar", folder, packers[i], packers[i]);
        snprintf(what, sizeof(what), "@/*.tar.%s", ends[i]);
        check_stream(what, "", folder, "4", &(run_options){.workers = 2, .passes = 2});
    }
}

static void a_fifo_gives_the_same(void)
{
    for (uint32_t i = 0; i < 3; i++) {
        const char *folder = t_folder();
        const run_options options = {.workers = worker_counts[i], .passes = 1};
        tar_maker tar = {0};
        fifo_writer writer;
        char path[400];
        tape want;
        tape got;

        make_image_shard(t_path(folder, "all.tar"), 0, 23);
        want = tape_by_index("", folder, "4", &options);
        add_images(&tar, 0, 23);
        tar_add_zeros(&tar, 2);
        snprintf(path, sizeof(path), "%s/fifo", folder);
        fifo_write(&writer, path, tar.bytes, tar.size);
        got = record_own(stream_dataset("@", path, "4"), &options);
        check_equal_tapes(&got, &want, "fifo");
        fifo_join(&writer);
        tar_free(&tar);
        free(got.bytes);
        free(want.bytes);
    }
}

const t_test stream_order_tests[] = {
    T_TEST(streams_end_at_every_place_of_a_batch),
    T_TEST(passes_follow_each_other),
    T_TEST(random_stages_draw_by_the_pass),
    T_TEST(each_rank_gets_its_own),
    T_TEST(a_stream_goes_on_where_a_run_stopped),
    T_TEST(a_run_that_begins_at_the_end_of_a_pass_begins_the_next),
    T_TEST(compressed_shards_are_decompressed),
    T_TEST(a_fifo_gives_the_same),
    T_END,
};
