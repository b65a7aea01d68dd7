/* SPDX-License-Identifier: Apache-2.0 */
/* The changes that would make a run faster: a table of them, each with the facts in which it
 * applies, and the rate to expect. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format_int.h"
#include "verdict.h"

/*
 * Cost model for decoding only a box of a JPEG file, relative to a full decode. A decoder that
 * starts at the beginning of the file Huffman-decodes all lines down to the box's lower edge
 * (HUFFMAN_PART); the rest of the work is done only for the box's pixels. With an index or restart
 * markers it decodes only the box, enlarged to whole cells (CELLS_AROUND). Measured with ImageNet's
 * photographs (docs/guide/fast-data.md).
 */
static const double HUFFMAN_PART = 0.7;
static const double CELLS_AROUND = 1.15;

/* Remedies with a smaller gain are not worth their price. */
static const double LEAST_GAIN = 1.1;

/* Workers that sleep may come this near to a limit other than their number. */
static const double LIMIT_PART = 0.9;

enum { MOST_WORKERS = 32, LARGE_BATCH = 256 };

/* A row of the host that takes this share of the time is worth a change, whatever takes more. */
static const double HOST_SHARE = 0.2;

/* Share of the run queue above which other work makes predictions less exact. */
static const double LOUD_SHARE = 0.05;

/* A rate around a prediction. */
typedef struct rate_range {
    double low;
    double high;
} rate_range;

static const rate_range CALM = {0.92, 1.05};      /* of workers that sleep */
static const rate_range CALM_CORES = {0.8, 1.03}; /* of workers on further cores */
static const rate_range LOUD = {0.85, 1.1};
static const rate_range LOUD_CORES = {0.74, 1.14};

/* The most by which the upper end of a range may exceed the lower one. */
static const double CALM_WIDTH = 1.3;
static const double LOUD_WIDTH = 1.6;

static const rate_range DECODED = {0.88, 1.02}; /* of an index: measured 9 % too good */

typedef struct advice_rule {
    const char *change;
    bool (*applies)(const verdict_facts *facts, const verdict *v, report_advice *advice);
} advice_rule;

static void say(report_advice *advice, const char *format, ...) SLUICE_PRINTF(2, 3);

static void say(report_advice *advice, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    sli_print_args(advice->text, sizeof(advice->text), format, args);
    va_end(args);
}

static bool has_cause(const verdict *v, const char *cause)
{
    return strcmp(v->cause, cause) == 0;
}

static bool is_stage(const verdict *v, const char *stage)
{
    return strcmp(v->stage, stage) == 0;
}

static bool is_folder(const verdict_facts *facts)
{
    return strcmp(facts->data.source, "image_folder") == 0;
}

static bool is_loud(const verdict_facts *facts, const verdict_cost *cost)
{
    return verdict_waiting(cost) > LOUD_SHARE ||
           (cost->runqueue <= 0 && facts->machine.has_pressure &&
            facts->machine.cpu_pressure > LOUD_SHARE);
}

static void set_rate(report_advice *advice, double rate, rate_range range)
{
    advice->rate_low = rate * range.low;
    advice->rate_high = rate * range.high;
}

/* ---- workers ----------------------------------------------------------------------------------
 */

/* The most workers for stages that sleep: their rate can be predicted, and no other limit is near.
 * 0: there is no such number. */
