/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What limits a run, and what to change. A pure function of facts: the facts are plain data, so
 * that tests can write down those of a run.
 *
 * The model is X(k) <= min(k / (cpu + blocked), C / cpu, 1 / serial, 1 / copy, 1 / (step + host)):
 * samples per second with k workers, times per sample, C the cores that the workers really get.
 */
#ifndef SLUICE_VERDICT_H
#define SLUICE_VERDICT_H

#include "report_data.h"

/* A stage of the workers. */
typedef struct verdict_stage {
    const char *name;
    uint32_t kind; /* SLI_STAGE_* */
    uint64_t samples;
    double busy_s;   /* over all workers */
    double locked_s; /* part of it: they waited until another worker had left a serial map */
    double p50_s;
    bool has_shares;   /* the shares of the busy time are known, or estimated */
    bool has_clock;    /* the time on a CPU was measured */
    bool has_runqueue; /* else the run queue is in `blocked`; without a clock, in `cpu` */
    bool is_estimated; /* the run queue was not measured */
    double cpu;
    double runqueue;
    double blocked;
    wait_counts waits;
} verdict_stage;

typedef struct verdict_operation {
    const char *name;
    uint32_t stage; /* index into the facts' stages */
    double share;   /* of the stage */
} verdict_operation;

typedef struct verdict_run {
    bool was_complete;
    uint64_t first_step;
    uint64_t steps;
    uint64_t samples;
    uint32_t batch_size;
    uint32_t slots; /* batches in flight at most; 0: unknown */
    double seconds;
    double data_wait; /* share of the time, like the following */
    double replay;
    double step;      /* steps and device maps */
    double maps;      /* device maps; they are a part of `step` */
    double queued;    /* share of the time in which the threads that launch and run the steps wait
                         for a CPU; 0: unknown */
    bool has_kernels; /* a GPU runs the steps */
    bool has_step_times; /* a loop has published the times of its steps */
} verdict_run;

typedef struct verdict_cores {
    uint32_t workers;
    double running;   /* share of the workers' time on a CPU, by the clocks of their threads */
    double queued;    /* in the run queue, also between samples; 0: unknown */
    uint32_t machine; /* all of the machine; 0: unknown */
    double allowed;   /* that this rank may use: its own, or the quota */
    double quota;     /* 0: there is none */
    double used;      /* that the process used in the run, on average */
    bool has_others;  /* `others` is known */
    double others;    /* that other processes, or the host of a virtual machine, used of them */
    double spare;     /* without a worker, a step or another rank */
    bool bound;       /* the affinity of the process excludes cores, and no other rank has them */
} verdict_cores;

typedef struct verdict_data {
    const char *source;
    uint64_t bytes_read;
    uint64_t ahead_bytes;
    sli_index_counts indexes;
    bool has_cache;
    sli_cache_counts cache;
    uint64_t samples_per_pass; /* 0: unknown */
    uint64_t cached_bytes;     /* as in sli_plan_traits */
    const char *cached_after;
    uint64_t memory_limit;
    bool converts_on_host;
    bool packs;
} verdict_data;

typedef struct verdict_facts {
    verdict_run run;
    verdict_cores cores;
    verdict_data data;
    double copy_s; /* time of copies to the device */
    uint64_t copy_bytes;
    report_host_times host;
    report_machine machine;
    report_waits waits;
    bool probed; /* the system calls of workers were read */
    uint32_t stage_count;
    verdict_stage stages[REPORT_STAGES];
    uint32_t operation_count;
    verdict_operation operations[REPORT_OPERATIONS];
} verdict_facts;

/* Who takes the CPU of a run that is starved. */
typedef enum verdict_thief {
    THIEF_NONE,
    THIEF_QUOTA,
    THIEF_OTHERS,  /* processes */
    THIEF_WORKERS, /* there are more of them than cores */
    THIEF_STEP     /* threads of the step */
} verdict_thief;

