/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_channel: the ends of passes, and beginning anew. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>

#include "alloc_int.h"
#include "collected_kit.h"
#include "filter_kit.h"
#include "generator_kit.h"
#include "loop_kit.h"
#include "stream_kit.h"
#include "testing.h"

static const char *const host_devices[] = {"host:0", "host:0,copy=1"};

static loop_kit open_padded(size_t i, const sluice_channel_config *config)
{
    loop_kit loop = loop_kit_open(host_devices[i % COUNT(host_devices)], loop_kit_padded, config);

    T_OK(sluice_channel_start(loop.channel));
    return loop;
}

/* ---- ends of passes -------------------------------------------------------------------------- */

/* What get_next answers, a letter each: a batch, end of a Pass, end of the Data. */
static void answers(const loop_kit *loop, size_t count, char *letters)
{
    for (size_t i = 0; i < count; i++) {
        const sluice_batch *batch = NULL;
        const sluice_status st = loop_kit_next(loop, &batch);

        letters[i] = st == SLUICE_OK            ? '.'
                     : st == SLUICE_END_OF_PASS ? 'P'
                     : st == SLUICE_END_OF_DATA ? 'D'
                                                : '?';
    }
    letters[count] = '\0';
}

static void the_end_of_a_pass_is_told_once_where_asked_for(void)
{
    static const struct {
        uint64_t first_batch;
        uint64_t batches;
        bool end_of_pass;
        const char *want;
    } cases[] = {
        {0, 0, true, ".........P.........P..."},
        {5, 0, true, "....P.........P...."},
        {0, 9, true, ".........PDD"},
        {0, 5, true, ".....DD"},
        {9, 10, true, ".........P.DD"},
        {0, 20, false, "....................D"},
    };

    for (size_t d = 0; d < COUNT(host_devices); d++) {
        for (size_t i = 0; i < COUNT(cases); i++) {
            sluice_channel_config config = loop_kit_config(cases[i].first_batch, cases[i].batches);
            char letters[40];
            loop_kit loop;

            config.end_of_pass = cases[i].end_of_pass;
            loop = open_padded(d, &config);
            answers(&loop, strlen(cases[i].want), letters);
            T_STR(letters, cases[i].want);
            loop_kit_close(&loop);
        }
    }
}

/* Of 23 samples, whose number nobody knows at first. */
static void a_pass_of_a_stream_ends_too(void)
{
    static const struct {
        const char *batch;
        const char *want;
    } cases[] = {{"4", "......P......P......P......P."},
                 {"4 drop_remainder=true", ".....P.....P.....P.....P."}};
    const char *path = t_file("x.tar");

    make_image_shard(path, 0, 23);
    for (size_t i = 0; i < COUNT(cases); i++) {
        sluice_dataset *dataset = stream_dataset("@ access=stream", path, cases[i].batch);
        sluice_channel_config config = loop_kit_config(0, 0);
        char letters[40];
        loop_kit loop;

        config.end_of_pass = true;
        loop = loop_kit_open_dataset("host:0", dataset, &config);
        T_OK(sluice_channel_start(loop.channel));
        answers(&loop, strlen(cases[i].want), letters);
        T_STR(letters, cases[i].want);
        loop_kit_close(&loop);
        sluice_dataset_destroy(dataset);
    }
}

/* ---- rewinding ------------------------------------------------------------------------------- */

/* Releases what is held and begins anew. */
static void rewind_after(const loop_kit *loop, const sluice_batch *batch)
{
    if (batch != NULL) {
        T_OK(sluice_channel_release(loop->channel, batch, NULL));
    }
    T_OK(sluice_channel_rewind(loop->channel));
}

