/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict, the rates and the advice of reports, from their figures; test_verdict.c has the
 * rules. */
#include "report_data.h"
#include "testing.h"
#include "train_kit.h"
#include "verdict.h"

/* Ten seconds of two workers and a device, and how long the steps waited for data. */
static void judge(sluice_report *report, double wait_s, double copy_s, double read_s,
                  double decode_s, double pixels_s)
{
    const sli_stage_summary stages[] = {
        {.name = "read", .samples = 1000, .busy_ns = read_s * 1e9, .p50_ns = 23e3},
        {.name = "decode", .samples = 1000, .busy_ns = decode_s * 1e9},
        {.name = "resize+convert", .samples = 1000, .busy_ns = pixels_s * 1e9},
        {.name = "copy", .samples = 100, .bytes = 50000000, .busy_ns = copy_s * 1e9, .threads = 1},
        {.name = "step", .samples = 100, .busy_ns = (10 - wait_s) * 1e9, .threads = 1},
    };

    memcpy(report->stages, stages, sizeof(stages));
    report->stage_count = COUNT(stages);
    for (uint32_t i = 0; i < 3; i++) {
        report->stages[i].threads = 2;
    }
    report->stats.steps = 100;
    report->stats.samples = 1000;
    report->stats.seconds = 10;
    report->stats.data_wait_share = wait_s / 10;
    report->batches = 100;
    report->wait_ns = wait_s * 1e9;
    report->worker_count = 2;
    report->cores_allowed = report->cores_allowed > 0 ? report->cores_allowed : 2;
    report->source = report->source != NULL ? report->source : "image_folder";
    report->pipeline.kinds[0] = SLI_STAGE_READ;
    report->pipeline.kinds[1] = SLI_STAGE_DECODE;
    report->pipeline.kinds[2] = SLI_STAGE_PIXELS;
    report->host_times.known = true;
    report_find_bottleneck(report);
}

/* The text of the first advice; "": there is none. */
static const char *first(const sluice_report *report)
{
    return report->advice_count > 0 ? report->advice[0].text : "";
}

static void the_verdict_follows_from_the_figures(void)
{
    sluice_report report = {.stage_count = 0};

    judge(&report, 0.4, 9.5, 1, 18, 1); /* fed: whatever else is busy */
    T_STR(report.bottleneck, "step");
    T_NEAR(report.bottleneck_share, 0.96, 1e-9);
    judge(&report, 1.4, 0, 1, 14, 2); /* steps 8.6 of 10 s, workers 8.5 */
    T_STR(report.bottleneck, "step");
    judge(&report, 1.4, 0, 1, 14, 3);
    T_STR(report.bottleneck, "decode");
    judge(&report, 1.6, 0, 1, 5, 1);
    T_TRUE(strcmp(report.bottleneck, "step") != 0);
    judge(&report, 5, 8.5, 1, 10, 1);
    T_STR(report.bottleneck, "copy");
    T_NEAR(report.bottleneck_share, 0.85, 1e-9);
    judge(&report, 5, 7.5, 2, 15, 3);
    T_STR(report.bottleneck, "decode");
    T_NEAR(report.bottleneck_share, 0.75, 1e-9);
    T_STR(report.bottleneck_why, "steps wait for data 50.0 % of the time; decode takes 75 % of the "
                                 "busy time of 2 workers; its time on a CPU was not measured");
    judge(&report, 5, 0, 12, 5, 3);
    T_STR(report.bottleneck, "read");
    judge(&report, 5, 0, 1, 5, 14);
    T_STR(report.bottleneck, "resize+convert");
    judge(&report, 5, 0, 0, 0, 0);
    T_STR(report.bottleneck, "none");
    T_CONTAINS(report.bottleneck_why, "no stage of the workers was counted");
    report.stats.steps = 0;
    report_find_bottleneck(&report);
    T_STR(report.bottleneck, "none");
    T_STR(report.bottleneck_why, "no step ran");
    report.was_complete = true;
    report.stats.first_step = 250;
    report_find_bottleneck(&report);
    T_STR(report.bottleneck_why, "no step was left: the training was complete after 250 steps");
}

