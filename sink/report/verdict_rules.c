/* SPDX-License-Identifier: Apache-2.0 */
/* The rules by which a verdict is decided, in the order of their precedence. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "format_int.h"
#include "report_waits.h"
#include "verdict.h"

/* A run with fewer steps, or a shorter one, does not tell what limits it: the first batch, page
 * faults and cold caches do. Few long steps do tell. */
static const uint64_t LEAST_STEPS = 20;
static const uint64_t FEWEST_STEPS = 4;
static const double LEAST_SECONDS = 1;
static const double LONG_SECONDS = 2;

static const double REPLAY_SHARE = 0.5;
static const double RANKS_SHARE = 0.1;

/* Steps that wait for data for a smaller share are fed; up to UNEVEN_SHARE, if they are busier than
 * the workers: such waits come from the start of a run, single slow samples, other processes. */
static const double FED_SHARE = 0.05;
static const double UNEVEN_SHARE = 0.15;

static const double COPY_SHARE = 0.8;
static const double IDLE_SHARE = 0.5; /* workers busy for a smaller share are mostly idle */

/* Shares of the time that a thread is ready to run, but has no CPU; of periods of a quota. */
static const double STARVED_SHARE = 0.25;
static const double THROTTLED_SHARE = 0.2;

/* Where the run queue is not known: others hold up a process that uses less, while tasks wait for
 * CPUs. */
static const double LITTLE_SHARE = 0.7;
static const double PRESSURE = 0.5;

/* Workers that are ready to run get more than this share of a core, also beside many others. */
static const double READY_SHARE = 0.05;

typedef struct verdict_rule {
    bool (*holds)(const verdict_facts *facts, verdict *v); /* also decides stage and share */
    const char *cause;                                     /* NULL: holds() sets it */
    void (*explain)(const verdict_facts *facts, verdict *v);
} verdict_rule;

static void why(verdict *v, const char *format, ...) SLUICE_PRINTF(2, 3);

static void why(verdict *v, const char *format, ...)
{
    const size_t used = strlen(v->why);
    va_list args;

    va_start(args, format);
    sli_print_args(v->why + used, sizeof(v->why) - used, format, args);
    va_end(args);
}

/* ---- no verdict -------------------------------------------------------------------------------
 */

static bool no_step_ran(const verdict_facts *facts, verdict *v)
{
    (void)v;
    return facts->run.steps == 0 || facts->run.seconds <= 0;
}

static void explain_no_step(const verdict_facts *facts, verdict *v)
{
    if (facts->run.was_complete && facts->run.steps == 0) {
        why(v, "no step was left: the training was complete after %llu steps",
            (unsigned long long)facts->run.first_step);
    } else if (facts->run.steps > 0) {
        why(v, "the run has no duration: its clock went back");
    } else {
        why(v, "no step ran");
    }
}

static bool replay_takes_the_time(const verdict_facts *facts, verdict *v)
{
    (void)v;
    return facts->run.replay >= REPLAY_SHARE;
}

static void explain_replay(const verdict_facts *facts, verdict *v)
{
    why(v, "the replay takes %.0f %% of the time; a longer run shows what limits the steps",
        100 * facts->run.replay);
}

/* ---- ranks, the host and the step -------------------------------------------------------------
 */

static double share_of(const verdict_facts *facts, double seconds)
{
    return seconds / facts->run.seconds;
}

static bool ranks_wait(const verdict_facts *facts, verdict *v)
{
    v->stage = "ranks";
    v->share = share_of(facts, facts->waits.agree_seconds);
    return v->share >= RANKS_SHARE && v->share >= facts->run.data_wait;
}

static void explain_ranks(const verdict_facts *facts, verdict *v)
{
    const report_late *late = &facts->waits.late[0];
    const double late_share = share_of(facts, facts->waits.late_seconds);

    if (2 * late_share < v->share) {
        why(v, "agree takes %.0f %% of the time; %.0f %% of that is the wait for the last rank",
            100 * v->share, 100 * late_share / v->share);
    } else {
        why(v, "ranks wait for rank %u: %.0f %% of the time; %s", late->rank,
            100 * share_of(facts, late->seconds), report_delay_text(late->delay));
    }
}

/* The largest row of the host, and its share of the time. Launches that take less time than the
 * steps are no row: they overlap the steps. Their waits for a CPU are those of the steps. */
