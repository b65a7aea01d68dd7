/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that are cut, bad, stalled, or asked for what they cannot do. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shard_kit.h"
#include "stream_kit.h"
#include "testing.h"

static void a_stream_that_is_cut_anywhere_is_an_error(void)
{
    const char *folder = t_folder();
    char path[400];
    tar_maker tar = {0};

    snprintf(path, sizeof(path), "%s/x.tar", folder);
    add_images(&tar, 0, 3);
    for (size_t size = 0; size<tar.size + 512; size += size % 512> 40 ? 200 : 1) {
        tape got;

        t_write_file(path, tar.bytes, size < tar.size ? size : tar.size);
        got =
            record_own(stream_dataset("@ access=stream", path, "2"), &(run_options){.workers = 2});
        T_STATUS(got.end, SLUICE_E_CORRUPT);
        T_CONTAINS(got.error, "x.tar");
        T_TRUE(got.batches <= 1);
        free(got.bytes);
    }
    tar_free(&tar);
}

/* Without zlib so is one that is whole. */
static void a_packed_stream_that_is_cut_is_an_error(void)
{
    const char *folder = t_folder();

    make_image_shard(t_path(folder, "a.tar"), 0, 40);
    shell("cd %s && gzip a.tar && head -c 300 a.tar.gz > b.tar.gz", folder);
    tape got = record_own(stream_dataset("@", t_path(folder, "b.tar.gz"), "4"),
                          &(run_options){.workers = 2});

    T_EQ(got.end, can_gunzip() ? SLUICE_E_CORRUPT : SLUICE_E_UNSUPPORTED);
    T_CONTAINS(got.error, can_gunzip() ? "b.tar.gz" : "b.tar.gz is compressed by gzip, and this");
    free(got.bytes);
}

/* Its writer waits for ever: nothing comes, and it does not end. */
static void a_stalled_pipe_does_not_hold_up_a_stop(void)
{
    for (uint32_t i = 0; i < 6; i++) {
        const char *folder = t_folder();
        char path[400];
        tar_maker tar = {0};
        sluice_dataset *dataset;
        engine_run run;
        int fd = -1;

        snprintf(path, sizeof(path), "%s/fifo", folder);
        T_EQ(mkfifo(path, 0600), 0);
        add_images(&tar, 0, 6);
        dataset = stream_dataset("@", path, "4");
        if (i % 2 == 0) { /* else nobody ever writes */
            fd = open(path, O_RDWR | O_CLOEXEC);
            T_TRUE(fd >= 0);
            T_EQ(write(fd, tar.bytes, tar.size), (ssize_t)tar.size);
        }
        open_own(&run, dataset,
                 &(run_options){.device = devices[i % 2], .workers = worker_counts[i / 2]});
        if (fd >= 0) {
            T_OK(next_batch(&run));
        }
        close_run(&run);
        close(fd);
        tar_free(&tar);
    }
}

static void a_pipe_is_read_once(void)
{
    const char *folder = t_folder();
    tar_maker tar = {0};
    char path[400];
    fifo_writer writer;
    sluice_dataset *dataset;
    tape first;
    tape second;

    snprintf(path, sizeof(path), "%s/fifo", folder);
    add_images(&tar, 0, 8);
    tar_add_zeros(&tar, 2);
    fifo_write(&writer, path, tar.bytes, tar.size);
    dataset = stream_dataset("@", path, "4");
    first = record(dataset, &(run_options){.workers = 2, .batches = UINT64_MAX});
    T_STATUS(first.end, SLUICE_END_OF_DATA);
    T_EQ(first.batches, 2);
    second = record(dataset, &(run_options){.workers = 2});
    T_STATUS(second.end, SLUICE_E_UNSUPPORTED);
    T_CONTAINS(second.error, "can be read only once");
    fifo_join(&writer);
    tar_free(&tar);
    free(first.bytes);
    free(second.bytes);
    sluice_dataset_destroy(dataset);
}

static void bad_samples_are_named_or_left_zero(void)
{
    const char *folder = t_folder();
    char path[400];
    tar_maker tar = {0};

    snprintf(path, sizeof(path), "%s/x.tar", folder);
    add_images(&tar, 0, 5);
    tar_add_text(&tar, "k/bad.ppm", "no image");
    tar_add_text(&tar, "k/bad.cls", "5");
    tar_add_text(&tar, "k/odd.ppm", "P6 2 2 255\n123456789012");
    tar_add_text(&tar, "k/odd.cls", "five");
    add_images(&tar, 7, 3);
    tar_write(&tar, path);
    for (uint32_t i = 0; i < 3; i++) {
        sluice_dataset *dataset = stream_dataset("@ access=stream", path, "4");
        sluice_dataset *whole = stream_dataset("@ index=none", path, "4");
        run_options options = {.workers = worker_counts[i]};
        tape got = record(dataset, &options);
        tape want;

        T_STATUS(got.end, SLUICE_E_CORRUPT);
        T_CONTAINS(got.error, "sample 5, x.tar/k/bad.ppm");
        T_EQ(got.batches, 1);
        free(got.bytes);
        options.settings.on_error = SLI_ON_ERROR_ZERO;
        got = record(dataset, &options);
        want = record(whole, &options);
        check_equal_tapes(&got, &want, "zero");
        T_EQ(got.errors.zeroed, 2);
        free(got.bytes);
        free(want.bytes);
        sluice_dataset_destroy(dataset);
        sluice_dataset_destroy(whole);
    }
}

