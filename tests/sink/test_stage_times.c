/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a stage on a CPU, in the run queue and blocked, its longest sample, waits for locks.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "fault_kit.h"
#include "load_kit.h"
#include "map_kit.h"
#include "report_stage_times.h"
#include "stage_clock_int.h"
#include "testing.h"
#include "train_kit.h"

enum { MAP_SAMPLES = 400 };

static int64_t cpu_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void sleep_2_ms(void)
{
    const struct timespec time = {0, 2000000};

    nanosleep(&time, NULL);
}

/* The name of a map is also that of its column. */
static sluice_status sleeps(sluice_sample *sample, void *user)
{
    sleep_2_ms();
    return give_i64(sample, user, 1);
}

/* Spins for 2 ms of CPU time. */
static sluice_status spins(sluice_sample *sample, void *user)
{
    const int64_t end = cpu_now() + 2000000;

    while (cpu_now() < end) {
    }
    return give_i64(sample, user, 1);
}

static void add_named_map(sluice_dataset *dataset, char *name,
                          sluice_status (*function)(sluice_sample *sample, void *user),
                          uint32_t serial)
{
    const sluice_column_spec output = {.name = name, .dtype = SLUICE_I64};
    sluice_map map;

    sluice_map_init(&map);
    map.name = name;
    map.user = name;
    map.outputs = &output;
    map.output_count = 1;
    map.serial = serial;
    map.map = function;
    T_OK(sluice_dataset_map(dataset, &map));
}

static const report_stage_times *times_of(const kit *k, const char *name)
{
    const sli_stage_summary *stage = report_find_stage(k->report, name);

    T_TRUE(stage != NULL);
    return &k->report->stage_times[stage - k->report->stages];
}

static double busy_s(const kit *k, const char *name)
{
    return report_find_stage(k->report, name)->busy_ns / 1e9;
}

/* Runs a sleeping and a spinning map, and measures each sample: beside other processes an estimate
 * by few of them is not near enough. What a thread does besides takes 10 us or more. */
static void run_maps(kit *k, kit_source *source, uint32_t serial)
{
    static char sleeping[] = "sleeping";
    static char spinning[] = "spinning";
    sluice_status st;

    kit_source_init(source, MAP_SAMPLES);
    kit_init(k);
    k->dataset = kit_source_dataset(source, 0);
    add_named_map(k->dataset, sleeping, sleeps, serial);
    add_named_map(k->dataset, spinning, spins, 0);
    T_OK(sluice_dataset_add(k->dataset, "batch 20"));
    k->config.workers = 2;
    sli_stage_clock_replace_gap(1);
    st = kit_run(k);
    sli_stage_clock_replace_gap(0); /* also for the tests behind one that fails here */
    T_OK(st);
}

static void end_maps(kit *k)
{
    sluice_dataset_destroy(k->dataset);
    kit_fini(k);
}

static void times_of_maps_add_up(void)
{
    const report_stage_times *of;
    kit_source source;
    char *text = NULL;
    kit k;

    run_maps(&k, &source, 0);
    of = times_of(&k, "sleeping");
    T_TRUE(of->measured > 10 && of->times.has_cpu);
    T_TRUE(of->max_ns >= 2000000);
    T_NEAR(of->times.cpu_s + of->times.runqueue_s + of->times.blocked_s, busy_s(&k, "sleeping"),
           1e-6);
    T_NEAR(report_find_stage(k.report, "sleeping")->lock_wait_ns, 0, 0);
    of = times_of(&k, "spinning");
    T_TRUE(of->measured > 10 && of->times.has_cpu && of->times.cpu_s > 0);
    T_OK(sluice_report_text(k.report, &text));
    T_CONTAINS(text, "\nbusy time of                CPU/sample   CPU% queue% blocked%  lock%"
                     "      max\n");
    sluice_string_free(text);
    end_maps(&k);
}

/* Also without schedstat. */
static bool cpu_times_are_right(void *arg)
{
    const double spun_s = MAP_SAMPLES * 2e-3;
    kit_source source;
    bool is_right;
    kit k;

    (void)arg;
    run_maps(&k, &source, 0);
    is_right = times_of(&k, "sleeping")->times.cpu_s < 0.2 * busy_s(&k, "sleeping") &&
               fabs(times_of(&k, "spinning")->times.cpu_s - spun_s) < 0.25 * spun_s;
    end_maps(&k);
    return is_right;
}

static void only_the_spinning_map_takes_cpu_time(void)
{
    load_kit_needs_right(cpu_times_are_right);
}

/* The busy time of a map but for that in the run queue, which depends on other processes. It is
 * less than half in a calm time. */
static double without_queue_s(const kit *k, const char *name)
{
    const double busy = busy_s(k, name);
    const double queue = times_of(k, name)->times.runqueue_s;

    return queue < 0.5 * busy ? busy - queue : busy;
}

