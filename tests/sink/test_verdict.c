/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict and the advice, from facts as runs had them: stage, cause and first change. */

#include "testing.h"
#include "verdict.h"
#include "verdict_kit.h"

enum { USER = SLI_STAGE_USER, SERIAL = SLI_STAGE_SERIAL };

/* ---- rows -------------------------------------------------------------------------------------
 */

static void spinning_map(verdict_facts *f)
{
    facts_add_decode(f, 4, 0);
    facts_add_map(f, 0, 15.5, 0.98);
}

static void slow_files(verdict_facts *f)
{
    facts_add_read(f, 19, 0.01)->p50_s = 0.02;
    facts_add_decode(f, 0.5, 0);
    f->cores.used = 0.1;
}

static void sleeping_source(verdict_facts *f)
{
    verdict_stage *read = facts_add(f, "read", SLI_STAGE_READ | USER, 19.9, 0.01, 0.01);

    read->waits = (wait_counts){.asleep = 20};
    f->data.source = "source";
}

static void map_of_unknown_sleep(verdict_facts *f)
{
    facts_add_map(f, 0, 19.5, 0.01);
    f->probed = false;
}

static void map_with_mutex(verdict_facts *f)
{
    facts_add_map(f, 0, 19.5, 0.15)->waits = (wait_counts){.running = 1, .locked = 17, .asleep = 2};
}

/* One of two workers holds the mutex, and spins; half of the time of the map is the other's wait.
 */
static void mutex_of_two_workers(verdict_facts *f)
{
    facts_add_map(f, 0, 19.5, 0.55)->waits = (wait_counts){.running = 11, .locked = 9};
}

/* One holds it and sleeps. */
static void sleep_under_a_mutex(verdict_facts *f)
{
    facts_add_map(f, 0, 19.5, 0.01)->waits = (wait_counts){.locked = 9, .asleep = 11};
}

/* Waits for a lock now and then do not limit a map that spins. */
static void map_with_few_waits(verdict_facts *f)
{
    facts_add_map(f, 0, 19.5, 0.85)->waits = (wait_counts){.running = 17, .locked = 3};
}

/* Few slots: less than half of the workers can hold a batch at a time. */
static void mutex_of_batch_maps(verdict_facts *f)
{
    facts_add_map(f, SLI_STAGE_BATCH, 24, 0.25)->waits = (wait_counts){.running = 3, .locked = 9};
    f->cores.workers = 5;
    f->run.slots = 4;
}

static void serial_map(verdict_facts *f)
{
    facts_add_map(f, SERIAL, 19.4, 0.55)->locked_s = 9.4;
    f->cores.spare = 4;
    f->cores.allowed = 6;
}

/* One worker alone: it waits for no other one, however long the map takes. */
static void serial_map_of_one_worker(verdict_facts *f)
{
    facts_add_map(f, SERIAL, 9.9, 0.98);
    f->cores.workers = 1;
    f->cores.allowed = 1;
}

/* Workers also meet in a map that is not entered all the time. */
static void serial_map_beside_decode(verdict_facts *f)
{
    facts_add_decode(f, 7, 0);
    facts_add_map(f, SERIAL, 9, 0.5)->locked_s = 4;
}

static void blur_in_the_lane(verdict_facts *f)
{
    facts_add_read(f, 0.2, 1);
    facts_add_decode(f, 5, 0);
    facts_add_pixels(f, 14);
    f->operations[0] = (verdict_operation){"resize", 2, 0.2};
    f->operations[1] = (verdict_operation){"gaussian_blur", 2, 0.7};
    f->operations[2] = (verdict_operation){"other", 2, 0.71};
    f->operation_count = 3;
}

static void slow_step(verdict_facts *f)
{
    facts_add_decode(f, 6, 0);
    f->run.data_wait = 0.01;
    f->run.step = 0.97;
    f->cores.used = 1.5;
}

static void step_beside_workers(verdict_facts *f)
{
    slow_step(f);
    f->stages[0].busy_s = 3;
    f->run.queued = 0.1;
}

static void workers_beside_the_step(verdict_facts *f)
{
    step_beside_workers(f);
    f->run.queued = 0.3;
    f->cores.used = 1.95;
}

/* Steps of 60 ms beside a decoder that needs 70 ms of CPU for their batch, on two cores: the
 * workers use more of the cores, and yet the run gains 1.5 without them and 2.5 without the step.
 */
