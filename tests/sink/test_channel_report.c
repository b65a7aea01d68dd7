/* SPDX-License-Identifier: Apache-2.0 */
/* sluice_channel_report: the report of a loop of the user's own, at any time. */
#include <math.h>
#include <pthread.h>
#include <time.h>

#include "channel_state.h"
#include "loop_kit.h"
#include "stderr_kit.h"
#include "testing.h"

static const char *const devices[] = {"host:0", "host:0,copy=1"};

static loop_kit open_started(const char *device, uint64_t batches)
{
    const sluice_channel_config config = loop_kit_config(0, batches);
    loop_kit loop = loop_kit_open(device, loop_kit_padded, &config);

    T_OK(sluice_channel_start(loop.channel));
    return loop;
}

static void fetch(const loop_kit *loop, uint64_t batches)
{
    const sluice_batch *batch = NULL;

    for (uint64_t i = 0; i < batches; i++) {
        T_OK(loop_kit_next(loop, &batch));
    }
}

static uint64_t items_of(const sluice_report *report, const char *stage)
{
    const sli_stage_summary *summary = report_find_stage(report, stage);

    return summary != NULL ? summary->samples : 0;
}

static void a_report_has_the_table_and_the_verdict_of_a_run(void)
{
    static const char *const parts[] = {
        "bottleneck: none: too short to judge: 11 steps",
        "\nso far 11 steps, 86 samples in ",
        "\nstage                       sustains/s busy% input% room%      p50      p99 by\n",
        "\nbatch                       ",
        "\nget_next                    ",
        "\nstep                        ",
        "\nqueue slots: ",
        "\nsluice/w/",
        "\ncaller ",
        "\nmemory: ",
    };

    for (size_t d = 0; d < COUNT(devices); d++) {
        loop_kit loop = open_started(devices[d], 0);
        sluice_report *report;
        char *text = NULL;

        fetch(&loop, 11);
        report = loop_kit_report(&loop);
        loop_kit_close(&loop); /* the report stays */
        T_OK(sluice_report_text(report, &text));
        for (size_t i = 0; i < COUNT(parts); i++) {
            T_CONTAINS(text, parts[i]);
        }
        CU_ASSERT_PTR_NULL(strstr(text, "\nmode "));
        CU_ASSERT_PTR_NULL(strstr(text, "ended with"));
        CU_ASSERT_PTR_NULL(strstr(text, "no step ran"));
        T_EQ(strstr(text, "\ncopy  ") != NULL, d == 1);
        sluice_string_free(text);
        T_OK(sluice_report_json(report, &text));
        T_CONTAINS(
            text, "\"status\":\"OK\",\"error\":null,\"running\":true,\"samples\":86,\"batches\":11,"
                  "\"steps\":11,");
        T_CONTAINS(text, "\"mode\":null,");
        T_CONTAINS(text, "\"step\":null,");
        sluice_string_free(text);
        sluice_report_destroy(report);
    }
}

/* A step is what the loop does from one batch to the next call. */
static void steps_are_counted_when_the_loop_comes_back(void)
{
    loop_kit loop = open_started("host:0", 5);
    const sluice_batch *batch = NULL;
    sluice_report *report = loop_kit_report(&loop);
    sluice_report_stats stats = {.struct_size = sizeof(stats)};

    T_OK(sluice_report_stats_get(report, &stats));
    T_EQ(stats.steps, 0);
    T_STR(report->bottleneck, "none");
    sluice_report_destroy(report);

    fetch(&loop, 5);
    report = loop_kit_report(&loop);
    T_EQ(items_of(report, "get_next"), 5);
    T_EQ(items_of(report, "step"), 4);
    sluice_report_destroy(report);

    T_STATUS(loop_kit_next(&loop, &batch), SLUICE_END_OF_DATA);
    T_STATUS(loop_kit_next(&loop, &batch), SLUICE_END_OF_DATA);
    report = loop_kit_report(&loop);
    T_OK(sluice_report_stats_get(report, &stats));
    T_EQ(stats.status, SLUICE_OK);
    T_EQ(stats.steps, 5);
    T_EQ(stats.samples, 40);
    T_TRUE(stats.slot_bytes > 0);
    T_EQ(items_of(report, "step"), 5);
    sluice_report_destroy(report);
    loop_kit_close(&loop);
}

/* A channel of one worker on a source that blocks before sample 8. */
static loop_kit open_blocking(kit_source *source, sluice_dataset **dataset_out)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    loop_kit loop;

    kit_source_init(source, 60);
    source->block_at = 8;
    *dataset_out = kit_source_dataset(source, 2);
    config.workers = 1;
    loop = loop_kit_open_dataset("host:0", *dataset_out, &config);
    T_OK(sluice_channel_start(loop.channel));
    fetch(&loop, 4);
    return loop;
}

