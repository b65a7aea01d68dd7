/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of runs whose clocks went back or far ahead: every share is a share, and the report says
 * what happened. */
#include <ctype.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "report_bounds.h"
#include "report_stage_times.h"
#include "report_threads.h"
#include "stage_clock_int.h"
#include "testing.h"
#include "train_kit.h"
#include "verdict.h"

static const char warning[] = "\nwarning: a clock went back or far ahead during the run, or ";

/* ---- looking at a report ----------------------------------------------------------------------
 */

static bool ends_in(const char *end, size_t length, const char *with)
{
    return length >= strlen(with) && strncmp(end - strlen(with), with, strlen(with)) == 0;
}

/* Fails if a number is below 0, a share above 1, or a figure that is always known is null. */
static void check_json(const char *json)
{
    static const char *const known[] = {"busy_share",      "wait_input_share",
                                        "wait_room_share", "sustained_samples_per_s",
                                        "data_wait_share", "lock_wait_share",
                                        "share",           "p50_us",
                                        "max_us",          "wall_s",
                                        "samples_per_s",   "ns_per_tick",
                                        "us_per_sample",   "us",
                                        "batches_per_s",   "cores"};
    uint32_t shares = 0;

    for (const char *at = strstr(json, "\":"); at != NULL; at = strstr(at + 1, "\":")) {
        const char *value = at + 2;
        size_t length = 0;

        while (at - length > json && at[-1 - (ptrdiff_t)length] != '"') {
            length++;
        }
        for (size_t i = 0; i < COUNT(known); i++) {
            if (strlen(known[i]) == length && ends_in(at, length, known[i]) &&
                strncmp(value, "null", 4) == 0) {
                T_FAIL_("%s is null: %.300s", known[i], at > json + 200 ? at - 200 : json);
            }
        }
        if (*value != '-' && !isdigit((unsigned char)*value)) {
            continue;
        }
        if (!(atof(value) >= 0) ||
            ((ends_in(at, length, "share") || ends_in(at, length, "_pressure")) &&
             !(atof(value) <= 1.000001))) {
            T_FAIL_("\"%.60s\" is out of bounds", at - length);
        }
        shares += ends_in(at, length, "share");
    }
    T_TRUE(shares > 10);
}

/* The number that ends before `end`, in a line that begins at `line`; false: there is none. */
static bool number_before(const char *line, const char *end, double *number_out)
{
    const char *at = end;

    while (at > line && (isdigit((unsigned char)at[-1]) || at[-1] == '.')) {
        at--;
    }
    *number_out = at < end ? atof(at) : 0;
    if (at > line && at < end && at[-1] == '-' && (at - 1 == line || at[-2] == ' ')) {
        *number_out = -*number_out;
    }
    return at < end;
}

/* Checks the columns in percent of a table, by the line of its head and one of its rows. */
static void check_row(const char *head, size_t head_length, const char *row, size_t length)
{
    for (size_t i = 0; i < head_length && i < length; i++) {
        double number;

        /* Numbers that are wider than their column are in no one. */
        if (head[i] == '%' && !isdigit((unsigned char)row[i + 1]) &&
            number_before(row, row + i + 1, &number) && !(number >= 0 && number <= 100)) {
            T_FAIL_("%.*s\n%.*s", (int)head_length, head, (int)length, row);
        }
    }
}