static double largest_of_host(const verdict_facts *facts, const char **row_out)
{
    const report_host_times *host = &facts->host;
    const double launch = share_of(facts, host->launch_s);
    const double own = host->launch_s - facts->run.queued * facts->run.seconds;
    const struct {
        const char *stage;
        double seconds;
    } rows[] = {{"hooks", host->hooks_s},
                {"checkpoint", host->checkpoint_s},
                {"validation", host->validation_s},
                {"launch", launch >= facts->run.step ? own : 0}};
    double share = 0;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (share_of(facts, rows[i].seconds) > share) {
            *row_out = rows[i].stage;
            share = share_of(facts, rows[i].seconds);
        }
    }
    return share;
}

static bool host_takes_the_time(const verdict_facts *facts, verdict *v)
{
    v->share = largest_of_host(facts, &v->stage);
    return v->share >= VERDICT_WORTH_SHARE && v->share >= facts->run.data_wait;
}

static void explain_host(const verdict_facts *facts, verdict *v)
{
    static const struct {
        const char *stage;
        const char *what;
    } rows[] = {{"hooks", "hooks take"},
                {"checkpoint", "saving checkpoints takes"},
                {"validation", "validations take"},
                {"launch", "launching takes"}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(v->stage, rows[i].stage) == 0) {
            why(v, "%s", rows[i].what);
        }
    }
    why(v, " %.0f %% of the time; steps take %.0f %% and wait for data %.0f %%", 100 * v->share,
        100 * facts->run.step, 100 * facts->run.data_wait);
}

/* Share of the time that the workers are busy, also in a first pass. */
static double busy_share(const verdict_facts *facts)
{
    double all = 0;

    for (uint32_t i = 0; i < facts->stage_count; i++) {
        all += facts->stages[i].busy_s;
    }
    return facts->cores.workers > 0 ? all / facts->run.seconds / facts->cores.workers : 0;
}

bool verdict_is_fed(const verdict_facts *facts)
{
    return facts->run.data_wait < FED_SHARE ||
           (facts->run.data_wait < UNEVEN_SHARE && facts->cores.workers > 0 &&
            facts->run.step > busy_share(facts));
}

/* Time that neither steps, nor their wait for data, nor a replay, nor rows of the host explain. */
static bool host_is_unknown(const verdict_facts *facts, verdict *v)
{
    const bool has_step = !facts->run.has_kernels || facts->run.has_step_times;

    v->stage = "step";
    v->share = 1 - facts->run.data_wait - facts->run.step - facts->run.replay -
               share_of(facts, report_host_seconds(&facts->host));
    return has_step && verdict_is_fed(facts) && v->share > facts->run.step &&
           v->share > VERDICT_WORTH_SHARE;
}

static void explain_unknown_host(const verdict_facts *facts, verdict *v)
{
    why(v,
        "steps take %.1f %% of the time and wait for data %.1f %%; the rest passes between steps, "
        "and what the host does then was not measured",
        100 * facts->run.step, 100 * facts->run.data_wait);
}

/* The name of a stage, or of the operation that takes most of the pixels' stage. */
static const char *name_of(const verdict_facts *facts, const verdict_stage *stage)
{
    const verdict_operation *most =
        (stage->kind & SLI_STAGE_PIXELS) != 0 ? verdict_operation_of(facts, stage) : NULL;

    return most != NULL ? most->name : stage->name;
}

/* Sets the largest stage of the workers. False: none was counted. */
static bool set_largest(const verdict_facts *facts, verdict *v)
{
    const double all = verdict_busy(facts);

    v->at = verdict_largest(facts);
    v->stage = "none";
    v->share = 0;
    if (v->at != NULL) {
        v->stage = name_of(facts, v->at);
        v->share = v->at->busy_s / all;
        v->share *= v->stage != v->at->name ? verdict_operation_of(facts, v->at)->share : 1;
    }
    return v->at != NULL;
}

/* Cores that the workers use. */
static double cores_of_workers(const verdict_facts *facts)
{
    const verdict_cost cost = verdict_cost_of(facts);

    return cost.cpu * (double)facts->run.samples / facts->run.seconds;
}

/* Without the workers' load, the steps would wait for neither data nor a CPU: the rate grows by
 * 1 / (1 - data_wait - queued). Without the steps, the workers would use as many cores as there
 * are, or as they can beside their sleep: it grows by that number / cores_of_workers(). True: the
 * first is at least as much. */