/*
 * A loop whose steps run elsewhere: it waits in get_next for more than a second, while they run. No
 * time between two of its calls is a step then, and no wait of these is a wait of steps.
 */
static void published_step_times_decide_the_bottleneck(void)
{
    const double step_s = 0.001;
    const sluice_batch *batch = NULL;
    sluice_dataset *dataset = NULL;
    const sli_stage_summary *step;
    sluice_report *report;
    kit_source source;
    loop_kit loop = open_blocking(&source, &dataset);
    char *text = NULL;

    T_STATUS(sluice_channel_get_next(loop.channel, NULL, 1100, &batch), SLUICE_TIMEOUT);
    kit_source_release(&source);
    fetch(&loop, 20);
    report = loop_kit_report(&loop);
    T_EQ(items_of(report, "step"), 23);
    T_TRUE(report->stats.data_wait_share > 0);
    CU_ASSERT_TRUE(strcmp(report->bottleneck, "step") != 0 ||
                   strcmp(report->bottleneck_cause, "device") != 0);
    sluice_report_destroy(report);

    for (int i = 0; i < 24; i++) {
        T_OK(sluice_channel_step_time(loop.channel, i == 7 ? 2 * step_s : step_s));
    }
    fetch(&loop, 1); /* the time since the batch before it is not a step */
    report = loop_kit_report(&loop);
    step = report_find_stage(report, "step");
    T_EQ(step->samples, 24);
    T_NEAR(step->busy_ns, 25e9 * step_s, 0.1e9 * step_s);
    T_NEAR(step->p50_ns, 1e9 * step_s, 0.1e9 * step_s);
    T_NEAR(step->max_ns, 2e9 * step_s, 0.1e9 * step_s);
    sluice_report_destroy(report);

    T_OK(sluice_channel_step_time(loop.channel, 1000)); /* longer than the test takes */
    report = loop_kit_report(&loop);
    T_NEAR(report_find_stage(report, "step")->busy_ns, 1e9 * report->stats.seconds, 1);
    T_NEAR(report->stats.data_wait_share, 0, 0);
    T_STR(report->bottleneck, "step");
    T_STR(report->bottleneck_cause, "device");
    T_OK(sluice_report_text(report, &text));
    T_CONTAINS(text, "bottleneck: step (device): steps wait for data 0.0 % of the time");
    T_CONTAINS(text, "\nadvice: code: nothing to gain in the pipeline: step takes ");
    sluice_string_free(text);
    sluice_report_destroy(report);
    loop_kit_close(&loop);
    sluice_dataset_destroy(dataset);
}

static void step_times_that_are_none_are_refused(void)
{
    const sluice_channel_config config = loop_kit_config(0, 0);
    const double wrong[] = {-1e-9, (double)NAN, (double)INFINITY, -(double)INFINITY, 1.1e9};
    const char *const texts[] = {"seconds is -1e-09, and must be from 0 to 1e+09", "seconds is nan",
                                 "seconds is inf", "seconds is -inf", "seconds is 1.1e+09"};
    loop_kit loop = loop_kit_open("host:0", loop_kit_padded, &config);
    sluice_report *report;

    T_STATUS(sluice_channel_step_time(loop.channel, 1), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "sluice_channel_step_time: call sluice_channel_start() first");
    T_OK(sluice_channel_start(loop.channel));
    for (size_t i = 0; i < COUNT(wrong); i++) {
        T_STATUS(sluice_channel_step_time(loop.channel, wrong[i]), SLUICE_E_INVALID);
        T_CONTAINS(sluice_last_error(), texts[i]);
    }
    fetch(&loop, 2);
    report = loop_kit_report(&loop);
    T_EQ(items_of(report, "step"), 1); /* none was published */
    sluice_report_destroy(report);
    T_OK(sluice_channel_step_time(loop.channel, 0));
    report = loop_kit_report(&loop);
    T_EQ(items_of(report, "step"), 1);
    T_NEAR(report_find_stage(report, "step")->busy_ns, 0, 0);
    sluice_report_destroy(report);
    loop_kit_close(&loop);
}

/* The names of a report's stages, in order. */
static void write_stages(const sluice_report *report, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < report->stage_count; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s\n", report->stages[i].name);
    }
}

