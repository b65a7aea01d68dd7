/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks from the launchers' environment variables: internal calls besides sluice_ranks_find(). */
#ifndef SLUICE_RANKS_INT_H
#define SLUICE_RANKS_INT_H

#include <stdbool.h>

#include <sluice/ranks.h>

/* Overrides local rank and local world by the variable SLUICE_LOCAL, "R/W", if it is set. Returns
 * E_INVALID unless R < W <= most. */
sluice_status sli_ranks_override_local(sluice_ranks *ranks, uint32_t most);

/* Finds the local rank of this process; 0 without a launcher. Returns E_INVALID if the launcher
 * does not set it, and the errors of sluice_ranks_find(). */
sluice_status sli_ranks_local(uint32_t *local_rank_out);

/* An outer launcher, and the inner one whose variables count instead. The texts are static. */
typedef struct sli_outer_launcher {
    const char *name;
    const char *world_name; /* its variable with the number of processes */
    uint32_t world;
    const char *inner;
    const char *inner_rank; /* variables of the inner launcher */
    const char *inner_world;
} sli_outer_launcher;

/* True if an outer launcher started more processes than ranks->source, the inner one, did. */
bool sli_ranks_find_outer(const sluice_ranks *ranks, sli_outer_launcher *outer_out);

/* Warns if an outer launcher started more processes than ranks->source, the inner one, did: the
 * variables of the inner launcher may be left over from another job. */
void sli_ranks_warn(const sluice_ranks *ranks);

#endif
