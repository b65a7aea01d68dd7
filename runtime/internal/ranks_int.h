/* SPDX-License-Identifier: Apache-2.0 */
/* What launchers' variables say of a process, beyond sluice_ranks_find(). */
#ifndef SLUICE_RANKS_INT_H
#define SLUICE_RANKS_INT_H

#include <sluice/ranks.h>

/* Replaces local rank and world by SLUICE_LOCAL, "R/W", if it is set. E_INVALID: it is not R/W with
 * R < W <= most. */
sluice_status sli_ranks_override_local(sluice_ranks *ranks, uint32_t most);

/* The local rank of this process; 0 without a launcher. E_INVALID: the launcher does not set it, or
 * as sluice_ranks_find(). */
sluice_status sli_ranks_local(uint32_t *local_rank_out);

/* Warns if a launcher other than ranks->source, around it, started more processes: the variables of
 * the inner one may be left from another job. */
void sli_ranks_warn(const sluice_ranks *ranks);

#endif
