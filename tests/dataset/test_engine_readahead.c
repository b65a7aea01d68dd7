/* SPDX-License-Identifier: Apache-2.0 */
/* What engines have read ahead of their workers: the run's own samples, in its order, and only
 * while it goes on. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/log.h>

#include "alloc_int.h"
#include "cache_kit.h"
#include "dataset_kit.h"
#include "engine_kit.h"
#include "readahead.h"
#include "tar_kit.h"
#include "testing.h"

enum { SAMPLES = 90, BATCH = 4 };

/* The samples of a run, row by row, without padding. */
static uint64_t samples_of(sluice_dataset *dataset, const run_options *options, uint32_t *samples)
{
    uint64_t count = 0;
    engine_run run;

    open_run(&run, dataset, options);
    while (next_batch(&run) == SLUICE_OK) {
        for (uint32_t row = 0; row < run.plan->batch_size; row++) {
            if (run.input.samples[row] != UINT64_MAX) {
                T_TRUE(count < MOST_SAMPLES);
                samples[count++] = (uint32_t)run.input.samples[row];
            }
        }
    }
    close_run(&run);
    return count;
}

/*
 * Readahead of a run whose first sample is not read before it is through: of all samples but those
 * that workers have taken, in their order.
 */
static void check_run(sluice_dataset *dataset, const run_options *options)
{
    static uint32_t samples[MOST_SAMPLES];
    uint64_t count;
    engine_run run;

    script_reset(SAMPLES, GOOD);
    count = samples_of(dataset, options, samples);
    script_reset(SAMPLES, BLOCKS);
    open_run(&run, dataset, options);
    script_wait_blocked(1);
    script_wait_located(count - 1);
    script_release();
    while (next_batch(&run) == SLUICE_OK) {
    }
    close_run(&run);
    T_TRUE(script.located <= count);
    for (uint64_t i = 1; i <= count - 1; i++) {
        T_EQ(script.locations[script.located - i], samples[count - i]);
    }
}

static sluice_dataset *shuffled(void)
{
    sluice_dataset *dataset = NULL;

    T_OK(dataset_begin(&stage_script, "", &dataset));
    T_OK(sluice_dataset_addf(dataset, "shuffle | batch %u", BATCH));
    return dataset;
}

static void the_samples_of_a_run_are_read_ahead_in_its_order(void)
{
    const run_options cases[] = {
        {.workers = 1},
        {.workers = 1, .batches = 50}, /* two passes and a half */
        {.workers = 1, .batches = 7},  /* not a pass */
        {.workers = 1, .first_step = 10, .batches = 30},
        {.workers = 1, .settings = {.seed = 3, .rank = 0, .world = 3}},
        {.workers = 1, .settings = {.seed = 3, .rank = 2, .world = 3}, .batches = 20},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        sluice_dataset *dataset;

        script_reset(SAMPLES, GOOD);
        dataset = shuffled();
        check_run(dataset, &cases[i]);
        sluice_dataset_destroy(dataset);
    }
}