static void check_ends(const char *path, sluice_status want, const char *words)
{
    tape got = record_own(stream_dataset("@ access=stream", path, "4 drop_remainder=true"),
                          &(run_options){.workers = 2, .batches = UINT64_MAX});

    T_STATUS(got.end, want);
    T_CONTAINS(got.error, words);
    T_EQ(got.batches, 0);
    free(got.bytes);
}

static void streams_without_a_batch_are_errors(void)
{
    const char *folder = t_folder();
    char path[400];
    tar_maker tar = {0};
    tar_maker large = {0};
    size_t header;

    snprintf(path, sizeof(path), "%s/x.tar", folder);
    make_image_shard(path, 0, 3);
    check_ends(path, SLUICE_E_INVALID, "a pass of the stream has 3 samples and no batch of 4");
    make_image_shard(path, 0, 0);
    check_ends(path, SLUICE_E_INVALID, "no image among 0 samples in 1 shards");
    tar_add_text(&tar, "a.txt", "text");
    tar_add_text(&tar, "b.txt", "text");
    tar_write(&tar, path);
    check_ends(path, SLUICE_E_INVALID, "no image among 2 samples in 1 shards");
    t_write_file(path, "something else", 14);
    check_ends(path, SLUICE_E_CORRUPT, "x.tar is not a tar archive");
    check_ends(t_path(folder, "none.tar"), SLUICE_E_IO, "cannot open the file");
    header = tar_add(&large, "a.ppm", '0', "x", 1);
    tar_set(&large, header, 124, "77777777777", 12);
    tar_seal(&large, header);
    tar_write(&large, path);
    check_ends(path, SLUICE_E_CORRUPT, "it is truncated");
}

static void what_a_stream_cannot_do_is_refused(void)
{
    static const struct {
        const char *text;
        const char *words;
    } wrong[] = {
        {"webdataset @ access=stream | shard | decode | resize 2,2 | batch 2",
         "shard: not supported for a stream"},
        {"webdataset @ access=stream | repeat 2 | decode | resize 2,2 | batch 2",
         "leave the stage"},
        {"webdataset @ access=stream | decode | batch 2", "size must be known"},
        {"webdataset @ access=stream | decode | resize 2 | batch 2", "write resize 2,2, or put"},
    };
    const char *path = t_file("x.tar");
    sluice_dataset *dataset;
    sluice_dataset_info info = {.struct_size = sizeof(info)};
    engine_run run;

    make_image_shard(path, 0, 5);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        dataset = web_dataset(wrong[i].text, path);
        T_STATUS(start_run(&run, dataset, &(run_options){.workers = 1}), SLUICE_E_UNSUPPORTED);
        T_CONTAINS(sluice_last_error(), wrong[i].words);
        sluice_dataset_destroy(dataset);
    }
    dataset = stream_dataset("@ access=stream", path, "2");
    T_STATUS(sluice_dataset_get(dataset, 0, 0, 0, NULL, NULL), SLUICE_E_UNSUPPORTED);
    T_OK(sluice_dataset_inspect(dataset, &info));
    T_EQ(info.samples, 0);
    T_EQ(info.batches, 0);
    sluice_dataset_destroy(dataset);
}

static void shards_that_change_between_passes_are_an_error(void)
{
    const char *path = t_file("x.tar");
    char other[410];
    engine_run run;
    sluice_status st = SLUICE_OK;

    make_image_shard(path, 0, 200);
    open_own(&run, stream_dataset("@ access=stream", path, "4"),
             &(run_options){.workers = 2, .slots = 3, .batches = 1000});
    T_OK(next_batch(&run));
    snprintf(other, sizeof(other), "%s.new", path);
    make_image_shard(other, 0, 13);
    T_EQ(rename(other, path), 0);
    while (st == SLUICE_OK) {
        st = next_batch(&run);
    }
    T_STATUS(st, SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "the shards have changed");
    close_run(&run);
}

const t_test stream_ends_tests[] = {
    T_TEST(a_stream_that_is_cut_anywhere_is_an_error),
    T_TEST(a_packed_stream_that_is_cut_is_an_error),
    T_TEST(a_stalled_pipe_does_not_hold_up_a_stop),
    T_TEST(a_pipe_is_read_once),
    T_TEST(bad_samples_are_named_or_left_zero),
    T_TEST(streams_without_a_batch_are_errors),
    T_TEST(what_a_stream_cannot_do_is_refused),
    T_TEST(shards_that_change_between_passes_are_an_error),
    T_END,
};
