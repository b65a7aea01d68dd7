/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_channel: waiting for batches, pausing, stopping, closing at any moment. */
#include <pthread.h>
#include <sched.h>

#include "log_kit.h"
#include "testing.h"
#include "train_kit.h"

static const char *const devices[] = {"host:0", "host:0,copy=1"};

/* A source of 60 samples that blocks at one of them, in batches of 4, with workers on it. */
typedef struct fixture {
    kit_source source;
    sluice_device *device;
    sluice_dataset *dataset;
    sluice_channel *channel;
    const sluice_batch *batch;
} fixture;

static void open_warning(fixture *f, const char *device, uint64_t block_at, uint32_t workers,
                         int64_t stall_warning_ms)
{
    sluice_channel_config config;

    memset((void *)f, 0, sizeof(*f));
    kit_source_init(&f->source, 60);
    f->source.block_at = block_at;
    f->dataset = kit_source_dataset(&f->source, 4);
    sluice_channel_config_init(&config);
    config.workers = workers;
    config.batches = 15;
    config.stall_warning_ms = stall_warning_ms;
    T_OK(sluice_device_open(device, &f->device));
    T_OK(sluice_channel_open(f->device, f->dataset, &config, &f->channel));
    T_OK(sluice_channel_start(f->channel));
}

static void open_blocking(fixture *f, const char *device, uint64_t block_at, uint32_t workers)
{
    open_warning(f, device, block_at, workers, 0);
}

static void wait_until_blocked(const fixture *f)
{
    while (!atomic_load(&f->source.blocks)) {
        sched_yield();
    }
}

static void close_fixture(fixture *f)
{
    kit_source_release(&f->source);
    sluice_channel_close(f->channel);
    sluice_dataset_destroy(f->dataset);
    sluice_device_close(f->device);
}

static sluice_status next(fixture *f, int64_t timeout_ms)
{
    return sluice_channel_get_next(f->channel, NULL, timeout_ms, &f->batch);
}

/* The next batch is `number`, and its labels are its samples. */
static void check_next(fixture *f, uint64_t number)
{
    T_OK(next(f, SLUICE_FOREVER));
    T_EQ(f->batch->number, number);
    for (uint32_t row = 0; row < 4; row++) {
        T_EQ(f->batch->samples[row], number * 4 + row);
        T_EQ(((const int32_t *)f->batch->inputs[1].data)[row], number * 4 + row);
    }
}

/* ---- time-outs ------------------------------------------------------------------------------- */

static void a_batch_that_is_late_is_a_time_out_and_comes_later(void)
{
    for (size_t d = 0; d < COUNT(devices); d++) {
        fixture f;

        open_blocking(&f, devices[d], 6, 1);
        check_next(&f, 0);
        T_STATUS(next(&f, 0), SLUICE_TIMEOUT);
        T_STATUS(next(&f, 1), SLUICE_TIMEOUT);
        T_CONTAINS(sluice_last_error(), "no batch for 0.0 s: batch 1 waits for data; ");
        T_CONTAINS(sluice_last_error(), "of 4 rows; worker 0 is in ");
        kit_source_release(&f.source);
        for (uint64_t number = 1; number < 15; number++) {
            check_next(&f, number);
        }
        T_STATUS(next(&f, INT64_MAX), SLUICE_END_OF_DATA);
        close_fixture(&f);
    }
}

/* Releases the source after the warning. */
static void *release_after_warning(void *user)
{
    kit_log_await();
    kit_source_release((kit_source *)user);
    return NULL;
}

static void a_long_wait_is_a_warning(void)
{
    for (size_t d = 0; d < COUNT(devices); d++) {
        pthread_t thread;
        fixture f;

        kit_log_start_awaited("no batch for 0.0 s: batch 1 waits for data; ");
        open_warning(&f, devices[d], 6, 1, 5);
        T_EQ(pthread_create(&thread, NULL, release_after_warning, &f.source), 0);
        for (uint64_t number = 0; number < 15; number++) {
            check_next(&f, number);
        }
        pthread_join(thread, NULL);
        T_CONTAINS(kit_log_stop(), "of 4 rows; worker 0 is in ");
        close_fixture(&f);
    }
}

