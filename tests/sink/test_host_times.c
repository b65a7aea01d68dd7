/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the report into which the wall time of a run is divided. */
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "checkpoint_kit.h"
#include "host_clock.h"
#include "load_kit.h"
#include "rank_runs.h"
#include "report_wall_time.h"
#include "stderr_kit.h"
#include "testing.h"

enum { MS = 1000000, PAUSE_MS = 20 };

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};

static void pause_ms(int64_t ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * MS};

    nanosleep(&time, NULL);
}

static double least(uint64_t times)
{
    return (double)(times * PAUSE_MS) / 1e3;
}

/* The seconds of a row of the text; 0 if it has no such row. */
static double row_of(const char *text, const char *name)
{
    const char *row = strstr(text, name);

    return row != NULL ? strtod(row + strlen(name), NULL) : 0;
}

/* ---- the clock ------------------------------------------------------------------------------- */

static void each_moment_counts_for_the_work_entered_last(void)
{
    const uint64_t start = sli_ticks();
    uint64_t sum = 0;
    host_work checkpoint;
    host_work other;
    host_clock clock;
    uint64_t now;

    host_clock_open(&clock);
    pause_ms(5);
    host_clock_start(&clock);
    T_TRUE(clock.open_ticks > 0 && clock.open_ticks <= sli_ticks() - start);
    other = host_clock_enter(&clock, HOST_CHECKPOINT);
    checkpoint = host_clock_enter(&clock, HOST_AGREE);
    pause_ms(20);
    now = sli_ticks();
    T_TRUE(host_clock_ticks(&clock, HOST_AGREE, now) > 0); /* of a report before the end, too */
    host_clock_leave(&clock, checkpoint);
    T_EQ(clock.now, HOST_CHECKPOINT);
    host_clock_leave(&clock, other);
    T_EQ(clock.now, HOST_OTHER);
    now = sli_ticks();
    T_TRUE(host_clock_ticks(&clock, HOST_AGREE, now) >
           host_clock_ticks(&clock, HOST_CHECKPOINT, now));
    for (int work = 0; work < HOST_WORKS; work++) {
        sum += host_clock_ticks(&clock, (host_work)work, now);
    }
    T_TRUE(sum + clock.open_ticks <= now - start);
}

/* ---- runs that sleep ------------------------------------------------------------------------- */

static sluice_status sleep_in_hook(sluice_hook *hook, void *user)
{
    uint64_t *calls = user;

    (void)hook;
    ++*calls;
    pause_ms(PAUSE_MS);
    return SLUICE_OK;
}

static sluice_status sleep_in_save(void *user, const char *folder, uint32_t rank, uint32_t world)
{
    pause_ms(PAUSE_MS);
    return kit_save(user, folder, rank, world);
}

static sluice_status sleep_in_eval(const sluice_step *step, void *user)
{
    pause_ms(PAUSE_MS);
    return kit_eval(step, user);
}

static void sleep_in_step(kit *k, const sluice_step *step)
{
    (void)k;
    (void)step;
    pause_ms(2);
}

/* The rows add up to the wall time, and little of it is in none of the named ones, unless other
 * processes held up the start and the end of threads. */
static void check_sum(const kit *k, const load_kit *load)
{
    const sluice_report *report = k->report;
    const report_host_times *times = &report->host_times;
    const double device = report->wait_ns / 1e9 +
                          report_step_share(report) * report->stats.seconds; /* with the maps */
    const double other = report_other_seconds(report);
    const double sum = device + times->launch_s + times->hooks_s + times->checkpoint_s +
                       times->validation_s + times->agree_s + other;

    T_TRUE(times->known && times->open_s > 0);
    T_NEAR(sum, report->stats.seconds, 0.02 * report->stats.seconds);
    T_TRUE(other < 0.05 * report->stats.seconds + 0.05 || !load_kit_is_calm(load));
}