static void step_that_costs_more_than_workers(verdict_facts *f)
{
    facts_add_decode(f, 8, 0);
    f->run.data_wait = 0.01;
    f->run.step = 0.98;
    f->run.queued = 0.31;
    f->cores.used = 1.48;
    f->cores.has_others = true;
    f->cores.others = 0.05;
}

/* Without the workers' load the run gains 1.72; without the steps 1.19, as the map also sleeps. */
static void step_that_waits_for_workers(verdict_facts *f)
{
    facts_add_map(f, 0, 17, 0.7);
    f->run.data_wait = 0.02;
    f->run.step = 0.9;
    f->run.queued = 0.4;
    f->cores.used = 1.9;
}

/* Threads wait beside a core that is idle for a part of the time: no other process runs. */
static void step_that_waits_for_workers_alone(verdict_facts *f)
{
    step_that_waits_for_workers(f);
    f->cores.used = 1.45;
    f->cores.has_others = true;
    f->cores.others = 0.05;
}

static void step_that_waits_for_others(verdict_facts *f)
{
    step_that_waits_for_workers_alone(f);
    f->cores.others = 0.5;
}

/* Each sink is one step: the launch of the next one waits for a CPU, too. */
static void launches_that_wait_for_workers(verdict_facts *f)
{
    step_that_waits_for_workers_alone(f);
    f->run.step = 0.42;
    f->run.queued = 0.56;
    f->host.launch_s = 5.7;
}

/* Saving takes all cores for longer than the steps wait for one. */
static void checkpoints_beside_waiting_steps(verdict_facts *f)
{
    step_that_waits_for_workers(f);
    f->run.step = 0.3;
    f->host.checkpoint_s = 6.5;
}

/* More workers would leave the steps even less. */
static void waiting_steps_beside_idle_cores(verdict_facts *f)
{
    facts_add_map(f, 0, 30, 0.99);
    f->run.data_wait = 0.02;
    f->run.step = 0.85;
    f->run.queued = 0.4;
    f->cores = (verdict_cores){.workers = 5, .allowed = 6, .used = 5.2, .spare = 0.1};
}

/* The steps wait for data most of the time: fewer workers give less of them. */
static void waits_for_data_and_for_a_cpu(verdict_facts *f)
{
    facts_add_decode(f, 48, 0.05);
    f->run.data_wait = 0.7;
    f->run.step = 0.3;
    f->run.queued = 0.1;
    f->cores = (verdict_cores){.workers = 8, .allowed = 8, .used = 6};
}

static void step_beside_others(verdict_facts *f)
{
    workers_beside_the_step(f);
    f->cores.used = 1;
}

static void one_worker(verdict_facts *f)
{
    facts_add_decode(f, 9.5, 0);
    f->cores = (verdict_cores){.workers = 1, .allowed = 2, .used = 1, .spare = 1};
}

static void one_worker_beside_others(verdict_facts *f)
{
    one_worker(f);
    f->machine.has_pressure = true;
    f->machine.cpu_pressure = 0.4;
}

static void cpu_quota(verdict_facts *f)
{
    facts_of_decode(f);
    f->cores.quota = 0.2;
    f->cores.allowed = 0.2;
    f->cores.used = 0.2;
    f->machine.has_throttling = true;
    f->machine.periods = 255;
    f->machine.throttled_periods = 100;
}

/* The steps run on a GPU, and the workers keep up with them. */
static void cpu_quota_beside_a_gpu(verdict_facts *f)
{
    cpu_quota(f);
    f->run.has_kernels = true;
    f->run.data_wait = 0.01;
    f->run.step = 0.95;
}

/* There the host's own work takes the time, and the quota stops it. */
static void cpu_quota_of_launches(verdict_facts *f)
{
    cpu_quota_beside_a_gpu(f);
    f->run.step = 0.5;
    f->host.launch_s = 4.5;
}

static void neighbours(verdict_facts *f)
{
    facts_of_decode(f);
    f->stages[1].cpu = 0.3;
    f->stages[1].runqueue = 0.7;
    f->cores.used = 0.6;
}

/* Threads that sleep between samples wait for a CPU each time that they wake up. */
static void neighbours_between_samples(verdict_facts *f)
{
    facts_add_decode(f, 9, 0);
    f->cores.used = 0.9;
    f->cores.running = 0.38;
    f->cores.queued = 0.42;
    f->cores.has_others = true;
    f->cores.others = 1.1;
}

