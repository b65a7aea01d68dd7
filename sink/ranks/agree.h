/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collectives of a training's ranks, all built on config.agree, a max-allreduce of one integer. All
 * ranks call it equally often, at the same boundaries. A rank that fails calls it with a value
 * above all others, so the other ranks detect the failure in their next call; further calls of all
 * ranks carry the text (rank_failure.h). Without config.agree or with a single rank, the result is
 * the caller's own value.
 */
#ifndef SLUICE_AGREE_H
#define SLUICE_AGREE_H

#include <sluice/ranks.h>
#include <sluice/train.h>

#include "error_int.h"
#include "rank_waits.h"
#include "run_watch.h"

/* State of this rank in its group. */
typedef struct rank_group {
    sluice_ranks own; /* rank and world of this process, from the config or the launcher */
    sluice_agree_fn agree;
    void *agree_user;
    int64_t timeout_ms; /* how long this rank, once it has failed, waits for the others; above 0 */
    bool parted;        /* agree must not be called again */
    bool has_others;    /* agree reaches other processes, although world is 1 */
    bool failure_is_known; /* all ranks end: another rank has failed, or all have together */
    bool on_board;         /* calls of agree are counted on the board of this machine's ranks */
    run_watch *watch;      /* the run's monitors: agree is a user callback */
    const uint64_t *step;  /* the run's next step, for messages */
    rank_waits waits;      /* which rank the others waited for */
    _Atomic uint64_t told_step; /* *step at the current call of agree, for the callback watchdog */
} rank_group;

/* A setting that must have the same value on all ranks. */
typedef struct agree_subject {
    const char *what;
    uint64_t value;
    bool is_hash; /* value is a hash, so the error text omits it */
} agree_subject;

/* True if there is more than one process, and the callback `agree` is set and may be called. */
bool agree_asks(const rank_group *ranks);

/* Max-allreduce of `value`, which must be below FAILURE_LEAST. Returns E_RANK, with the status and
 * the text of the other rank, if one has failed; E_CALLBACK if the result is below `value`; or the
 * error of config.agree. */
sluice_status agree_most(rank_group *ranks, int64_t value, int64_t *most_out);

/*
 * A meeting: a max-allreduce of `level`, at most MEETING_LEVEL_MOST, at a boundary. It also counts
 * how long ranks wait for each other (rank_waits.h). Fails as agree_most(); also returns E_CALLBACK
 * if no rank can have sent the result.
 */
sluice_status agree_meet(rank_group *ranks, uint32_t level, uint32_t *level_out);

/* Returns once all ranks have called it; a meeting. */
sluice_status agree_barrier(rank_group *ranks);

/* Checks that each rank number occurs once. Returns E_INVALID if a number is missing, since then
 * another number occurs twice. */
sluice_status agree_on_members(rank_group *ranks);

/* For a process whose world is 1: sets *alone_out to true if agree reaches no other process. The
 * nonce must differ between processes. Calls agree twice. */
sluice_status agree_alone(rank_group *ranks, uint64_t nonce, bool *alone_out);

/* Checks that all ranks have equal values of the subjects. Returns E_INVALID if they differ; the
 * error text names the first subject that differs. */
sluice_status agree_on_all(rank_group *ranks, const agree_subject *subjects, size_t count);

/* Returns E_INVALID unless all ranks resume from the same step and the same kind of checkpoint.
 * step is UINT64_MAX if the rank has no checkpoint. */
sluice_status agree_on_step(rank_group *ranks, uint64_t step, bool early);

/* Sums sums[i] over all ranks, in rank order, so the result is the same on all ranks. */
sluice_status agree_on_sums(rank_group *ranks, double *sums, uint32_t count);

/* Call last, when the run has ended or failed. Reports a failure to the other ranks, for up to
 * timeout_ms; logs a warning if they do not answer. Later calls are no longer collective. */
void agree_part(rank_group *ranks, const sli_error *error);

#endif