static void rows_hold_the_time_that_was_slept(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        sluice_dataset *dataset = NULL;
        const sluice_report *report;
        uint64_t calls = 0;
        const sluice_callback callback = {
            .epoch_end = sleep_in_hook, .validation = sleep_in_hook, .user = &calls};
        char *text = NULL;
        load_kit load;
        kit k;

        T_OK(
            sluice_dataset_parse("synthetic samples=8 shape=4,4,3 classes=10 | batch 4", &dataset));
        checkpointed_init(&k, t_folder());
        k.config.mode = modes[m];
        k.config.total_steps = 0;
        k.config.max_steps = 60;
        kit_validate(&k, dataset);
        k.model.save = sleep_in_save;
        k.model.eval = sleep_in_eval;
        k.in_step = sleep_in_step;
        k.callbacks = &callback;
        k.callback_count = 1;
        load_kit_start(&load);
        T_OK(kit_run(&k));
        report = k.report;
        T_TRUE(calls >= 2 && report->stats.checkpoints >= 2 && report->stats.validations >= 1);
        T_TRUE(report->host_times.hooks_s >= least(calls));
        T_TRUE(report->host_times.checkpoint_s >= least(report->stats.checkpoints));
        T_TRUE(report->host_times.validation_s >= least(2 * report->stats.validations));
        T_TRUE(report_find_stage(report, "step")->busy_ns >= 60 * 2e6);
        check_sum(&k, &load);
        T_OK(sluice_report_text(report, &text));
        T_CONTAINS(text, "\ntime                           seconds     %\n");
        T_CONTAINS(text, "\nstep                        ");
        T_CONTAINS(text, "\nhooks                       ");
        T_CONTAINS(text, "\ncheckpoint                  ");
        T_CONTAINS(text, "\nvalidation                  ");
        T_CONTAINS(text, "\nwall                        ");
        CU_ASSERT_PTR_NULL(strstr(text, "\nagree "));
        CU_ASSERT_PTR_NULL(strstr(text, "\ndevice maps "));
        sluice_string_free(text);
        kit_fini(&k);
        sluice_dataset_destroy(dataset);
    }
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static sluice_status sleep_in_agree(int64_t value, int64_t *most_out, void *user)
{
    rank_own_outcome(user)->agreed++;
    pause_ms(2);
    return ranks_agree(value, most_out, user);
}

static void agree_slowly(kit *k, ranks_member *me)
{
    (void)me;
    k->config.sink_size = 5;
    k->config.epochs = 20;
    k->config.agree = sleep_in_agree;
}

static void agree_has_a_row(void)
{
    ranks_kit ranks;

    rank_runs(&ranks, 2, agree_slowly);
    rank_runs_expect(&ranks, SLUICE_OK);
    for (uint32_t rank = 0; rank < 2; rank++) {
        const char *text = outcome_of(&ranks, rank)->report;
        const double agree = row_of(text, " agree  ");

        T_TRUE(agree >= 20 * 0.002 && agree <= row_of(text, " wall  "));
    }
    ranks_end(&ranks);
}

/* ---- reports of a run that goes on ----------------------------------------------------------- */

/* Asks for a report 200 ms after the source has blocked, then lets it go on. */
static void *request_in_wait(void *arg)
{
    kit_source *source = arg;

    for (int i = 0; i < 30000 && !atomic_load(&source->blocks); i++) {
        pause_ms(1); /* not for ever: a run that fails first blocks nowhere */
    }
    pause_ms(200);
    sluice_report_request();
    pause_ms(300);
    kit_source_release(source);
    return NULL;
}

static void a_request_is_answered_while_the_run_goes_on(void)
{
    for (size_t m = 0; m < COUNT(modes); m++) {
        char text[8000];
        kit_source source;
        stderr_kit written;
        pthread_t thread;
        kit k;

        kit_source_init(&source, 40);
        source.block_at = 20;
        kit_init(&k);
        k.config.mode = modes[m];
        k.dataset = kit_source_dataset(&source, 2);
        T_EQ(pthread_create(&thread, NULL, request_in_wait, &source), 0);
        stderr_kit_begin(&written);
        (void)kit_run(&k);
        stderr_kit_end(&written, text, sizeof(text));
        pthread_join(thread, NULL);
        T_OK(k.status);
        T_EQ(k.report->stats.steps, 20);
        T_CONTAINS(text, "bottleneck: ");
        CU_ASSERT_PTR_NULL(strstr(text, "ended with"));
        T_TRUE(row_of(text, "\ndata wait ") >= 0.15); /* of the wait that goes on, too */
        T_CONTAINS(text, "\nwall ");
        CU_ASSERT_PTR_NULL(strstr(strstr(text, "\nwall ") + 1, "\nwall ")); /* once */
        sluice_dataset_destroy(k.dataset);
        kit_fini(&k);
    }
}

const t_test host_times_tests[] = {
    T_TEST(each_moment_counts_for_the_work_entered_last),
    T_TEST(rows_hold_the_time_that_was_slept),
    T_TEST(agree_has_a_row),
    T_TEST(a_request_is_answered_while_the_run_goes_on),
    T_END,
};