static void waits_between_samples(verdict_facts *f)
{
    neighbours_between_samples(f);
    f->cores.others = 0.1;
}

/* Without clocks, the pressure and the CPU time of the process tell. */
static void neighbours_without_clocks(verdict_facts *f)
{
    facts_add_decode(f, 18, 0)->has_shares = false;
    f->cores.used = 0.6;
    f->machine.has_pressure = true;
    f->machine.cpu_pressure = 0.9;
}

/* The pressure is that of other cores: two workers use two of eight. */
static void pressure_elsewhere_without_clocks(verdict_facts *f)
{
    neighbours_without_clocks(f);
    f->cores.allowed = 8;
    f->cores.used = 1.9;
}

static void checkpoints(verdict_facts *f)
{
    facts_add_decode(f, 4, 0);
    f->run.data_wait = 0.1;
    f->run.step = 0.24;
    f->host.checkpoint_s = 5.4;
}

/* Steps take more, but without the checkpoints the run would be 1.5 times as fast. */
static void checkpoints_beside_steps(verdict_facts *f)
{
    facts_add_decode(f, 5, 0);
    f->run.data_wait = 0.02;
    f->run.step = 0.62;
    f->host.checkpoint_s = 3.5;
}

/* Launches overlap the steps; saving does not. */
static void checkpoints_beside_launches(verdict_facts *f)
{
    checkpoints_beside_steps(f);
    f->run.step = 0.4;
    f->host.checkpoint_s = 2.5;
    f->host.launch_s = 3;
}

static void validations(verdict_facts *f)
{
    facts_add_decode(f, 4, 0);
    f->run.data_wait = 0.1;
    f->run.step = 0.3;
    f->host.validation_s = 5;
}

/* Steps take more, but a third of the time is still the validations'. */
static void validations_beside_steps(verdict_facts *f)
{
    slow_step(f);
    f->run.step = 0.6;
    f->host.validation_s = 3.5;
}

static void launches(verdict_facts *f)
{
    facts_of_hooks(f);
    f->host = (report_host_times){.known = true, .launch_s = 9.7};
}

static void replay(verdict_facts *f)
{
    facts_add_decode(f, 4, 0);
    f->run.replay = 0.6;
}

static void slow_device_maps(verdict_facts *f)
{
    slow_step(f);
    f->run.maps = 0.9;
}

static void steps_of_many_threads(verdict_facts *f)
{
    facts_add_decode(f, 15, 0.4);
    f->run.data_wait = 0.6;
    f->run.step = 0.4;
}

static void tiny_samples_in_large_batches(verdict_facts *f)
{
    facts_of_tiny_samples(f);
    f->run.batch_size = 1024;
}

static void copies(verdict_facts *f)
{
    facts_add_decode(f, 5, 0);
    f->run.has_kernels = true;
    f->copy_s = 9;
    f->copy_bytes = 500000000;
}

static void copies_of_converted_images(verdict_facts *f)
{
    copies(f);
    f->data.converts_on_host = true;
}

/* The first pass decoded, for a longer time than all hits took; then the cache was read. */
static void filled_cache(verdict_facts *f)
{
    facts_add_decode(f, 10, 0)->samples = 160;
    facts_add_pixels(f, 9.5);
    f->data.has_cache = true;
    f->data.samples_per_pass = 160;
    f->data.cache = (sli_cache_counts){.hits = 3040, .misses = 160};
}

static void decoding_again(verdict_facts *f)
{
    facts_add_decode(f, 15, 0);
    facts_add_pixels(f, 4);
    f->data.samples_per_pass = 600;
    f->data.cached_bytes = 150528;
    f->data.cached_after = "resize";
    f->data.memory_limit = 1000000000;
}

static void decoding_more_than_fits(verdict_facts *f)
{
    decoding_again(f);
    f->data.memory_limit = 100000000;
}

static void late_rank(verdict_facts *f)
{
    facts_add_decode(f, 5, 0);
    f->run.data_wait = 0.04;
    f->run.step = 0.5;
    f->waits = (report_waits){.known = true,
                              .agree_seconds = 4.5,
                              .late_seconds = 4.1,
                              .count = 1,
                              .late = {{3, 4.1, 38, DELAY_DATA}}};
}