static void a_channel_has_the_rows_of_stages_of_a_run(void)
{
    for (size_t d = 0; d < COUNT(devices); d++) {
        loop_kit loop = open_started(devices[d], LOOP_KIT_PADDED_BATCHES);
        sluice_report *report;
        char channels[400];
        char runs[400];
        kit k;

        kit_init(&k);
        k.device = devices[d];
        k.pipeline = loop_kit_padded;
        k.model.reads_valid_rows = true;
        T_OK(kit_run(&k));
        for (int i = 0; i < LOOP_KIT_PADDED_BATCHES; i++) {
            fetch(&loop, 1);
            T_OK(sluice_channel_step_time(loop.channel, 1e-3));
        }
        report = loop_kit_report(&loop);
        write_stages(report, channels, sizeof(channels));
        write_stages(k.report, runs, sizeof(runs));
        T_STR(channels, runs);
        T_CONTAINS(runs, "\nget_next\nstep\n");
        T_EQ(items_of(report, "get_next"), items_of(k.report, "get_next"));
        T_EQ(items_of(report, "step"), items_of(k.report, "step"));
        sluice_report_destroy(report);
        loop_kit_close(&loop);
        kit_fini(&k);
    }
}

static void waits_for_data_are_in_the_row_of_get_next(void)
{
    const sluice_batch *batch = NULL;
    const sli_stage_summary *get_next;
    sluice_dataset *dataset = NULL;
    sluice_report *report;
    kit_source source;
    loop_kit loop = open_blocking(&source, &dataset);

    T_STATUS(sluice_channel_get_next(loop.channel, NULL, 20, &batch), SLUICE_TIMEOUT);
    report = loop_kit_report(&loop);
    get_next = report_find_stage(report, "get_next");
    CU_ASSERT_PTR_NOT_NULL_FATAL(get_next);
    T_TRUE(get_next->wait_input_ns >= 19e6);
    T_TRUE(report->stats.data_wait_share > 0 && report->stats.data_wait_share < 1);
    sluice_report_destroy(report);
    kit_source_release(&source);
    loop_kit_close(&loop);
    sluice_dataset_destroy(dataset);
}

enum { MS = 1000000, MOST_PAUSES = 30000 };

static void pause_ms(int64_t ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * MS};

    nanosleep(&time, NULL);
}

/* ---- requests -------------------------------------------------------------------------------- */

static size_t count_reports(const char *text)
{
    size_t count = 0;

    while ((text = strstr(text, "bottleneck: ")) != NULL) {
        text++;
        count++;
    }
    return count;
}

typedef struct waiter {
    const loop_kit *loop;
    _Atomic bool got;
} waiter;

static void *wait_for_batch(void *arg)
{
    waiter *w = arg;

    fetch(w->loop, 1);
    atomic_store(&w->got, true);
    return NULL;
}

/* The requested report has the wait that goes on; it is written before the batch is there. */
static void a_request_is_answered_while_the_loop_waits(void)
{
    sluice_dataset *dataset = NULL;
    sluice_channel_stats stats;
    char text[8000] = "";
    stderr_kit written;
    kit_source source;
    loop_kit loop = open_blocking(&source, &dataset);
    waiter w = {.loop = &loop};
    pthread_t thread;

    sluice_channel_stats_init(&stats);
    stderr_kit_begin(&written);
    T_EQ(pthread_create(&thread, NULL, wait_for_batch, &w), 0);
    for (int i = 0; i < MOST_PAUSES && stats.wait_seconds < 0.2; i++) {
        T_OK(sluice_channel_stats_get(loop.channel, &stats));
        pause_ms(1);
    }
    T_TRUE(stats.wait_seconds >= 0.2); /* counted while the call waits */
    sluice_report_request();
    for (int i = 0; i < MOST_PAUSES && strstr(text, "\nqueue slots: ") == NULL; i++) {
        pause_ms(1);
        stderr_kit_read(&written, text, sizeof(text));
    }
    T_TRUE(!atomic_load(&w.got));
    kit_source_release(&source);
    pthread_join(thread, NULL);
    fetch(&loop, 1); /* the request has been answered */
    stderr_kit_end(&written, text, sizeof(text));
    T_EQ(count_reports(text), 1);
    T_CONTAINS(text, "\nso far 4 steps, 8 samples in ");
    CU_ASSERT_PTR_NULL(strstr(text, "data wait 0.0 %"));
    loop_kit_close(&loop);
    sluice_dataset_destroy(dataset);
}

