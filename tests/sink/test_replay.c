/* SPDX-License-Identifier: Apache-2.0 */
/* Replays of passes of unknown length: streams, filters, pack and bucket. */
#include <unistd.h>

#include "collected_kit.h"
#include "collected_sets.h"
#include "engine_kit.h"
#include "log_kit.h"
#include "loop_kit.h"
#include "report_data.h"
#include "testing.h"

enum { FIRST = 13 }; /* in the second or third pass */

static useconds_t sample_us; /* how long a sample takes */

static bool is_slow(uint64_t sample)
{
    (void)sample;
    (void)usleep(sample_us);
    return false;
}

/* The steps did not wait for data while samples were replayed. */
static void check_report(const sluice_report *report)
{
    const double waited = report->stats.data_wait_share * report->stats.seconds;
    char *text;

    T_TRUE(report->replayed > 5);
    T_TRUE(report->replay_seconds > 0.05);
    T_TRUE(waited + report->replay_seconds <= report->stats.seconds * 1.001);
    T_OK(sluice_report_text(report, &text));
    T_CONTAINS(text, "\nreplay: ");
    T_CONTAINS(text, " s; not counted as data wait\n");
    T_CONTAINS(text, "bottleneck: none: the replay takes ");
    sluice_string_free(text);
}

static void a_run_does_not_count_a_replay_as_data_wait(void)
{
    for (size_t m = 0; m < COLLECTED_MAKERS; m++) {
        for (size_t mode = 0; mode < COLLECTED_MODES; mode++) {
            sluice_dataset *dataset = collected_makers[m]("batch 3");
            kit k;

            sample_us = 4000;
            collected_generator.is_bad = is_slow;
            kit_init(&k);
            k.dataset = dataset;
            k.model.reads_valid_rows = true;
            k.config.mode = collected_modes[mode];
            k.config.dataset_sink_mode = collected_modes[mode] != SLUICE_MODE_AUTO;
            k.config.sink_size = 1;
            k.config.epochs = 0;
            k.config.start_step = FIRST;
            k.config.max_steps = 1;
            T_OK(kit_run(&k));
            check_report(k.report);
            T_TRUE((double)k.report->passes->last.ns / 1e9 + k.report->replay_seconds <=
                   k.report->stats.seconds * 1.001);
            kit_fini(&k);
            sluice_dataset_destroy(dataset);
        }
    }
}

static void nor_does_a_channel(void)
{
    for (size_t m = 0; m < COLLECTED_MAKERS; m++) {
        const sluice_channel_config config = loop_kit_config(FIRST, 1);
        sluice_dataset *dataset = collected_makers[m]("batch 3");
        sluice_channel_stats stats = {.struct_size = sizeof(stats)};
        const sluice_batch *batch;
        sluice_report *report;
        loop_kit loop;

        sample_us = 4000;
        collected_generator.is_bad = is_slow;
        loop = loop_kit_open_dataset("host:0", dataset, &config);
        T_OK(sluice_channel_start(loop.channel));
        T_OK(loop_kit_next(&loop, &batch));
        T_EQ(batch->number, FIRST);
        report = loop_kit_report(&loop);
        check_report(report);
        T_OK(sluice_channel_stats_get(loop.channel, &stats));
        T_TRUE(stats.wait_seconds + report->replay_seconds <= report->stats.seconds * 1.001);
        sluice_report_destroy(report);
        loop_kit_close(&loop);
        sluice_dataset_destroy(dataset);
    }
}

/* A channel that waits for a long replay does not take it for a stall. */
static void a_channel_warns_of_no_stall_meanwhile(void)
{
    sluice_channel_config config = loop_kit_config(FIRST, 1);
    sluice_dataset *dataset = collected_stream("batch 3");
    const sluice_batch *batch;
    loop_kit loop;

    sample_us = 10000;
    collected_generator.is_bad = is_slow;
    config.stall_warning_ms = 200;
    loop = loop_kit_open_dataset("host:0", dataset, &config);
    kit_log_start(NULL, NULL);
    T_OK(sluice_channel_start(loop.channel));
    T_OK(loop_kit_next(&loop, &batch));
    T_STR(kit_log_stop(), "");
    loop_kit_close(&loop);
    sluice_dataset_destroy(dataset);
}

static _Atomic int64_t clock_ns;

/* A clock that goes on by a second when it is read. */
static int64_t fast_clock(void)
{
    return atomic_fetch_add(&clock_ns, 1000000000) + 1000000000;
}

static const char *replay_log(sluice_dataset *dataset)
{
    const char *log;
    tape t;

    kit_log_start(NULL, NULL);
    t = record(dataset, &(run_options){.first_step = FIRST, .batches = 1, .passes = 3});
    log = kit_log_stop();
    free(t.bytes);
    return log;
}

static const char *after(const char *text, const char *part)
{
    const char *at = strstr(text, part);

    return at != NULL ? at + strlen(part) : "";
}

static void a_long_replay_is_logged_while_it_lasts_and_at_its_end(void)
{
    static const char begins[] = "replaying 13 batches that were done before the run (a ";
    static const char ends[] = "replayed 13 batches: ";

    for (size_t m = 0; m < COLLECTED_MAKERS; m++) {
        sluice_dataset *dataset = collected_makers[m]("batch 3");
        const char *log;

        sli_clock_replace(fast_clock);
        log = replay_log(dataset);
        sli_clock_replace(NULL);
        T_CONTAINS(log, begins);
        T_CONTAINS(log, "; no batch is made meanwhile, and this time is not counted as data wait");
        T_TRUE(strstr(after(log, begins), begins) == NULL); /* once */
        T_CONTAINS(after(log, begins), ends);
        T_CONTAINS(after(log, ends), " passes in ");
        T_EQ(kit_log_count(SLUICE_LOG_WARN), 2);
        sluice_dataset_destroy(dataset);
    }
}

static void a_short_one_is_logged_at_level_info(void)
{
    for (size_t m = 0; m < COLLECTED_MAKERS; m++) {
        sluice_dataset *dataset = collected_makers[m]("batch 3");

        T_STR(replay_log(dataset), "");
        sluice_log_set_level(SLUICE_LOG_INFO);
        T_CONTAINS(replay_log(dataset), "replayed 13 batches: ");
        sluice_log_set_level(SLUICE_LOG_WARN);
        sluice_dataset_destroy(dataset);
    }
}

const t_test replay_tests[] = {
    T_TEST(a_run_does_not_count_a_replay_as_data_wait),
    T_TEST(nor_does_a_channel),
    T_TEST(a_channel_warns_of_no_stall_meanwhile),
    T_TEST(a_long_replay_is_logged_while_it_lasts_and_at_its_end),
    T_TEST(a_short_one_is_logged_at_level_info),
    T_END,
};