static bool maps_are_told_apart(void *arg)
{
    const report_stage_times *sleeping;
    const report_stage_times *spinning;
    kit_source source;
    bool is_right;
    kit k;

    (void)arg;
    run_maps(&k, &source, 0);
    sleeping = times_of(&k, "sleeping");
    spinning = times_of(&k, "spinning");
    is_right = sleeping->times.has_runqueue &&
               sleeping->times.blocked_s > 0.9 * without_queue_s(&k, "sleeping") &&
               spinning->times.cpu_s > 0.8 * without_queue_s(&k, "spinning") &&
               spinning->times.blocked_s < 0.2 * busy_s(&k, "spinning");
    end_maps(&k);
    return is_right;
}

/* Beside other processes, threads wait for a CPU after each sleep. */
static void a_sleeping_map_is_blocked_and_a_spinning_one_is_not(void)
{
    load_kit load;

    load_kit_start(&load);
    T_NEEDS(CPU_COUNT(&load.cpus) > 1, "the two workers of the run need two CPUs");
    T_NEEDS(load_kit_has_schedstat(), "this kernel has no schedstat");
    load_kit_needs_right(maps_are_told_apart);
}

static bool lock_waits_are_counted(void *arg)
{
    const sli_stage_summary *stage;
    kit_source source;
    char *json = NULL;
    bool is_right;
    kit k;

    (void)arg;
    run_maps(&k, &source, 1);
    stage = report_find_stage(k.report, "sleeping");
    is_right = stage->lock_wait_ns > 0.03 * stage->busy_ns && stage->lock_wait_ns < stage->busy_ns;
    T_NEAR(report_find_stage(k.report, "spinning")->lock_wait_ns, 0, 0);
    T_OK(sluice_report_json(k.report, &json));
    T_CONTAINS(json, "\"lock_wait_share\":0.");
    sluice_string_free(json);
    end_maps(&k);
    return is_right;
}

static void the_wait_for_a_serial_map_is_counted(void)
{
    load_kit_needs_right(lock_waits_are_counted);
}

static void a_step_sleeps(kit *k, const sluice_step *step)
{
    (void)k;
    (void)step;
    sleep_2_ms();
}

static bool the_step_is_measured(void *arg)
{
    const report_stage_times *of;
    bool is_right;
    kit k;

    (void)arg;
    kit_init(&k);
    k.in_step = a_step_sleeps;
    T_OK(kit_run(&k));
    of = times_of(&k, "step");
    T_TRUE(of->measured > 0 && of->max_ns >= 2000000);
    is_right = of->times.cpu_s < 0.5 * busy_s(&k, "step");
    T_EQ(times_of(&k, "get_next")->measured, 0);
    kit_fini(&k);
    return is_right;
}

static void the_step_of_the_host_is_measured(void)
{
    load_kit_needs_right(the_step_is_measured);
}

/* Spins in the first stage and sleeps in the second one, for each of `items`, which have `rows`. */
static void measure_two_stages(sli_stage_clock *clock, sli_profile *profile, int items,
                               uint32_t rows)
{
    sli_counters *first = sli_profile_cell(profile, 0, 0);
    sli_counters *second = sli_profile_cell(profile, 1, 0);

    for (int i = 0; i < items; i++) {
        const struct timespec time = {0, 100000};
        const int64_t end = cpu_now() + 100000;
        uint64_t start;

        sli_stage_clock_begin(clock, rows, first);
        start = sli_stage_clock_ticks(clock);
        while (cpu_now() < end) {
        }
        sli_counters_item(first, sli_stage_clock_ticks(clock) - start, 0);
        sli_stage_clock_enter(clock, second);
        start = sli_stage_clock_ticks(clock);
        nanosleep(&time, NULL);
        sli_counters_item(second, sli_stage_clock_ticks(clock) - start, 0);
        sli_stage_clock_enter(clock, NULL);
    }
}

/* Fills in the summaries of both stages, of so many items with so many rows. */
static void summarise_two_stages(int items, uint32_t rows, sli_stage_summary summaries[2])
{
    const char *names[] = {"first", "second"};
    sli_stage_clock clock;
    sli_profile profile;

    T_OK(sli_profile_init(&profile, names, 2, 1));
    sli_stage_clock_init(&clock);
    measure_two_stages(&clock, &profile, items, rows);
    sli_stage_clock_fini(&clock);
    sli_profile_stop(&profile);
    sli_profile_summarise(&profile, 0, &summaries[0]);
    sli_profile_summarise(&profile, 1, &summaries[1]);
    sli_profile_fini(&profile);
}