static bool workers_cost_more_than_steps(const verdict_facts *facts)
{
    const double undisturbed = 1 - facts->run.data_wait - facts->run.queued;
    const verdict_cost cost = verdict_cost_of(facts);
    const double awake = cost.cpu > 0 ? cost.cpu / (cost.cpu + cost.blocked) : 0;

    return cores_of_workers(facts) >=
           undisturbed * fmin(facts->cores.allowed, facts->cores.workers * awake);
}

/* The steps, or their launches, wait for a CPU, which the workers have. No row of the host takes
 * more of the time than that wait. */
static bool workers_starve_the_step(const verdict_facts *facts, verdict *v)
{
    const char *row;

    return verdict_is_fed(facts) && facts->run.queued >= STARVED_SHARE &&
           !verdict_others_hold(facts) && largest_of_host(facts, &row) <= facts->run.queued &&
           workers_cost_more_than_steps(facts) && set_largest(facts, v) &&
           strcmp(verdict_cause(facts, v->at), "cpu") == 0;
}

static void explain_starved_by_workers(const verdict_facts *facts, verdict *v)
{
    why(v,
        "the steps wait for a CPU %.0f %% of the time, while the workers use %.1f of %.1f cores; "
        "%s takes %.0f %% of the workers' time",
        100 * facts->run.queued, cores_of_workers(facts), facts->cores.allowed, v->stage,
        100 * v->share);
}

/* Other processes have the CPU of the steps. If the workers have it, the step is the limit. */
static bool step_is_starved(const verdict_facts *facts, verdict *v)
{
    v->stage = "step";
    v->share = facts->run.queued;
    v->thief = THIEF_OTHERS;
    return verdict_is_fed(facts) && facts->run.queued >= STARVED_SHARE &&
           verdict_others_hold(facts);
}

static void explain_starved_step(const verdict_facts *facts, verdict *v)
{
    why(v,
        "the steps wait for a CPU %.0f %% of the time: other processes use the cores, this one "
        "%.1f of %.1f",
        100 * v->share, facts->cores.used, facts->cores.allowed);
}

static bool step_limits(const verdict_facts *facts, verdict *v)
{
    v->stage = 2 * facts->run.maps > facts->run.step ? "device_maps" : "step";
    v->share = 1 - facts->run.data_wait;
    return verdict_is_fed(facts);
}

static void explain_step(const verdict_facts *facts, verdict *v)
{
    (void)v;
    why(v, "steps wait for data %.1f %% of the time: the pipeline keeps up",
        100 * facts->run.data_wait);
}

static bool copies_limit(const verdict_facts *facts, verdict *v)
{
    v->stage = "copy";
    v->share = share_of(facts, facts->copy_s);
    return v->share > COPY_SHARE;
}

static void explain_copies(const verdict_facts *facts, verdict *v)
{
    (void)facts;
    why(v, "copies to the device are busy %.0f %% of the time", 100 * v->share);
}

/* ---- the workers ------------------------------------------------------------------------------
 */

static bool quota_limits(const verdict_facts *facts, verdict *v)
{
    const report_machine *machine = &facts->machine;
    /* A GPU that is fed and runs steps nearly all the time needs no more CPU. */
    const bool gains_little = facts->run.has_kernels && verdict_is_fed(facts) &&
                              facts->run.step >= 1 - VERDICT_WORTH_SHARE;
    const bool throttles =
        machine->has_throttling && machine->periods > 0 &&
        (double)machine->throttled_periods >= THROTTLED_SHARE * (double)machine->periods;

    v->thief = THIEF_QUOTA;
    return throttles && !gains_little && set_largest(facts, v);
}

static void explain_quota(const verdict_facts *facts, verdict *v)
{
    const report_machine *machine = &facts->machine;

    why(v, "the CPU quota");
    if (facts->cores.quota > 0) {
        why(v, " of %.1f cores", facts->cores.quota);
    }
    why(v, " stopped the process in %llu of %llu periods; %s takes %.0f %% of the workers' time",
        (unsigned long long)machine->throttled_periods, (unsigned long long)machine->periods,
        v->stage, 100 * v->share);
}

/* Where the run queue is not known: tasks of the machine wait for CPUs, and the workers did not get
 * one each. */
static bool is_pressed(const verdict_facts *facts)
{
    const verdict_cores *cores = &facts->cores;
    const double most = cores->workers < cores->allowed ? cores->workers : cores->allowed;
    const verdict_stage *largest = verdict_largest(facts);

    if (largest != NULL && largest->has_shares &&
        (largest->has_runqueue || (largest->has_clock && largest->cpu < READY_SHARE))) {
        return false; /* it sleeps */
    }
    return facts->machine.has_pressure && facts->machine.cpu_pressure >= PRESSURE &&
           cores->used < LITTLE_SHARE * most;
}

