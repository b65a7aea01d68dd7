/* SPDX-License-Identifier: Apache-2.0 */
/* The changes that would make a run faster: a table of them, each with the facts in which it
 * applies, and the rate to expect. */
#include <math.h>
#include <string.h>

#include "advice_rules.h"

enum { LARGE_BATCH = 1024 };

typedef struct advice_rule {
    const char *change;
    bool (*applies)(const verdict_facts *facts, const verdict *v, report_advice *advice);
} advice_rule;

/* ---- the host ---------------------------------------------------------------------------------
 */

/* Rate if a row of the host, with this share, took half of its time, and the workers kept up. */
static void set_half(const verdict_facts *facts, double share, report_advice *advice)
{
    const double now = verdict_now(facts);
    const verdict_cost cost = verdict_cost_of(facts);
    verdict_facts without = *facts; /* without the host's time, which bounds the rate today */
    const double rate = now / (1 - share / 2);
    double workers;

    without.host = (report_host_times){.known = true};
    workers = verdict_rate(&without, &cost, facts->cores.workers);
    if (workers >= 1.2 * rate) {
        advice_set_rate(advice, rate, (advice_range){0.9, 1.1});
    }
}

/* Of the row that limits the run, and of others that take as much as is worth a change. */
static bool advise_host(const verdict_facts *facts, const verdict *v, double seconds,
                        const char *text, report_advice *advice)
{
    const double share = seconds / facts->run.seconds;

    if (!verdict_has_cause(v, "host") || share < VERDICT_WORTH_SHARE) {
        return false;
    }
    set_half(facts, share, advice);
    advice_say(advice, "%s%s", text,
               advice->rate_high > 0 ? "; the rate is for half of their time" : "");
    return true;
}

static bool checkpoints(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    return advise_host(facts, v, facts->host.checkpoint_s,
                       "fewer checkpoints (every_steps, every_seconds), or a faster save()",
                       advice);
}

static bool validations(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    return advise_host(facts, v, facts->host.validation_s,
                       "fewer validations (every_steps), of fewer samples (take N)", advice);
}

static bool hooks(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    return advise_host(facts, v, facts->host.hooks_s,
                       "less work in the hooks, or longer sinks (sink_size), which call them "
                       "less often",
                       advice);
}

/* ---- the device -------------------------------------------------------------------------------
 */

static bool offload(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const bool pixels = v->at != NULL && (v->at->kind & SLI_STAGE_PIXELS) != 0;

    if (!facts->run.has_kernels || !facts->data.converts_on_host ||
        (!pixels && !verdict_has_cause(v, "copy"))) {
        return false;
    }
    if (pixels) {
        advice_say(advice, "offload=device: the workers convert images, which the device can do");
    } else {
        advice_say(advice,
                   "offload=device: copies move %.1f MB/s, %.1f kB a sample, and images are "
                   "smaller before they are converted",
                   (double)facts->copy_bytes / 1e6 / facts->run.seconds,
                   (double)facts->copy_bytes / 1e3 / (double)facts->run.samples);
    }
    return true;
}

/* Seconds of a batch that do not grow with its samples: a of a + b * batch. The run has one size of
 * batch, so a is what remains of a batch's time beside the work on its samples, that of the workers
 * or that of the step, whichever takes longer. */
static double fixed_seconds(const verdict_facts *facts)
{
    const double busy_s = verdict_busy(facts) / facts->cores.workers;
    const double step_s = facts->run.step * facts->run.seconds;

    return fmax(0, facts->run.seconds - fmax(busy_s, step_s)) / (double)facts->run.steps;
}

/* Rate with batches of another size, if their fixed time stays as it is. It is no promise: with
 * other processes on the cores that time differs from run to run. */
static double rate_of_batch(const verdict_facts *facts, double batch)
{
    const double fixed = fixed_seconds(facts);
    const double sample = 1 / verdict_now(facts) - fixed / facts->run.batch_size;

    return batch / (fixed + sample * batch);
}

static bool larger_batches(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const uint32_t now = facts->run.batch_size;
    uint32_t batch = now;

    if (!verdict_has_cause(v, "handover") || now == 0 || facts->cores.workers == 0) {
        return false;
    }
    while (batch <= LARGE_BATCH / 2 &&
           rate_of_batch(facts, 2.0 * batch) >= ADVICE_LEAST_GAIN * rate_of_batch(facts, batch)) {
        batch *= 2;
    }
    if (batch == now) {
        return false;
    }
    advice_say(advice,
               "batches of %u samples, now %u: a batch costs %.0f us besides its samples; the "
               "training changes, too",
               batch, now, 1e6 * fixed_seconds(facts));
    return true;
}

/* ---- the machine ------------------------------------------------------------------------------
 */

static bool quota(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    (void)facts;
    if (v->thief != THIEF_QUOTA) {
        return false;
    }
    advice_say(advice, "a larger CPU quota of the container or control group (cpu.max)");
    return true;
}

static bool cores_of_its_own(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    (void)facts;
    if (v->thief != THIEF_OTHERS) {
        return false;
    }
    advice_say(advice,
               "cores that no other process uses (taskset), or wait until those have ended");
    return true;
}