/* From any point of a pass, on any number of workers, with more or fewer batches made ahead. */
static void a_rewound_channel_gives_the_same_bits(void)
{
    kit k;

    loop_kit_train_padded(&k, 3, 1);
    for (uint64_t i = 0; i < 36; i++) {
        const uint64_t first = i % 3 * 5;
        const uint64_t fetched = i % 13;
        sluice_channel_config config = loop_kit_config(first, i % 4 == 0 ? fetched : 0);
        const sluice_batch *batch = NULL;
        loop_kit loop;

        config.seed = 1;
        config.workers = (uint32_t)i % 4 + 1;
        config.slots = (uint32_t)i % 5 + 3;
        config.held = 1;
        loop = open_padded(i, &config);
        for (int round = 0; round < 4; round++) {
            for (uint64_t n = 0; n < fetched; n++) {
                kit_step step;

                T_OK(loop_kit_next(&loop, &batch));
                step = loop_kit_step(batch);
                loop_kit_check_same(&step, &k.steps[first + n]);
            }
            rewind_after(&loop, fetched > 0 ? batch : NULL);
        }
        loop_kit_close(&loop);
    }
    kit_fini(&k);
}

/* A validation: a pass each time. */
static void a_channel_is_rewound_at_every_end(void)
{
    sluice_channel_config config = loop_kit_config(0, LOOP_KIT_PADDED_BATCHES);
    char letters[40];
    loop_kit loop;

    config.end_of_pass = true;
    loop = open_padded(1, &config);
    for (int round = 0; round < 5; round++) {
        const char *const want = ".........PD";

        answers(&loop, round % 2 == 0 ? 11 : 10, letters);
        T_EQ(strncmp(letters, want, round % 2 == 0 ? 11 : 10), 0);
        T_OK(sluice_channel_rewind(loop.channel));
        T_OK(sluice_channel_rewind(loop.channel)); /* it is at its beginning */
    }
    loop_kit_close(&loop);
}

static size_t entries(const char *folder)
{
    DIR *dir = opendir(folder);
    size_t count = 0;

    while (dir != NULL && readdir(dir) != NULL) {
        count++;
    }
    T_EQ(dir == NULL ? -1 : closedir(dir), 0);
    return count;
}

/* No request of memory passes meanwhile. */
static void a_thousand_rewinds_take_no_threads_files_or_memory(void)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    sluice_channel_stats stats = {.struct_size = sizeof(stats)};
    const sluice_batch *batch = NULL;
    size_t threads = 0;
    size_t files = 0;
    loop_kit loop;

    config.workers =
        1; /* which has its buffers once the first batch is there, and its clock soon */
    loop = loop_kit_open("host:0", "synthetic samples=70 shape=4,4,3 | shuffle | batch 8", &config);
    T_OK(sluice_channel_start(loop.channel));
    T_OK(loop_kit_next(&loop, &batch));
    for (uint64_t i = 0; i < 1050; i++) {
        if (i == 50) {
            threads = entries("/proc/self/task");
            files = entries("/proc/self/fd");
            sli_alloc_fail_after(0);
        }
        rewind_after(&loop, batch);
        for (uint64_t n = 0; n <= i % 3; n++) {
            T_OK(loop_kit_next(&loop, &batch));
            T_EQ(batch->number, n);
        }
    }
    sli_alloc_fail_after(-1);
    T_EQ(entries("/proc/self/task"), threads);
    T_EQ(entries("/proc/self/fd"), files);
    T_OK(sluice_channel_stats_get(loop.channel, &stats));
    T_EQ(stats.batches, 1 + 350 + 2 * 350 + 3 * 350);
    loop_kit_close(&loop);
}