/* A batch that was lent goes back by the call that times out: its slot can be filled. */
static void after_a_time_out_nothing_is_lent(void)
{
    sluice_channel_stats stats = {.struct_size = sizeof(stats)};
    fixture f;

    open_blocking(&f, "host:0", 6, 1); /* in batch 1; three slots and more */
    check_next(&f, 0);
    T_STATUS(next(&f, 0), SLUICE_TIMEOUT);
    kit_source_release(&f.source);
    while (stats.ready < 4) { /* all four slots */
        sched_yield();
        T_OK(sluice_channel_stats_get(f.channel, &stats));
    }
    close_fixture(&f);
}

static void time_spent_waiting_is_counted(void)
{
    sluice_channel_stats stats = {.struct_size = sizeof(stats)};
    fixture f;

    open_blocking(&f, "host:0", 0, 1);
    T_OK(sluice_channel_stats_get(f.channel, &stats));
    T_TRUE(stats.wait_seconds == 0);
    T_STATUS(next(&f, 2), SLUICE_TIMEOUT);
    T_OK(sluice_channel_stats_get(f.channel, &stats));
    T_TRUE(stats.wait_seconds >= 0.002);
    T_EQ(stats.batches, 0);
    T_EQ(stats.ready, 0);
    kit_source_release(&f.source);
    for (uint64_t number = 0; number < 15; number++) {
        check_next(&f, number);
    }
    T_STATUS(next(&f, -7), SLUICE_END_OF_DATA);
    T_OK(sluice_channel_stats_get(f.channel, &stats));
    T_EQ(stats.batches, 15);
    T_EQ(stats.samples, 60);
    T_EQ(stats.ready, 0);
    close_fixture(&f);
}

static void bytes_read_from_files_are_counted(void)
{
    sluice_channel_stats stats = {.struct_size = sizeof(stats)};
    const sluice_batch *batch = NULL;
    sluice_channel_config config;
    sluice_channel *channel = NULL;
    sluice_dataset *dataset = NULL;
    sluice_device *device = NULL;
    const char *folder = t_folder();
    char text[400];

    kit_write_folder(folder, 4, 16);
    snprintf(text, sizeof(text), "image_folder %s | decode | batch 4", folder);
    T_OK(sluice_dataset_parse(text, &dataset));
    T_OK(sluice_device_open("host:0", &device));
    sluice_channel_config_init(&config);
    config.batches = 2;
    T_OK(sluice_channel_open(device, dataset, &config, &channel));
    T_OK(sluice_channel_stats_get(channel, &stats));
    T_EQ(stats.bytes_read, 0);
    T_OK(sluice_channel_start(channel));
    T_OK(sluice_channel_get_next(channel, NULL, SLUICE_FOREVER, &batch));
    T_OK(sluice_channel_get_next(channel, NULL, SLUICE_FOREVER, &batch));
    T_OK(sluice_channel_stats_get(channel, &stats));
    T_TRUE(stats.bytes_read > 8 * 100);
    sluice_channel_close(channel);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
}

/* ---- pausing --------------------------------------------------------------------------------- */

static void a_paused_channel_reads_nothing_and_goes_on_as_if_nothing_had_been(void)
{
    for (size_t d = 0; d < COUNT(devices); d++) {
        fixture f;

        open_blocking(&f, devices[d], 9, 1);
        wait_until_blocked(&f);
        T_OK(sluice_channel_pause(f.channel));
        T_OK(sluice_channel_pause(f.channel));
        kit_source_release(&f.source);
        check_next(&f, 0); /* what was made already */
        check_next(&f, 1);
        T_STATUS(next(&f, 30), SLUICE_TIMEOUT);
        T_EQ(kit_source_end(&f.source), 10); /* the row that was being read, no other */
        T_OK(sluice_channel_resume(f.channel));
        T_OK(sluice_channel_resume(f.channel));
        for (uint64_t number = 2; number < 15; number++) {
            check_next(&f, number);
        }
        T_STATUS(next(&f, SLUICE_FOREVER), SLUICE_END_OF_DATA);
        for (uint64_t i = 0; i < 60; i++) {
            T_EQ(atomic_load(&f.source.reads[i]), 1);
        }
        T_OK(sluice_channel_pause(f.channel)); /* nothing is left to pause */
        T_STATUS(next(&f, SLUICE_FOREVER), SLUICE_END_OF_DATA);
        close_fixture(&f);
    }
}

