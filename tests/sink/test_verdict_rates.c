/* SPDX-License-Identifier: Apache-2.0 */
/* The rates of advice: the model, and the ranges around it. */
#include <math.h>

#include "testing.h"
#include "verdict.h"
#include "verdict_kit.h"

enum { SERIAL = SLI_STAGE_SERIAL };

static report_advice first_of(void (*set)(verdict_facts *facts), verdict_facts *facts)
{
    report_advice advice[REPORT_ADVICE] = {{.change = "nothing"}};
    verdict found;

    facts_base(facts);
    set(facts);
    verdict_decide(facts, &found);
    (void)verdict_advise(facts, &found, advice);
    return advice[0];
}

static void the_advised_workers_keep_the_rate_predictable(void)
{
    verdict_facts facts;
    const report_advice advice = first_of(facts_of_a_sleeping_map, &facts);
    const verdict_cost cost = verdict_cost_of(&facts);

    T_TRUE(advice.workers > 2 && advice.workers <= 32);
    T_TRUE(advice.rate_low < verdict_queueing(&facts, &cost, advice.workers));
    T_TRUE(verdict_rate(&facts, &cost, advice.workers) < advice.rate_high);
    T_TRUE(advice.rate_high <= 1.3 * advice.rate_low);
}

/* A map that sleeps as long as decoding takes a core: the cores are full at twice the workers. */
static void few_workers_more_fill_the_cores(void)
{
    verdict_facts facts;
    verdict_cost cost;
    report_advice advice[REPORT_ADVICE];
    verdict found;

    facts_base(&facts);
    facts_add_decode(&facts, 9, 0);
    facts_add_map(&facts, 0, 10.5, 0)->waits = (wait_counts){.asleep = 20};
    verdict_decide(&facts, &found);
    T_TRUE(verdict_advise(&facts, &found, advice) > 0);
    T_STR(advice[0].change, "workers");
    T_EQ(advice[0].workers, 3);
    cost = verdict_cost_of(&facts);
    T_TRUE(verdict_queueing(&facts, &cost, 4) < 0.9 * verdict_rate(&facts, &cost, 4));
    T_TRUE(verdict_queueing(&facts, &cost, 1) > 0.99 * verdict_rate(&facts, &cost, 1));
    T_TRUE(verdict_queueing(&facts, &cost, 64) <= verdict_rate(&facts, &cost, 64));
}

/* Decoding takes as long as the sleep: what is promised of three workers is not narrow by itself.
 */
static void a_range_has_its_width_at_most(void)
{
    verdict_facts facts;
    verdict_cost cost;
    report_advice advice[REPORT_ADVICE];
    verdict found;

    facts_base(&facts);
    facts_add_decode(&facts, 10, 0);
    facts_add_map(&facts, 0, 10.5, 0)->waits = (wait_counts){.asleep = 20};
    verdict_decide(&facts, &found);
    T_TRUE(verdict_advise(&facts, &found, advice) > 0);
    T_STR(advice[0].change, "workers");
    T_EQ(advice[0].workers, 3);
    cost = verdict_cost_of(&facts);
    T_TRUE(1.05 * verdict_rate(&facts, &cost, 3) > 1.3 * advice[0].rate_low);
    T_NEAR(advice[0].rate_high, 1.3 * advice[0].rate_low, 1e-6);
}

/* Decoding limits, and beside it a map sleeps for two fifths of the time; 1.2 of 2 cores are used.
 */
static void facts_of_sleep_beside_decode(verdict_facts *f)
{
    facts_base(f);
    facts_add_decode(f, 12, 0);
    facts_add_map(f, 0, 8, 0)->waits = (wait_counts){.asleep = 20};
    f->cores.used = 1.2;
}

