/* SPDX-License-Identifier: Apache-2.0 */
#include "peer_states.h"

#include "rank_cores_int.h"

enum { NAMED_MOST = 8 };

void peer_states_describe(uint32_t own, sli_text *text)
{
    sli_rank_peer peer;
    uint32_t named = 0;

    for (uint32_t i = 0; named < NAMED_MOST && sli_rank_peer_get(i, &peer); i++) {
        const sli_peer_state state =
            peer.rank != own ? sli_rank_peer_state(&peer) : SLI_PEER_UNKNOWN;

        if (state == SLI_PEER_STOPPED || state == SLI_PEER_GONE) {
            sli_text_add(text, "; rank %u (process %d) is %s", peer.rank, (int)peer.pid,
                         state == SLI_PEER_STOPPED ? "stopped" : "gone");
            named++;
        }
    }
}
