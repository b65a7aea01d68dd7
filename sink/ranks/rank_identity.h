/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a run in one line: its rank, its device, and its share of the machine. */
#ifndef SLUICE_RANK_IDENTITY_H
#define SLUICE_RANK_IDENTITY_H

#include "feed.h"
#include "text_int.h"

/* Appends one line: rank, world, host name, local rank, device, cores, and the placement of threads
 * and memory. The feed must be open. */
void rank_identity_print(const sluice_ranks *ranks, const char *host, const data_feed *feed,
                         sli_text *text);

/* Logs the line at level info, and the placement's warnings. */
void rank_identity_log(const sluice_ranks *ranks, const data_feed *feed);

#endif
