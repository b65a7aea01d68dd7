/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replay: workers process samples again that were done before the run, since only so they find
 * its first one. Passes of unknown length are replayed: of streams, filters, pack and bucket.
 *
 * A replay is logged at its end, and once while it lasts, as a warning, if it takes long. Consumers
 * exclude its time from their waits for data (replay_overlap()).
 *
 * The caller guards all calls that change a replay by one lock. Other threads may call the rest.
 */
#ifndef SLUICE_REPLAY_H
#define SLUICE_REPLAY_H

#include "plan.h"

/* All zero at first. */
typedef struct replay {
    const sli_plan *plan;
    uint64_t batches; /* of this rank that are replayed */
    uint64_t before;  /* `samples` when the replay began */
    int64_t begin_ns; /* when it began; 0: none is in progress */
    bool warned;
    _Atomic uint64_t samples;     /* of all ranks, in all replays so far */
    _Atomic uint64_t past_ticks;  /* duration of those that have ended */
    _Atomic uint64_t begin_ticks; /* of the last one; 0: there was none */
    _Atomic uint64_t end_ticks;   /* of the last one; 0: it is in progress */
} replay;

/* Begins the replay of `done` rows over all ranks. */
void replay_begin(replay *r, const sli_plan *plan, uint64_t done);

static inline bool replay_is_open(const replay *r)
{
    return r->begin_ns != 0;
}

/* Counts samples of the replay in progress. Logs once if it takes long. */
void replay_add(replay *r, uint64_t samples);

/* Ends the replay in progress, which has processed samples of so many passes. */
void replay_end(replay *r, uint64_t passes);

/* Ends the replay in progress, if there is one, since the run is rewound. */
void replay_abandon(replay *r);

/* The number of samples so far: it grows while a replay makes progress. */
uint64_t replay_samples(const replay *r);

/* True if a replay is in progress. Unlike replay_is_open() callable from any thread. */
bool replay_lasts(const replay *r);

/* Number of ticks of the interval [start, end] during which the last replay was in progress. */
uint64_t replay_overlap(const replay *r, uint64_t start, uint64_t end);

/* Duration of all replays up to `now`, in ticks. */
uint64_t replay_ticks(const replay *r, uint64_t now);

#endif
