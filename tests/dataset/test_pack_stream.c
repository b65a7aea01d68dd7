/* SPDX-License-Identifier: Apache-2.0 */
/* Packs of streams are those of the same shards read by their indexes. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alloc_int.h"
#include "dataset_kit.h"
#include "log_kit.h"
#include "pack_kit.h"
#include "stream_kit.h"
#include "stream_turns.h"
#include "testing.h"
#include "thread_int.h"

/* The pictures as one archive, top/x.tar. */
static void make_archive(const char *top)
{
    const char *folder = folder_named(top, "src");

    sluice_dataset_destroy(pictures(folder));
    shell("tar --sort=name -cf '%s/x.tar' -C '%s' .", top, folder);
}

static sluice_dataset *archive(const char *top, const char *name, const char *args)
{
    char text[1024];

    snprintf(text, sizeof(text), "webdataset %s/%s label=none %s", top, name, args);
    return parsed(text);
}

/* Packs top/x.tar into top/NAME, which is emptied. */
static sluice_status pack(const char *top, const char *name, const char *args, uint32_t workers,
                          sluice_pack_stats *stats)
{
    sluice_dataset *dataset = archive(top, "x.tar", args);
    const char *folder = folder_named(top, name);
    sluice_pack_config config = config_of(dataset, folder);
    sluice_status st;

    make_empty(folder);
    config.workers = workers;
    st = sluice_pack(&config, stats);
    sluice_dataset_destroy(dataset);
    return st;
}

/* All files of two packs but those that say what they are of. */
static void check_same_packs(const char *top, const char *a, const char *b)
{
    shell("cd '%s' && diff -r -x pack.txt %s %s >&2 && ls %s | grep -q tar", top, a, b, a);
}

/* Of a stream, once it has been read. */
static void a_pack_says_which_members_it_lacks(void)
{
    static const char *const args[] = {"", "access=stream"};
    const char *top = t_folder();
    const char *log;

    T_NEEDS(can_pack(), "no libarchive");
    make_archive(top);
    shell("cd '%s/src' && for f in *.jpg; do echo 1 >${f%%.jpg}.json; done && "
          "tar --sort=name -cf ../x.tar .",
          top);
    for (int i = 0; i < 2; i++) {
        kit_log_start(NULL, NULL);
        T_OK(pack(top, "pack", args[i], 2, NULL));
        log = kit_log_stop();
        T_CONTAINS(log, "pack does not hold what webdataset leaves out: members json (fields=");
    }
}

static void a_stream_comes_to_the_same_bytes(void)
{
    static const char *const stages[] = {"", "| take 17", "| skip 3 | split train 0.7"};
    const char *top = t_folder();
    sluice_pack_stats stats = {.struct_size = sizeof(stats)};

    T_NEEDS(can_pack(), "no libarchive");
    make_archive(top);
    for (uint32_t i = 0; i < 9; i++) {
        char args[100];

        snprintf(args, sizeof(args), "access=stream %s", stages[i / 3]);
        T_OK(pack(top, "stream", args, 1 + i % 3 * 3, &stats));
        T_TRUE(stats.complete);
        T_EQ(stats.samples, stats.done);
        snprintf(args, sizeof(args), "index=none %s", stages[i / 3]);
        T_OK(pack(top, "indexed", args, 2, &stats));
        check_same_packs(top, "stream", "indexed");
    }
}

/* Compresses the archive, as top/good, and gives x.tar another checksum, which comes last. */
static void spoil_checksum(const char *top)
{
    shell("cd '%s' && gzip -1c x.tar >good && head -c -8 good >z && printf '\\1\\2\\3\\4' >>z "
          "&& tail -c 4 good >>z && mv z x.tar",
          top);
}

static void a_pack_of_a_corrupt_stream_is_not_complete(void)
{
    const char *top = t_folder();
    sluice_pack_stats stats = {.struct_size = sizeof(stats)};

    T_NEEDS(can_pack() && can_gunzip(), "no zlib, or no libarchive");
    make_archive(top);
    spoil_checksum(top);
    T_STATUS(pack(top, "corrupt", "access=stream", 2, &stats), SLUICE_E_CORRUPT);
    T_CONTAINS(sluice_last_error(), "incorrect data check");
    T_TRUE(!stats.complete);
}