static void a_sleep_beside_the_limit_is_overlapped(void)
{
    verdict_facts facts;
    verdict_cost cost;
    report_advice advice[REPORT_ADVICE];
    verdict found;

    facts_of_sleep_beside_decode(&facts);
    verdict_decide(&facts, &found);
    T_STR(found.stage, "decode");
    T_TRUE(verdict_advise(&facts, &found, advice) > 0);
    T_STR(advice[0].change, "workers");
    T_EQ(advice[0].workers, 3);
    cost = verdict_cost_of(&facts);
    T_TRUE(advice[0].rate_low < verdict_queueing(&facts, &cost, 3));
    T_TRUE(advice[0].rate_high <= 1.3 * advice[0].rate_low + 1e-6);
    T_CONTAINS(advice[0].text, "mymap is blocked");
}

static void of_a_lock(verdict_facts *f)
{
    f->stages[1].waits = (wait_counts){.locked = 20};
}

/* Of 15.9: three workers would wait for two cores. */
static void too_short(verdict_facts *f)
{
    f->stages[1].busy_s = 3.9;
}

static void beside_steps_with_data(verdict_facts *f)
{
    f->run.data_wait = 0.01;
}

/* OpenMP's, which have no row. */
static void beside_threads_of_its_own(verdict_facts *f)
{
    f->cores.used = 1.9;
}

static void beside_other_processes(verdict_facts *f)
{
    f->cores.has_others = true;
    f->cores.others = 0.7;
}

static void under_pressure(verdict_facts *f)
{
    f->machine.has_pressure = true;
    f->machine.cpu_pressure = 0.4;
}

static void beside_a_map_that_holds_all_slots(verdict_facts *f)
{
    f->stages[0].kind |= SLI_STAGE_BATCH;
    f->run.slots = 2;
}

/* It slept while the cache was filled. */
static void before_a_cache(verdict_facts *f)
{
    f->data.has_cache = true;
    f->data.cache = (sli_cache_counts){.hits = 3000, .misses = 200};
    f->data.samples_per_pass = 200;
    f->stages[0].samples = 3200;
    f->stages[1].samples = 200;
}

static void in_the_library(verdict_facts *f)
{
    f->stages[1].kind &= ~(uint32_t)SLI_STAGE_USER;
}

static void other_sleep_gets_no_workers(void)
{
    void (*const changes[])(verdict_facts *) = {
        of_a_lock,      too_short,      beside_steps_with_data, beside_threads_of_its_own,
        before_a_cache, under_pressure, beside_other_processes, beside_a_map_that_holds_all_slots,
        in_the_library,
    };

    for (size_t i = 0; i < COUNT(changes); i++) {
        report_advice advice[REPORT_ADVICE];
        verdict_facts facts;
        verdict found;

        facts_of_sleep_beside_decode(&facts);
        changes[i](&facts);
        verdict_decide(&facts, &found);
        if (count_advice(advice, verdict_advise(&facts, &found, advice), "workers") > 0) {
            T_FAIL_("change %zu: %s/%s, advises %u workers", i, found.stage, found.cause,
                    advice[0].workers);
        }
    }
}

/* Workers that also sleep are needed in a larger number than cores, which else were idle. */
static void fewer_workers_still_fill_the_cores(void)
{
    verdict_facts facts;
    verdict found;
    report_advice advice[REPORT_ADVICE];

    T_EQ(first_of(facts_of_too_many_workers, &facts).workers, 2);
    facts.stages[0].cpu = 0.2;
    facts.stages[0].runqueue = 0.45;
    facts.stages[0].blocked = 0.35;
    verdict_decide(&facts, &found);
    T_TRUE(verdict_advise(&facts, &found, advice) > 0);
    T_STR(advice[0].change, "fewer_workers");
    T_EQ(advice[0].workers, 6); /* 2 cores, and 35 of 55 parts of the time asleep: 5.5 */
    facts.cores.workers = 7;    /* one more costs next to nothing */
    T_EQ(verdict_advise(&facts, &found, advice), 0);
    facts.cores.allowed = 0.02; /* a quota */
    T_TRUE(verdict_advise(&facts, &found, advice) > 0);
    T_EQ(advice[0].workers, 1);
}

