/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names ranks of this machine, for messages of a rank that waits: which are stopped or gone, which
 * have failed, which have not come to agree. Known only if the ranks have exchanged their cores,
 * and see each other's processes. Functions append at most 8 ranks. Any thread.
 */
#ifndef SLUICE_PEER_STATES_H
#define SLUICE_PEER_STATES_H

#include <sluice/ranks.h>

#include "text_int.h"

/* For a rank in its step: appends "; rank 1 (process 4711) is stopped" for each rank that is
 * stopped, gone or has failed. */
void peer_states_describe(uint32_t own, sli_text *text);

/* For a rank in agree: appends "; rank 1 (process 4711) has not come, its last boundary was after
 * step 20" for each rank that has not, is stopped or gone. */
void peer_states_describe_late(uint32_t own, sli_text *text);

/*
 * Appends the ranks that have not come to agree: "rank 0 (process 4711 on node07, last boundary
 * after step 20) and some of the 8 ranks of other machines". Returns false, and appends nothing, if
 * it is not known of each rank of this machine whether it has.
 */
bool peer_states_list_late(const sluice_ranks *own, sli_text *text);

#endif