/* With mosaic, of each row the sample itself and its partners, but not those that are not shown. */
static void the_partners_of_a_mosaic_are_read_ahead(void)
{
    const run_options options = {.workers = 1, .settings = {.seed = 4}};
    static uint32_t want[MOST_SAMPLES];
    uint64_t count = 0;
    sluice_dataset *dataset = NULL;
    engine_run run;

    script_reset(SAMPLES, BLOCKS);
    T_OK(dataset_begin(&stage_script, "", &dataset));
    T_OK(sluice_dataset_add(dataset, "shuffle | mosaic 6"));
    T_OK(sluice_dataset_addf(dataset, "batch %u", BATCH));
    open_run(&run, dataset, &options);
    for (uint64_t row = 0; row < SAMPLES; row++) {
        const plan_mosaic *mosaic = &run.plan->details->geometry.mosaic;
        sli_draws draws = {mosaic->planned->key, 0, 0};
        uint64_t partner;

        order_at(&run.plan->details->orders.rank, 0, row, &draws.sample, &draws.pass);
        want[count++] = (uint32_t)draws.sample;
        for (uint32_t tile = 1; tile < 4; tile++) {
            uint64_t pass;

            plan_draw_tile(run.plan, &draws, 0, tile, 0, &partner, &pass);
            if (mosaic->planned->stage->def->geometry->tiles->shows(
                    mosaic->planned->stage->args.bytes, &draws, tile)) {
                want[count++] = (uint32_t)partner;
            }
        }
    }
    T_TRUE(count > 3 * SAMPLES && count < 4 * SAMPLES - 4); /* some are not shown */
    script_wait_blocked(1);
    script_wait_located(READAHEAD_ROWS / 2);
    script_release();
    while (next_batch(&run) == SLUICE_OK) {
    }
    close_run(&run);
    /* Workers claim rows at the same time; what is read ahead stays in order. */
    for (uint64_t i = 0, at = 0; i < script.located; i++, at++) {
        while (at < count && want[at] != script.locations[i]) {
            at++;
        }
        T_TRUE(at < count);
    }
    sluice_dataset_destroy(dataset);
}

/* Workers are stopped by the queue that is full, readahead by its own bound. */
static void no_more_than_the_bound_is_read_ahead(void)
{
    engine_run run;

    script_reset(MOST_SAMPLES, GOOD);
    open_own(&run, script_dataset(BATCH, false),
             &(run_options){.workers = 2, .slots = 3, .batches = UINT64_MAX});
    T_OK(next_batch(&run));
    script_wait_located(READAHEAD_ROWS / 2);
    sli_engine_stop(run.engine);
    /* 3 slots, a row that each worker waits with, and no more. */
    T_TRUE(script.locations[script.located - 1] < 3 * BATCH + 2 + READAHEAD_ROWS);
    close_run(&run);
}

/* Readahead is held in its first question while the engine is paused. */
static void pause_held(engine_run *run, sluice_dataset **dataset_out)
{
    script_reset(MOST_SAMPLES, BLOCKS);
    script.holds = true;
    *dataset_out = script_dataset(BATCH, false);
    open_run(run, *dataset_out, &(run_options){.workers = 1, .batches = UINT64_MAX});
    script_wait_blocked(1);
    script_wait_located(1);
    sli_engine_pause(run->engine, true);
    script_release();
    T_STATUS(sli_queue_wait(run->queue, 1, 20000000, false), SLUICE_TIMEOUT);
    T_EQ(script.located, 1);
}