/* Each worker holds a batch, and there are not more slots. */
static void workers_of_batch_maps_need_slots(void)
{
    report_advice advice[REPORT_ADVICE];
    verdict_facts facts;
    verdict found;

    facts_base(&facts);
    facts_of_a_sleeping_map(&facts);
    facts.stages[1].kind |= SLI_STAGE_BATCH;
    facts.run.slots = 4;
    verdict_decide(&facts, &found);
    T_TRUE(verdict_advise(&facts, &found, advice) > 0);
    T_STR(advice[0].change, "workers");
    T_EQ(advice[0].workers, 4);
    facts.run.slots = 2;
    T_TRUE(verdict_advise(&facts, &found, advice) > 0);
    T_STR(advice[0].change, "code");
}

/* Facts of a map that computes, on 2 of 8 cores. */
static void facts_of_idle_cores(verdict_facts *f)
{
    facts_base(f);
    facts_add_map(f, 0, 19, 0.99);
    f->cores = (verdict_cores){.workers = 2, .allowed = 8, .used = 2, .spare = 6};
}

static const report_advice *first_advice(const verdict_facts *facts, report_advice *advice)
{
    verdict found;

    verdict_decide(facts, &found);
    T_STR(found.cause, "cpu");
    T_TRUE(verdict_advise(facts, &found, advice) > 0);
    return &advice[0];
}

static void idle_cores_need_slots_for_batch_maps(void)
{
    report_advice advice[REPORT_ADVICE];
    verdict_facts facts;

    facts_of_idle_cores(&facts);
    T_EQ(first_advice(&facts, advice)->workers, 8);
    facts.stages[0].kind |= SLI_STAGE_BATCH;
    facts.run.slots = 4;
    T_EQ(first_advice(&facts, advice)->workers, 4);
    facts.run.slots = 2;
    T_STR(first_advice(&facts, advice)->change, "code");
}

/* Threads of the step, which have no row, are on the cores that the workers leave. */
static void cores_in_use_are_not_idle(void)
{
    report_advice advice[REPORT_ADVICE];
    verdict_facts facts;

    facts_of_idle_cores(&facts);
    facts.cores.used = 7;
    T_STR(first_advice(&facts, advice)->change, "code");
    facts.cores = (verdict_cores){.workers = 7, .allowed = 8, .used = 7.1, .spare = 1};
    facts.stages[0].busy_s = 69;
    T_STR(first_advice(&facts, advice)->change, "workers");
}

/* The run queue is above 5 %: other processes were there. */
static void rates_of_a_loud_machine_are_wider(void)
{
    verdict_facts facts;
    report_advice advice[REPORT_ADVICE];
    verdict found;

    facts_base(&facts);
    facts_of_a_sleeping_map(&facts);
    facts.stages[1].runqueue = 0.1;
    facts.stages[1].blocked = 0.89;
    facts.stages[0].busy_s = 0.4;
    verdict_decide(&facts, &found);
    T_TRUE(verdict_advise(&facts, &found, advice) > 0);
    T_STR(advice[0].change, "workers");
    T_TRUE(advice[0].rate_high > 1.28 * advice[0].rate_low);
    T_TRUE(advice[0].rate_high <= 1.6 * advice[0].rate_low);
}

/* Steps bound the rate, and more workers than they need are not advised. */
static void the_model_is_bounded_by_the_step(void)
{
    verdict_facts facts;
    verdict_cost cost;

    facts_base(&facts);
    facts_of_a_sleeping_map(&facts);
    facts.run.step = 0.4;
    cost = verdict_cost_of(&facts);
    T_NEAR(verdict_rate(&facts, &cost, 1000), 3200 / 4.0, 1e-6);
    facts.host.hooks_s = 1;
    T_NEAR(verdict_rate(&facts, &cost, 1000), 3200 / 5.0, 1e-6);
}

/* Half of 97 % of the time; no rate if the workers cannot keep up with it. */
static void the_rate_for_the_host_is_for_half_of_its_time(void)
{
    verdict_facts facts;
    const report_advice advice = first_of(facts_of_hooks, &facts);
    report_advice slow[REPORT_ADVICE];
    verdict found;

    T_STR(advice.change, "hooks");
    T_NEAR(advice.rate_low, 0.9 * 320 / (1 - 0.97 / 2), 1e-6);
    T_NEAR(advice.rate_high, 1.1 * 320 / (1 - 0.97 / 2), 1e-6);
    T_CONTAINS(advice.text, "; the rate is for half of their time");
    facts.stages[0].busy_s = 15;
    verdict_decide(&facts, &found);
    T_STR(found.cause, "host");
    T_TRUE(verdict_advise(&facts, &found, slow) > 0);
    T_NEAR(slow[0].rate_high, 0, 0);
}

