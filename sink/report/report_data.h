/* SPDX-License-Identifier: Apache-2.0 */
/* What a report holds: plain data, collected in one go. */
#ifndef SLUICE_REPORT_DATA_H
#define SLUICE_REPORT_DATA_H

#include <sluice/report.h>
#include <sluice/train.h>

#include "engine_int.h"
#include "pci_link_int.h"
#include "profiler_int.h"
#include "queue_int.h"
#include "status_int.h"
#include "step_threads.h"

/* On which node the memory of batches was to be, and where it was. */
typedef struct report_memory {
    const char *name; /* "staging" or "slots" */
    int32_t wanted;   /* -1: any */
    int32_t got;      /* -1: unknown */
} report_memory;

enum { REPORT_STAGES = 16, REPORT_QUEUES = 2 };

struct sluice_report {
    sluice_report_stats stats;
    char error[SLI_ERROR_SIZE]; /* "" when there was none */
    bool ran;                   /* the run began; else most of what follows is zero */
    const char *mode;           /* NULL: the run never began, or the loop is the user's own */
    char mode_reason[400];
    const char *source; /* the stage that the samples come from */
    uint64_t batches;
    uint64_t bytes_read;
    uint64_t ahead_samples; /* that readahead asked for */
    uint64_t ahead_bytes;
    sli_index_counts indexes;
    uint64_t bytes_h2d;
    const char *transport; /* as sli_queue_stats has it; NULL when the run never began */
    uint64_t h2d_batches;
    uint64_t h2d_copies;
    uint64_t publishes;
    bool has_digest;
    int64_t cpu_ns; /* of the whole process so far, as getrusage has it */
    int64_t peak_rss_bytes;
    uint64_t source_bytes; /* its list of samples, splits, the buffer of a stream's shuffle */

    uint32_t worker_count;
    uint32_t stage_count;
    sli_stage_summary stages[REPORT_STAGES]; /* their names are the report's own: */
    char stage_names[REPORT_STAGES][64];
    double wait_ns; /* steps waited for data */

    uint32_t queue_count;
    const char *queue_names[REPORT_QUEUES];
    sli_ring_stats queues[REPORT_QUEUES];
    uint64_t produced;
    uint64_t consumed;

    const char *bottleneck;  /* a stage's name, or "none" */
    double bottleneck_share; /* of the time it is about */
    char bottleneck_why[300];
    char bottleneck_advice[400];

    uint64_t failed;
    uint32_t error_count;
    sli_error_sample *errors;

    uint32_t place_count;
    sli_thread_place *places; /* of workers, readahead, copies, the device, the caller */
    report_memory memory_place;
    step_threads step;
    uint32_t core_count;  /* of this rank */
    uint32_t spare_cores; /* of those: no worker is pinned to them */

    char cpu[128];
    const char *kernels;
    uint32_t cores_allowed;
    double quota;
    uint32_t nodes;
    char device_name[32]; /* "" when the run never began */
    sli_device_facts device_facts;
    bool has_kernels; /* the device converts by itself */
    bool has_link;    /* to the bus, as it was when the run had ended */
    sli_pci_link link;
};

/*
 * Samples a second that go through a stage while its threads are busy in it: what it would sustain
 * if they did nothing else. 0: they never were (stage_rates.c).
 */
double report_sustained(const sluice_report *report, const sli_stage_summary *stage);

/* Do workers run this stage once per sample? False for batch, copy, get_next and step. */
bool report_is_worker_stage(const sli_stage_summary *stage);

/* The stage of that name; NULL: nothing went through it. */
const sli_stage_summary *report_find_stage(const sluice_report *report, const char *name);

/* Time that the workers were busy for, in all their stages and all together. */
double report_workers_ns(const sluice_report *report);

/* Samples a second of the whole run. */
double report_rate(const sluice_report *report);

/* Writes the best remedy of a run that the stage holds up (advice.c). */
void report_advise_step(sluice_report *report);
void report_advise_copy(sluice_report *report, const sli_stage_summary *copy);
void report_advise_workers(sluice_report *report, const sli_stage_summary *most);
void report_advise_batches(sluice_report *report);

/* Names the stage that holds the run up, and what to do about it (bottleneck.c). */
void report_find_bottleneck(sluice_report *report);

#endif