static uint32_t workers_that_sleep(const verdict_facts *facts, const verdict_cost *cost,
                                   report_advice *advice)
{
    const bool loud = is_loud(facts, cost);
    const rate_range range = loud ? LOUD : CALM;
    const double most = fmin(fmax(MOST_WORKERS, 4 * facts->cores.allowed), 8 * MOST_WORKERS);
    const double bound = LIMIT_PART * verdict_rate(facts, cost, 1e9);
    uint32_t found = 0;

    for (uint32_t k = facts->cores.workers + 1; k <= most; k++) {
        const double low = range.low * verdict_queueing(facts, cost, k);
        const double high = range.high * verdict_rate(facts, cost, k);

        if (high > (loud ? LOUD_WIDTH : CALM_WIDTH) * low ||
            k > bound * (cost->cpu + cost->blocked)) {
            break;
        }
        found = k;
        advice->rate_low = low;
        advice->rate_high = high;
    }
    return found;
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

/* True if a worker more would run at once: cores are free, and other processes leave them so. */
static bool has_free_cores(const verdict_facts *facts, const verdict_cost *cost)
{
    const report_machine *machine = &facts->machine;

    return facts->cores.spare >= 1 && verdict_waiting(cost) < 2 * LOUD_SHARE &&
           !(machine->has_pressure && machine->cpu_pressure > 0.25);
}

static bool advise_sleeping(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const verdict_cost cost = verdict_cost_of(facts);

    if (!verdict_only_sleeps(facts, v->at)) {
        return false;
    }
    advice->workers = workers_that_sleep(facts, &cost, advice);
    if (advice->workers == 0 || advice->rate_high < LEAST_GAIN * verdict_now(facts)) {
        return false;
    }
    say(advice, "%s sleeps, and not for a lock: the waits of more workers overlap", v->at->name);
    return true;
}

static bool advise_cores(const verdict_facts *facts, report_advice *advice)
{
    const verdict_cost cost = verdict_cost_of(facts);
    const uint32_t workers = facts->cores.workers + (uint32_t)facts->cores.spare;
    const double rate = verdict_rate(facts, &cost, workers);

    if (!has_free_cores(facts, &cost) || rate < LEAST_GAIN * verdict_now(facts)) {
        return false;
    }
    advice->workers = workers;
    if (!disk_is_near(facts)) {
        set_rate(advice, rate, is_loud(facts, &cost) ? LOUD_CORES : CALM_CORES);
    }
    say(advice, "%u worker%s leave%s %.0f core%s idle", facts->cores.workers,
        facts->cores.workers == 1 ? "" : "s", facts->cores.workers == 1 ? "s" : "",
        facts->cores.spare, facts->cores.spare < 2 ? "" : "s");
    return true;
}

static bool workers(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const bool is_serial = v->at != NULL && (v->at->kind & SLI_STAGE_SERIAL) != 0;

    if (v->at == NULL || is_serial) {
        return false;
    }
    return has_cause(v, "blocked") ? advise_sleeping(facts, v, advice)
                                   : has_cause(v, "cpu") && advise_cores(facts, advice);
}

/* Reads of files that wait: whether for the disk's latency or for its bandwidth is not known. */
static bool workers_that_read(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const uint32_t tried = 4 * facts->cores.workers;

    if (!has_cause(v, "storage") || v->at == NULL || !v->at->has_shares ||
        (v->at->kind & SLI_STAGE_SERIAL) != 0 || tried > 2 * MOST_WORKERS || v->at->p50_s < 0.002) {
        return false;
    }
    advice->workers = tried;
    say(advice,
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
    return cost.cpu > 0 ? ceil(facts->cores.allowed * (1 + cost.blocked / cost.cpu) - 0.1)
                        : (double)INFINITY;
}

static bool fewer_workers(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    if (v->thief == THIEF_WORKERS && v->at != NULL &&
        workers_that_fill(facts) < facts->cores.workers) {
        advice->workers = (uint32_t)workers_that_fill(facts);
        say(advice, "so many keep the cores busy; more take turns, and need memory");
        return true;
    }
    if (!is_stage(v, "step") || facts->run.step_runqueue <= LOUD_SHARE ||
        v->thief == THIEF_OTHERS || enough_workers(facts) >= facts->cores.workers) {
        return false;
    }
    advice->workers = enough_workers(facts);
    say(advice,
        "the steps wait for a CPU %.0f %% of their time, and fewer workers keep up with them",
        100 * facts->run.step_runqueue);
    return true;
}

/* ---- data -------------------------------------------------------------------------------------
 */

static const verdict_stage *decode_of(const verdict_facts *facts)
{
    for (uint32_t i = 0; i < facts->stage_count; i++) {
        if ((facts->stages[i].kind & SLI_STAGE_DECODE) != 0) {
            return &facts->stages[i];
        }
    }
    return NULL;
}

/* Speed-up factor of the workers if the images that lack an index had one. */
static double gain_of_index(const verdict_facts *facts)
{
    const sli_index_counts *counts = &facts->data.indexes;
    const verdict_stage *decode = decode_of(facts);
    const double now =
        HUFFMAN_PART * (double)counts->above + (1 - HUFFMAN_PART) * (double)counts->needed;
    const double then = CELLS_AROUND * (double)counts->needed;

    if (decode == NULL || decode->samples == 0 || now <= 0 || then >= now ||
        !verdict_is_steady(facts, decode)) {
        return 1;
    }
    return 1 / (1 - (double)counts->lacking / (double)decode->samples * (1 - then / now) *
                        decode->busy_s / verdict_busy(facts));
}

/* True if decoding less would help: only the workers' CPU time limits the run. */
static bool decodes_too_much(const verdict_facts *facts, const verdict *v)
{
    return v->at != NULL && (has_cause(v, "cpu") || has_cause(v, "starved")) &&
           gain_of_index(facts) >= LEAST_GAIN;
}

static void set_index_rate(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const double now = verdict_now(facts);
    const double gain = gain_of_index(facts);
    verdict_cost cost = verdict_cost_of(facts);

    if (has_cause(v, "cpu")) {
        /* Steps and the host bound the rate as before. */
        cost.cpu /= gain;
        cost.runqueue /= gain;
        set_rate(advice, fmin(gain * now, fmax(now, verdict_rate(facts, &cost, 1e9))), DECODED);
    }
}

static double percent_needed(const verdict_facts *facts)
{
    return 100 * (double)facts->data.indexes.needed / (double)facts->data.indexes.above;
}

static bool index_files(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    if (!is_folder(facts) || facts->data.indexes.asked > 0 || !decodes_too_much(facts, v)) {
        return false;
    }
    set_index_rate(facts, v, advice);
    say(advice,
        "image_folder index=DIR, from the second pass on: the crops need %.0f %% of the pixels "
        "down to their lower edge",
        percent_needed(facts));
    return true;
}

static bool pack(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const verdict_stage *at = v->at;

    if (!facts->data.packs) {
        return false;
    }
    if (facts->data.indexes.asked == 0 && decodes_too_much(facts, v)) {
        set_index_rate(facts, v, advice);
        say(advice, "`sluice pack`: the crops need %.0f %% of the pixels down to their lower edge",
            percent_needed(facts));
        return true;
    }
    if (at == NULL || (at->kind & SLI_STAGE_READ) == 0 || !is_folder(facts) ||
        has_cause(v, "starved")) {
        return false;
    }
    say(advice,
        "`sluice pack`: a file takes %.0f us to read; a pack spares opening and closing "
        "each",
        1e6 * at->p50_s);
    return true;
}

static bool cache(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const verdict_data *data = &facts->data;
    const verdict_stage *decode = decode_of(facts);
    const double bytes = (double)data->cached_bytes * (double)data->samples_per_pass;
    const bool reads_again =
        data->samples_per_pass > 0 && facts->run.samples > data->samples_per_pass;

    if (v->at == NULL || data->has_cache || !reads_again || bytes <= 0 ||
        bytes > (double)data->memory_limit / 2 || decode == NULL ||
        (v->at->kind & (SLI_STAGE_DECODE | SLI_STAGE_READ)) == 0 || has_cause(v, "starved")) {
        return false;
    }
    say(advice,
        "`cache` after %s keeps all samples in %.1f MB, and later passes read and decode "
        "no file",
        data->cached_after, bytes / 1e6);
    return true;
}

static bool storage(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const double mb_per_s = (double)facts->data.bytes_read / 1e6 / facts->run.seconds;

    if (!has_cause(v, "storage")) {
        return false;
    }
    say(advice,
        "%s gives %.1f MB/s: a faster one, files in the page cache, or fewer bytes (`sluice pack "
        "--max-side N`, lossy)",
        2 * facts->data.ahead_bytes > facts->data.bytes_read ? "the disk" : "reading", mb_per_s);
    return true;
}

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
        set_rate(advice, rate, (rate_range){0.9, 1.1});
    }
}