/* A serial map that sleeps 2 ms: the lock is waited for, and not a part of its work. */
static void waits_for_a_serial_map_are_no_cost_of_it(void)
{
    verdict_facts facts;
    verdict_cost cost;

    facts_base(&facts);
    facts_add_map(&facts, SERIAL, 16, 0.01)->locked_s = 9.6;
    cost = verdict_cost_of(&facts);
    T_NEAR(cost.serial, 0.002, 1e-9);
    T_NEAR(cost.cpu, 0.01 * 0.005, 1e-9);
    T_NEAR(cost.cpu + cost.runqueue + cost.blocked, 0.002, 1e-9);
    T_NEAR(verdict_rate(&facts, &cost, 64), 500, 1e-6);
}

/* plain: 0.7 * 100 + 0.3 * 50 = 85; indexed: 1.15 * 50; of 15 of 19.5 s. */
static void an_index_gains_what_it_spares(void)
{
    verdict_facts facts;
    const report_advice advice = first_of(facts_of_decode, &facts);
    const double gain = 1 / (1 - (1 - 57.5 / 85) * 15 / 19.5);

    T_NEAR(advice.rate_low, 0.88 * gain * 320, 0.1);
    T_NEAR(advice.rate_high, 1.02 * gain * 320, 0.1);
    T_CONTAINS(advice.text, "the crops need 50 % of the pixels");
}

/* Steps of a GPU take 88 % of the time: more than 320 / 0.88 samples per second they do not take.
 */
static void an_index_gains_no_more_than_the_steps_allow(void)
{
    verdict_facts facts;
    report_advice advice[REPORT_ADVICE];
    verdict found;

    facts_base(&facts);
    facts_of_decode(&facts);
    facts.run.data_wait = 0.1;
    facts.run.step = 0.88;
    facts.run.has_kernels = true;
    verdict_decide(&facts, &found);
    T_STR(found.stage, "decode");
    T_TRUE(verdict_advise(&facts, &found, advice) > 0);
    T_STR(advice[0].change, "index");
    T_NEAR(advice[0].rate_high, 1.02 * 320 / 0.88, 0.1);
}

/* Nothing that a pipeline cannot do. */
static void indexes_are_for_folders_without_them(void)
{
    verdict_facts facts;
    report_advice advice[REPORT_ADVICE];
    verdict found;
    uint32_t count;

    facts_base(&facts);
    facts_of_decode(&facts);
    facts.data.source = "webdataset";
    verdict_decide(&facts, &found);
    count = verdict_advise(&facts, &found, advice);
    T_EQ(count_advice(advice, count, "index"), 0);
    T_STR(advice[0].change, "pack");
    facts.data.packs = false; /* it has boxes */
    count = verdict_advise(&facts, &found, advice);
    T_EQ(count_advice(advice, count, "pack"), 0);
    facts.data.packs = true;
    facts.data.source = "image_folder";
    facts.data.indexes.asked = 3200;
    count = verdict_advise(&facts, &found, advice);
    T_EQ(count_advice(advice, count, "index") + count_advice(advice, count, "pack"), 0);
}

/* A core more is 20 % at best, and other work may take it: no promise begins with a loss. */
static void no_promise_begins_below_todays_rate(void)
{
    report_advice advice[REPORT_ADVICE];
    verdict_facts facts;
    verdict found;

    facts_base(&facts);
    facts_add_decode(&facts, 48, 0.02);
    facts.cores = (verdict_cores){.workers = 5, .allowed = 6, .used = 4.9, .spare = 1};
    verdict_decide(&facts, &found);
    T_TRUE(verdict_advise(&facts, &found, advice) > 0);
    T_STR(advice[0].change, "workers");
    T_EQ(advice[0].workers, 6);
    T_NEAR(advice[0].rate_low, 320, 1e-6);
    T_TRUE(advice[0].rate_high > 1.1 * 320 && advice[0].rate_high < 1.3 * 320);
}