static void a_paused_engine_reads_nothing_ahead_until_it_is_resumed(void)
{
    sluice_dataset *dataset;
    engine_run run;

    pause_held(&run, &dataset);
    sli_engine_pause(run.engine, false);
    script_wait_located(READAHEAD_ROWS);
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

static void a_paused_engine_reads_nothing_ahead_until_it_is_stopped(void)
{
    sluice_dataset *dataset;
    engine_run run;

    pause_held(&run, &dataset);
    sli_engine_stop(run.engine);
    T_EQ(script.located, 1);
    close_run(&run);
    sluice_dataset_destroy(dataset);
}

static void readahead_goes_on_as_workers_do(void)
{
    engine_run run;

    script_reset(MOST_SAMPLES, GOOD);
    script.behaviours[0] = BLOCKS;
    open_own(&run, script_dataset(BATCH, false),
             &(run_options){.workers = 1, .slots = 3, .batches = UINT64_MAX});
    script_wait_blocked(1);
    script_wait_located(READAHEAD_ROWS);
    script_release();
    for (uint32_t i = 0; i < READAHEAD_ROWS / 2; i++) {
        T_OK(next_batch(&run));
    }
    script_wait_located(READAHEAD_ROWS + READAHEAD_ROWS / 2);
    close_run(&run);
}

/* Behind an error no row is begun, so none is asked for. */
static void a_run_that_fails_reads_nothing_ahead_of_its_error(void)
{
    engine_run run;

    script_reset(MOST_SAMPLES, BAD);
    open_own(&run, script_dataset(BATCH, false),
             &(run_options){.workers = 1, .batches = UINT64_MAX});
    T_STATUS(next_batch(&run), SLUICE_E_CORRUPT);
    sli_engine_stop(run.engine);
    T_TRUE(script.located <= READAHEAD_ROWS + 1);
    close_run(&run);
}

/* ---- files ----------------------------------------------------------------------------------- */

static bool take_folder_out(const char *folder)
{
    bool dropped = true;

    for (uint32_t i = 0; i < 20; i++) {
        char path[600];

        snprintf(path, sizeof(path), "%s/class_%u/%02u.jpg", folder, i % 3, i);
        dropped &= take_out_of_cache(path);
    }
    return dropped;
}

/* The queue is full after 3 batches: the one worker waits with row 12, what follows is ahead of it.
 */
static void files_are_read_ahead_when_they_are_not_cached(void)
{
    const char *folder = t_folder();
    /* The worker comes to three files before it waits: too few to send readahead to sleep. */
    sluice_dataset *dataset = jpeg_dataset(folder, "shuffle | decode | resize 40,30 | batch 1");
    const run_options options = {.workers = 1, .slots = 3};
    tape want = record(dataset, &options);
    tape got = {.bytes = NULL};
    uint64_t samples = 0;
    uint64_t bytes = 0;
    engine_run run;

    if (!take_folder_out(folder)) {
        free(want.bytes);
        sluice_dataset_destroy(dataset);
        T_SKIP("the file system of TMPDIR keeps files in memory");
    }
    open_run(&run, dataset, &options);
    while (samples < 7) {
        sched_yield();
        sli_engine_read_ahead(run.engine, &samples, &bytes);
    }
    while ((got.end = next_batch(&run)) == SLUICE_OK) {
        tape_batch(&got, &run);
    }
    sli_engine_stop(run.engine);
    T_TRUE(bytes > 0 && bytes <= sli_engine_bytes_read(run.engine));
    check_equal_tapes(&got, &want, "not cached");
    close_run(&run);
    free(want.bytes);
    free(got.bytes);
    sluice_dataset_destroy(dataset);
}

static void files_that_are_cached_are_not_asked_for(void)
{
    uint64_t samples;
    uint64_t bytes;
    engine_run run;

    open_own(&run, jpeg_dataset(t_folder(), "decode | resize 40,30 | batch 4"),
             &(run_options){.workers = 1});
    while (next_batch(&run) == SLUICE_OK) {
    }
    sli_engine_stop(run.engine);
    sli_engine_read_ahead(run.engine, &samples, &bytes);
    T_EQ(samples, 0);
    T_EQ(bytes, 0);
    close_run(&run);
}

/* ---- dropping -------------------------------------------------------------------------------- */

/*
 * A whole run by one worker, without readahead: threads of it that workers overtake ask for what
 * has been dropped already, and the kernel may read on into what another worker has dropped.
 */
static void run_alone(sluice_dataset *dataset, uint64_t batches)
{
    tape t;

    setenv("SLUICE_READAHEAD", "off", 1);
    t = record(dataset, &(run_options){.batches = batches});
    unsetenv("SLUICE_READAHEAD");
    T_EQ(t.end, SLUICE_END_OF_DATA);
    T_EQ(t.batches, batches);
    free(t.bytes);
    sluice_dataset_destroy(dataset);
}

/* Two passes of 20 images of a folder; what then is cached of one. */
static uint64_t cached_after(const char *folder, const char *cache)
{
    char text[700];

    snprintf(text, sizeof(text),
             "image_folder %s cache=%s | shuffle | decode | resize 40,30 | batch 4", folder, cache);
    run_alone(parsed(text), 10);
    snprintf(text, sizeof(text), "%s/class_1/07.jpg", folder);
    return cached_pages(text, 0, 0);
}

static void files_that_were_read_are_dropped_where_asked(void)
{
    const char *folder = t_folder();

    sluice_dataset_destroy(jpeg_dataset(folder, "decode | resize 4 | batch 4"));
    T_NEEDS(take_folder_out(folder), "the file system of TMPDIR keeps files in memory");
    T_TRUE(cached_after(folder, "keep") > 0);
    T_EQ(cached_after(folder, "drop"), 0);
}

/* Raw pictures of some pages each, of which a crop reads a part. */
static void make_ppm_shard(const char *path, uint32_t count)
{
    static uint8_t picture[15 + 100 * 100 * 3] = "P6\n100 100\n255\n";
    tar_maker tar = {0};

    for (uint32_t i = 0; i < count; i++) {
        char name[32];

        snprintf(name, sizeof(name), "%04u.ppm", i);
        tar_add(&tar, name, '0', picture, sizeof(picture));
        snprintf(name, sizeof(name), "%04u.cls", i);
        tar_add_text(&tar, name, "1");
    }
    tar_add_zeros(&tar, 2);
    t_write_file(path, tar.bytes, tar.size);
    tar_free(&tar);
}

static void samples_of_shards_are_dropped_where_asked(void)
{
    static const char *const stages[] = {"decode", "decode | center_crop 50", "shuffle | decode"};
    const char *path = t_file("a.tar");
    char text[700];

    make_ppm_shard(path, 40);
    T_NEEDS(take_out_of_cache(path), "the file system of TMPDIR keeps files in memory");
    for (int i = 0; i < 3; i++) {
        T_TRUE(take_out_of_cache(path)); /* in what pieces it is kept depends on who reads it */
        snprintf(text, sizeof(text), "webdataset %s index=none cache=drop | %s | batch 4", path,
                 stages[i]);
        run_alone(parsed(text), 10);
        /* Of eight pages each one at most is left, in which the next one's header is. */
        T_TRUE(cached_pages(path, 0, 0) <= 40 + 1);
    }
}

static const char *stream_text(const char *path, const char *cache)
{
    static char text[700];

    snprintf(text, sizeof(text),
             "webdataset %s access=stream cache=%s | decode | center_crop 50 | batch 4", path,
             cache);
    return text;
}

static void streams_are_dropped_where_asked(void)
{
    const char *path = t_file("a.tar");
    sluice_dataset *dataset;
    engine_run run;

    make_ppm_shard(path, 400);
    T_NEEDS(take_out_of_cache(path), "the file system of TMPDIR keeps files in memory");
    for (int i = 0; i < 2; i++) {
        run_alone(parsed(stream_text(path, i == 0 ? "drop" : "keep")), 100);
        T_EQ(cached_pages(path, 0, 0) > 0, i == 1);
    }
    /* In the midst of it, four megabytes at a time; the rest where a pass is left. */
    T_TRUE(take_out_of_cache(path));
    dataset = parsed(stream_text(path, "drop"));
    open_run(&run, dataset, &(run_options){.batches = 100});
    for (int i = 0; i < 50; i++) {
        T_OK(next_batch(&run));
    }
    T_EQ(cached_pages(path, 0, 1000), 0);
    T_TRUE(cached_pages(path, 1050, 300) > 0);
    close_run(&run);
    T_EQ(cached_pages(path, 1050, 300), 0);
    sluice_dataset_destroy(dataset);
}

/* Of what is read in parts readahead cannot know which. */
static void nothing_is_asked_for_of_samples_that_are_read_in_parts(void)
{
    const char *path = t_file("a.tar");
    uint64_t samples = 1;
    uint64_t bytes;
    engine_run run;

    make_ppm_shard(path, 40);
    (void)take_out_of_cache(path);
    open_own(&run, parsedf("webdataset %s index=none | decode | center_crop 50 | batch 4", path),
             &(run_options){.workers = 1});
    while (next_batch(&run) == SLUICE_OK) {
    }
    sli_engine_stop(run.engine);
    sli_engine_read_ahead(run.engine, &samples, &bytes);
    T_EQ(samples, 0);
    close_run(&run);
}

static void the_environment_switches_readahead_off(void)
{
    sluice_dataset *dataset;

    setenv("SLUICE_READAHEAD", "off", 1);
    script_reset(SAMPLES, GOOD);
    dataset = script_dataset(BATCH, false);
    free(record(dataset, &(run_options){.workers = 2}).bytes);
    unsetenv("SLUICE_READAHEAD");
    T_EQ(script.located, 0);
    sluice_dataset_destroy(dataset);
}

/* Of several threads. */
typedef struct one_failure {
    _Atomic bool happened;
    _Atomic bool warned; /* that there is no readahead */
} one_failure;

/* After one allocation that failed, there is memory again. */
static void end_failures(sluice_log_level level, const char *message, void *user)
{
    one_failure *failure = user;

    if (strstr(message, "E_NO_MEMORY: ") != NULL) {
        failure->happened = true;
        sli_alloc_fail_after(-1);
    }
    if (level == SLUICE_LOG_WARN && strstr(message, "no readahead: out of memory: ") != NULL) {
        failure->warned = true;
    }
}

/* Each allocation in turn fails, of the start or of a worker: it is an error, or readahead is left
 * out. */
static void a_run_goes_on_without_readahead_that_cannot_start(void)
{
    one_failure failure = {.happened = true};
    sluice_dataset *dataset;
    int without = 0;

    script_reset(SAMPLES, GOOD);
    dataset = script_dataset(BATCH, false);
    sluice_log_set_level(SLUICE_LOG_DEBUG);
    sluice_log_set_callback(end_failures, &failure);
    for (int64_t n = 0; failure.happened; n++) {
        engine_run run;
        sluice_status st;
        uint64_t batches;

        failure.happened = false;
        failure.warned = false;
        sli_alloc_fail_after(n);
        if (start_run(&run, dataset, &(run_options){.workers = 2}) != SLUICE_OK) {
            T_TRUE(failure.happened && !failure.warned);
            continue;
        }
        do {
            st = next_batch(&run);
        } while (st == SLUICE_OK);
        sli_alloc_fail_after(-1);
        batches = run.seq;
        close_run(&run);
        if (st == SLUICE_E_NO_MEMORY) {
            T_TRUE(failure.happened && !failure.warned);
            continue;
        }
        T_STATUS(st, SLUICE_END_OF_DATA);
        T_EQ(batches, (SAMPLES + BATCH - 1) / BATCH);
        T_EQ(failure.warned, failure.happened);
        without += failure.warned;
    }
    sluice_log_set_callback(NULL, NULL);
    sluice_log_set_level(SLUICE_LOG_WARN);
    T_TRUE(without >= 3);
    sluice_dataset_destroy(dataset);
}

const t_test engine_readahead_tests[] = {
    T_TEST(the_samples_of_a_run_are_read_ahead_in_its_order),
    T_TEST(the_partners_of_a_mosaic_are_read_ahead),
    T_TEST(no_more_than_the_bound_is_read_ahead),
    T_TEST(a_paused_engine_reads_nothing_ahead_until_it_is_resumed),
    T_TEST(a_paused_engine_reads_nothing_ahead_until_it_is_stopped),
    T_TEST(readahead_goes_on_as_workers_do),
    T_TEST(a_run_that_fails_reads_nothing_ahead_of_its_error),
    T_TEST(files_are_read_ahead_when_they_are_not_cached),
    T_TEST(files_that_are_cached_are_not_asked_for),
    T_TEST(files_that_were_read_are_dropped_where_asked),
    T_TEST(samples_of_shards_are_dropped_where_asked),
    T_TEST(streams_are_dropped_where_asked),
    T_TEST(nothing_is_asked_for_of_samples_that_are_read_in_parts),
    T_TEST(the_environment_switches_readahead_off),
    T_TEST(a_run_goes_on_without_readahead_that_cannot_start),
    T_END,
};
