/* SPDX-License-Identifier: Apache-2.0 */
/* What the trainer polls while it waits. */
#ifndef SLUICE_STALL_MONITOR_H
#define SLUICE_STALL_MONITOR_H

#include "train_run.h"

/* How long the trainer sleeps between two polls. */
extern const int64_t TRAIN_POLL_NS;

/*
 * One poll of the cancellation token, the time limit and the progress of steps. OK, or E_STALLED
 * once data are late for config.stall_timeout_ms.
 */
sluice_status train_watch(train_run *run);

/*
 * A stop was requested on this rank: OK, or E_INVALID where it is one of several that cannot agree
 * on it.
 */
sluice_status train_check_request(const train_run *run);

#endif
