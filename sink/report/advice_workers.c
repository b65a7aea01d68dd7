/* SPDX-License-Identifier: Apache-2.0 */
/* Advice about the number of workers: more of them where they are blocked or leave cores idle,
 * fewer where they wait for each other's CPUs. */
#include <math.h>

#include "advice_rules.h"

/* Workers that sleep may come this near to a limit other than their number. */
static const double LIMIT_PART = 0.9;

enum { MOST_WORKERS = 32 };

static const advice_ranges MORE_SLEEP = {{0.92, 1.05}, {0.85, 1.1}};
static const advice_ranges MORE_CORES = {{0.8, 1.03}, {0.74, 1.14}};

/* The most by which the upper end of a range may exceed the lower one. */
static const double CALM_WIDTH = 1.3;
static const double LOUD_WIDTH = 1.6;

/* In a map of batches each worker holds a slot. */
static double within_slots(const verdict_facts *facts, const verdict_stage *at, double workers)
{
    return (at->kind & SLI_STAGE_BATCH) != 0 ? fmin(workers, facts->run.slots) : workers;
}

/* More are not worth their memory. */
static double most_workers(const verdict_facts *facts)
{
    return fmin(fmax(MOST_WORKERS, 4 * facts->cores.allowed), 8 * MOST_WORKERS);
}

/*
 * Workers for a stage that sleeps: as many as give 0.9 of another limit, or, where that is no more
 * than now, as many as reach it; `most` at most. Their rate lies between that of a queue for the
 * cores and that without any wait, which differ by a fifth up to 0.9 of the limit. Above, the upper
 * end of the range is cut: the rate is near that of the queue. 0: there is no such number.
 */
static uint32_t workers_that_sleep(const verdict_facts *facts, const verdict_cost *cost,
                                   double most, report_advice *advice)
{
    const double width = advice_is_loud(facts, cost) ? LOUD_WIDTH : CALM_WIDTH;
    const advice_range range = advice_range_of(facts, cost, &MORE_SLEEP);
    const double bound = verdict_rate(facts, cost, 1e9) * (cost->cpu + cost->blocked);
    double workers = floor(fmin(most, LIMIT_PART * bound));

    if (workers <= facts->cores.workers) {
        workers = floor(fmin(most, bound));
    }
    if (workers <= facts->cores.workers) {
        return 0;
    }
    advice->rate_low = range.low * verdict_queueing(facts, cost, (uint32_t)workers);
    advice->rate_high =
        fmin(range.high * verdict_rate(facts, cost, workers), width * advice->rate_low);
    return (uint32_t)workers;
}

/* True if reading files waits for the disk, whose limit is not known. */
static bool disk_is_near(const verdict_facts *facts)
{
    for (uint32_t i = 0; i < facts->stage_count; i++) {
        const verdict_stage *stage = &facts->stages[i];

        if ((stage->kind & SLI_STAGE_READ) != 0 && (stage->kind & SLI_STAGE_USER) == 0 &&
            stage->has_shares && stage->blocked * stage->busy_s > 0.1 * verdict_busy(facts)) {
            return true;
        }
    }
    return false;
}

/* True if threads that become ready run at once. */
static bool is_calm(const verdict_facts *facts, const verdict_cost *cost)
{
    return verdict_waiting(cost) < 2 * ADVICE_LOUD_SHARE &&
           !(facts->machine.has_pressure && facts->machine.cpu_pressure > 0.25);
}

/*
 * True if one more worker would run at once: cores are free, and neither other processes nor
 * further threads of this one, such as those of OpenMP, take them. `spare` counts threads that have
 * a row, and `used` is an average: half of the spare cores unused is enough.
 */
static bool has_free_cores(const verdict_facts *facts, const verdict_cost *cost)
{
    const verdict_cores *cores = &facts->cores;

    return cores->spare >= 1 && cores->allowed - cores->used >= cores->spare / 2 &&
           is_calm(facts, cost);
}

/* True if each core has a worker, and yet they are idle for half of the time at least that one
 * more worker would use. */
static bool has_idle_time(const verdict_facts *facts, const verdict_cost *cost)
{
    const verdict_cores *cores = &facts->cores;
    const double idle = cores->allowed - cores->used - (cores->has_others ? cores->others : 0);

    return cores->workers >= cores->allowed && is_calm(facts, cost) &&
           idle >= cost->cpu * verdict_now(facts) / cores->workers / 2;
}

/* The function of the user that is blocked for most of the workers' time. NULL: none is. */
static const verdict_stage *stage_most_blocked(const verdict_facts *facts)
{
    const verdict_stage *found = NULL;
    double most = 0;

    for (uint32_t i = 0; i < facts->stage_count; i++) {
        const verdict_stage *stage = &facts->stages[i];
        const double blocked = stage->has_shares ? stage->blocked * stage->busy_s : 0;

        if (blocked > most && (stage->kind & SLI_STAGE_USER) != 0 &&
            (stage->kind & SLI_STAGE_SERIAL) == 0 && verdict_is_steady(facts, stage)) {
            most = blocked;
            found = stage;
        }
    }
    return found;
}

