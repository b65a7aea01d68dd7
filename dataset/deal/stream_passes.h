/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The passes of a stream in a run: reads samples one after another, and checks the length of each
 * pass. One thread at a time may call these functions, except stream_passes_stop(),
 * stream_passes_abandon() and stream_passes_done().
 */
#ifndef SLUICE_STREAM_PASSES_H
#define SLUICE_STREAM_PASSES_H

#include "plan.h"
#include "stream_hold.h"
#include "stream_order.h"

typedef struct stream_passes {
    const sli_plan *plan;
    uint64_t most;       /* limit on the passes of the run; 0: unlimited */
    int stop_fd;         /* becomes readable when a stop is requested */
    stream_hold hold;    /* budget for the workers' samples */
    stream_order *order; /* order of the current or next pass */
    uint64_t number;     /* number of the current or last pass */
    uint64_t ended;      /* passes of the run that have ended */
    uint64_t length;     /* samples of the last pass that has ended; UINT64_MAX: none has */
    uint64_t taken;      /* samples taken of the pass */
    stream_item others;  /* receives the samples that are skipped */
} stream_passes;

/* Returns E_NO_MEMORY or E_IO on failure; then there is nothing to free. */
sluice_status stream_passes_init(stream_passes *passes, const sli_plan *plan, uint64_t most);
void stream_passes_free(stream_passes *passes);

/* Ends a wait for bytes: the call that reads returns CLOSED. Callable from any thread. */
void stream_passes_stop(stream_passes *passes);

/* Until it is called with false, makes stream_passes_take() return CLOSED instead of waiting for
 * the budget: its sample is lost, so stream_passes_restart() must follow. Callable from any thread.
 */
void stream_passes_abandon(stream_passes *passes, bool abandoned);

/* Begins the next pass. END_OF_DATA: the run has no more passes. Also errors of the source. */
sluice_status stream_passes_begin(stream_passes *passes);

static inline bool stream_passes_is_open(const stream_passes *passes)
{
    return stream_order_in_pass(passes->order);
}

/* The number of passes of the run that have begun. */
static inline uint64_t stream_passes_seen(const stream_passes *passes)
{
    return passes->ended + stream_passes_is_open(passes);
}

/*
 * Moves the next sample of the pass into the item, and charges it to the budget of large samples,
 * for which it may wait. END_OF_DATA: the pass has no more; call stream_passes_end(). CLOSED: a
 * stop was requested, or the sample is abandoned. Also errors of the source.
 */
sluice_status stream_passes_take(stream_passes *passes, stream_item *item);

/* Reads the next sample and drops it; returns as stream_passes_take(). */
sluice_status stream_passes_skip(stream_passes *passes);

/* Releases the bytes of the item's sample. Callable from any worker. */
void stream_passes_done(stream_passes *passes, stream_item *item);

/* Ends the pass. E_CORRUPT: it has another length than the pass before, and the source's passes do
 * not vary. */
sluice_status stream_passes_end(stream_passes *passes);

/* Ends the open pass, if there is one; the next pass to begin is the first one of the run again. */
void stream_passes_restart(stream_passes *passes);

/* Records the memory of the buffered samples for the report. */
void stream_passes_note_memory(const stream_passes *passes);

#endif