/* Each channel answers once, in its next call; one that starts later does not. */
static void a_request_is_answered_by_the_next_call(void)
{
    char text[16000] = "";
    stderr_kit written;
    loop_kit loops[2];

    loops[0] = open_started("host:0", 5);
    stderr_kit_begin(&written);
    sluice_report_request();
    loops[1] = open_started("host:0", 5);
    for (size_t i = 0; i < COUNT(loops); i++) {
        fetch(&loops[i], 2);
    }
    stderr_kit_end(&written, text, sizeof(text));
    T_EQ(count_reports(text), 1);
    T_CONTAINS(text, "so far 0 steps");

    stderr_kit_begin(&written);
    sluice_report_request();
    for (size_t i = 0; i < COUNT(loops); i++) {
        fetch(&loops[i], 3);
        loop_kit_close(&loops[i]);
    }
    stderr_kit_end(&written, text, sizeof(text));
    T_EQ(count_reports(text), 2);
}

/* ---- what workers wait for ------------------------------------------------------------------- */

/* The call that waits looks at the worker, which sleeps in the source. */
static void a_report_knows_what_workers_wait_for(void)
{
    const sluice_batch *batch = NULL;
    sluice_dataset *dataset = NULL;
    wait_counts waits = {0};
    sluice_report *report;
    kit_source source;
    loop_kit loop = open_blocking(&source, &dataset);
    bool probed;

    T_STATUS(sluice_channel_get_next(loop.channel, NULL, 600, &batch), SLUICE_TIMEOUT);
    report = loop_kit_report(&loop);
    probed = report->pipeline.probed;
    for (uint32_t i = 0; i < report->stage_count; i++) {
        if (strcmp(report->stages[i].name, "read") == 0) {
            waits = report->pipeline.waits[i];
        }
    }
    sluice_report_destroy(report);
    kit_source_release(&source);
    loop_kit_close(&loop);
    sluice_dataset_destroy(dataset);
    T_NEEDS(probed, "the system calls of threads cannot be read");
    T_TRUE(waits.locked + waits.asleep > 0);
}

/* ---- the series ------------------------------------------------------------------------------ */

/* Lets two seconds of the series pass, and the next call look at the clock. */
static void pass_two_seconds(const loop_kit *loop)
{
    loop->channel->watch.seen.series.begin_ns -= INT64_C(2000000000);
    loop->channel->watch.due_ticks = 0;
}

static void a_report_has_the_series_of_the_loop(void)
{
    loop_kit loop = open_started("host:0", 0);
    sluice_report *report = loop_kit_report(&loop);
    const run_series *series;
    char *text = NULL;

    CU_ASSERT_PTR_NULL(report->series);
    sluice_report_destroy(report);
    fetch(&loop, 1);
    for (int i = 0; i < 4; i++) {
        fetch(&loop, 2);
        pass_two_seconds(&loop);
    }
    fetch(&loop, 1);
    report = loop_kit_report(&loop);
    CU_ASSERT_PTR_NOT_NULL_FATAL(report->series);
    series = report->series;
    T_TRUE(series->count >= 5); /* more of a loop that was held up */
    T_EQ(series->rows[0].batches, 0);
    for (uint32_t i = 1; i < series->count; i++) {
        const run_series_change change = run_series_between(&series->rows[i - 1], &series->rows[i]);

        T_TRUE(series->rows[i].batches >= series->rows[i - 1].batches);
        T_TRUE(change.data_wait_share >= 0 && change.data_wait_share <= 1);
        T_TRUE(change.cores >= 0);
    }
    T_EQ(series->rows[series->count - 1].batches, 9);
    T_OK(sluice_report_json(report, &text));
    T_CONTAINS(text, "\"series\":[{\"t_s\":");
    T_CONTAINS(text, "\"series_interval_s\":1");
    sluice_string_free(text);
    sluice_report_destroy(report);
    loop_kit_close(&loop);
}

/* A call that waits adds its rows, and the wait so far; steps that ran meanwhile correct it. */
static void the_series_has_the_wait_of_a_call(void)
{
    const sluice_batch *batch = NULL;
    sluice_dataset *dataset = NULL;
    sluice_report *report;
    kit_source source;
    loop_kit loop = open_blocking(&source, &dataset);
    const run_series *series = &loop.channel->watch.seen.series;

    T_STATUS(sluice_channel_get_next(loop.channel, NULL, 2200, &batch), SLUICE_TIMEOUT);
    T_TRUE(series->count >= 2);
    T_TRUE(series->last.wait_s > 0.9);
    report = loop_kit_report(&loop);
    T_TRUE(report->stats.data_wait_share > 0.1);
    sluice_report_destroy(report);
    T_OK(sluice_channel_step_time(loop.channel, 1000));
    pass_two_seconds(&loop);
    T_STATUS(sluice_channel_get_next(loop.channel, NULL, 0, &batch), SLUICE_TIMEOUT);
    T_NEAR(series->last.wait_s, 0, 0);
    T_NEAR(series->rows[series->count - 1].wait_s, 0, 0);
    kit_source_release(&source);
    loop_kit_close(&loop);
    sluice_dataset_destroy(dataset);
}