static bool advise_sleeping(const verdict_facts *facts, const verdict *v, const verdict_stage *at,
                            report_advice *advice)
{
    const verdict_cost cost = verdict_cost_of(facts);
    double most = most_workers(facts);

    if (at == NULL || !verdict_only_sleeps(facts, at)) {
        return false;
    }
    most = within_slots(facts, v->at, within_slots(facts, at, most));
    advice->workers = workers_that_sleep(facts, &cost, most, advice);
    advice_say(advice, "%s is blocked, but not on a lock: more workers overlap their waits",
               at->name);
    return advice->workers > 0;
}

/* Another stage takes the cores, but not all of their time. */
static bool advise_sleep_beside(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const verdict_cost cost = verdict_cost_of(facts);

    return !disk_is_near(facts) && has_idle_time(facts, &cost) &&
           advise_sleeping(facts, v, stage_most_blocked(facts), advice);
}

static bool advise_cores(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const verdict_cost cost = verdict_cost_of(facts);
    const uint32_t filled = facts->cores.workers + (uint32_t)facts->cores.spare;
    const uint32_t workers = (uint32_t)within_slots(facts, v->at, filled);
    const double rate = verdict_rate(facts, &cost, workers);

    if (verdict_is_fed(facts) || !has_free_cores(facts, &cost) || workers <= facts->cores.workers ||
        rate < ADVICE_LEAST_GAIN * verdict_now(facts)) {
        return false;
    }
    advice->workers = workers;
    if (!disk_is_near(facts)) {
        advice_set_rate(advice, rate, advice_range_of(facts, &cost, &MORE_CORES));
    }
    advice_say(advice, "%u worker%s leave%s %.0f core%s idle", facts->cores.workers,
               facts->cores.workers == 1 ? "" : "s", facts->cores.workers == 1 ? "s" : "",
               facts->cores.spare, facts->cores.spare < 2 ? "" : "s");
    return true;
}

bool advice_workers(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const bool is_serial = v->at != NULL && (v->at->kind & SLI_STAGE_SERIAL) != 0;

    if (v->at == NULL || is_serial) {
        return false;
    }
    if (verdict_has_cause(v, "blocked")) {
        return advise_sleeping(facts, v, v->at, advice);
    }
    return verdict_has_cause(v, "cpu") &&
           (advise_cores(facts, v, advice) || advise_sleep_beside(facts, v, advice));
}

/* Reads of files that wait: whether for the disk's latency or for its bandwidth is not known. */
bool advice_workers_that_read(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const uint32_t tried = 4 * facts->cores.workers;

    if (!verdict_has_cause(v, "storage") || v->at == NULL || !v->at->has_shares ||
        (v->at->kind & SLI_STAGE_SERIAL) != 0 || tried > 2 * MOST_WORKERS || v->at->p50_s < 0.002) {
        return false;
    }
    advice->workers = tried;
    advice_say(
        advice,
        "a read takes %.0f ms: if that is latency, more workers read more files at a time; if "
        "it is the bandwidth of the disk, they gain nothing",
        1e3 * v->at->p50_s);
    return true;
}

/* The number of workers that keeps up with the steps, with a part of the cores to spare. */
static uint32_t enough_workers(const verdict_facts *facts)
{
    return (uint32_t)(verdict_busy(facts) / facts->run.seconds / 0.8) + 1;
}

/* The number of workers that keeps the cores busy: more than cores, if workers also sleep. */
static double workers_that_fill(const verdict_facts *facts)
{
    const verdict_cost cost = verdict_cost_of(facts);

    /* A tenth of a worker is not missed. */
    return cost.cpu > 0 ? fmax(1, ceil(facts->cores.allowed * (1 + cost.blocked / cost.cpu) - 0.1))
                        : (double)INFINITY;
}

bool advice_fewer_workers(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    /* One more costs next to nothing. */
    if (v->thief == THIEF_WORKERS && v->at != NULL &&
        workers_that_fill(facts) + 1 < facts->cores.workers) {
        advice->workers = (uint32_t)workers_that_fill(facts);
        advice_say(advice,
                   "%u workers keep all cores busy; the others wait for a CPU, and use memory",
                   advice->workers);
        return true;
    }
    if ((!verdict_is_stage(v, "step") && !verdict_has_cause(v, "cpu")) || !verdict_is_fed(facts) ||
        facts->run.queued <= ADVICE_LOUD_SHARE || v->thief == THIEF_OTHERS ||
        enough_workers(facts) >= facts->cores.workers) {
        return false;
    }
    advice->workers = enough_workers(facts);
    advice_say(advice,
               "the steps wait for a CPU %.0f %% of the time, and fewer workers can feed them",
               100 * facts->run.queued);
    return true;
}