/* The first stage spun for 100 us an item, the second one slept. */
static bool are_near(const sli_stage_summary summaries[2], int items)
{
    const double spun_ns = items * 100e3;

    return fabs(summaries[0].cpu_ns - spun_ns) < 0.15 * spun_ns &&
           summaries[1].cpu_ns < 0.4 * summaries[1].measured_ns;
}

static bool estimates_are_near(void *arg)
{
    sli_stage_summary summaries[2];

    (void)arg;
    summarise_two_stages(1500, 1, summaries);
    T_TRUE(summaries[0].measured >= 12 && summaries[0].measured < 400);
    T_TRUE(summaries[0].max_ns >= 100000 && summaries[0].max_ns >= summaries[0].p99_ns * 0.93);
    T_TRUE(summaries[1].measured >= 12);
    return are_near(summaries, 1500);
}

/* Measured samples stand for all: the sum over those is near the sum over all. */
static void the_estimates_are_those_of_all_items(void)
{
    load_kit_needs_right(estimates_are_near);
}

static bool times_of_batches_are_near(void *arg)
{
    sli_stage_summary summaries[2];
    report_stage_times times;

    (void)arg;
    summarise_two_stages(300, 32, summaries);
    T_TRUE(summaries[0].measured >= 17);
    times = report_times_of_stage(&summaries[1]);
    return are_near(summaries, 300) && times.times.cpu_s < 0.5 * summaries[1].busy_ns / 1e9;
}

/* A batch is chosen as often as its rows are, but its time is that of one item. */
static void the_time_of_a_batch_is_not_multiplied_by_its_rows(void)
{
    load_kit_needs_right(times_of_batches_are_near);
}

/* Also that gaps are no fixed stride: of even and of odd ones there are many. */
static void one_short_item_in_4096_is_measured(void)
{
    const char *names[] = {"short"};
    uint32_t gaps[2] = {0, 0};
    uint32_t last = 0;
    sli_counters *cell;
    sli_stage_clock clock;
    sli_profile profile;

    T_OK(sli_profile_init(&profile, names, 1, 1));
    cell = sli_profile_cell(&profile, 0, 0);
    sli_stage_clock_init(&clock);
    for (uint32_t i = 0; i < 4096 * 200; i++) {
        sli_stage_clock_begin(&clock, 1, cell);
        if (clock.is_running) {
            gaps[(i - last) % 2]++;
            last = i;
        }
        sli_stage_clock_enter(&clock, NULL);
    }
    T_TRUE(cell->measured > 170 && cell->measured < 800);
    T_TRUE(gaps[0] > 50 && gaps[1] > 50);
    sli_stage_clock_fini(&clock);
    sli_profile_fini(&profile);
}

/* For short runs: later on, none of 200 such items would be measured. */
static void the_first_items_are_measured_more_often(void)
{
    const char *names[] = {"short"};
    sli_counters *cell;
    sli_stage_clock clock;
    sli_profile profile;

    T_OK(sli_profile_init(&profile, names, 1, 1));
    cell = sli_profile_cell(&profile, 0, 0);
    sli_stage_clock_init(&clock);
    for (uint32_t i = 0; i < 200; i++) {
        sli_stage_clock_begin(&clock, 1, cell);
        sli_stage_clock_enter(&clock, NULL);
    }
    T_TRUE(cell->measured >= 16 && cell->measured <= 50);
    sli_stage_clock_fini(&clock);
    sli_profile_fini(&profile);
}

/* Items of more than a millisecond are measured about one in 10: at the gaps of short ones, about
 * 17 of these 600 would be. */
static void slow_items_are_measured_more_often(void)
{
    const struct timespec time = {0, 1200000};
    const char *names[] = {"slow"};
    sli_stage_summary summary;
    sli_stage_clock clock;
    sli_profile profile;

    T_OK(sli_profile_init(&profile, names, 1, 1));
    sli_stage_clock_init(&clock);
    for (int i = 0; i < 600; i++) {
        sli_stage_clock_begin(&clock, 1, sli_profile_cell(&profile, 0, 0));
        nanosleep(&time, NULL);
        sli_stage_clock_enter(&clock, NULL);
    }
    sli_stage_clock_fini(&clock);
    sli_profile_stop(&profile);
    sli_profile_summarise(&profile, 0, &summary);
    T_TRUE(summary.measured > 30 && summary.measured < 160);
    sli_profile_fini(&profile);
}

/* What was allocated but not initialised has no descriptor; 0 may be anyone's. */
static void a_clock_of_zeros_closes_nothing(void)
{
    sli_stage_clock clock = {0};
    const int file = open("/dev/null", O_RDONLY); /* 0, if that was closed */

    T_TRUE(file >= 0 && fcntl(0, F_GETFD) >= 0);
    sli_stage_clock_fini(&clock);
    T_TRUE(fcntl(0, F_GETFD) >= 0);
    close(file);
}

