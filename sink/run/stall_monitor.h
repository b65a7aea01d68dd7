/* SPDX-License-Identifier: Apache-2.0 */
/* The monitors that the trainer polls while it waits: stop requests, the time limit, stalls. */
#ifndef SLUICE_STALL_MONITOR_H
#define SLUICE_STALL_MONITOR_H

#include "train_run.h"

/* Sleep of the trainer between two polls. */
extern const int64_t TRAIN_POLL_NS;

/*
 * Polls the cancellation token, the time limit and the progress of steps once. Returns OK, or
 * E_STALLED if data have been late for config.stall_timeout_ms.
 */
sluice_status train_watch(train_run *run);

/*
 * Call after a stop request on this rank. Returns E_INVALID if there are several ranks but
 * config.agree is not set, else OK.
 */
sluice_status train_check_request(const train_run *run);

#endif
