/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks of one training, kept together by config.agree, a max-allreduce of one integer. Every rank
 * calls it as often as the others, at the same boundaries; a rank that fails calls it a last time
 * with a value above all others, which the others find in their next call. Without agree, and for
 * a rank that is alone, the result is the value itself.
 */
#ifndef SLUICE_AGREE_H
#define SLUICE_AGREE_H

#include <sluice/ranks.h>
#include <sluice/train.h>

#include "run_watch.h"

/* The ranks of a run, as one of them sees them. */
typedef struct rank_group {
    sluice_ranks own; /* rank and world of this process, from the config or the launcher */
    sluice_agree_fn agree;
    void *agree_user;
    bool parted;          /* agree is not called any more */
    run_watch *watch;     /* of the run: agree is a user callback */
    const uint64_t *step; /* of the run: the next one, for messages */
} rank_group;

/* A subject that all ranks must have the same value of. */
typedef struct agree_subject {
    const char *what;
    uint64_t value;
    bool is_hash; /* else the error gives the values */
} agree_subject;

/* Is there more than one rank, and is the callback `agree` set? */
bool agree_asks(const rank_group *ranks);

/* E_RANK: another rank has failed; or the error of agree. Values are below 2^62 in magnitude. */
sluice_status agree_most(rank_group *ranks, int64_t value, int64_t *most_out);

/* Returns once all ranks have called it. */
sluice_status agree_barrier(rank_group *ranks);

/* E_INVALID: a rank is missing, so another number is there twice. */
sluice_status agree_on_members(rank_group *ranks);

/* E_INVALID: ranks differ in a subject; names the first one. */
sluice_status agree_on_all(rank_group *ranks, const agree_subject *subjects, size_t count);

/* E_INVALID unless all ranks resume from the same step (UINT64_MAX: from none) and the same kind of
 * checkpoint. */
sluice_status agree_on_step(rank_group *ranks, uint64_t step, bool early);

/* Each rank's numbers, summed over all ranks in the order of ranks. */
sluice_status agree_on_sums(rank_group *ranks, double *sums, uint32_t count);

/* The last call of a run that has failed, or has ended: of an error the other ranks learn. */
void agree_part(rank_group *ranks, sluice_status status);

#endif