static void *resume(void *user)
{
    fixture *f = user;

    wait_until_blocked(f);
    kit_source_release(&f->source);
    T_OK(sluice_channel_resume(f->channel));
    return NULL;
}

static void another_thread_can_resume_a_channel_that_is_waited_for(void)
{
    pthread_t thread;
    fixture f;

    open_blocking(&f, "host:0", 9, 3);
    wait_until_blocked(&f);
    T_OK(sluice_channel_pause(f.channel));
    T_EQ(pthread_create(&thread, NULL, resume, &f), 0);
    for (uint64_t number = 0; number < 15; number++) {
        check_next(&f, number);
    }
    pthread_join(thread, NULL);
    close_fixture(&f);
}

static void a_paused_channel_can_be_closed(void)
{
    for (size_t d = 0; d < COUNT(devices); d++) {
        fixture f;

        open_blocking(&f, devices[d], UINT64_MAX, 2);
        check_next(&f, 0);
        T_OK(sluice_channel_pause(f.channel));
        close_fixture(&f);
    }
}

typedef struct meddler {
    fixture *f;
    _Atomic bool done;
    uint64_t looks;
} meddler;

static void *meddle(void *user)
{
    sluice_channel_stats stats = {.struct_size = sizeof(stats)};
    sluice_channel_info info = {.struct_size = sizeof(info)};
    meddler *m = user;
    uint64_t batches = 0;

    do {
        T_OK(sluice_channel_pause(m->f->channel));
        T_OK(sluice_channel_stats_get(m->f->channel, &stats));
        T_OK(sluice_channel_inspect(m->f->channel, &info));
        T_TRUE(stats.batches >= batches && stats.batches <= 15);
        T_TRUE(stats.ready <= info.slots);
        batches = stats.batches;
        T_OK(sluice_channel_resume(m->f->channel));
        m->looks++;
    } while (!atomic_load(&m->done));
    return NULL;
}

static void another_thread_may_look_and_pause_at_any_moment(void)
{
    for (size_t d = 0; d < COUNT(devices); d++) {
        meddler m = {.looks = 0};
        pthread_t thread;
        fixture f;

        open_blocking(&f, devices[d], UINT64_MAX, 2);
        m.f = &f;
        T_EQ(pthread_create(&thread, NULL, meddle, &m), 0);
        for (uint64_t number = 0; number < 15; number++) {
            check_next(&f, number);
        }
        T_STATUS(next(&f, SLUICE_FOREVER), SLUICE_END_OF_DATA);
        atomic_store(&m.done, true);
        pthread_join(thread, NULL);
        T_TRUE(m.looks > 0);
        close_fixture(&f);
    }
}

/* ---- stopping and closing -------------------------------------------------------------------- */

static void *stop(void *user)
{
    fixture *f = user;

    wait_until_blocked(f);
    sluice_channel_stop(f->channel);
    return NULL;
}

