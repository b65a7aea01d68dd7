/* SPDX-License-Identifier: Apache-2.0 */
/* How long the steps of a run have waited for data so far. */
#ifndef SLUICE_RUN_WAITS_H
#define SLUICE_RUN_WAITS_H

#include "train_run.h"

/* Seconds of `ticks`, by the profile's clocks. */
double train_seconds_of(const train_run *run, uint64_t ticks);

/* Seconds of the waits that have ended. */
double train_wait_seconds(const train_run *run);

/* Ticks of a wait that goes on; the counters have it when it ends. now: sli_ticks(). */
uint64_t train_current_wait(const train_run *run, uint64_t now);

/* Seconds of all waits, with the one that goes on. */
double train_wait_seconds_so_far(const train_run *run);

#endif