typedef struct verdict {
    const char *stage; /* a row of the report or an operation, or "none" */
    const char *cause;
    double share; /* of the run's time; for a stage of the workers, of their busy time */
    char why[400];
    const verdict_stage *at; /* the stage of the workers; NULL: another row */
    verdict_thief thief;
} verdict;

/* Fills in the facts; they point to texts of the report (verdict_facts.c). */
void verdict_collect(const sluice_report *report, verdict_facts *facts);

/* Estimates the shares of stages that were not measured; verdict_collect() calls it
 * (verdict_shares.c). */
void verdict_estimate(verdict_facts *facts);

/* What takes this share of the time is worth a change: without it the run is faster by a quarter.
 */
#define VERDICT_WORTH_SHARE 0.2

/* Decides by a table of rules (verdict_rules.c). */
void verdict_decide(const verdict_facts *facts, verdict *verdict_out);

/* True if the steps rarely wait for data. */
bool verdict_is_fed(const verdict_facts *facts);

bool verdict_has_cause(const verdict *v, const char *cause);
bool verdict_is_stage(const verdict *v, const char *stage);

/* Writes the changes that apply, the best first, and returns how many (verdict_advice.c). */
uint32_t verdict_advise(const verdict_facts *facts, const verdict *v, report_advice *advice);

/* ---- the model (verdict_model.c) --------------------------------------------------------------
 */

/* Seconds of a sample, on average. */
typedef struct verdict_cost {
    double cpu;
    double runqueue;
    double blocked;
    double serial; /* of the slowest stage that one worker at a time runs; 0: there is none */
} verdict_cost;

/* The costs of a sample in the steady state: without the stages that only a first pass runs. */
verdict_cost verdict_cost_of(const verdict_facts *facts);

/* Samples per second with so many workers. */
double verdict_rate(const verdict_facts *facts, const verdict_cost *cost, double workers);

/* The same, if workers that wake up may have to wait for a core; a lower bound, while
 * verdict_rate() is an upper one. */
double verdict_queueing(const verdict_facts *facts, const verdict_cost *cost, uint32_t workers);

/* Cores that the workers get if all of them are ready to run. */
double verdict_obtained(const verdict_facts *facts, const verdict_cost *cost);

/* Share of the time in which workers are ready to run, but wait in the run queue. */
double verdict_queued(const verdict_cost *cost);

/* Share of all their busy time in which workers wait in the run queue. */
double verdict_waiting(const verdict_cost *cost);

/* Mean rate of the run. */
double verdict_now(const verdict_facts *facts);

/* ---- stages (verdict_stages.c) ----------------------------------------------------------------
 */

/* True if the stage runs in every pass: it is not spared by a cache that is filled. */
bool verdict_is_steady(const verdict_facts *facts, const verdict_stage *stage);

/* The stage that takes most of the workers' time; NULL: none was counted. */
const verdict_stage *verdict_largest(const verdict_facts *facts);

/* Busy time of the workers in seconds, in the steady state. */
double verdict_busy(const verdict_facts *facts);

/* True if the process uses nearly all cores that it may use. */
bool verdict_fills_cores(const verdict_facts *facts);

/* True if other processes may hold threads of this one up: they use cores, or that is not known,
 * and this process does not fill them. */
bool verdict_others_hold(const verdict_facts *facts);

/* Why a stage takes its time: "cpu", "blocked", "lock", "storage". */
const char *verdict_cause(const verdict_facts *facts, const verdict_stage *stage);

/* True if the stage has a clock, but its time off the CPUs may be run queue or sleep. */
bool verdict_is_undivided(const verdict_stage *stage);

/* True if a stage that sleeps is known to wait for no lock. */
bool verdict_only_sleeps(const verdict_facts *facts, const verdict_stage *stage);

/* The operation that takes most of a stage; NULL: unknown. */
const verdict_operation *verdict_operation_of(const verdict_facts *facts,
                                              const verdict_stage *stage);

#endif
