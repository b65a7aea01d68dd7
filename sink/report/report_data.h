/* SPDX-License-Identifier: Apache-2.0 */
/* What a report holds: plain data, collected once a run has ended. */
#ifndef SLUICE_REPORT_DATA_H
#define SLUICE_REPORT_DATA_H

#include <sluice/report.h>
#include <sluice/train.h>

#include "engine_int.h"
#include "pci_link_int.h"
#include "profiler_int.h"
#include "queue_int.h"
#include "status_int.h"

/* Where a thread or a block of memory was to be, and where it was. */
typedef struct report_place {
    const char *kind; /* "thread" or "buffer" */
    char name[32];
    char wanted[96];
    char got[96];
} report_place;

enum { REPORT_STAGES = 16, REPORT_QUEUES = 2 };

struct sluice_report {
    sluice_report_stats stats;
    char error[SLI_ERROR_SIZE]; /* "" when there was none */
    bool ran;                   /* the run began; else most of what follows is zero */
    const char *mode;           /* NULL when the run never began */
    char mode_reason[400];
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
    char bottleneck_advice[300];

    uint64_t failed;
    uint32_t error_count;
    sli_error_sample *errors;

    uint32_t place_count;
    report_place *places;

    char cpu[128];
    const char *kernels;
    uint32_t cores_allowed;
    double quota;
    uint32_t nodes;
    char device_name[32]; /* "" when the run never began */
    sli_device_facts device_facts;
    bool has_link; /* to the bus, as it was when the run had ended */
    sli_pci_link link;
};

/* Names the stage that holds the run up, and what to do about it (bottleneck.c). */
void report_find_bottleneck(sluice_report *report);

#endif