/* What a stage would sustain while its threads are busy, whatever the run came to. */
static void rates_of_stages_are_those_of_busy_threads(void)
{
    sluice_report report = {.stage_count = 0};
    char *text = NULL;

    judge(&report, 5, 4, 2, 15, 3);
    T_NEAR(report_sustained(&report, &report.stages[0]), 1000, 1e-9);       /* 2 of 20 s */
    T_NEAR(report_sustained(&report, &report.stages[1]), 1000 / 7.5, 1e-9); /* 15 of 20 s */
    T_NEAR(report_sustained(&report, &report.stages[3]), 250, 1e-9);        /* of batches of 10 */
    T_NEAR(report_sustained(&report, &report.stages[4]), 200, 1e-9);
    report.stages[4].busy_ns = 0;
    T_NEAR(report_sustained(&report, &report.stages[4]), 0, 0);
    report.ran = true;
    report.mode = "loop";
    report.transport = "none";
    T_OK(sluice_report_text(&report, &text));
    T_CONTAINS(text, "\ndecode                             133  75.0    0.0   0.0 ");
    T_CONTAINS(text, "\nstep                                 -   0.0    0.0   0.0 ");
    sluice_string_free(text);
}

static void the_text_fits_eighty_columns(void)
{
    sluice_report report = {.stage_count = 0};
    char *text = NULL;

    report.indexes =
        (sli_index_counts){.asked = 1000, .used = 1, .lacking = 1000, .above = 2, .needed = 1};
    judge(&report, 5, 4, 2, 15, 3);
    report.stats.samples = 123456789012;
    report.stats.steps = 1234567890;
    report.stages[2].name = "random_resized_crop+random_crop+convert";
    report.stages[2].p99_ns = 999.94e6;
    report.ran = true;
    report.mode = "direct";
    snprintf(report.mode_reason, sizeof(report.mode_reason),
             "a mode that was asked for has a reason that is rather long for a line");
    report.transport = "push";
    report.h2d_batches = 123456789;
    report.h2d_copies = 123456789;
    report.bytes_h2d = 1234567890123;
    report.bytes_read = 1234567890123;
    T_OK(sluice_report_text(&report, &text));
    kit_check_columns(text);
    sluice_string_free(text);
}

/* ---- advice ---------------------------------------------------------------------------------- */

/* More workers only where there are cores for them. */
static void spare_cores_are_advised_where_there_are_some(void)
{
    sluice_report report = {.cores_allowed = 8};

    judge(&report, 9.9, 0, 2, 15, 3);
    T_STR(report.advice[0].change, "workers");
    T_EQ(report.advice[0].workers, 8);
    T_NEAR(report.advice[0].rate_low, 0.8 * 400, 1); /* 20 s of work for 1000 samples */
    T_NEAR(report.advice[0].rate_high, 1.03 * 400, 1);
    T_STR(first(&report), "2 workers leave 6 cores idle");
    report.quota = 2.5;
    judge(&report, 9.9, 0, 2, 15, 3);
    T_STR(report.advice[0].change, "code");
    report.quota = 0;
    report.cores_allowed = 3;
    judge(&report, 5, 0, 2, 15, 3); /* the step takes half of the third */
    T_STR(report.advice[0].change, "code");
    report.has_kernels = true; /* on another device */
    judge(&report, 5, 0, 2, 15, 3);
    T_STR(first(&report), "2 workers leave 1 core idle");
}

/* The verdict is the first line of the text, and the advice the next ones. */
static void verdict_and_advice_are_printed(void)
{
    sluice_report report = {.cores_allowed = 8};
    char *text = NULL;

    judge(&report, 9.9, 0, 2, 15, 3);
    report.ran = true;
    report.mode = "loop";
    report.transport = "none";
    T_OK(sluice_report_text(&report, &text));
    T_EQ(strncmp(text, "bottleneck: decode (cpu): steps wait for data 99.0 %", 52), 0);
    T_CONTAINS(text,
               "\nadvice: workers 8: 320 to 411 samples/s in place of 100; 2 workers leave 6");
    T_CONTAINS(text, "\nadvice: code: decode takes 15000 us a sample: smaller images, ");
    sluice_string_free(text);
    T_OK(sluice_report_json(&report, &text));
    T_CONTAINS(text, "\"bottleneck\":{\"stage\":\"decode\",\"cause\":\"cpu\",\"share\":0.75,");
    T_CONTAINS(text, "\"advice\":\"2 workers leave 6 cores idle\"},"
                     "\"advice\":[{\"change\":\"workers\",\"workers\":8,\"rate_low\":3");
    T_CONTAINS(text, "{\"change\":\"code\",\"workers\":null,\"rate_low\":null,");
    sluice_string_free(text);
}

/* The cores of other ranks are not spare. */
static void cores_of_other_ranks_are_no_advice(void)
{
    sluice_report report = {.cores_allowed = 8, .core_count = 2};

    judge(&report, 9.9, 0, 2, 15, 3);
    T_STR(report.advice[0].change, "code");
    report.core_count = 3;
    judge(&report, 9.999, 0, 2, 15, 3);
    T_STR(first(&report), "2 workers leave 1 core idle");
    report.shared_cores = 3;
    judge(&report, 9.999, 0, 2, 15, 3);
    T_STR(report.advice[0].change, "code");
    report.shared_cores = 0;
    report.undivided = true;
    judge(&report, 9.999, 0, 2, 15, 3);
    T_STR(report.advice[0].change, "code");
}