static void a_few_steps(verdict_facts *f)
{
    facts_add_decode(f, 0.5, 0);
    f->run.steps = 5;
    f->run.seconds = 0.4;
}

/* Workers wait for a CPU and for the lock of a map: too few steps to tell which limits them. */
static void a_few_steps_beside_a_lock(verdict_facts *f)
{
    facts_add_map(f, SERIAL, 19, 0.1)->locked_s = 9;
    f->stages[0].runqueue = 0.5;
    f->stages[0].blocked = 0.4;
    f->run.steps = 2;
    f->cores.used = 0.5;
}

static void without_clocks(verdict_facts *f)
{
    facts_add_decode(f, 15, 0)->has_shares = false;
    facts_add_read(f, 3, 0)->has_shares = false;
}

static const struct {
    void (*set)(verdict_facts *facts);
    const char *stage;
    const char *cause;
    const char *first;  /* change; NULL: no advice */
    const char *absent; /* change; NULL: not asked */
} rows[] = {
    {facts_of_decode, "decode", "cpu", "index", "workers"},
    {spinning_map, "mymap", "cpu", "code", "workers"},
    {facts_of_a_limited_disk, "read", "storage", "storage", "fewer_workers"},
    {slow_files, "read", "storage", "storage", "index"},
    {sleeping_source, "read", "blocked", "workers", "storage"},
    {facts_of_a_sleeping_map, "mymap", "blocked", "workers", "index"},
    {map_of_unknown_sleep, "mymap", "blocked", "code", "workers"},
    {map_with_mutex, "mymap", "lock", "code", "workers"},
    {mutex_of_two_workers, "mymap", "lock", "code", "workers"},
    {sleep_under_a_mutex, "mymap", "lock", "code", "workers"},
    {map_with_few_waits, "mymap", "cpu", "code", "workers"},
    {mutex_of_batch_maps, "mymap", "lock", "code", "batch"},
    {serial_map, "mymap", "lock", "code", "workers"},
    {serial_map_of_one_worker, "mymap", "cpu", "code", "workers"},
    {serial_map_beside_decode, "mymap", "lock", "code", "workers"},
    {blur_in_the_lane, "gaussian_blur", "cpu", "code", "workers"},
    {slow_step, "step", "device", "code", "fewer_workers"},
    {slow_step, "step", "device", "code", "workers"},
    {step_beside_workers, "step", "device", "fewer_workers", "workers"},
    {workers_beside_the_step, "step", "device", "fewer_workers", "workers"},
    {step_that_costs_more_than_workers, "step", "device", "code", "workers"},
    {step_that_waits_for_workers, "mymap", "cpu", "code", "workers"},
    {checkpoints_beside_waiting_steps, "checkpoint", "host", "checkpoint", "workers"},
    {waiting_steps_beside_idle_cores, "mymap", "cpu", "fewer_workers", "workers"},
    {waits_for_data_and_for_a_cpu, "decode", "cpu", "code", "fewer_workers"},
    {step_that_waits_for_workers_alone, "mymap", "cpu", "code", "binding"},
    {step_that_waits_for_others, "step", "starved", "binding", "fewer_workers"},
    {launches_that_wait_for_workers, "mymap", "cpu", "code", "binding"},
    {step_beside_others, "step", "starved", "binding", "fewer_workers"},
    {one_worker, "decode", "cpu", "workers", "fewer_workers"},
    {one_worker_beside_others, "decode", "cpu", "code", "workers"},
    {facts_of_too_many_workers, "decode", "starved", "fewer_workers", "workers"},
    {cpu_quota, "decode", "starved", "quota", "workers"},
    {cpu_quota_beside_a_gpu, "step", "device", "code", "quota"},
    {cpu_quota_of_launches, "decode", "starved", "quota", "workers"},
    {neighbours, "decode", "starved", "binding", "workers"},
    {neighbours_between_samples, "decode", "starved", "binding", "batch"},
    {waits_between_samples, "none", "handover", "batch", "binding"},
    {neighbours_without_clocks, "decode", "starved", "binding", "workers"},
    {pressure_elsewhere_without_clocks, "decode", "cpu", "code", "binding"},
    {checkpoints, "checkpoint", "host", "checkpoint", "workers"},
    {validations, "validation", "host", "validation", "workers"},
    {validations_beside_steps, "validation", "host", "validation", "hooks"},
    {checkpoints_beside_launches, "checkpoint", "host", "checkpoint", "code"},
    {checkpoints_beside_steps, "checkpoint", "host", "checkpoint", "workers"},
    {facts_of_hooks, "hooks", "host", "hooks", "workers"},
    {launches, "launch", "host", "code", "hooks"},
    {replay, "none", "none", NULL, NULL},
    {slow_device_maps, "device_maps", "device", "code", "workers"},
    {steps_of_many_threads, "decode", "starved", "binding", "workers"},
    {facts_of_tiny_samples, "none", "handover", "batch", "workers"},
    {tiny_samples_in_large_batches, "none", "handover", NULL, "batch"},
    {copies, "copy", "copy", NULL, "offload"},
    {copies_of_converted_images, "copy", "copy", "offload", "workers"},
    {filled_cache, "random_resized_crop+color+convert", "cpu", "code", "cache"},
    {decoding_again, "decode", "cpu", "cache", "workers"},
    {decoding_more_than_fits, "decode", "cpu", "code", "cache"},
    {late_rank, "ranks", "ranks", "code", "workers"},
    {a_few_steps, "none", "none", NULL, "workers"},
    {a_few_steps_beside_a_lock, "none", "none", NULL, "binding"},
    {without_clocks, "decode", "cpu", "code", "workers"},
};

