/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict of recorded counters on recorded machines: with a quota, beside other processes, and
 * where the kernel hides the time in the run queue. */
#include "cpu_quota_int.h"
#include "machine_kit.h"
#include "report_stage_times.h"
#include "report_threads.h"
#include "testing.h"
#include "verdict.h"

enum { UNKNOWN = -1, MAP = SLI_STAGE_USER, DECODE = SLI_STAGE_DECODE, READ = SLI_STAGE_READ };

/* What the workers counted in 10 s in one stage. */
typedef struct counters {
    const char *name;
    uint32_t kind;
    double busy_s;
    double cpu;      /* share of it */
    double runqueue; /* UNKNOWN: no schedstat */
    wait_counts waits;
} counters;

typedef struct recorded_run {
    const char *machine;
    uint32_t workers;
    double used; /* cores, on average */
    counters stages[2];
    const char *stage;
    const char *cause;
    const char *why; /* a part of the text */
} recorded_run;

static const recorded_run runs[] = {
    {"v2_quota",
     2,
     0.5,
     {{"decode", DECODE, 19, 0.25, 0.75, {0}}},
     "decode",
     "starved",
     "the CPU quota of 0.5 cores stopped the process in 90 of 100 periods"},
    {"v1_quota",
     2,
     0.2,
     {{"decode", DECODE, 19, 0.1, 0.9, {0}}},
     "decode",
     "starved",
     "the CPU quota of 0.2 cores stopped the process in 41 of 41 periods"},
    {"v2_parent",
     2,
     1.5,
     {{"mymap", MAP, 19, 0.75, 0.25, {0}}},
     "mymap",
     "starved",
     "the CPU quota of 1.5 cores stopped the process in 75 of 100 periods"},
    /* A quota tells without schedstat, too. */
    {"v2_quota",
     2,
     0.5,
     {{"mymap", MAP, 19, 0.25, UNKNOWN, {0}}},
     "mymap",
     "starved",
     "the CPU quota of 0.5 cores"},
    {"neighbours",
     2,
     0.6,
     {{"decode", DECODE, 19, 0.3, 0.7, {0}}},
     "decode",
     "starved",
     "workers wait for a CPU 70 % of the time that they are ready to run: other processes use"},
    /* Pressure alone tells of a map that gets a part of a core, and not of one that sleeps. */
    {"neighbours",
     2,
     0.8,
     {{"mymap", MAP, 19, 0.4, UNKNOWN, {0}}},
     "mymap",
     "starved",
     "tasks of the machine wait for a CPU 78 % of the time: other processes use the cores"},
    {"neighbours",
     2,
     0.1,
     {{"mymap", MAP, 19, 0.01, UNKNOWN, {0}}},
     "mymap",
     "blocked",
     ": 1 % on a CPU, 99 % blocked or in the run queue (no schedstat tells which)"},
    {"container",
     2,
     1.9,
     {{"decode", DECODE, 19, 0.98, UNKNOWN, {0}}},
     "decode",
     "cpu",
     ": 98 % on a CPU and, estimated without schedstat, 2 % in the run queue, 0 % blocked"},
    /* Decoding never sleeps. */
    {"container",
     2,
     0.6,
     {{"decode", DECODE, 19, 0.3, UNKNOWN, {0}}},
     "decode",
     "starved",
     "workers' time; the time in the run queue is estimated"},
    {"container",
     16,
     1.9,
     {{"decode", DECODE, 155, 0.12, UNKNOWN, {0}}},
     "decode",
     "starved",
     "16 workers share 2.0 cores"},
    /* Decoding beside a map tells how long the map waits for a CPU. */
    {"container",
     2,
     0.8,
     {{"decode", DECODE, 5, 0.4, UNKNOWN, {0}}, {"mymap", MAP, 14, 0.4, UNKNOWN, {0}}},
     "mymap",
     "starved",
     "workers wait for a CPU 60 % of the time that they are ready to run: other processes use"},
    {"container",
     2,
     0.3,
     {{"decode", DECODE, 2, 0.95, UNKNOWN, {0}}, {"mymap", MAP, 17, 0.01, UNKNOWN, {0}}},
     "mymap",
     "blocked",
     ": 1 % on a CPU and, estimated without schedstat, 0 % in the run queue, 99 % blocked"},
    /* System calls of a map tell whether it sleeps. */
    {"container",
     2,
     0.2,
     {{"mymap", MAP, 19, 0.1, UNKNOWN, {.running = 2, .asleep = 18}}},
     "mymap",
     "blocked",
     "0 % in the run queue, 90 % blocked, but not on a lock"},
    {"container",
     2,
     0.6,
     {{"mymap", MAP, 19, 0.3, UNKNOWN, {.running = 20}}},
     "mymap",
     "starved",
     "workers wait for a CPU 70 % of the time"},
    {"container",
     6,
     0.2,
     {{"mymap", MAP, 59, 0.05, UNKNOWN, {.locked = 18, .asleep = 2}}},
     "mymap",
     "lock",
     "(futex)"},
    /* Nothing tells: the report says so. */
    {"container",
     2,
     0.1,
     {{"mymap", MAP, 19, 0.01, UNKNOWN, {0}}},
     "mymap",
     "blocked",
     ": 1 % on a CPU, 99 % blocked or in the run queue (no schedstat tells which); "
     "whether on a lock is not known"},
    {"container",
     2,
     0.1,
     {{"read", READ, 19, 0.05, UNKNOWN, {0}}},
     "read",
     "storage",
     ": 5 % on a CPU, 95 % blocked or in the run queue (no schedstat tells which)"},
    {"container",
     2,
     0.1,
     {{"read", READ | MAP, 19, 0.05, UNKNOWN, {0}}},
     "read",
     "blocked",
     ": 5 % on a CPU, 95 % blocked or in the run queue (no schedstat tells which)"},
    /* All cores are in use: whether workers sleep does not matter. */
    {"container",
     16,
     1.95,
     {{"mymap", MAP, 155, 0.12, UNKNOWN, {0}}},
     "mymap",
     "cpu",
     ": 12 % on a CPU, 88 % blocked or in the run queue (no schedstat tells which)"},
};