/* An affinity excludes cores: they may be those of another rank of the machine. */
static void cores_beyond_an_affinity_are_advised_to_a_rank_alone(void)
{
    sluice_report report = {.bound = true, .machine_cores = 8};

    judge(&report, 9.9, 0, 2, 15, 3);
    T_STR(report.advice[0].change, "binding");
    T_STR(first(&report),
          "the process may use 2 cores of the machine: allow more (taskset, cpuset)");
    report.ranks = (sluice_ranks){.world = 4, .local_world = 4};
    report_find_bottleneck(&report);
    T_STR(report.advice[0].change, "code");
    report.ranks.local_world = 0; /* unknown */
    report_find_bottleneck(&report);
    T_STR(report.advice[0].change, "code");
    report.ranks.local_world = 1;
    report_find_bottleneck(&report);
    T_STR(report.advice[0].change, "binding");
}

/* What the clocks of stages, threads, operations and the machine say reaches the verdict. */
static void measured_times_reach_the_verdict(void)
{
    sluice_report report = {.stage_count = 0};
    report_thread threads[] = {
        {"sluice/w/0", 10, {true, true, 3, 6, 1}},
        {"sluice/device", 10, {true, true, 1, 3, 6}},
    };

    report.stage_times[2] = (report_stage_times){100, {true, true, 1.4, 0, 12.6}, 1e6};
    report.operation_count = 2;
    report.operations[0] = (report_operation){"resize", 2, 100, 2e9};
    report.operations[1] = (report_operation){"gaussian_blur", 2, 100, 6e9};
    judge(&report, 9.9, 0, 1, 5, 14);
    T_STR(report.bottleneck, "gaussian_blur");
    T_STR(report.bottleneck_cause, "blocked");
    T_NEAR(report.bottleneck_share, 0.7 * 0.75, 1e-9);
    T_CONTAINS(report.bottleneck_why, ": 10 % on a CPU, 0 % in the run queue, 90 % blocked");
    report.threads = threads;
    report.thread_count = 2;
    report.cpu_before_ns = 40000000000;
    report.cpu_ns = 44000000000;
    judge(&report, 0.1, 0, 1, 5, 3);
    T_STR(report.bottleneck, "step");
    T_STR(report.bottleneck_cause, "starved");
    T_CONTAINS(report.bottleneck_why, "the steps wait for a CPU 30 % of the time: other");
    T_CONTAINS(report.bottleneck_why, "this one 0.4 of 2.0");
    report.cpu_ns = 60000000000; /* threads without a row use the other core */
    report_find_bottleneck(&report);
    T_STR(report.bottleneck_cause, "device");
}

/* The measured wait for a serial map, not one that is guessed from its busy time. */
static void measured_lock_waits_reach_the_verdict(void)
{
    sluice_report report = {.stage_count = 0};

    judge(&report, 9.9, 0, 1, 5, 8);
    report.pipeline.kinds[2] = SLI_STAGE_USER | SLI_STAGE_SERIAL;
    report.stages[2].lock_wait_ns = 3e9;
    report_find_bottleneck(&report);
    T_STR(report.bottleneck, "resize+convert");
    T_STR(report.bottleneck_cause, "lock");
    T_CONTAINS(first(&report), "runs one sample at a time");
    report.stages[2].lock_wait_ns = 2e9;
    report_find_bottleneck(&report);
    T_STR(report.bottleneck_cause, "cpu");
}

/* Workers that were seen running had a CPU for as long as the process used one. */
static void without_clocks_the_time_of_the_process_tells(void)
{
    sluice_report report = {.cpu_ns = 4000000000};

    report.pipeline.waits[1] = (wait_counts){.running = 20};
    judge(&report, 9.9, 0, 0, 16, 1);
    T_STR(report.bottleneck, "decode");
    T_STR(report.bottleneck_cause, "starved");
    T_CONTAINS(report.bottleneck_why,
               "workers wait for a CPU 71 % of the time that they are ready to run: other ");
    report.stats.steps = 2; /* that is why there are few */
    report_find_bottleneck(&report);
    T_STR(report.bottleneck_cause, "starved");
    report.cpu_ns = 18000000000;
    report_find_bottleneck(&report);
    T_STR(report.bottleneck_cause, "none");
    T_CONTAINS(report.bottleneck_why, "too short to judge: 2 steps in 10.00 s");
    report.stats.steps = 100;
    report_find_bottleneck(&report);
    T_STR(report.bottleneck_cause, "cpu");
}

