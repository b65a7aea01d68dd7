/* SPDX-License-Identifier: Apache-2.0 */
/* The times of a run's threads, and of the machine, in its report. */
#include <pthread.h>
#include <stdlib.h>

#include "loop_kit.h"
#include "report_threads.h"
#include "testing.h"
#include "train_kit.h"

static const report_thread *thread_of(const sluice_report *report, const char *name)
{
    for (uint32_t i = 0; i < report->thread_count; i++) {
        if (strcmp(report->threads[i].name, name) == 0) {
            return &report->threads[i];
        }
    }
    T_FAIL_("no thread %s", name);
    return NULL;
}

/* CPU, run queue and blocked make up the time of a thread. */
static void check_sum(const report_thread *thread)
{
    const report_times *times = &thread->times;

    T_TRUE(times->has_cpu);
    T_TRUE(thread->seconds > 0);
    T_TRUE(times->cpu_s >= 0 && times->runqueue_s >= 0 && times->blocked_s >= 0);
    T_NEAR(times->cpu_s + times->runqueue_s + times->blocked_s, thread->seconds,
           0.02 * thread->seconds + 0.001);
}

/* A run of two workers. */
static void run(kit *k)
{
    kit_init(k);
    k->config.workers = 2;
    T_OK(kit_run(k));
}

static void each_thread_of_a_run_has_its_times(void)
{
    static const char *const names[] = {"sluice/w/0", "sluice/w/1", "sluice/watchdog", "caller"};
    kit k;

    run(&k);
    T_EQ(k.report->thread_count, k.report->place_count);
    for (size_t i = 0; i < COUNT(names); i++) {
        const report_thread *thread = thread_of(k.report, names[i]);

        check_sum(thread);
        T_TRUE(thread->seconds < k.report->stats.seconds + 10);
    }
    T_TRUE(thread_of(k.report, "sluice/w/0")->times.cpu_s > 0);
    T_TRUE(thread_of(k.report, "caller")->times.cpu_s > 0);
    kit_fini(&k);
}

static void the_text_has_a_row_for_a_pool_and_80_columns(void)
{
    char *text = NULL;
    kit k;

    run(&k);
    T_OK(sluice_report_text(k.report, &text));
    T_CONTAINS(text, "\nthreads                     CPU s   CPU% queue% blocked%\n"
                     "sluice/w/0-1           ");
    kit_check_columns(text);
    sluice_string_free(text);
    kit_fini(&k);
}

static void the_json_has_threads_and_machine(void)
{
    static const char *const keys[] = {"\"threads\":[{\"thread\":\"sluice/w/0\",\"seconds\":",
                                       "\"cpu_s\":",
                                       "\"runqueue_s\":",
                                       "\"blocked_s\":",
                                       "\"machine\":{\"minor_faults\":",
                                       "\"major_faults\":",
                                       "\"cpu_pressure\":",
                                       "\"io_pressure\":",
                                       "\"memory_pressure\":",
                                       "\"throttled_periods\":",
                                       "\"periods\":",
                                       "\"throttled_s\":"};
    char *text = NULL;
    kit k;

    run(&k);
    T_OK(sluice_report_json(k.report, &text));
    for (size_t i = 0; i < COUNT(keys); i++) {
        T_CONTAINS(text, keys[i]);
    }
    sluice_string_free(text);
    kit_fini(&k);
}

/* As in a container without schedstat, PSI and a CPU controller. */
static void what_is_unknown_is_null_and_said_once(void)
{
    char *text = NULL;
    kit k;

    run(&k);
    for (uint32_t i = 0; i < k.report->thread_count; i++) {
        k.report->threads[i].times.has_runqueue = false;
    }
    k.report->machine = (report_machine){.has_pressure = false};
    T_OK(sluice_report_text(k.report, &text));
    T_CONTAINS(
        text, "\nnot measured: time in the run queue, which is in blocked% (cannot read schedstat\n"
              "    in /proc); pressure of the machine (no /proc/pressure); throttling by a CPU\n");
    CU_ASSERT_PTR_NULL(strstr(text, "\npressure: "));
    sluice_string_free(text);
    T_OK(sluice_report_json(k.report, &text));
    T_CONTAINS(text, "\"runqueue_s\":null,\"blocked_s\":");
    T_CONTAINS(
        text,
        "\"cpu_pressure\":null,\"io_pressure\":null,\"memory_pressure\":null,"
        "\"busy_cores\":null,\"throttled_periods\":null,\"periods\":null,\"throttled_s\":null}");
    sluice_string_free(text);

    k.report->machine = (report_machine){.has_throttling = true,
                                         .periods = 255,
                                         .throttled_periods = 100,
                                         .throttled_s = 3.2,
                                         .has_pressure = true,
                                         .cpu_pressure = 0.25,
                                         .major_faults = 12};
    T_OK(sluice_report_text(k.report, &text));
    T_CONTAINS(text,
               "\nthrottled: the CPU quota was used up in 100 of 255 periods, 3.200 s in all\n"
               "pressure: in 25.0 % of the time some task of the machine waited for a CPU, in\n"
               "    0.0 % for I/O, in 0.0 % for memory\n");
    T_CONTAINS(text, "\npage faults: 12 pages were read from a disk\n");
    sluice_string_free(text);
    kit_fini(&k);
}