/* Also of a row that takes much of the time beside steps that take more. */
static bool advise_host(const verdict_facts *facts, const verdict *v, const char *row,
                        double seconds, const char *text, report_advice *advice)
{
    const bool limits = has_cause(v, "host") && is_stage(v, row);

    if (!limits && (!has_cause(v, "device") || seconds < HOST_SHARE * facts->run.seconds)) {
        return false;
    }
    set_half(facts, seconds / facts->run.seconds, advice);
    say(advice, "%s%s", text, advice->rate_high > 0 ? "; the rate is for half of their time" : "");
    return true;
}

static bool checkpoints(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    return advise_host(facts, v, "checkpoint", facts->host.checkpoint_s,
                       "fewer checkpoints (every_steps, every_seconds), or a faster save()",
                       advice);
}

static bool validations(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    return advise_host(facts, v, "validation", facts->host.validation_s,
                       "fewer validations (every_steps), of fewer samples (take N)", advice);
}

static bool hooks(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    return advise_host(facts, v, "hooks", facts->host.hooks_s,
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
        (!pixels && !has_cause(v, "copy"))) {
        return false;
    }
    if (pixels) {
        say(advice, "offload=device: the workers convert images, which the device can do");
    } else {
        say(advice,
            "offload=device: copies move %.1f MB/s, %.1f kB a sample, and images are "
            "smaller before they are converted",
            (double)facts->copy_bytes / 1e6 / facts->run.seconds,
            (double)facts->copy_bytes / 1e3 / (double)facts->run.samples);
    }
    return true;
}