/* Workers wait for a CPU that other processes are known to use, be it between samples: a thread
 * that has slept waits for a CPU as it wakes up. */
static bool others_use_the_cores(const verdict_facts *facts)
{
    return facts->cores.queued >= STARVED_SHARE && facts->cores.has_others &&
           verdict_others_hold(facts);
}

/* Who takes the CPU while workers are ready to run. */
static verdict_thief find_thief(const verdict_facts *facts, const verdict_cost *cost)
{
    const bool pressed = cost->runqueue > 0 ? verdict_waiting(cost) >= STARVED_SHARE &&
                                                  cost->runqueue >= cost->blocked
                                            : is_pressed(facts);

    if (others_use_the_cores(facts)) {
        return THIEF_OTHERS;
    }
    if (!pressed || busy_share(facts) < IDLE_SHARE) {
        return THIEF_NONE;
    }
    if (verdict_others_hold(facts)) {
        return THIEF_OTHERS;
    }
    if (facts->cores.workers > facts->cores.allowed) {
        return THIEF_WORKERS;
    }
    return !facts->run.has_kernels && facts->run.step >= STARVED_SHARE ? THIEF_STEP : THIEF_NONE;
}

static bool workers_are_starved(const verdict_facts *facts, verdict *v)
{
    const verdict_cost cost = verdict_cost_of(facts);

    v->thief = find_thief(facts, &cost);
    return v->thief != THIEF_NONE && set_largest(facts, v) &&
           strcmp(verdict_cause(facts, v->at), "lock") != 0;
}

static void explain_starved(const verdict_facts *facts, verdict *v)
{
    const verdict_cost cost = verdict_cost_of(facts);

    if (facts->cores.queued > 0 || cost.runqueue > 0) {
        why(v, "workers wait for a CPU %.0f %% of the time that they are ready to run",
            100 * (facts->cores.queued > 0
                       ? facts->cores.queued / (facts->cores.queued + facts->cores.running)
                       : verdict_queued(&cost)));
    } else {
        why(v, "tasks of the machine wait for a CPU %.0f %% of the time",
            100 * facts->machine.cpu_pressure);
    }
    if (v->thief == THIEF_OTHERS) {
        why(v, ": other processes use the cores, this one %.1f of %.1f", facts->cores.used,
            facts->cores.allowed);
    } else if (v->thief == THIEF_WORKERS) {
        why(v, ": %u workers share %.1f cores", facts->cores.workers, facts->cores.allowed);
    } else {
        why(v, ": the steps use cores of the workers");
    }
    why(v, "; %s takes %.0f %% of the workers' time", v->stage, 100 * v->share);
    if (v->at->is_estimated) {
        why(v, "; the time in the run queue is estimated");
    }
}

static bool no_stage_counted(const verdict_facts *facts, verdict *v)
{
    (void)v;
    return facts->cores.workers == 0 || verdict_largest(facts) == NULL;
}

static void explain_no_stage(const verdict_facts *facts, verdict *v)
{
    why(v, "steps wait for data %.1f %% of the time, and no stage of the workers was counted",
        100 * facts->run.data_wait);
}

/* Workers that are mostly idle are not the limit. Sequential reads run one at a time, so most
 * workers are idle although reading is. */
static bool nothing_is_busy(const verdict_facts *facts, verdict *v)
{
    const verdict_stage *largest = verdict_largest(facts);

    (void)v;
    return busy_share(facts) < IDLE_SHARE && strcmp(largest->name, "read") != 0 &&
           strcmp(verdict_cause(facts, largest), "lock") != 0;
}

static void explain_hand_over(const verdict_facts *facts, verdict *v)
{
    why(v,
        "steps wait for data %.1f %% of the time, and workers are busy %.0f %% of it: no stage is "
        "the limit, but the hand-over of batches",
        100 * facts->run.data_wait, 100 * busy_share(facts));
}

static bool a_stage_limits(const verdict_facts *facts, verdict *v)
{
    if (set_largest(facts, v)) {
        v->cause = verdict_cause(facts, v->at);
    }
    return v->at != NULL;
}

