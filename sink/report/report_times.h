/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the time of a run went: of its threads, its stages, the operations in a stage, the host's
 * own work, and the machine around it. Plain data of a report. A value that could not be measured
 * is zero, and its `has_` or `known` is false.
 */
#ifndef SLUICE_REPORT_TIMES_H
#define SLUICE_REPORT_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* The time of a thread or a stage. cpu + runqueue + blocked is all of it, if all are known. */
typedef struct report_times {
    bool has_cpu;
    bool has_runqueue; /* else blocked_s includes the time in the run queue */
    double cpu_s;      /* on a CPU */
    double runqueue_s; /* ready to run, but no CPU was free */
    double blocked_s;  /* asleep: waiting for a disk, a lock, a timer or another thread */
} report_times;

typedef struct report_thread {
    char name[32];
    double seconds; /* from the start of the run, or of the thread */
    report_times times;
} report_thread;

/* Busy time of a stage, divided by samples of it: each thread measures one sample in many. */
typedef struct report_stage_times {
    uint64_t measured;  /* number of samples that were measured; 0: the shares are unknown */
    report_times times; /* of all samples, estimated: the shares of those measured, times the busy
                           time */
    double max_ns;      /* the longest sample */
} report_stage_times;

enum { REPORT_STAGES = 16, REPORT_OPERATIONS = 64, REPORT_NAME = 64 };

/* An operation of a stage, such as one operator of the drawn list. Its self time; the operations of
 * a stage add up to the stage. */
typedef struct report_operation {
    char name[REPORT_NAME]; /* "resize", "resize#2" */
    uint32_t stage;         /* index into the report's stages */
    uint64_t measured;      /* runs of it that were measured */
    double busy_ns;         /* of all samples, estimated */
} report_operation;

/* The host's part of the wall time, outside of the steps and of waiting for data. */
typedef struct report_host_times {
    bool known;    /* false in the report of a channel */
    double open_s; /* before the first step; not a part of the run's seconds */
    double launch_s;
    double hooks_s;
    double checkpoint_s;
    double validation_s;
    double agree_s;
} report_host_times;

/* The host's part during the run, in seconds. */
static inline double report_host_seconds(const report_host_times *host)
{
    return host->launch_s + host->hooks_s + host->checkpoint_s + host->validation_s + host->agree_s;
}

/* What the machine did to the process during the run. */
typedef struct report_machine {
    bool has_throttling; /* a cgroup counts it */
    uint64_t periods;    /* of the quota */
    uint64_t throttled_periods;
    double throttled_s;
    bool has_pressure;
    double cpu_pressure; /* share of the run in which some task of the machine waited for a CPU */
    double io_pressure;
    double memory_pressure;
    bool has_busy;
    double busy_cores;     /* mean number of the cores of this rank that some process used */
    uint64_t major_faults; /* pages that the process read from a disk */
    uint64_t minor_faults;
} report_machine;

enum { REPORT_ADVICE = 8 };

/* A change that would make the run faster, with the rate to expect. */
typedef struct report_advice {
    const char *change; /* "workers", "fewer_workers", "index", "pack", "cache", "batch",
                           "checkpoint", "validation", "hooks", "offload", "binding", "quota",
                           "storage", "code" */
    uint32_t workers;   /* the number to set; 0: the change is not a number of workers */
    double rate_low;    /* samples per second to expect; both are 0 if no rate can be said */
    double rate_high;
    char text[400];
} report_advice;

#endif