/* Without the file of a thread only the time on a CPU is known, and the rest is not. */
static void without_schedstat_the_cpu_time_is_still_known(void)
{
    const char *names[] = {"first", "second"};
    report_stage_times times;
    sli_stage_summary summary;
    sli_stage_clock clock;
    sli_profile profile;

    T_OK(sli_profile_init(&profile, names, 2, 1));
    sli_stage_clock_init(&clock);
    sli_stage_clock_fini(&clock); /* it cannot be read from now on */
    measure_two_stages(&clock, &profile, 200, 1);
    sli_profile_stop(&profile);
    sli_profile_summarise(&profile, 0, &summary);
    T_TRUE(summary.measured > 0 && !summary.has_runqueue);
    times = report_times_of_stage(&summary);
    T_TRUE(times.times.has_cpu && !times.times.has_runqueue && times.times.cpu_s > 0);
    T_NEAR(times.times.runqueue_s, 0, 0);
    T_NEAR(times.times.cpu_s + times.times.blocked_s, summary.busy_ns / 1e9, 1e-9);
    sli_profile_fini(&profile);
}

/* The process has no descriptor left when the thread opens its file; a second later it has. */
static void a_thread_whose_schedstat_cannot_be_opened_tries_again(void)
{
    const char *names[] = {"first", "second"};
    sli_counters *cell;
    sli_stage_clock clock;
    sli_profile profile;
    uint64_t unknown;

    T_NEEDS(load_kit_has_schedstat(), "this kernel has no schedstat");
    T_OK(sli_profile_init(&profile, names, 2, 1));
    cell = sli_profile_cell(&profile, 0, 0);
    sli_stage_clock_init(&clock);
    fault_pauses_begin();
    fault_take_descriptors();
    measure_two_stages(&clock, &profile, 30, 1);
    fault_pauses_end();
    T_EQ(clock.schedstat, 0);
    T_TRUE(clock.retry_ns > 0);
    T_EQ(cell->without_runqueue_ticks, cell->measured_ticks);
    T_TRUE(cell->measured > 0 && cell->measured_ticks > 0);
    clock.retry_ns = INT64_MAX; /* a second is not over */
    measure_two_stages(&clock, &profile, 30, 1);
    T_EQ(clock.schedstat, 0);
    unknown = cell->without_runqueue_ticks;
    T_EQ(unknown, cell->measured_ticks);
    clock.retry_ns = 0; /* it is */
    measure_two_stages(&clock, &profile, 30, 1);
    T_TRUE(clock.schedstat > 0);
    T_TRUE(cell->measured_ticks > unknown);
    T_EQ(cell->without_runqueue_ticks, unknown);
    sli_stage_clock_fini(&clock);
    sli_profile_fini(&profile);
}

/* By counts, not clocks. */
static void the_run_queue_is_known_of_half_of_the_time_or_not_at_all(void)
{
    const char *names[] = {"stage"};
    sli_stage_summary summary;
    sli_counters *cell;
    sli_profile profile;

    T_OK(sli_profile_init(&profile, names, 1, 2));
    cell = sli_profile_cell(&profile, 0, 0);
    cell->measured = 10;
    cell->measured_ticks = 600000;
    cell->runqueue_ns = 3000;
    cell[1].measured = 10;
    cell[1].measured_ticks = 400000;
    cell[1].without_runqueue_ticks = 400000; /* a thread that never had it */
    sli_profile_stop(&profile);
    sli_profile_summarise(&profile, 0, &summary);
    T_TRUE(summary.has_runqueue);
    T_NEAR(summary.runqueue_ns, 5000, 1e-6);
    cell->without_runqueue_ticks = 200000;
    sli_profile_summarise(&profile, 0, &summary);
    T_TRUE(!summary.has_runqueue);
    sli_profile_fini(&profile);
}

const t_test stage_times_tests[] = {
    T_TEST(times_of_maps_add_up),
    T_TEST(only_the_spinning_map_takes_cpu_time),
    T_TEST(a_sleeping_map_is_blocked_and_a_spinning_one_is_not),
    T_TEST(the_wait_for_a_serial_map_is_counted),
    T_TEST(the_step_of_the_host_is_measured),
    T_TEST(the_estimates_are_those_of_all_items),
    T_TEST(the_time_of_a_batch_is_not_multiplied_by_its_rows),
    T_TEST(one_short_item_in_4096_is_measured),
    T_TEST(the_first_items_are_measured_more_often),
    T_TEST(slow_items_are_measured_more_often),
    T_TEST(a_clock_of_zeros_closes_nothing),
    T_TEST(without_schedstat_the_cpu_time_is_still_known),
    T_TEST(a_thread_whose_schedstat_cannot_be_opened_tries_again),
    T_TEST(the_run_queue_is_known_of_half_of_the_time_or_not_at_all),
    T_END,
};