/* A rank waits for rank 3 in agree. */
static void wait_for_ranks(sluice_report *report, double agree_s, double late_s, rank_delay delay)
{
    report->waits = (report_waits){.known = true,
                                   .agree_seconds = agree_s,
                                   .late_seconds = late_s,
                                   .meetings = 40,
                                   .count = late_s > 0,
                                   .late = {{3, late_s, 38, delay}}};
}

static void waits_for_ranks_are_not_the_fault_of_the_step(void)
{
    sluice_report report = {.stage_count = 0};
    char *text = NULL;

    wait_for_ranks(&report, 4.5, 4.1, DELAY_DATA);
    judge(&report, 0.4, 0, 1, 5, 1);
    T_STR(report.bottleneck, "ranks");
    T_NEAR(report.bottleneck_share, 0.45, 1e-9);
    T_STR(report.bottleneck_why,
          "ranks wait for rank 3: 41 % of the time; its steps wait for data");
    T_STR(first(&report), "see the report of rank 3 for what limits all ranks");
    report.ran = true;
    report.transport = "none";
    T_OK(sluice_report_text(&report, &text));
    T_CONTAINS(text, "\nranks: in agree 45.0 % of the time, to wait for rank 3: 41.0 %");
    T_CONTAINS(text, "this rank came last 0 of 40 times");
    sluice_string_free(text);
    judge(&report, 4.6, 0, 1, 18, 1); /* it waits for data longer */
    T_STR(report.bottleneck, "decode");
    wait_for_ranks(&report, 0.9, 0.9, DELAY_STEP);
    judge(&report, 0.4, 0, 1, 5, 1);
    T_STR(report.bottleneck, "step");
}

static void an_agree_that_takes_long_itself_is_advised_to_be_called_less(void)
{
    sluice_report report = {.stage_count = 0};

    wait_for_ranks(&report, 3, 0.6, DELAY_HOST);
    judge(&report, 0.4, 0, 1, 5, 1);
    T_STR(report.bottleneck, "ranks");
    T_STR(report.bottleneck_why,
          "agree takes 30 % of the time; 20 % of that is the wait for the last rank");
    T_CONTAINS(first(&report), "longer sinks (sink_size)");
}

/* Steps wait in two threads; the waits of workers are apart. */
static void clocks_of_threads_reach_the_verdict(void)
{
    static report_thread threads[] = {
        {.name = "sluice/w/0", .seconds = 2, .times = {.cpu_s = 1, .runqueue_s = 0.9}},
        {.name = "sluice/w/1", .seconds = 2, .times = {.cpu_s = 0.5, .runqueue_s = 0.1}},
        {.name = "sluice/watchdog", .seconds = 2, .times = {.runqueue_s = 1.7}},
        {.name = "sluice/device", .times = {.cpu_s = 0.8, .runqueue_s = 0.6}},
        {.name = "caller", .times = {.cpu_s = 0.1, .runqueue_s = 0.2}},
    };
    static sluice_report report = {
        .thread_count = 5, .threads = threads, .stats = {.seconds = 2, .steps = 1}};
    verdict_facts facts = {0};

    verdict_collect(&report, &facts);
    T_NEAR(facts.run.queued, 0.4, 1e-9);
    T_NEAR(facts.cores.running, 0.375, 1e-9);
    T_NEAR(facts.cores.queued, 0.25, 1e-9);
    T_TRUE(!facts.cores.has_others);
    report.machine = (report_machine){.has_busy = true, .busy_cores = 1.75};
    report.machine_cores = 2;
    report.cpu_ns = 2500000000;
    verdict_collect(&report, &facts);
    T_TRUE(facts.cores.has_others);
    T_NEAR(facts.cores.others, 0.5, 1e-9);
}

const t_test advice_tests[] = {
    T_TEST(the_verdict_follows_from_the_figures),
    T_TEST(rates_of_stages_are_those_of_busy_threads),
    T_TEST(the_text_fits_eighty_columns),
    T_TEST(spare_cores_are_advised_where_there_are_some),
    T_TEST(verdict_and_advice_are_printed),
    T_TEST(cores_of_other_ranks_are_no_advice),
    T_TEST(cores_beyond_an_affinity_are_advised_to_a_rank_alone),
    T_TEST(measured_times_reach_the_verdict),
    T_TEST(measured_lock_waits_reach_the_verdict),
    T_TEST(without_clocks_the_time_of_the_process_tells),
    T_TEST(waits_for_ranks_are_not_the_fault_of_the_step),
    T_TEST(an_agree_that_takes_long_itself_is_advised_to_be_called_less),
    T_TEST(clocks_of_threads_reach_the_verdict),
    T_END,
};