/* Shards read in sequence: from the middle of a pass, from its end, from a later one. */
static void a_stream_is_rewound(void)
{
    const char *path = t_file("x.tar");
    sluice_dataset *dataset;
    kit_step want[20];
    loop_kit loop;

    make_image_shard(path, 0, 23);
    dataset = stream_dataset("@ access=stream | shuffle buffer=8", path, "4");
    for (uint64_t fetched = 0; fetched <= 15; fetched++) {
        sluice_channel_config config = loop_kit_config(0, fetched % 3 == 0 ? fetched : 0);
        const sluice_batch *batch = NULL;

        config.workers = (uint32_t)fetched % 3 + 1;
        loop = loop_kit_open_dataset(host_devices[fetched % 2], dataset, &config);
        T_OK(sluice_channel_start(loop.channel));
        for (int round = 0; round < 3; round++) {
            for (uint64_t n = 0; n < fetched; n++) {
                kit_step step;

                T_OK(loop_kit_next(&loop, &batch));
                step = loop_kit_step(batch);
                if (round == 0) {
                    want[n] = step;
                }
                loop_kit_check_same(&step, &want[n]);
            }
            rewind_after(&loop, fetched > 0 ? batch : NULL);
        }
        loop_kit_close(&loop);
    }
    sluice_dataset_destroy(dataset);
}

/* Workers take samples of batches for which there is no slot yet. */
static void a_stream_is_rewound_behind_all_that_was_taken(void)
{
    const char *path = t_file("x.tar");
    sluice_dataset *dataset;

    make_image_shard(path, 0, 23);
    dataset = stream_dataset("@ access=stream", path, "1");
    for (int i = 0; i < 20; i++) {
        sluice_channel_config config = loop_kit_config(0, 0);
        const sluice_batch *batch = NULL;
        loop_kit loop;

        config.workers = 8;
        config.slots = 3;
        loop = loop_kit_open_dataset("host:0", dataset, &config);
        T_OK(sluice_channel_start(loop.channel));
        for (int round = 0; round < 5; round++) {
            for (uint64_t n = 0; n < 4; n++) {
                T_OK(loop_kit_next(&loop, &batch));
                T_EQ(batch->number, n);
                T_EQ(batch->samples[0], n);
            }
            rewind_after(&loop, batch);
        }
        loop_kit_close(&loop);
    }
    sluice_dataset_destroy(dataset);
}

/* Of samples of uneven duration, so choices of filters wait when the run is rewound. */
static void a_filtered_run_is_rewound(void)
{
    sluice_dataset *dataset;
    kit_step want[16];

    script_reset(200, GOOD);
    for (uint64_t i = 0; i < 200; i += 16) {
        script.behaviours[i] = SLOW;
    }
    dataset = filtered_dataset("shuffle", BY_PIXELS, 8, false);
    for (uint64_t fetched = 1; fetched <= COUNT(want); fetched++) {
        sluice_channel_config config = loop_kit_config(0, fetched % 3 == 0 ? fetched : 0);
        const sluice_batch *batch = NULL;
        loop_kit loop;

        config.workers = (uint32_t)fetched % 4 + 1;
        config.slots = 3;
        loop = loop_kit_open_dataset(host_devices[fetched % 2], dataset, &config);
        T_OK(sluice_channel_start(loop.channel));
        for (int round = 0; round < 4; round++) {
            for (uint64_t n = 0; n < fetched; n++) {
                kit_step step;

                T_OK(loop_kit_next(&loop, &batch));
                step = loop_kit_step(batch);
                if (round == 0 && n + 1 == fetched) {
                    want[n] = step;
                }
                loop_kit_check_same(&step, &want[n]);
            }
            rewind_after(&loop, batch);
        }
        loop_kit_close(&loop);
    }
    sluice_dataset_destroy(dataset);
}

static void what_comes_by_a_pipe_is_not_rewound(void)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    const sluice_batch *batch = NULL;
    tar_maker tar = {0};
    fifo_writer writer;
    sluice_dataset *dataset;
    const char *path = t_file("pipe");
    char letters[40];
    loop_kit loop;

    add_images(&tar, 0, 10);
    tar_add_zeros(&tar, 2);
    fifo_write(&writer, path, tar.bytes, tar.size);
    dataset = stream_dataset("@", path, "4");
    config.end_of_pass = true;
    loop = loop_kit_open_dataset("host:0", dataset, &config);
    T_OK(sluice_channel_start(loop.channel));
    answers(&loop, 6, letters);
    T_STR(letters, "...PDD");
    T_STATUS(sluice_channel_rewind(loop.channel), SLUICE_E_UNSUPPORTED);
    T_CONTAINS(sluice_last_error(), "cannot be read again");
    T_STATUS(loop_kit_next(&loop, &batch), SLUICE_END_OF_DATA);
    loop_kit_close(&loop);
    sluice_dataset_destroy(dataset);
    fifo_join(&writer);
    tar_free(&tar);
}