static void a_report_says_how_the_channel_ended(void)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    const sluice_batch *batch = NULL;
    sluice_report *report;
    sluice_dataset *dataset;
    kit_source source;
    char *text = NULL;
    loop_kit loop;

    kit_source_init(&source, 20);
    source.fail_at = 9;
    dataset = kit_source_dataset(&source, 2);
    loop = loop_kit_open_dataset("host:0", dataset, &config);
    T_OK(sluice_channel_start(loop.channel));
    fetch(&loop, 4);
    T_STATUS(loop_kit_next(&loop, &batch), SLUICE_E_CORRUPT);
    sluice_channel_stop(loop.channel);
    report = loop_kit_report(&loop);
    T_EQ(report->stats.status, SLUICE_E_CORRUPT);
    T_OK(sluice_report_text(report, &text));
    T_CONTAINS(text, "\nended with corrupt data: read: sample 9, kit/9: told to fail");
    sluice_string_free(text);
    sluice_report_destroy(report);
    loop_kit_close(&loop);
    sluice_dataset_destroy(dataset);

    loop = open_started("host:0", 0);
    sluice_channel_stop(loop.channel);
    report = loop_kit_report(&loop);
    T_EQ(report->stats.status, SLUICE_CLOSED);
    sluice_report_destroy(report);
    loop_kit_close(&loop);
}

static void what_cannot_be_reported_is_refused(void)
{
    const sluice_channel_config config = loop_kit_config(0, 0);
    loop_kit loop = loop_kit_open("host:0", loop_kit_padded, &config);
    sluice_report *report = NULL;

    T_STATUS(sluice_channel_report(loop.channel, &report), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "sluice_channel_report: call sluice_channel_start() first");
    T_STATUS(sluice_channel_report(NULL, &report), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "channel is NULL");
    T_STATUS(sluice_channel_report(loop.channel, NULL), SLUICE_E_INVALID);
    T_CONTAINS(sluice_last_error(), "report_out is NULL");
    CU_ASSERT_PTR_NULL(report);
    loop_kit_close(&loop);
}

typedef struct reader {
    const loop_kit *loop;
    _Atomic bool done;
} reader;

/* Reports while the loop fetches; what was counted never becomes less. */
static void *read_reports(void *arg)
{
    reader *r = arg;
    uint64_t before = 0;
    bool done;

    do {
        sluice_report *report = NULL;
        char *text = NULL;

        done = atomic_load(&r->done);
        T_OK(sluice_channel_report(r->loop->channel, &report));
        T_OK(sluice_report_text(report, &text));
        T_TRUE(report->stats.steps >= before);
        before = report->stats.steps;
        sluice_string_free(text);
        sluice_report_destroy(report);
    } while (!done);
    T_EQ(before, 40);
    return NULL;
}

static void any_thread_makes_reports_while_the_loop_runs(void)
{
    for (size_t d = 0; d < COUNT(devices); d++) {
        loop_kit loop = open_started(devices[d], 40);
        reader r = {.loop = &loop};
        const sluice_batch *batch = NULL;
        pthread_t thread;

        T_EQ(pthread_create(&thread, NULL, read_reports, &r), 0);
        fetch(&loop, 40);
        T_STATUS(loop_kit_next(&loop, &batch), SLUICE_END_OF_DATA);
        T_OK(sluice_channel_rewind(loop.channel));
        atomic_store(&r.done, true);
        pthread_join(thread, NULL);
        loop_kit_close(&loop);
    }
}

const t_test channel_report_tests[] = {
    T_TEST(a_report_has_the_table_and_the_verdict_of_a_run),
    T_TEST(steps_are_counted_when_the_loop_comes_back),
    T_TEST(published_step_times_decide_the_bottleneck),
    T_TEST(step_times_that_are_none_are_refused),
    T_TEST(a_channel_has_the_rows_of_stages_of_a_run),
    T_TEST(waits_for_data_are_in_the_row_of_get_next),
    T_TEST(a_request_is_answered_while_the_loop_waits),
    T_TEST(a_request_is_answered_by_the_next_call),
    T_TEST(a_report_knows_what_workers_wait_for),
    T_TEST(a_report_has_the_series_of_the_loop),
    T_TEST(the_series_has_the_wait_of_a_call),
    T_TEST(a_report_says_how_the_channel_ended),
    T_TEST(what_cannot_be_reported_is_refused),
    T_TEST(any_thread_makes_reports_while_the_loop_runs),
    T_END,
};