static bool larger_batches(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    if (!has_cause(v, "handover") || facts->run.batch_size == 0 ||
        facts->run.batch_size >= LARGE_BATCH) {
        return false;
    }
    say(advice,
        "workers hand larger batches to the steps less often: up to %d samples, now %u; the "
        "training changes, too",
        LARGE_BATCH, facts->run.batch_size);
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
    say(advice, "a larger CPU quota of the container or control group (cpu.max)");
    return true;
}

static bool cores_of_its_own(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    (void)facts;
    if (v->thief != THIEF_OTHERS) {
        return false;
    }
    say(advice, "cores that no other process uses (taskset), or wait until those have ended");
    return true;
}

static bool more_cores(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    if (!facts->cores.bound || v->at == NULL || !has_cause(v, "cpu") ||
        facts->cores.workers < facts->cores.allowed) {
        return false;
    }
    say(advice, "the process may use %.0f cores of the machine: allow more (taskset, cpuset)",
        facts->cores.allowed);
    return true;
}

/* ---- the user's code --------------------------------------------------------------------------
 */

static void say_of_stage(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    const double us = 1e6 * v->at->busy_s / (double)v->at->samples;
    const verdict_operation *operation = verdict_operation_of(facts, v->at);

    if (has_cause(v, "lock") && v->at->locked_s > 0) {
        say(advice,
            "%s runs one sample at a time: make it safe for several workers and leave "
            "`serial` out, or do less in it",
            v->stage);
    } else if (has_cause(v, "lock")) {
        say(advice, "%s waits for a lock, of its own or of its interpreter: hold it for less time",
            v->stage);
    } else if ((v->at->kind & SLI_STAGE_USER) != 0) {
        say(advice, "%s is your function, and takes %.0f us a sample%s", v->at->name, us,
            has_cause(v, "blocked") && !verdict_only_sleeps(facts, v->at)
                ? "; if it does not wait for a lock, the waits of more workers overlap"
                : "");
    } else {
        say(advice, "%s takes %.0f us a sample: %s, or more cores", v->stage,
            us * (operation != NULL && v->stage == operation->name ? operation->share : 1),
            (v->at->kind & (SLI_STAGE_DECODE | SLI_STAGE_PIXELS)) != 0
                ? "smaller images, a cheaper operator"
                : "smaller samples");
    }
}

static bool code(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    if (v->at != NULL && v->at->samples > 0 && v->thief == THIEF_NONE && !has_cause(v, "storage")) {
        say_of_stage(facts, v, advice);
        return true;
    }
    if (has_cause(v, "device") && facts->run.steps > 0) {
        say(advice, "nothing to gain in the pipeline: %s takes %.1f ms", v->stage,
            1e3 * (is_stage(v, "device_maps") ? facts->run.maps : facts->run.step) *
                facts->run.seconds / (double)facts->run.steps);
        return true;
    }
    if (has_cause(v, "ranks")) {
        if (2 * facts->waits.late_seconds < facts->waits.agree_seconds) {
            say(advice, "longer sinks (sink_size): ranks call agree less often");
        } else {
            say(advice, "see the report of rank %u for what limits all ranks",
                facts->waits.late[0].rank);
        }
        return true;
    }
    if (has_cause(v, "host") && is_stage(v, "launch")) {
        say(advice, "longer sinks (sink_size), so that the host launches less often");
        return true;
    }
    return false;
}

/* Those that remove the named cause come first, then those with the highest rates. */
static const advice_rule rules[] = {
    {"quota", quota},
    {"binding", cores_of_its_own},
    {"checkpoint", checkpoints},
    {"validation", validations},
    {"hooks", hooks},
    {"storage", storage},
    {"workers", workers},
    {"index", index_files},
    {"pack", pack},
    {"fewer_workers", fewer_workers},
    {"binding", more_cores},
    {"cache", cache},
    {"offload", offload},
    {"batch", larger_batches},
    {"workers", workers_that_read},
    {"code", code},
};

uint32_t verdict_advise(const verdict_facts *facts, const verdict *v, report_advice *advice)
{
    uint32_t count = 0;

    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]) && count < REPORT_ADVICE; i++) {
        report_advice next = {.change = rules[i].change};
        uint32_t at = count;

        if (!rules[i].applies(facts, v, &next)) {
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