static void rewinds_that_make_no_sense_are_refused(void)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    loop_kit loop = loop_kit_open("host:0", loop_kit_padded, &config);
    const sluice_batch *batch = NULL;

    T_STATUS(sluice_channel_rewind(NULL), SLUICE_E_INVALID);
    T_STATUS(sluice_channel_rewind(loop.channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "call sluice_channel_start() first");
    T_OK(sluice_channel_start(loop.channel));
    T_OK(loop_kit_next(&loop, &batch));
    T_STATUS(sluice_channel_rewind(loop.channel), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "1 batches are held; call sluice_channel_release() first");
    T_OK(loop_kit_next(&loop, &batch));
    T_EQ(batch->number, 1); /* nothing has changed */
    T_OK(sluice_channel_release(loop.channel, batch, NULL));
    sluice_channel_stop(loop.channel);
    T_STATUS(sluice_channel_rewind(loop.channel), SLUICE_CLOSED);
    loop_kit_close(&loop);
}

/* ---- errors, pauses, stops ------------------------------------------------------------------- */

/* Fetched up to it, or met by workers that are ahead. */
static void an_error_of_the_pipeline_stays(void)
{
    for (uint64_t fetched = 0; fetched <= 4; fetched++) {
        sluice_channel_config config = loop_kit_config(0, 0);
        const sluice_batch *batch = NULL;
        sluice_dataset *dataset;
        kit_source source;
        loop_kit loop;

        kit_source_init(&source, 40);
        source.fail_at = 14;
        dataset = kit_source_dataset(&source, 4);
        loop = loop_kit_open_dataset(host_devices[fetched % 2], dataset, &config);
        T_OK(sluice_channel_start(loop.channel));
        for (uint64_t n = 0; n < fetched; n++) {
            T_STATUS(loop_kit_next(&loop, &batch), n < 3 ? SLUICE_OK : SLUICE_E_CORRUPT);
        }
        if (fetched > 0 && fetched < 4) {
            while (kit_source_end(&source) < 15) { /* the workers have met it */
                sched_yield();
            }
            T_OK(sluice_channel_release(loop.channel, batch, NULL));
        }
        for (int again = 0; again < 2 && fetched > 0; again++) {
            T_STATUS(sluice_channel_rewind(loop.channel), SLUICE_E_CORRUPT);
            T_CONTAINS(sluice_last_error(), "read: sample 14, kit/14: told to fail");
            T_STATUS(loop_kit_next(&loop, &batch), SLUICE_E_CORRUPT);
        }
        loop_kit_close(&loop);
        sluice_dataset_destroy(dataset);
    }
}

/* One sample of ten cannot be read: never as many as a pass has, however often it is begun. */
static void bad_samples_of_many_rounds_do_not_add_up(void)
{
    sluice_channel_config config = loop_kit_config(0, 5);
    sluice_dataset *dataset;
    kit_source source;
    loop_kit loop;

    kit_source_init(&source, 10);
    source.fail_at = 4;
    dataset = kit_source_dataset(&source, 2);
    config.on_error = SLUICE_ON_ERROR_ZERO;
    loop = loop_kit_open_dataset("host:0", dataset, &config);
    T_OK(sluice_channel_start(loop.channel));
    for (int round = 0; round < 30; round++) {
        char letters[40];

        answers(&loop, 6, letters);
        T_STR(letters, ".....D");
        T_OK(sluice_channel_rewind(loop.channel));
    }
    loop_kit_close(&loop);
    sluice_dataset_destroy(dataset);
}