/* An image of a finished shard is wrong, and the checksum behind all says so. */
static void a_pack_of_a_corrupt_stream_does_not_go_on(void)
{
    const char *top = t_folder();
    sluice_pack_stats stats = {.struct_size = sizeof(stats)};
    sluice_dataset *dataset;
    sluice_pack_config config;

    T_NEEDS(can_pack() && can_gunzip(), "no zlib, or no libarchive");
    make_archive(top);
    spoil_checksum(top);
    T_STATUS(pack(top, "corrupt", "access=stream", 2, &stats), SLUICE_E_CORRUPT);
    T_TRUE(stats.shards > 0);
    T_CONTAINS(sluice_last_error(), "incorrect data check");
    T_CONTAINS(sluice_last_error(), "may be wrong, and it cannot be continued");
    shell("cd '%s' && mv good x.tar", top);
    dataset = archive(top, "x.tar", "access=stream");
    config = config_of(dataset, folder_named(top, "corrupt"));
    T_STATUS(sluice_pack(&config, &stats), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "holds a pack that was written from a corrupt stream");
    T_CONTAINS(sluice_last_error(), "incorrect data check");
    sluice_dataset_destroy(dataset);
}

static void a_shuffled_stream_comes_to_the_same_bytes_by_any_workers(void)
{
    const char *top = t_folder();
    sluice_pack_stats stats = {.struct_size = sizeof(stats)};

    T_NEEDS(can_pack(), "no libarchive");
    make_archive(top);
    T_OK(pack(top, "one", "access=stream | shuffle 3 buffer=5", 1, &stats));
    T_EQ(stats.done, PACK_SAMPLES);
    T_OK(pack(top, "many", "access=stream | shuffle 3 buffer=5", 5, &stats));
    check_same_packs(top, "one", "many");
}

static void a_stream_is_packed_on_where_it_was_stopped(void)
{
    const char *top = t_folder();
    sluice_dataset *dataset;
    sluice_pack_config config;
    sluice_pack_stats stats = {.struct_size = sizeof(stats)};
    sluice_stop *stop = NULL;

    T_NEEDS(can_pack(), "no libarchive");
    make_archive(top);
    T_OK(pack(top, "whole", "access=stream", 1, &stats));
    dataset = archive(top, "x.tar", "access=stream");
    T_OK(sluice_stop_create(&stop));
    for (uint64_t after = 1; after < PACK_SAMPLES; after++) {
        stopper s = {stop, after, 0};

        config = config_of(dataset, folder_named(top, "broken"));
        make_empty(config.folder);
        config.stop = stop;
        config.progress = stop_after;
        config.user = &s;
        sluice_stop_clear(stop);
        T_STATUS(sluice_pack(&config, &stats), SLUICE_STOPPED);
        T_EQ(stats.samples, 0); /* nobody knows yet */
        config.progress = NULL;
        sluice_stop_clear(stop);
        config.workers = 1 + (uint32_t)after % 3;
        T_OK(sluice_pack(&config, &stats));
        T_EQ(stats.samples, PACK_SAMPLES);
        T_EQ(stats.done, PACK_SAMPLES);
        check_same_packs(top, "whole", "broken");
    }
    sluice_stop_destroy(stop);
    sluice_dataset_destroy(dataset);
}

/* The stream is not even read: it may be gone. A shard that is lost is made again. */
static void nothing_of_a_complete_pack_is_done_again(void)
{
    const char *top = t_folder();
    sluice_dataset *dataset;
    sluice_pack_config config;
    sluice_pack_stats stats = {.struct_size = sizeof(stats)};

    T_NEEDS(can_pack(), "no libarchive");
    make_archive(top);
    T_OK(pack(top, "whole", "access=stream", 1, &stats));
    T_TRUE(stats.shards > 2);
    T_OK(pack(top, "again", "access=stream", 1, NULL));
    shell("cd '%s' && mv x.tar y.tar && echo none > x.tar", top);
    dataset = archive(top, "x.tar", "access=stream");
    config = config_of(dataset, folder_named(top, "again"));
    kit_log_start(NULL, NULL);
    T_OK(sluice_pack(&config, &stats));
    T_CONTAINS(kit_log_stop(), "again is complete, so the stream was not read");
    T_TRUE(stats.complete);
    T_EQ(stats.resumed, PACK_SAMPLES);
    shell("cd '%s' && mv y.tar x.tar && rm \"again/$(ls again | grep 'tar$' | tail -n 1)\"", top);
    T_OK(sluice_pack(&config, &stats));
    T_TRUE(stats.resumed < PACK_SAMPLES);
    check_same_packs(top, "whole", "again");
    sluice_dataset_destroy(dataset);
}

static void streams_that_end_too_soon_are_errors(void)
{
    const char *top = t_folder();
    sluice_pack_stats stats = {.struct_size = sizeof(stats)};
    sluice_dataset *dataset;
    sluice_pack_config config;

    T_NEEDS(can_pack(), "no libarchive");
    make_archive(top);
    T_STATUS(pack(top, "none", "access=stream | skip 99", 2, &stats), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "none of 0 samples can be packed");
    T_TRUE(sluice_last_error()[strlen(sluice_last_error()) - 1] == 'd');
    T_STATUS(pack(top, "none", "access=stream | shard 0 2", 2, &stats), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "shard: not supported for a stream");

    /* Cut off: shards before stay. Then another stream than the one that it was begun with. */
    shell("cd '%s' && mv x.tar y.tar && head -c 40000 y.tar > x.tar", top);
    T_STATUS(pack(top, "cut", "access=stream", 2, &stats), SLUICE_E_CORRUPT);
    T_TRUE(!stats.complete);
    T_TRUE(stats.shards > 0);
    shell("cd '%s' && tar --sort=name -cf x.tar -C src c0/00.jpg", top);
    dataset = archive(top, "x.tar", "access=stream");
    config = config_of(dataset, folder_named(top, "cut"));
    T_STATUS(sluice_pack(&config, &stats), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "the stream ends after 1 samples, and the run continues after");
    sluice_dataset_destroy(dataset);
}

