/* SPDX-License-Identifier: Apache-2.0 */
/* What watches a run for calls and steps that do not end. */
#ifndef SLUICE_RUN_WATCH_H
#define SLUICE_RUN_WATCH_H

#include "callback_watchdog.h"

typedef struct run_watch {
    watchdog callbacks;    /* of the user, which the trainer calls */
    polled_time still;     /* since a poll has seen a step end, or a callback has returned */
    uint64_t batches_done; /* as of the last poll */
    bool stall_warned;     /* since then */
} run_watch;

#endif