static void explain_clocks(const verdict_facts *facts, verdict *v)
{
    const verdict_stage *at = v->at;

    if (!at->has_shares) {
        why(v, "; its time on a CPU was not measured");
    } else if (verdict_is_undivided(at)) {
        why(v, ": %.0f %% on a CPU, %.0f %% blocked or in the run queue (no schedstat tells which)",
            100 * at->cpu, 100 * at->blocked);
    } else if (at->is_estimated) {
        why(v, ": %.0f %% on a CPU and, estimated%s, %.0f %% in the run queue, %.0f %% blocked",
            100 * at->cpu, at->has_clock ? " without schedstat" : " from system calls",
            100 * at->runqueue, 100 * at->blocked);
    } else if (at->has_runqueue) {
        why(v, ": %.0f %% on a CPU, %.0f %% in the run queue, %.0f %% blocked", 100 * at->cpu,
            100 * at->runqueue, 100 * at->blocked);
    } else {
        why(v, ": %.0f %% running, %.0f %% blocked", 100 * at->cpu, 100 * at->blocked);
    }
    if (strcmp(v->cause, "lock") == 0) {
        why(v, at->locked_s > 0 ? ", as one worker at a time calls it"
                                : ", most of it for a lock or another thread (futex)");
    } else if (strcmp(v->cause, "blocked") == 0 && (at->kind & SLI_STAGE_USER) != 0) {
        why(v, verdict_only_sleeps(facts, at) ? ", but not on a lock"
                                              : "; whether on a lock is not known");
    }
}

static void explain_stage(const verdict_facts *facts, verdict *v)
{
    why(v,
        "steps wait for data %.1f %% of the time; %s takes %.0f %% of the busy time of %u "
        "worker%s",
        100 * facts->run.data_wait, v->stage, 100 * v->share, facts->cores.workers,
        facts->cores.workers == 1 ? "" : "s");
    explain_clocks(facts, v);
}

/* ---- short runs ------------------------------------------------------------------------------ */

static bool is_too_short(const verdict_facts *facts, verdict *v)
{
    const verdict_run *run = &facts->run;
    verdict starved = *v; /* that rule fills it in */

    if (run->seconds >= LONG_SECONDS && workers_are_starved(facts, &starved)) {
        return false; /* that is why there are few steps */
    }
    return run->seconds < LEAST_SECONDS || run->steps < FEWEST_STEPS ||
           (run->steps < LEAST_STEPS && run->seconds < LONG_SECONDS);
}

static void explain_short(const verdict_facts *facts, verdict *v)
{
    const verdict_stage *most = verdict_largest(facts);

    why(v, "too short to judge: %llu step%s in %.2f s; a verdict needs %llu steps and %.0f s",
        (unsigned long long)facts->run.steps, facts->run.steps == 1 ? "" : "s", facts->run.seconds,
        (unsigned long long)LEAST_STEPS, LEAST_SECONDS);
    if (most != NULL && facts->run.data_wait >= UNEVEN_SHARE) {
        why(v, "; so far %s takes most of the workers' time", most->name);
    }
}

/* The first rule that holds decides. */
static const verdict_rule rules[] = {
    {no_step_ran, "none", explain_no_step},
    {replay_takes_the_time, "none", explain_replay},
    {is_too_short, "none", explain_short},
    {ranks_wait, "ranks", explain_ranks},
    {quota_limits, "starved", explain_quota},
    {workers_starve_the_step, "cpu", explain_starved_by_workers},
    {host_takes_the_time, "host", explain_host},
    {host_is_unknown, "host", explain_unknown_host},
    {step_is_starved, "starved", explain_starved_step},
    {step_limits, "device", explain_step},
    {copies_limit, "copy", explain_copies},
    {workers_are_starved, "starved", explain_starved},
    {no_stage_counted, "none", explain_no_stage},
    {nothing_is_busy, "handover", explain_hand_over},
    {a_stage_limits, NULL, explain_stage},
};

void verdict_decide(const verdict_facts *facts, verdict *verdict_out)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const verdict_rule *rule = &rules[i];

        *verdict_out = (verdict){.stage = "none", .cause = rule->cause};
        if (rule->holds(facts, verdict_out)) {
            rule->explain(facts, verdict_out);
            return;
        }
    }
    *verdict_out = (verdict){.stage = "none", .cause = "none"};
}

bool verdict_has_cause(const verdict *v, const char *cause)
{
    return strcmp(v->cause, cause) == 0;
}

bool verdict_is_stage(const verdict *v, const char *stage)
{
    return strcmp(v->stage, stage) == 0;
}