static void add_stage(sluice_report *report, const counters *from)
{
    const uint32_t i = report->stage_count++;
    sli_stage_summary *stage = &report->stages[i];

    *stage = (sli_stage_summary){
        .name = from->name,
        .samples = 3200,
        .threads = report->worker_count,
        .busy_ns = from->busy_s * 1e9,
        .p50_ns = from->busy_s * 1e9 / 3200,
        .measured = 100,
        .has_runqueue = from->runqueue >= 0,
        .measured_ns = from->busy_s * 1e9,
        .cpu_ns = from->cpu * from->busy_s * 1e9,
        .runqueue_ns = from->runqueue >= 0 ? from->runqueue * from->busy_s * 1e9 : 0,
    };
    report->stage_times[i] = report_times_of_stage(stage);
    report->pipeline.kinds[i] = from->kind;
    report->pipeline.waits[i] = from->waits;
    report->pipeline.probed = report->pipeline.probed || from->waits.asleep > 0;
}

/* The report of a run on a machine with two cores, with what the readers find there. */
static void make_report(const recorded_run *run, sluice_report *report)
{
    machine_kit machine;
    sli_cgroup_limits limits;
    sli_load_change change;

    machine_kit_open(&machine, run->machine);
    sli_cgroup_limits_read(machine.root, &limits);
    change = machine_kit_change(&machine);
    memset(report, 0, sizeof(*report));
    report->stats = (sluice_report_stats){
        .steps = 100, .samples = 3200, .seconds = 10, .data_wait_share = 0.95};
    report->cpu_ns = (int64_t)(run->used * 10e9);
    report->worker_count = run->workers;
    report->core_count = report->cores_allowed = report->machine_cores = 2;
    report->quota = limits.cpus;
    report->machine = report_machine_of(&change);
    for (size_t i = 0; i < COUNT(run->stages) && run->stages[i].name != NULL; i++) {
        add_stage(report, &run->stages[i]);
    }
}

static void counters_and_machine_give_the_verdict(void)
{
    static sluice_report report;

    for (size_t i = 0; i < COUNT(runs); i++) {
        make_report(&runs[i], &report);
        report_find_bottleneck(&report);
        if (strcmp(report.bottleneck, runs[i].stage) != 0 ||
            strcmp(report.bottleneck_cause, runs[i].cause) != 0 ||
            strstr(report.bottleneck_why, runs[i].why) == NULL) {
            T_FAIL_("row %zu, %s, %s/%s: says %s/%s (%s)", i, runs[i].machine, runs[i].stage,
                    runs[i].cause, report.bottleneck, report.bottleneck_cause,
                    report.bottleneck_why);
        }
    }
}