static void a_stop_ends_a_wait(void)
{
    for (size_t d = 0; d < COUNT(devices); d++) {
        sluice_channel_stats stats = {.struct_size = sizeof(stats)};
        const sluice_batch *lent;
        pthread_t thread;
        fixture f;

        open_blocking(&f, devices[d], 6, 1);
        check_next(&f, 0);
        lent = f.batch;
        T_EQ(pthread_create(&thread, NULL, stop, &f), 0);
        T_STATUS(next(&f, SLUICE_FOREVER), SLUICE_CLOSED);
        pthread_join(thread, NULL);
        T_TRUE(f.batch == lent); /* outputs are set only on OK */
        T_STATUS(next(&f, 0), SLUICE_CLOSED);
        T_STATUS(sluice_channel_start(f.channel), SLUICE_E_INVALID);
        T_OK(sluice_channel_pause(f.channel));
        T_OK(sluice_channel_stats_get(f.channel, &stats));
        T_EQ(stats.batches, 1);
        T_EQ(stats.ready, 0);
        close_fixture(&f);
    }
}

static void a_stop_ends_a_channel_that_is_paused_or_has_batches(void)
{
    sluice_channel_stats stats = {.struct_size = sizeof(stats)};
    fixture f;

    open_blocking(&f, "host:0", 6, 1);
    wait_until_blocked(&f);
    T_OK(sluice_channel_stats_get(f.channel, &stats));
    T_EQ(stats.ready, 1);
    T_OK(sluice_channel_pause(f.channel));
    sluice_channel_stop(f.channel);
    sluice_channel_stop(f.channel);
    T_STATUS(next(&f, SLUICE_FOREVER), SLUICE_CLOSED);
    T_OK(sluice_channel_stats_get(f.channel, &stats));
    T_EQ(stats.ready, 0);
    close_fixture(&f);
}

static sluice_channel *open_unstarted(sluice_device **device, sluice_dataset **dataset)
{
    sluice_channel_config config;
    sluice_channel *channel = NULL;

    T_OK(sluice_device_open("host:0,copy=1", device));
    T_OK(sluice_dataset_parse("synthetic samples=20 shape=2,2,3 | batch 4", dataset));
    sluice_channel_config_init(&config);
    T_OK(sluice_channel_open(*device, *dataset, &config, &channel));
    return channel;
}

static void a_channel_can_be_closed_or_stopped_before_its_start(void)
{
    sluice_dataset *dataset = NULL;
    sluice_device *device = NULL;
    sluice_channel *channel = open_unstarted(&device, &dataset);
    const sluice_batch *batch = NULL;

    sluice_channel_close(channel);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
    channel = open_unstarted(&device, &dataset);
    sluice_channel_stop(channel);
    T_STATUS(sluice_channel_start(channel), SLUICE_CLOSED);
    T_STATUS(sluice_channel_get_next(channel, NULL, SLUICE_FOREVER, &batch), SLUICE_CLOSED);
    sluice_channel_close(channel);
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
}

static void a_channel_can_be_closed_at_any_moment(void)
{
    for (uint64_t batches = 0; batches < 30; batches++) {
        fixture f;

        open_blocking(&f, devices[batches % 2], UINT64_MAX, 1 + (uint32_t)batches % 3);
        for (uint64_t number = 0; number < batches / 2; number++) {
            check_next(&f, number); /* the last one is lent when the channel closes */
        }
        close_fixture(&f);
    }
}

const t_test channel_waits_tests[] = {
    T_TEST(a_batch_that_is_late_is_a_time_out_and_comes_later),
    T_TEST(a_long_wait_is_a_warning),
    T_TEST(after_a_time_out_nothing_is_lent),
    T_TEST(time_spent_waiting_is_counted),
    T_TEST(bytes_read_from_files_are_counted),
    T_TEST(a_paused_channel_reads_nothing_and_goes_on_as_if_nothing_had_been),
    T_TEST(another_thread_can_resume_a_channel_that_is_waited_for),
    T_TEST(another_thread_may_look_and_pause_at_any_moment),
    T_TEST(a_paused_channel_can_be_closed),
    T_TEST(a_stop_ends_a_wait),
    T_TEST(a_stop_ends_a_channel_that_is_paused_or_has_batches),
    T_TEST(a_channel_can_be_closed_or_stopped_before_its_start),
    T_TEST(a_channel_can_be_closed_at_any_moment),
    T_END,
};