static void provoked_runs_get_the_right_stage_cause_and_advice(void)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        report_advice advice[REPORT_ADVICE];
        verdict_facts facts;
        verdict found;
        uint32_t count;

        facts_base(&facts);
        rows[i].set(&facts);
        verdict_decide(&facts, &found);
        count = verdict_advise(&facts, &found, advice);
        if (strcmp(found.stage, rows[i].stage) != 0 || strcmp(found.cause, rows[i].cause) != 0 ||
            (rows[i].first == NULL) != (count == 0) ||
            (count > 0 && strcmp(advice[0].change, rows[i].first) != 0) ||
            (rows[i].absent != NULL && count_advice(advice, count, rows[i].absent) > 0)) {
            T_FAIL_("row %zu, %s/%s: says %s/%s (%s), advises %s", i, rows[i].stage, rows[i].cause,
                    found.stage, found.cause, found.why, count > 0 ? advice[0].change : "nothing");
        }
    }
}

/* Each row that is worth it has advice, not only the one that limits. */
static void further_rows_of_the_host_have_advice(void)
{
    report_advice advice[REPORT_ADVICE];
    verdict_facts facts;
    verdict found;
    uint32_t count;

    facts_base(&facts);
    checkpoints_beside_steps(&facts);
    facts.host.hooks_s = 2.5;
    facts.run.step = 0.35;
    verdict_decide(&facts, &found);
    T_STR(found.stage, "checkpoint");
    count = verdict_advise(&facts, &found, advice);
    T_STR(advice[0].change, "checkpoint");
    T_EQ(count_advice(advice, count, "hooks"), 1);
    facts.host.hooks_s = 1;
    count = verdict_advise(&facts, &found, advice);
    T_EQ(count_advice(advice, count, "hooks"), 0);
}

/* Of a loop on a GPU the time between two batches is that of launches; that of its steps is known
 * if the loop publishes it. */
static void published_steps_tell_the_time_between_steps(void)
{
    verdict_facts facts;
    verdict found;

    facts_base(&facts);
    facts_of_decode(&facts);
    facts.host.known = false;
    facts.run.has_kernels = true;
    facts.run.data_wait = 0;
    facts.run.step = 0.3;
    verdict_decide(&facts, &found);
    T_STR(found.stage, "step");
    T_STR(found.cause, "device");
    facts.run.has_step_times = true;
    verdict_decide(&facts, &found);
    T_STR(found.stage, "step");
    T_STR(found.cause, "host");
    facts.run.replay = 0.45; /* is known */
    verdict_decide(&facts, &found);
    T_STR(found.cause, "device");
    facts.run.replay = 0;
    facts.run.step = 0.9;
    verdict_decide(&facts, &found);
    T_STR(found.cause, "device");
}

const t_test verdict_tests[] = {
    T_TEST(provoked_runs_get_the_right_stage_cause_and_advice),
    T_TEST(further_rows_of_the_host_have_advice),
    T_TEST(published_steps_tell_the_time_between_steps),
    T_END,
};