/* As many samples of the same sizes, but others. */
static void another_stream_is_not_packed_on_with(void)
{
    const char *top = t_folder();
    sluice_pack_stats stats = {.struct_size = sizeof(stats)};
    sluice_dataset *dataset;
    sluice_pack_config config;

    T_NEEDS(can_pack(), "no libarchive");
    make_archive(top);
    T_OK(pack(top, "whole", "access=stream", 1, NULL));
    shell("cd '%s' && mv x.tar y.tar && head -c 40000 y.tar > x.tar", top);
    T_STATUS(pack(top, "cut", "access=stream", 2, &stats), SLUICE_E_CORRUPT);
    T_TRUE(stats.shards > 0);
    shell("cd '%s' && tar --sort=name --transform 's/c0/d0/' -cf x.tar -C src .", top);
    dataset = archive(top, "x.tar", "access=stream");
    config = config_of(dataset, folder_named(top, "cut"));
    T_STATUS(sluice_pack(&config, &stats), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "it is another stream");
    T_TRUE(!stats.complete);
    shell("cd '%s' && mv y.tar x.tar", top);
    T_OK(sluice_pack(&config, &stats));
    T_TRUE(stats.resumed > 0);
    check_same_packs(top, "whole", "cut");
    sluice_dataset_destroy(dataset);
}

static void request_stop(void *stop)
{
    usleep(50000);
    sluice_stop_request(stop);
}

static void a_stalled_pipe_does_not_hold_up_a_stop(void)
{
    const char *top = t_folder();
    char path[1024];

    T_NEEDS(can_pack(), "no libarchive");
    snprintf(path, sizeof(path), "%s/fifo", top);
    T_EQ(mkfifo(path, 0600), 0);
    for (uint32_t workers = 1; workers < 4; workers++) {
        const int fd = open(path, O_RDWR | O_CLOEXEC); /* and nothing ever comes */
        sluice_dataset *dataset = archive(top, "fifo", "");
        sluice_pack_config config = config_of(dataset, folder_named(top, "pack"));
        sluice_stop *stop = NULL;
        sli_thread thread;

        T_OK(sluice_stop_create(&stop));
        config.stop = stop;
        config.workers = workers;
        T_OK(sli_thread_start(&thread, "stop", NULL, request_stop, stop));
        T_STATUS(sluice_pack(&config, NULL), SLUICE_STOPPED);
        sli_thread_join(&thread);
        sluice_stop_destroy(stop);
        sluice_dataset_destroy(dataset);
        close(fd);
    }
}

static void want_of_memory_ends_it(void)
{
    const char *top = t_folder();
    sluice_status st = SLUICE_E_NO_MEMORY;

    T_NEEDS(can_pack(), "no libarchive");
    make_archive(top);
    for (int64_t passes = 0; st == SLUICE_E_NO_MEMORY && passes < 5000; passes += 1 + passes / 50) {
        sluice_dataset *dataset = archive(top, "x.tar", "access=stream | shuffle buffer=4");
        sluice_pack_config config = config_of(dataset, folder_named(top, "pack"));

        make_empty(config.folder);
        sli_alloc_fail_after(passes);
        st = sluice_pack(&config, NULL);
        sli_alloc_fail_after(-1);
        sluice_dataset_destroy(dataset);
    }
    T_STATUS(st, SLUICE_OK);
}

const t_test pack_stream_tests[] = {
    T_TEST(a_pack_says_which_members_it_lacks),
    T_TEST(a_stream_comes_to_the_same_bytes),
    T_TEST(a_pack_of_a_corrupt_stream_is_not_complete),
    T_TEST(a_pack_of_a_corrupt_stream_does_not_go_on),
    T_TEST(a_shuffled_stream_comes_to_the_same_bytes_by_any_workers),
    T_TEST(a_stream_is_packed_on_where_it_was_stopped),
    T_TEST(nothing_of_a_complete_pack_is_done_again),
    T_TEST(streams_that_end_too_soon_are_errors),
    T_TEST(another_stream_is_not_packed_on_with),
    T_TEST(a_stalled_pipe_does_not_hold_up_a_stop),
    T_TEST(want_of_memory_ends_it),
    T_END,
};