/* Where no task waits for a CPU, workers do not either: the rest of their time is sleep. */
static void a_calm_machine_has_no_run_queue(void)
{
    static const recorded_run run = {"v2_quota", 2,    0.2, {{"mymap", MAP, 19, 0.1, UNKNOWN, {0}}},
                                     NULL,       NULL, NULL};
    static sluice_report report;

    make_report(&run, &report);
    report.machine.has_throttling = false;
    report.machine.cpu_pressure = 0.002;
    report_find_bottleneck(&report);
    T_STR(report.bottleneck_cause, "blocked");
    T_CONTAINS(report.bottleneck_why, "estimated without schedstat, 0 % in the run queue, 90 % ");
    report.machine.cpu_pressure = 0.3;
    report_find_bottleneck(&report);
    T_CONTAINS(report.bottleneck_why, "(no schedstat tells which)");
}

/* Pages that a disk had to give back take time, too. */
static void the_run_queue_is_no_longer_than_the_pressure(void)
{
    static const recorded_run run = {
        "container", 2, 0.2, {{"decode", DECODE, 20, 0.1, UNKNOWN, {0}}}, NULL, NULL, NULL};
    static sluice_report report;
    verdict_facts facts;

    make_report(&run, &report);
    report.machine.has_pressure = true;
    report.machine.cpu_pressure = 0.05;
    verdict_collect(&report, &facts);
    T_TRUE(facts.stages[0].is_estimated);
    T_NEAR(facts.stages[0].runqueue, 0.1, 1e-9); /* of two CPUs, on which two workers wait */
    T_NEAR(facts.stages[0].blocked, 0.8, 1e-9);
}

/* Stages that only compute tell the run queue of others if they take 2 % of the time or more. */
static void a_small_stage_tells_nothing_of_the_run_queue(void)
{
    static const double decoding_s[] = {0.1, 1};

    for (size_t i = 0; i < COUNT(decoding_s); i++) {
        const recorded_run run = {"container",
                                  2,
                                  0.8,
                                  {{"mymap", MAP, 18, 0.5, UNKNOWN, {0}},
                                   {"decode", DECODE, decoding_s[i], 0.9, UNKNOWN, {0}}},
                                  NULL,
                                  NULL,
                                  NULL};
        static sluice_report report;
        verdict_facts facts;

        make_report(&run, &report);
        report.machine.has_pressure = false;
        verdict_collect(&report, &facts);
        T_EQ(facts.stages[0].has_runqueue, i == 1);
        T_TRUE(facts.stages[1].is_estimated);
    }
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Each damaged counter file leaves a verdict of the counters, and shares that are shares. */
static void a_damaged_machine_leaves_the_verdict_of_the_counters(void)
{
    static const char *const texts[] = {"", "some", "nr_periods -1\nnr_throttled 5\n",
                                        "9223372036854775807 9223372036854775807\n"};
    static sluice_report report;

    for (size_t i = 0; i < COUNT(runs); i++) {
        for (size_t k = 0; k < COUNT(texts); k++) {
            machine_kit machine;
            sli_load_change change;
            sli_cgroup_limits limits;

            make_report(&runs[i], &report);
            machine_kit_open(&machine, runs[i].machine);
            for (size_t f = 0; f < machine.count; f++) {
                machine.files[f].text = texts[k];
                machine.files[f].size = strlen(texts[k]);
            }
            change = machine_kit_change(&machine);
            sli_cgroup_limits_read(machine.root, &limits);
            report.machine = report_machine_of(&change);
            report.quota = limits.cpus;
            report_find_bottleneck(&report);
            T_TRUE(!report.machine.has_pressure && !report.machine.has_throttling);
            T_NEAR(report.quota, 0, 0);
            T_TRUE(report.bottleneck_share >= 0 && report.bottleneck_share <= 1);
            T_STR(report.bottleneck, runs[i].stage);
        }
    }
}

const t_test verdict_machines_tests[] = {
    T_TEST(counters_and_machine_give_the_verdict),
    T_TEST(a_calm_machine_has_no_run_queue),
    T_TEST(the_run_queue_is_no_longer_than_the_pressure),
    T_TEST(a_small_stage_tells_nothing_of_the_run_queue),
    T_TEST(a_damaged_machine_leaves_the_verdict_of_the_counters),
    T_END,
};
