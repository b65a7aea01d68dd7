/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a run: the rate that a number of workers would give. */
#include <math.h>

#include "verdict.h"

double verdict_now(const verdict_facts *facts)
{
    return facts->run.seconds > 0 ? (double)facts->run.samples / facts->run.seconds : 0;
}

/* Adds the time of a stage without the waits for its lock, which are a part of its blocked time.
 * What is not known counts as work on a CPU. */
static void add_stage(const verdict_facts *facts, const verdict_stage *stage, verdict_cost *cost)
{
    const double samples = (double)facts->run.samples;
    const double seconds = (stage->busy_s - stage->locked_s) / samples;
    const double shares = stage->cpu + stage->runqueue + stage->blocked;

    if (!stage->has_shares || shares <= 0) {
        cost->cpu += seconds;
    } else {
        const double all = stage->busy_s / samples / shares;
        const double cpu = fmin(seconds, all * stage->cpu);
        const double runqueue = fmin(seconds - cpu, all * stage->runqueue);

        cost->cpu += cpu;
        cost->runqueue += runqueue;
        cost->blocked += seconds - cpu - runqueue;
    }
    if ((stage->kind & SLI_STAGE_SERIAL) != 0 && seconds > cost->serial) {
        cost->serial = seconds;
    }
}

verdict_cost verdict_cost_of(const verdict_facts *facts)
{
    verdict_cost cost = {0, 0, 0, 0};

    for (uint32_t i = 0; i < facts->stage_count && facts->run.samples > 0; i++) {
        if (verdict_is_steady(facts, &facts->stages[i])) {
            add_stage(facts, &facts->stages[i], &cost);
        }
    }
    return cost;
}

double verdict_queued(const verdict_cost *cost)
{
    const double ready = cost->cpu + cost->runqueue;

    return ready > 0 ? cost->runqueue / ready : 0;
}

double verdict_waiting(const verdict_cost *cost)
{
    const double all = cost->cpu + cost->runqueue + cost->blocked;

    return all > 0 ? cost->runqueue / all : 0;
}

double verdict_obtained(const verdict_facts *facts, const verdict_cost *cost)
{
    const double step = facts->run.has_kernels ? 0 : facts->run.step;
    const double left = facts->cores.allowed > step ? facts->cores.allowed - step : 0;

    return left * (1 - verdict_queued(cost));
}

/* Seconds a sample outside of the workers: steps and the host's own work. */
static double other_seconds(const verdict_facts *facts)
{
    return (facts->run.step * facts->run.seconds + report_host_seconds(&facts->host)) /
           (double)facts->run.samples;
}

/* The limits that do not depend on the number of workers. */
static double bounded(const verdict_facts *facts, const verdict_cost *cost, double rate)
{
    const double other = other_seconds(facts);

    if (cost->cpu > 0) {
        rate = fmin(rate, verdict_obtained(facts, cost) / cost->cpu);
    }
    if (cost->serial > 0) {
        rate = fmin(rate, 1 / cost->serial);
    }
    if (facts->copy_s > 0) {
        rate = fmin(rate, (double)facts->run.samples / facts->copy_s);
    }
    return other > 0 ? fmin(rate, 1 / other) : rate;
}

double verdict_rate(const verdict_facts *facts, const verdict_cost *cost, double workers)
{
    const double latency = cost->cpu + cost->blocked;

    return bounded(facts, cost, latency > 0 ? workers / latency : 0);
}

/*
 * Mean value analysis of a closed network: workers sleep for a time, then wait for one of C cores.
 * C cores are one of C times the speed, and a delay for the rest of the time on a core (Seidmann).
 */
double verdict_queueing(const verdict_facts *facts, const verdict_cost *cost, uint32_t workers)
{
    const double obtained = verdict_obtained(facts, cost);
    const double cores = obtained > 0 ? obtained : 1;
    const double served = cost->cpu / cores;
    const double delay = cost->blocked + (cores > 1 ? cost->cpu - served : 0);
    double waiting = 0;
    double rate = 0;

    for (uint32_t n = 1; n <= workers; n++) {
        const double response = served * (1 + waiting);

        rate = response + delay > 0 ? n / (response + delay) : 0;
        waiting = rate * response;
    }
    return bounded(facts, cost, rate);
}