static bool fewer_step_threads(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    if (v->thief != THIEF_STEP) {
        return false;
    }
    advice_say(
        advice,
        "fewer threads in the step (OMP_NUM_THREADS), or more cores: the step and %u worker%s "
        "use %.1f of %.1f cores",
        facts->cores.workers, facts->cores.workers == 1 ? "" : "s", facts->cores.used,
        facts->cores.allowed);
    return true;
}

static bool more_cores(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    if (!facts->cores.bound || v->at == NULL || !verdict_has_cause(v, "cpu") ||
        facts->cores.workers < facts->cores.allowed) {
        return false;
    }
    advice_say(advice,
               "the process may use %.0f cores of the machine: allow more (taskset, cpuset)",
               facts->cores.allowed);
    return true;
}

/* ---- the user's code --------------------------------------------------------------------------
 */

static void say_of_stage(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const double us = 1e6 * v->at->busy_s / (double)v->at->samples;
    const verdict_operation *operation = verdict_operation_of(facts, v->at);

    if (verdict_has_cause(v, "lock") && v->at->locked_s > 0) {
        advice_say(advice,
                   "%s runs one sample at a time: make it safe for several workers and leave "
                   "`serial` out, or do less in it",
                   v->stage);
    } else if (verdict_has_cause(v, "lock")) {
        advice_say(advice,
                   "%s waits for a lock, of its own or of its interpreter: hold it for less time",
                   v->stage);
    } else if ((v->at->kind & SLI_STAGE_USER) != 0) {
        advice_say(advice, "%s is your function, and takes %.0f us a sample%s", v->at->name, us,
                   verdict_has_cause(v, "blocked") && !verdict_only_sleeps(facts, v->at)
                       ? "; unless it waits for a lock, more workers overlap their waits"
                       : "");
    } else {
        advice_say(advice, "%s takes %.0f us a sample: %s, or more cores", v->stage,
                   us * (operation != NULL && v->stage == operation->name ? operation->share : 1),
                   (v->at->kind & (SLI_STAGE_DECODE | SLI_STAGE_PIXELS)) != 0
                       ? "smaller images, a cheaper operation"
                       : "smaller samples");
    }
}

static bool code(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    if (v->at != NULL && v->at->samples > 0 && v->thief == THIEF_NONE &&
        !verdict_has_cause(v, "storage")) {
        say_of_stage(facts, v, advice);
        return true;
    }
    if (verdict_has_cause(v, "device") && facts->run.steps > 0) {
        advice_say(advice, "nothing to gain in the pipeline: %s takes %.1f ms", v->stage,
                   1e3 * (verdict_is_stage(v, "device_maps") ? facts->run.maps : facts->run.step) *
                       facts->run.seconds / (double)facts->run.steps);
        return true;
    }
    if (verdict_has_cause(v, "ranks")) {
        if (2 * facts->waits.late_seconds < facts->waits.agree_seconds) {
            advice_say(advice, "longer sinks (sink_size): ranks call agree less often");
        } else {
            advice_say(advice, "see the report of rank %u for what limits all ranks",
                       facts->waits.late[0].rank);
        }
        return true;
    }
    if (verdict_has_cause(v, "host") && verdict_is_stage(v, "launch")) {
        advice_say(advice, "longer sinks (sink_size), so that the host launches less often");
        return true;
    }
    return false;
}

/* Those that remove the named cause come first, then those with the highest rates. */
static const advice_rule rules[] = {
    {"quota", quota},
    {"binding", cores_of_its_own},
    {"binding", fewer_step_threads},
    {"checkpoint", checkpoints},
    {"validation", validations},
    {"hooks", hooks},
    {"storage", advice_storage},
    {"workers", advice_workers},
    {"index", advice_index},
    {"pack", advice_pack},
    {"fewer_workers", advice_fewer_workers},
    {"binding", more_cores},
    {"cache", advice_cache},
    {"offload", offload},
    {"batch", larger_batches},
    {"workers", advice_workers_that_read},
    {"code", code},
};

/* False if the rate is hardly above today's. No promise begins below today's rate. */
static bool is_worth_it(const verdict_facts *facts, report_advice *advice)
{
    const double now = verdict_now(facts);

    if (advice->rate_high > 0 && advice->rate_low < now) {
        advice->rate_low = now;
    }
    return advice->rate_high <= 0 || advice->rate_high >= ADVICE_LEAST_GAIN * now;
}

uint32_t verdict_advise(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    uint32_t count = 0;

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && count < REPORT_ADVICE; i++) {
        report_advice next = {.change = rules[i].change};
        uint32_t at = count;

        if (!rules[i].applies(facts, v, &next) || !is_worth_it(facts, &next)) {
            continue;
        }
        for (; at > 0 && next.rate_low > advice[at - 1].rate_low && advice[at - 1].rate_low > 0;
             at--) {
            advice[at] = advice[at - 1];
        }
        advice[at] = next;
        count++;
    }
    return count;
}
