/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict, the rates and the advice of reports, from figures. */
#include "report_data.h"
#include "testing.h"
#include "text_int.h"

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
    report->bottleneck_advice[0] = '\0';
    report_find_bottleneck(report);
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
                                 "busy time of 2 workers");
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
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        if (strcspn(line, "\n") > SLI_COLUMNS) {
            T_FAIL_("%zu columns: %.*s", strcspn(line, "\n"), (int)strcspn(line, "\n"), line);
        }
    }
    sluice_string_free(text);
}

/* ---- advice ---------------------------------------------------------------------------------- */

/* On a machine without spare cores: what spares decoding, by what it would spare. */
static void decoding_is_advised_to_do_less(void)
{
    sluice_report report = {.stage_count = 0};

    /* plain: 0.7 * 100 + 0.3 * 50 = 85; indexed: 1.15 * 50; of 75 % of the time: 1 / (1 - 0.75 *
     * 0.324) */
    report.indexes = (sli_index_counts){.lacking = 1000, .above = 100000, .needed = 50000};
    judge(&report, 9.9, 0, 2, 15, 3);
    T_STR(
        report.bottleneck_advice,
        "image_folder index=DIR (from the second pass on) or `sluice pack`: the crops need 50 % of "
        "the pixels down to their lower edge; about 132 samples/s in place of 100");
    judge(&report, 1, 0, 2, 15, 3); /* steps that would take no more than 111 a second */
    T_CONTAINS(report.bottleneck_advice, "about 111 samples/s in place of 100");
    report.source = "webdataset";
    judge(&report, 9.9, 0, 2, 15, 3);
    T_EQ(strncmp(report.bottleneck_advice, "`sluice pack`: the crops need 50 %", 34), 0);
    report.source = "image_folder";
    report.indexes.asked = 1000;
    judge(&report, 9.9, 0, 2, 15, 3);
    T_CONTAINS(report.bottleneck_advice, "later passes will use the indexes");
    report.indexes = (sli_index_counts){.lacking = 1000, .above = 100000, .needed = 99000};
    judge(&report, 9.9, 0, 2, 15, 3); /* no crop to speak of */
    T_STR(report.bottleneck_advice,
          "no core is idle, and decode does 133 samples/s at most: more cores, or smaller images "
          "(`sluice pack --max-side N`, lossy)");
}

/* More workers only where there are cores for them, and where that gains more. */
static void spare_cores_are_advised_where_there_are_some(void)
{
    sluice_report report = {.cores_allowed = 8};

    report.indexes = (sli_index_counts){.lacking = 1000, .above = 100000, .needed = 50000};
    judge(&report, 9.9, 0, 2, 15, 3);
    T_STR(report.bottleneck_advice,
          "more workers: 2 of them leave 6 cores idle; up to 400 samples/s in place of 100");
    report.quota = 2.5;
    judge(&report, 9.9, 0, 2, 15, 3);
    T_CONTAINS(report.bottleneck_advice, "index=DIR");
    report.quota = 0;
    report.cores_allowed = 3;
    judge(&report, 5, 0, 2, 15, 3); /* the step takes half of the third */
    T_CONTAINS(report.bottleneck_advice, "index=DIR");
    report.has_kernels = true; /* on another device */
    judge(&report, 5, 0, 2, 15, 3);
    T_CONTAINS(report.bottleneck_advice, "2 of them leave 1 core idle; up to 150 samples/s");
}

/* The cores of other ranks are not spare. */
static void cores_of_other_ranks_are_no_advice(void)
{
    sluice_report report = {.cores_allowed = 8, .core_count = 2};

    judge(&report, 9.9, 0, 2, 15, 3);
    T_CONTAINS(report.bottleneck_advice, "no core is idle, and decode does ");
    report.core_count = 3;
    judge(&report, 9.999, 0, 2, 15, 3);
    T_CONTAINS(report.bottleneck_advice, "more workers: 2 of them leave 1 core idle");
    report.shared_cores = 3;
    judge(&report, 9.999, 0, 2, 15, 3);
    T_CONTAINS(report.bottleneck_advice, "no core is idle, and decode does ");
    report.shared_cores = 0;
    report.undivided = true;
    judge(&report, 9.999, 0, 2, 15, 3);
    T_CONTAINS(report.bottleneck_advice, "no core is idle, and decode does ");
}