static void a_paused_channel_is_rewound_and_stays_paused(void)
{
    for (size_t d = 0; d < COUNT(host_devices); d++) {
        sluice_channel_config config = loop_kit_config(0, 0);
        const sluice_batch *batch = NULL;
        loop_kit loop = open_padded(d, &config);

        T_OK(loop_kit_next(&loop, &batch));
        T_OK(sluice_channel_pause(loop.channel));
        rewind_after(&loop, batch);
        T_STATUS(sluice_channel_get_next(loop.channel, NULL, 1, &batch), SLUICE_TIMEOUT);
        T_OK(sluice_channel_resume(loop.channel));
        T_OK(loop_kit_next(&loop, &batch));
        T_EQ(batch->number, 0);
        loop_kit_close(&loop);
    }
}

static void *stop_once_blocked(void *user)
{
    void *const *args = user;
    const kit_source *source = args[0];

    while (!atomic_load(&source->blocks)) {
        sched_yield();
    }
    sluice_channel_stop(args[1]);
    return NULL;
}

/* A worker is in the midst of a read that does not end. */
static void a_stop_ends_a_rewind(void)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    const sluice_batch *batch = NULL;
    sluice_dataset *dataset;
    kit_source source;
    pthread_t thread;
    void *args[2];
    loop_kit loop;

    kit_source_init(&source, 60);
    source.block_at = 6;
    dataset = kit_source_dataset(&source, 4);
    loop = loop_kit_open_dataset("host:0", dataset, &config);
    T_OK(sluice_channel_start(loop.channel));
    T_OK(loop_kit_next(&loop, &batch));
    T_OK(sluice_channel_release(loop.channel, batch, NULL));
    args[0] = &source;
    args[1] = loop.channel;
    T_EQ(pthread_create(&thread, NULL, stop_once_blocked, args), 0);
    while (!atomic_load(&source.blocks)) {
        sched_yield();
    }
    T_STATUS(sluice_channel_rewind(loop.channel), SLUICE_CLOSED);
    pthread_join(thread, NULL);
    kit_source_release(&source);
    loop_kit_close(&loop);
    sluice_dataset_destroy(dataset);
}

/* Passes of 23 and 25 samples: a pass that begins again has the length that it had. */
static void a_stream_of_user_code_is_rewound_at_any_batch(void)
{
    static const char stages[] =
        "rename words image | rename image_length label | shuffle buffer=5 | batch 4";
    generator g = {.samples = 23, .varies_by = 2};
    kit k;

    collected_run(&k, generator_dataset(&g, stages), SLUICE_MODE_LOOP, 0, 13);
    for (uint32_t i = 0; i < 14; i++) {
        loop_kit_check_rewinds(generator_dataset(&g, stages), i, i % 7, k.steps, (size_t[]){6, 7});
        T_EQ(atomic_load(&g.open), 0);
        T_EQ(atomic_load(&g.overlaps), 0);
    }
    collected_done(&k);
}

const t_test channel_rewind_tests[] = {
    T_TEST(the_end_of_a_pass_is_told_once_where_asked_for),
    T_TEST(a_pass_of_a_stream_ends_too),
    T_TEST(a_rewound_channel_gives_the_same_bits),
    T_TEST(a_channel_is_rewound_at_every_end),
    T_TEST(a_thousand_rewinds_take_no_threads_files_or_memory),
    T_TEST(a_stream_is_rewound),
    T_TEST(a_filtered_run_is_rewound),
    T_TEST(a_stream_of_user_code_is_rewound_at_any_batch),
    T_TEST(a_stream_is_rewound_behind_all_that_was_taken),
    T_TEST(what_comes_by_a_pipe_is_not_rewound),
    T_TEST(rewinds_that_make_no_sense_are_refused),
    T_TEST(an_error_of_the_pipeline_stays),
    T_TEST(bad_samples_of_many_rounds_do_not_add_up),
    T_TEST(a_paused_channel_is_rewound_and_stays_paused),
    T_TEST(a_stop_ends_a_rewind),
    T_END,
};
