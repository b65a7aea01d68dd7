/* SPDX-License-Identifier: Apache-2.0 */
#include "peer_states.h"

#include <inttypes.h>
#include <unistd.h>

#include "rank_board_int.h"
#include "rank_cores_int.h"

enum { NAMED_MOST = 8 };

/* Another rank of this machine. */
typedef struct other_rank {
    sli_rank_peer peer;
    sli_rank_progress progress;
    const char *state; /* "stopped", "gone"; NULL: neither is known */
} other_rank;

static const char *state_of(const sli_rank_peer *peer)
{
    const sli_peer_state state = sli_rank_peer_state(peer);

    return state == SLI_PEER_STOPPED ? "stopped" : state == SLI_PEER_GONE ? "gone" : NULL;
}

/* Finds the next rank other than `own` from local rank *index on, and moves *index past it. */
static bool next_other(uint32_t own, uint32_t *index, other_rank *other_out)
{
    while (sli_rank_peer_get(*index, &other_out->peer)) {
        const uint32_t local = (*index)++;

        if (other_out->peer.rank != own) {
            other_out->progress = sli_rank_board_get(local);
            other_out->state = state_of(&other_out->peer);
            return true;
        }
    }
    return false;
}

void peer_states_describe(uint32_t own, sli_text *text)
{
    other_rank other;
    uint32_t named = 0;
    uint32_t i = 0;

    while (named < NAMED_MOST && next_other(own, &i, &other)) {
        if (other.state != NULL || other.progress.failed) {
            sli_text_add(text, "; rank %u (process %d) %s%s", other.peer.rank, (int)other.peer.pid,
                         other.progress.failed ? "has failed" : "is ",
                         other.progress.failed ? "" : other.state);
            named++;
        }
    }
}

void peer_states_describe_late(uint32_t own, sli_text *text)
{
    other_rank other;
    uint32_t named = 0;
    uint32_t i = 0;

    while (named < NAMED_MOST && next_other(own, &i, &other)) {
        const bool is_late = other.progress.place == SLI_RANK_BEHIND;

        if (is_late || other.state != NULL) {
            sli_text_add(text, "; rank %u (process %d)", other.peer.rank, (int)other.peer.pid);
            named++;
        }
        if (other.state != NULL) {
            sli_text_add(text, " is %s", other.state);
        } else if (is_late) {
            sli_text_add(text, " has not come, its last boundary was after step %" PRIu64,
                         other.progress.step);
        }
    }
}

/* True if it is known of all other ranks of this machine whether they have come. *late_out: how
 * many have not. */
static bool count_late(const sluice_ranks *own, uint32_t *late_out)
{
    other_rank other;
    uint32_t known = 0;
    uint32_t i = 0;

    *late_out = 0;
    while (next_other(own->rank, &i, &other)) {
        known += other.progress.place != SLI_RANK_UNKNOWN ? 1 : 0;
        *late_out += other.progress.place == SLI_RANK_BEHIND ? 1 : 0;
    }
    return known > 0 && known + 1 == own->local_world;
}

static void list_late(const sluice_ranks *own, uint32_t late, sli_text *text)
{
    char host[256] = "";
    const char *between = "";
    other_rank other;
    uint32_t named = 0;
    uint32_t i = 0;

    (void)gethostname(host, sizeof(host) - 1);
    while (named < NAMED_MOST && next_other(own->rank, &i, &other)) {
        if (other.progress.place == SLI_RANK_BEHIND) {
            sli_text_add(text,
                         "%srank %u (process %d on %s, %s%slast boundary after step %" PRIu64 ")",
                         between, other.peer.rank, (int)other.peer.pid, host,
                         other.state != NULL ? other.state : "", other.state != NULL ? ", " : "",
                         other.progress.step);
            between = ", ";
            named++;
        }
    }
    if (late > named) {
        sli_text_add(text, " and %u more on %s", late - named, host);
    }
}

bool peer_states_list_late(const sluice_ranks *own, sli_text *text)
{
    const uint32_t elsewhere = own->world - own->local_world;
    uint32_t late;

    if (own->local_world > own->world || !count_late(own, &late)) {
        return false;
    }
    if (late == 0 && elsewhere == 0) {
        return false; /* they have come in the meantime */
    }
    list_late(own, late, text);
    if (elsewhere > 0) {
        sli_text_add(text, "%s%u ranks of other machines, of which it is not known which have come",
                     late > 0 ? "; and the " : "the ", elsewhere);
    }
    return true;
}
