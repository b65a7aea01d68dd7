/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks from the launchers' environment variables: internal calls besides sluice_ranks_find(). */
#ifndef SLUICE_RANKS_INT_H
#define SLUICE_RANKS_INT_H

#include <sluice/ranks.h>

/* Overrides local rank and local world by the variable SLUICE_LOCAL, "R/W", if it is set. Returns
 * E_INVALID unless R < W <= most. */
sluice_status sli_ranks_override_local(sluice_ranks *ranks, uint32_t most);

/* Finds the local rank of this process; 0 without a launcher. Returns E_INVALID if the launcher
 * does not set it, and the errors of sluice_ranks_find(). */
sluice_status sli_ranks_local(uint32_t *local_rank_out);

/* Warns if an outer launcher started more processes than ranks->source, the inner one, did: the
 * variables of the inner launcher may be left over from another job. */
void sli_ranks_warn(const sluice_ranks *ranks);

#endif