static void other_stages_are_advised_by_what_they_did(void)
{
    sluice_report report = {.bytes_read = 200000000};

    judge(&report, 5, 0, 12, 5, 3);
    T_STR(report.bottleneck_advice, "a file takes 23 us to read, 20.0 MB/s in all: `sluice pack` "
                                    "spares opening and closing each");
    report.ahead_bytes = 150000000;
    judge(&report, 5, 0, 12, 5, 3);
    T_CONTAINS(report.bottleneck_advice, "the disk gives 20.0 MB/s: a faster one");
    report.cores_allowed = 3;
    judge(&report, 9.999, 0, 1, 15, 3); /* a step that does nothing takes no core */
    T_CONTAINS(report.bottleneck_advice, "more workers: 2 of them leave 1 core idle");
    report.cores_allowed = 2;
    judge(&report, 5, 0, 1, 5, 14);
    T_STR(report.bottleneck_advice,
          "no core is idle, and resize+convert does 143 samples/s at most: more cores, or a "
          "smaller size");
    report.has_kernels = true;
    judge(&report, 5, 0, 1, 5, 14);
    T_CONTAINS(report.bottleneck_advice, "offload=device for normalize, to_dtype and to_chw");
    judge(&report, 5, 8.5, 1, 10, 1);
    T_STR(report.bottleneck_advice, "copies move 5.0 MB/s, 50.0 kB a sample: send fewer bytes, by "
                                    "offload=device for normalize, to_dtype and to_chw");
}

static void check_hand_over(const sluice_report *report)
{
    T_STR(report->bottleneck, "none");
    T_STR(report->bottleneck_why, "steps wait for data 50.0 % of the time, and workers are busy 30 "
                                  "% of it: no stage is the limit, but the hand-over of batches");
    T_STR(report->bottleneck_advice,
          "larger batches, which are handed from the workers to the steps less often");
}

/* Stages that do next to nothing: the run waits for the hand-over of batches. */
static void idle_workers_are_not_the_limit(void)
{
    sluice_report report = {.cores_allowed = 2};

    judge(&report, 5, 0, 1, 0, 5);
    check_hand_over(&report);
    judge(&report, 5, 0, 1, 4, 1);
    check_hand_over(&report);
    report.cores_allowed = 8; /* more workers would wait, too */
    judge(&report, 5, 0, 1, 0, 5);
    check_hand_over(&report);
    report.has_kernels = true;
    judge(&report, 5, 0, 1, 0, 5);
    check_hand_over(&report);
    judge(&report, 5, 0, 5, 0, 1); /* one worker may read for all, in sequence */
    T_CONTAINS(report.bottleneck_advice, "a file takes 23 us to read");
}

static void fed_steps_are_advised_to_leave_the_pipeline(void)
{
    sluice_report report = {.core_count = 2};

    judge(&report, 0.1, 0, 1, 5, 3);
    T_STR(report.bottleneck_advice, "nothing to gain in the pipeline; 1 of 2 workers would do, and "
                                    "leave 1 of 2 cores to the step alone");
    report.has_kernels = true; /* a GPU runs the step */
    judge(&report, 0.1, 0, 1, 5, 3);
    T_STR(report.bottleneck_advice, "nothing to gain in the pipeline");
    report.has_kernels = false;
    report.core_count = 1; /* two workers share it with the step */
    judge(&report, 0.1, 0, 1, 5, 3);
    T_STR(report.bottleneck_advice, "nothing to gain in the pipeline");
    report.core_count = 2;
    judge(&report, 0.1, 0, 1, 9, 3);
    T_STR(report.bottleneck_advice, "nothing to gain in the pipeline");
    judge(&report, 0.1, 0, 1, 5, 3);
    report.worker_count = 1; /* fewer there cannot be */
    report_find_bottleneck(&report);
    T_STR(report.bottleneck_advice, "nothing to gain in the pipeline");
    report.stages[4].busy_ns = 1e6;
    report_find_bottleneck(&report);
    T_STR(report.bottleneck_advice, "steps take 0.0 % of the time: the run is too short for a "
                                    "verdict, or the host spends the time between steps");
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
    T_STR(report.bottleneck_advice, "see the report of rank 3 for what limits all ranks");
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
          "agree takes 30 % of the time, 20 % of it to wait for a rank that comes last");
    T_CONTAINS(report.bottleneck_advice, "longer sinks (sink_size)");
}

const t_test advice_tests[] = {
    T_TEST(the_verdict_follows_from_the_figures),
    T_TEST(rates_of_stages_are_those_of_busy_threads),
    T_TEST(the_text_fits_eighty_columns),
    T_TEST(decoding_is_advised_to_do_less),
    T_TEST(spare_cores_are_advised_where_there_are_some),
    T_TEST(cores_of_other_ranks_are_no_advice),
    T_TEST(other_stages_are_advised_by_what_they_did),
    T_TEST(idle_workers_are_not_the_limit),
    T_TEST(fed_steps_are_advised_to_leave_the_pipeline),
    T_TEST(waits_for_ranks_are_not_the_fault_of_the_step),
    T_TEST(an_agree_that_takes_long_itself_is_advised_to_be_called_less),
    T_END,
};
