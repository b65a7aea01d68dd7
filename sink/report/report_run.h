/* SPDX-License-Identifier: Apache-2.0 */
/* The input of a report: the parts of a run that has ended, or of a channel at any time. */
#ifndef SLUICE_REPORT_RUN_H
#define SLUICE_REPORT_RUN_H

#include <sluice/ranks.h>
#include <sluice/report.h>

#include "host_clock.h"
#include "program.h"
#include "rank_waits.h"
#include "run_counts.h"
#include "run_series.h"
#include "start_clocks.h"
#include "wait_probe.h"

typedef struct report_run {
    const data_feed *feed;       /* started */
    const sli_profile *profile;  /* the feed's profile or a copy; its end time is set */
    const sink_program *program; /* program, watchdog and plan are NULL for a channel */
    const sli_thread *watchdog;
    const sink_plan *plan;
    const start_clocks *start; /* NULL: the clocks were not read */
    uint64_t step;             /* one past the last step that ran */
    const run_counts *counts;
    sluice_mode mode;
    const char *mode_reason;
    uint32_t micro_batches;
    uint32_t regrouped_batch_size; /* as in sluice_report_stats */
    uint32_t regrouped_world;
    bool has_digest;
    const sluice_ranks *ranks; /* of this process; NULL: rank and world are the feed's */
    const rank_waits *waits;   /* NULL: none were counted */
    const wait_probe *probe;   /* NULL: nothing looked at the workers */
    const host_clock *host;    /* NULL for a channel */
    bool is_running;           /* it goes on after the report */
    const run_series *series;  /* without rows before the first step */
    const run_series *passes;  /* NULL for a channel */
} report_run;

/*
 * Creates the report of a run that ended with `status`; error is the error's text, or "". Call on
 * the thread that called sluice_train(); for a channel on any thread. Returns E_NO_MEMORY if an
 * allocation fails.
 */
sluice_status report_make(const report_run *run, sluice_status status, const char *error,
                          sluice_report **report_out);

/* Creates the report of a run that never began. ranks NULL: unknown. Returns E_NO_MEMORY if an
 * allocation fails. */
sluice_status report_make_empty(sluice_status status, const char *error, const sluice_ranks *ranks,
                                sluice_report **report_out);

#endif