/* Threads that had no file descriptor left for their clocks until late in the run. */
static void a_stage_without_its_run_queue_is_said(void)
{
    char *text = NULL;
    kit k;

    run(&k);
    for (uint32_t i = 0; i < k.report->thread_count; i++) {
        k.report->threads[i].times.has_cpu = true;
        k.report->threads[i].times.has_runqueue = true;
    }
    k.report->machine = (report_machine){.has_pressure = true, .has_throttling = true};
    for (uint32_t i = 0; i < k.report->stage_count; i++) {
        k.report->stage_times[i].times = (report_times){.has_cpu = true, .has_runqueue = true};
    }
    T_OK(sluice_report_text(k.report, &text));
    CU_ASSERT_PTR_NULL(strstr(text, "not measured"));
    sluice_string_free(text);
    k.report->stage_times[1].times.has_runqueue = false;
    T_OK(sluice_report_text(k.report, &text));
    T_CONTAINS(text,
               "\nnot measured: time in the run queue of some stages (most of the time their\n"
               "    threads could not read schedstat in /proc)\n");
    sluice_string_free(text);
    kit_fini(&k);
}

static void a_report_of_no_run_has_no_threads(void)
{
    char *text = NULL;
    kit k;

    kit_init(&k);
    k.config.slots = 1; /* refused at the start */
    T_STATUS(kit_run(&k), SLUICE_E_INVALID);
    T_OK(sluice_report_json(k.report, &text));
    T_CONTAINS(text, "\"threads\":[],\"machine\":null,");
    sluice_string_free(text);
    kit_fini(&k);
}

/* ---- differences ----------------------------------------------------------------------------- */

static const start_clocks started = {
    .ns = 2000000000,
    .thread_count = 1,
    .threads = {{.id = 7, .has_cpu = true, .cpu_ns = 500000000, .runqueue_ns = 100000000}},
};

static report_thread times_at_4_s(int32_t id, bool is_caller, int64_t start_ns)
{
    const sli_thread_times now = {.id = id,
                                  .has_cpu = true,
                                  .has_runqueue = true,
                                  .start_ns = start_ns,
                                  .at_ns = 4000000000,
                                  .cpu_ns = 800000000,
                                  .runqueue_ns = 300000000};
    report_thread thread = {.seconds = 0};

    report_thread_times(&started, &now, is_caller, &thread);
    return thread;
}

static void a_thread_that_ran_before_counts_from_the_start_of_the_run(void)
{
    const report_thread before = times_at_4_s(7, true, 0);
    const report_thread later = times_at_4_s(8, false, 3000000000);
    const report_thread unknown = times_at_4_s(9, true, 0);

    T_NEAR(before.seconds, 2, 1e-9);
    T_NEAR(before.times.cpu_s, 0.3, 1e-9);
    T_NEAR(before.times.runqueue_s, 0.2, 1e-9);
    T_NEAR(before.times.blocked_s, 1.5, 1e-9);
    T_NEAR(later.seconds, 1, 1e-9);
    T_NEAR(later.times.cpu_s, 0.8, 1e-9);
    T_NEAR(later.times.blocked_s, 0, 1e-9); /* never negative */
    T_NEAR(unknown.seconds, 2, 1e-9);
    T_TRUE(!unknown.times.has_cpu && !unknown.times.has_runqueue);
    T_NEAR(unknown.times.blocked_s, 0, 0);
}

/* ---- channels -------------------------------------------------------------------------------- */

static void *report_elsewhere(void *loop)
{
    return loop_kit_report(loop);
}

static void a_channel_reports_its_threads_at_any_time(void)
{
    sluice_channel_config config = loop_kit_config(0, 0);
    loop_kit loop = loop_kit_open("host:0", loop_kit_padded, &config);
    const sluice_batch *batch = NULL;
    sluice_report *own;
    void *other = NULL;
    char *text = NULL;
    pthread_t thread;

    T_OK(sluice_channel_start(loop.channel));
    T_OK(loop_kit_next(&loop, &batch));
    own = loop_kit_report(&loop);
    /* Of a thread whose clocks were not read at the start. */
    T_EQ(pthread_create(&thread, NULL, report_elsewhere, &loop), 0);
    T_EQ(pthread_join(thread, &other), 0);
    T_OK(sluice_report_text(other, &text));
    loop_kit_close(&loop); /* before the checks: one that fails would leave threads behind */

    check_sum(thread_of(own, "sluice/w/0"));
    check_sum(thread_of(own, "caller"));
    check_sum(thread_of(other, "sluice/w/0"));
    T_TRUE(!thread_of(other, "caller")->times.has_cpu);
    T_CONTAINS(text, "\nnot measured: times of the caller, which is not the thread that started "
                     "the\n    channel");
    sluice_string_free(text);
    sluice_report_destroy(own);
    sluice_report_destroy(other);
}

const t_test report_threads_tests[] = {
    T_TEST(each_thread_of_a_run_has_its_times),
    T_TEST(the_text_has_a_row_for_a_pool_and_80_columns),
    T_TEST(the_json_has_threads_and_machine),
    T_TEST(what_is_unknown_is_null_and_said_once),
    T_TEST(a_stage_without_its_run_queue_is_said),
    T_TEST(a_report_of_no_run_has_no_threads),
    T_TEST(a_thread_that_ran_before_counts_from_the_start_of_the_run),
    T_TEST(a_channel_reports_its_threads_at_any_time),
    T_END,
};