/* 17 of 20 s of the workers are waits for the disk; decoding takes 2 s, and reading 0.17 s. */
static void a_faster_disk_gains_the_waits(void)
{
    verdict_facts facts;
    const report_advice advice = first_of(facts_of_a_limited_disk, &facts);
    const double rate = 2 / ((2 + 0.17) / 3200);

    T_STR(advice.change, "storage");
    T_NEAR(advice.rate_low, 0.85 * rate, 0.01 * rate);
    T_NEAR(advice.rate_high, 1.1 * rate, 0.01 * rate);
    T_TRUE(advice.rate_high <= 1.3 * advice.rate_low);
    T_CONTAINS(advice.text, "; the rate is for reads that do not wait");
}

/* A batch of 32 samples takes 100 ms; two workers are busy for 20 ms of them. */
static void larger_batches_share_the_fixed_time(void)
{
    verdict_facts facts;
    const report_advice advice = first_of(facts_of_tiny_samples, &facts);

    T_STR(advice.change, "batch");
    T_CONTAINS(advice.text, "batches of 1024 samples, now 32: a batch costs 80000 us besides");
    T_NEAR(advice.rate_high, 0, 0);
}

/* Steps of 30 ms are work on samples, too, and longer than that of the workers: 70 ms are fixed. */
static void steps_are_no_fixed_time_of_batches(void)
{
    verdict_facts facts;
    report_advice advice[REPORT_ADVICE];
    verdict found;

    facts_base(&facts);
    facts_of_tiny_samples(&facts);
    facts.run.step = 0.3;
    verdict_decide(&facts, &found);
    T_STR(found.cause, "handover");
    T_TRUE(verdict_advise(&facts, &found, advice) > 0);
    T_CONTAINS(advice[0].text, "now 32: a batch costs 70000 us besides");
}

/* The clocks of threads also count the time between samples. */
static void the_share_of_waits_is_that_of_the_threads(void)
{
    verdict_facts facts;
    verdict found;

    facts_base(&facts);
    facts_add_decode(&facts, 9, 0);
    facts.cores.used = 0.9;
    facts.cores.running = 0.36;
    facts.cores.queued = 0.44;
    facts.cores.has_others = true;
    facts.cores.others = 1.1;
    verdict_decide(&facts, &found);
    T_CONTAINS(found.why, "workers wait for a CPU 55 % of the time that they are ready to run");
}

const t_test verdict_rates_tests[] = {
    T_TEST(the_advised_workers_keep_the_rate_predictable),
    T_TEST(few_workers_more_fill_the_cores),
    T_TEST(a_range_has_its_width_at_most),
    T_TEST(a_sleep_beside_the_limit_is_overlapped),
    T_TEST(other_sleep_gets_no_workers),
    T_TEST(fewer_workers_still_fill_the_cores),
    T_TEST(workers_of_batch_maps_need_slots),
    T_TEST(idle_cores_need_slots_for_batch_maps),
    T_TEST(cores_in_use_are_not_idle),
    T_TEST(rates_of_a_loud_machine_are_wider),
    T_TEST(the_model_is_bounded_by_the_step),
    T_TEST(the_rate_for_the_host_is_for_half_of_its_time),
    T_TEST(waits_for_a_serial_map_are_no_cost_of_it),
    T_TEST(an_index_gains_what_it_spares),
    T_TEST(an_index_gains_no_more_than_the_steps_allow),
    T_TEST(indexes_are_for_folders_without_them),
    T_TEST(no_promise_begins_below_todays_rate),
    T_TEST(a_faster_disk_gains_the_waits),
    T_TEST(larger_batches_share_the_fixed_time),
    T_TEST(steps_are_no_fixed_time_of_batches),
    T_TEST(the_share_of_waits_is_that_of_the_threads),
    T_END,
};