static bool is_head(const char *line)
{
    static const char *const heads[] = {"time   ", "stage   ", "busy time of", "threads   "};

    for (size_t i = 0; i < COUNT(heads); i++) {
        if (strncmp(line, heads[i], strlen(heads[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* Each share is 0 to 100 %, and nothing is printed as no number or infinity. */
static void check_text(const char *text)
{
    const char *head = NULL;
    size_t head_length = 0;
    uint32_t tables = 0;

    for (const char *line = text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");

        if (is_head(line)) {
            head = line;
            head_length = length;
            tables++;
        } else if (strncmp(line, "queue ", 6) == 0) {
            head = NULL; /* the end of the tables of stages */
        } else if (head != NULL) {
            check_row(head, head_length, line, length);
        }
        for (size_t i = 0; i < length; i++) {
            const bool begins = i == 0 || !isalnum((unsigned char)line[i - 1]);
            double share;

            if (begins && (strncmp(line + i, "nan", 3) == 0 || strncmp(line + i, "inf", 3) == 0) &&
                !isalnum((unsigned char)line[i + 3])) {
                T_FAIL_("%.*s", (int)length, line);
            }
            if (line[i] == '%' && i > 1 && line[i - 1] == ' ' &&
                number_before(line, line + i - 1, &share) && !(share >= 0 && share <= 100)) {
                T_FAIL_("%.*s", (int)length, line);
            }
        }
        line += length + (line[length] == '\n');
    }
    T_TRUE(tables >= 3);
}

/* Checks all that the report says. */
static void check_report(const sluice_report *report, bool jumped)
{
    char *text = NULL;
    char *json = NULL;

    T_OK(sluice_report_text(report, &text));
    T_OK(sluice_report_json(report, &json));
    check_text(text);
    check_json(json);
    T_TRUE(report->bottleneck_share >= 0 && report->bottleneck_share <= 1);
    if (jumped != (strstr(text, warning) != NULL)) {
        T_FAIL_("%s a warning: %s", jumped ? "no" : "has", text);
    }
    T_CONTAINS(json, jumped ? "\"clock_jumped\":true," : "\"clock_jumped\":false,");
    sluice_string_free(text);
    sluice_string_free(json);
}

/* ---- a clock that jumps during a run ----------------------------------------------------------
 */

static _Atomic int64_t offset_ns;
static int64_t jump_ns; /* at the 50th step */

static int64_t jumping_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + atomic_load(&offset_ns);
}

static void jump_once(kit *k, const sluice_step *step)
{
    (void)step;
    if (atomic_load(&k->calls) == 50) {
        atomic_fetch_add(&offset_ns, jump_ns);
    }
}

/* A run whose clock jumps; by nothing: a run as any other. */
static void run_with_jump(kit *k, int64_t ns)
{
    kit_init(k);
    k->config.workers = 2;
    k->in_step = jump_once;
    jump_ns = ns;
    atomic_store(&offset_ns, INT64_C(1000000000000));
    sli_clock_replace(jumping_clock);
    (void)kit_run(k);
    sli_clock_replace(NULL);
    T_OK(k->status);
}

static void a_run_whose_clock_jumps_has_a_report(void)
{
    static const int64_t jumps_ns[] = {0, 1000000000000, -1000000, -900000000000};

    for (size_t i = 0; i < COUNT(jumps_ns); i++) {
        kit k;

        run_with_jump(&k, jumps_ns[i]);
        T_EQ(k.report->stats.steps, 100);
        T_TRUE(k.report->stats.seconds >= 0);
        check_report(k.report, i == COUNT(jumps_ns) - 1 || k.report->clock_jumped);
        if (i == 0) {
            T_TRUE(!k.report->clock_jumped);
        }
        kit_fini(&k);
    }
}

/* ---- counters ---------------------------------------------------------------------------------
 */

/* What a clock that jumps can leave in a counter of ticks, nanoseconds or seconds. */
static const double wrong[] = {
    -1, -1e18, 1e18, 1.8446744073709552e19, (double)INFINITY, -(double)INFINITY, (double)NAN};

static void set_stages(sluice_report *report, double value)
{
    for (uint32_t i = 0; i < report->stage_count; i++) {
        sli_stage_summary *stage = &report->stages[i];
        double *const times[] = {&stage->busy_ns,     &stage->wait_input_ns, &stage->wait_room_ns,
                                 &stage->p50_ns,      &stage->p99_ns,        &stage->max_ns,
                                 &stage->cpu_ns,      &stage->runqueue_ns,   &stage->measured_ns,
                                 &stage->lock_wait_ns};

        for (size_t k = 0; k < COUNT(times); k++) {
            *times[k] = value * 1e9;
        }
        stage->measured = 10;
    }
}

static void set_clocks_of_stages(sluice_report *report, double value)
{
    for (uint32_t i = 0; i < report->stage_count; i++) {
        report->stages[i].measured = 10;
        report->stages[i].measured_ns = report->stages[i].busy_ns;
        report->stages[i].cpu_ns = value * 1e9;
        report->stages[i].runqueue_ns = -value * 1e9;
    }
}

static void set_operations(sluice_report *report, double value)
{
    report->operation_count = 2;
    for (uint32_t i = 0; i < 2; i++) {
        report->operations[i] = (report_operation){"resize", 0, 10, value * 1e9};
    }
}

static void set_seconds(sluice_report *report, double value)
{
    report->stats.seconds = value;
}

static void set_waits(sluice_report *report, double value)
{
    report->wait_ns = value * 1e9;
    report->replay_seconds = value;
    report->stats.validation_seconds = value;
    report->waits = (report_waits){.known = true,
                                   .agree_seconds = value,
                                   .late_seconds = -value,
                                   .count = 1,
                                   .late = {{3, value, 38, DELAY_DATA}}};
}

static void set_host(sluice_report *report, double value)
{
    report->host_times = (report_host_times){true, value, value, value, value, value, value};
}

static void set_launch(sluice_report *report, double value)
{
    report->host_times.launch_s = value;
}

static void set_cpu(sluice_report *report, double value)
{
    report->cpu_ns = value > 0 ? INT64_MAX / 4 : -INT64_MAX / 4;
}

static void (*const setters[])(sluice_report *report, double value) = {
    set_stages, set_clocks_of_stages, set_operations, set_seconds, set_waits,
    set_host,   set_launch,           set_cpu};

static void wrong_times_leave_no_wrong_share(void)
{
    sluice_report *report;
    kit k;

    kit_init(&k);
    k.config.workers = 2;
    T_OK(kit_run(&k));
    check_report(k.report, false);
    report = malloc(sizeof(*report));
    CU_ASSERT_FATAL(report != NULL);
    for (size_t i = 0; i < COUNT(setters) * COUNT(wrong); i++) {
        *report = *k.report;
        for (uint32_t s = 0; s < report->stage_count; s++) {
            report->stages[s].name = report->stage_names[s];
        }
        setters[i / COUNT(wrong)](report, wrong[i % COUNT(wrong)]);
        report->clock_jumped = false;
        report_bound(report);
        report_find_bottleneck(report);
        check_report(report, report->clock_jumped);
    }
    free(report);
    kit_fini(&k);
}

/* Also if the jump is far less than the sum: what is far outside of the run is told. */
static void a_report_tells_of_a_jump(void)
{
    static sluice_report report = {
        .stage_count = 1,
        .stages = {{.name = "decode", .samples = 10, .threads = 2, .busy_ns = 15e9}},
        .stats = {.steps = 10, .seconds = 10},
    };

    report_bound(&report);
    T_TRUE(!report.clock_jumped);
    T_NEAR(report.stages[0].busy_ns, 15e9, 0);
    report.stages[0].busy_ns = 20.5e9; /* two clocks are read one after the other */
    report_bound(&report);
    T_TRUE(!report.clock_jumped);
    T_NEAR(report.stages[0].busy_ns, 20e9, 0);
    report.stages[0].busy_ns = 40e9;
    report_bound(&report);
    T_TRUE(report.clock_jumped);
    T_NEAR(report.stages[0].busy_ns, 20e9, 0);
}

static void ticks_that_went_back_are_no_time(void)
{
    const char *names[] = {"decode"};
    sli_stage_summary summary;
    sli_profile profile;

    T_OK(sli_profile_init(&profile, names, 1, 2));
    sli_counters_item(sli_profile_cell(&profile, 0, 0), (uint64_t)-5000, 0);
    sli_counters_item(sli_profile_cell(&profile, 0, 1), 3000, 0);
    profile.stop_ticks = profile.start_ticks + 1000000;
    profile.stop_ns = profile.start_ns + 1000000;
    sli_profile_summarise(&profile, 0, &summary);
    T_TRUE(summary.jumped);
    T_NEAR(summary.busy_ns, 3000, 0);
    T_NEAR(summary.max_ns, 3000, 0);
    profile.stop_ns = profile.start_ns - 1000000;
    sli_profile_summarise(&profile, 0, &summary);
    T_NEAR(summary.busy_ns, 0, 0);
    profile.stop_ns = profile.start_ns + 1000000;
    profile.stop_ticks = profile.start_ticks - 1000000;
    T_NEAR(sli_profile_ns_per_tick(&profile), 0, 0);
    sli_profile_fini(&profile);
}

/* At the start of an item, the clocks of the thread were an hour ahead. */
static void clocks_of_a_thread_that_went_back_are_no_time(void)
{
    const char *names[] = {"decode"};
    sli_stage_clock clock;
    sli_profile profile;
    sli_counters *cell;

    T_OK(sli_profile_init(&profile, names, 1, 1));
    cell = sli_profile_cell(&profile, 0, 0);
    sli_stage_clock_init(&clock);
    for (int i = 0; i < 200; i++) {
        sli_stage_clock_begin(&clock, 1, cell);
        clock.edge.cpu_ns += INT64_C(3600000000000);
        clock.edge.runqueue_ns += INT64_C(3600000000000);
        clock.edge_ticks += UINT64_C(1) << 50;
        sli_stage_clock_enter(&clock, NULL);
    }
    sli_stage_clock_fini(&clock);
    T_TRUE(cell->measured > 0);
    T_EQ(cell->cpu_ns, 0);
    T_EQ(cell->runqueue_ns, 0);
    T_EQ(cell->measured_ticks, 0);
    sli_profile_fini(&profile);
}

/* Clocks of a thread that jump ahead give no more than the time of the thread. */
static void a_thread_has_no_more_than_its_time(void)
{
    static const start_clocks started = {
        .ns = 2000000000, .thread_count = 1, .threads = {{.id = 7, .has_cpu = true}}};
    const sli_thread_times now = {.id = 7,
                                  .has_cpu = true,
                                  .has_runqueue = true,
                                  .at_ns = 4000000000,
                                  .cpu_ns = 500000000,
                                  .runqueue_ns = INT64_MAX};
    sli_thread_times ahead = now;
    report_thread thread = {.seconds = 0};

    report_thread_times(&started, &now, false, &thread);
    T_NEAR(thread.times.cpu_s, 0.5, 1e-9);
    T_NEAR(thread.times.runqueue_s, 1.5, 1e-9);
    T_NEAR(thread.times.blocked_s, 0, 0);
    ahead.cpu_ns = INT64_MAX;
    thread = (report_thread){.seconds = 0};
    report_thread_times(&started, &ahead, false, &thread);
    T_NEAR(thread.times.cpu_s, 2, 1e-9);
    T_NEAR(thread.times.runqueue_s, 0, 0);
    ahead.at_ns = 1000000000; /* before the start */
    thread = (report_thread){.seconds = 0};
    report_thread_times(&started, &ahead, false, &thread);
    T_NEAR(thread.seconds, 0, 0);
    T_NEAR(thread.times.blocked_s, 0, 0);
}

static void a_series_has_shares_and_rates_also_if_a_clock_went_back(void)
{
    static const run_series_row rows[] = {
        {.ns = 2000000000, .cpu_ns = 5, .wait_s = 1, .batches = 7},
        {.ns = 2000000000, .cpu_ns = 1, .wait_s = 0, .batches = 9},
        {.ns = 1000000000, .cpu_ns = 9, .wait_s = 9, .batches = 9},
        {.ns = 3000000000, .cpu_ns = -9, .wait_s = -9, .batches = 9},
        {.ns = 4000000000, .cpu_ns = 9, .wait_s = (double)NAN, .batches = 9}};

    for (size_t i = 0; i < COUNT(rows) * COUNT(rows); i++) {
        const run_series_row *before = &rows[i / COUNT(rows)];
        const run_series_row *row = &rows[i % COUNT(rows)];
        run_series_change change;

        if (row->batches < before->batches) {
            continue; /* a count is no clock */
        }
        change = run_series_between(before, row);
        T_TRUE(change.data_wait_share >= 0 && change.data_wait_share <= 1);
        T_TRUE(change.cores >= 0 && isfinite(change.cores));
        T_TRUE(change.batches_per_s >= 0 && isfinite(change.batches_per_s));
    }
}

const t_test clock_jumps_tests[] = {
    T_TEST(a_run_whose_clock_jumps_has_a_report),
    T_TEST(wrong_times_leave_no_wrong_share),
    T_TEST(a_report_tells_of_a_jump),
    T_TEST(ticks_that_went_back_are_no_time),
    T_TEST(clocks_of_a_thread_that_went_back_are_no_time),
    T_TEST(a_thread_has_no_more_than_its_time),
    T_TEST(a_series_has_shares_and_rates_also_if_a_clock_went_back),
    T_END,
};
