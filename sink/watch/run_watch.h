/* SPDX-License-Identifier: Apache-2.0 */
/* State of the stall monitor and the callback watchdog of a run, and the clock of its host. */
#ifndef SLUICE_RUN_WATCH_H
#define SLUICE_RUN_WATCH_H

#include "callback_watchdog.h"
#include "host_clock.h"
#include "run_series.h"
#include "wait_probe.h"

typedef struct run_watch {
    host_clock host;    /* what the trainer does */
    uint64_t requests;  /* for reports so far, as of the last poll */
    int64_t renewal_ns; /* when the file of SLUICE_REPORT is written again; 0: not chosen yet */
    watchdog callbacks; /* monitors the trainer's calls of user callbacks */
    polled_time still;  /* time since a step ended, a callback returned, or samples before the
                           run were read */
    uint64_t progress;  /* batches that are done, and samples before the run that were read; as
                           of the last poll */
    bool stall_warned;  /* warned of the stall since the last progress */
    wait_probe waits;   /* of the workers */
    run_series series;  /* of seconds */
    run_series passes;
    struct series_file *series_file; /* of SLUICE_REPORT_SERIES; NULL: none */
} run_watch;

#endif
