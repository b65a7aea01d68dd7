/* SPDX-License-Identifier: Apache-2.0 */
/* What the verdict of a report needs to know of the pipeline, beside counters. */
#ifndef SLUICE_REPORT_PIPELINE_H
#define SLUICE_REPORT_PIPELINE_H

#include "plan_traits_int.h"
#include "report_times.h"
#include "wait_probe.h"

typedef struct report_pipeline {
    sli_plan_traits traits;
    uint32_t batch_size;
    uint64_t memory_limit;            /* bytes of memory that this rank may use; 0: unknown */
    bool probed;                      /* the workers' system calls could be read */
    uint32_t kinds[REPORT_STAGES];    /* by the stages of the report: SLI_STAGE_* */
    wait_counts waits[REPORT_STAGES]; /* by the stages of the report */
} report_pipeline;

#endif
