/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The candidates of a run, in order: by their positions, or read from a stream. collected_rows.c
 * calls these functions under its lock, except candidates_read().
 */
#ifndef SLUICE_COLLECTED_CANDIDATES_H
#define SLUICE_COLLECTED_CANDIDATES_H

#include "collected_claim.h"
#include "replay.h"
#include "stream_passes.h"

typedef struct collected_candidates {
    const sli_plan *plan;
    uint64_t most_passes;  /* limit on the passes of the run; 0: unlimited */
    _Atomic uint64_t next; /* number of the next candidate */
    uint64_t pass;         /* its pass, counted from 0 in the run */
    uint64_t position;     /* its position in that pass */
    stream_passes
        *stream;    /* NULL: the source is not a stream; else used by the worker that reads */
    uint32_t round; /* samples of a stream that a claim reads: one, or one for each rank */
    uint32_t own;   /* which of them the claim gets; the others are skipped */
    bool rewound;   /* the stream must be read from its first pass again */
    bool exhausted; /* the stream has no more passes */
    bool failed;    /* the stream has failed; a choice will have its error */
} collected_candidates;

/* E_NO_MEMORY, E_IO: call collected_candidates_fini() also then. */
sluice_status collected_candidates_init(collected_candidates *candidates, const sli_plan *plan,
                                        uint64_t most_passes);
void collected_candidates_fini(collected_candidates *candidates);

/* True if no candidates are left to take. */
bool candidates_are_exhausted(const collected_candidates *candidates);

/* True if a claim can be made. */
bool candidates_are_left(const collected_candidates *candidates);

/*
 * Claims up to `most` candidates of one pass, of which some are left. Of a stream it begins a claim
 * only: the caller then calls candidates_read() without the lock, and candidates_end_read() with
 * it.
 */
void candidates_take(collected_candidates *candidates, uint32_t most, collected_claim *claim);

/*
 * Reads the candidate of a claim from the stream, after skipping those that were done before the
 * run. Returns the status of the stream; *exhausted_out: it has no further pass. One thread at a
 * time, which guards the replay.
 */
sluice_status candidates_read(collected_candidates *candidates, stream_item *item, replay *done,
                              collected_claim *claim, bool *exhausted_out);

/* Completes the claim, with the results of candidates_read(). */
void candidates_end_read(collected_candidates *candidates, const collected_claim *claim,
                         sluice_status status, bool exhausted);

/* Continues with the first candidate of the run. */
void candidates_rewind(collected_candidates *candidates);

#endif
