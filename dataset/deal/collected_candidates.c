/* SPDX-License-Identifier: Apache-2.0 */
#include "collected_candidates.h"

#include "alloc_int.h"
#include "status_int.h"

sluice_status collected_candidates_init(collected_candidates *candidates, const sli_plan *plan,
                                        uint64_t most_passes)
{
    sluice_status st;

    candidates->plan = plan;
    candidates->most_passes = most_passes;
    candidates->round = plan->details->dealing.has_choices ? 1 : plan->settings.world;
    candidates->own = plan->details->dealing.has_choices ? 0 : plan->settings.rank;
    if (!plan->details->dealing.is_stream) {
        return SLUICE_OK;
    }
    candidates->stream = sli_calloc(1, sizeof(*candidates->stream));
    if (candidates->stream == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "a stream");
    }
    st = stream_passes_init(candidates->stream, plan, most_passes);
    if (st != SLUICE_OK) {
        sli_free(candidates->stream);
        candidates->stream = NULL;
    }
    return st;
}

void collected_candidates_fini(collected_candidates *candidates)
{
    if (candidates->stream != NULL) {
        stream_passes_free(candidates->stream);
        sli_free(candidates->stream);
    }
}

bool candidates_are_exhausted(const collected_candidates *candidates)
{
    return candidates->stream != NULL
               ? candidates->exhausted
               : candidates->most_passes > 0 && candidates->pass == candidates->most_passes;
}

bool candidates_are_left(const collected_candidates *candidates)
{
    return !candidates_are_exhausted(candidates) && !candidates->failed;
}

/* Completes a claim, whose number of candidates is known now. */
static void end_claim(collected_candidates *candidates, const collected_claim *claim)
{
    const uint64_t count = claim->skipped + claim->count;

    atomic_store_explicit(&candidates->next, claim->first + count, memory_order_relaxed);
    candidates->position += count;
    if (claim->ends_pass) {
        candidates->pass++;
        candidates->position = 0;
    }
}

void candidates_take(collected_candidates *candidates, uint32_t most, collected_claim *claim)
{
    claim->kind = COLLECTED_CANDIDATES;
    claim->first = atomic_load_explicit(&candidates->next, memory_order_relaxed);
    claim->pass = candidates->plan->begin.pass + candidates->pass;
    claim->position = candidates->position;
    if (candidates->stream != NULL) {
        claim->restarts = candidates->rewound;
        candidates->rewound = false;
    } else {
        const uint64_t left =
            candidates->plan->details->orders.all_ranks.length - candidates->position;

        claim->count = left < most ? (uint32_t)left : most;
        claim->ends_pass = claim->count == left;
        end_claim(candidates, claim);
    }
}

/* ---- reading from a stream ------------------------------------------------------------------- */

/* Skips the samples of the pass before the run. The pass may end with them, or before. */
static sluice_status skip_done(stream_passes *stream, replay *done, collected_claim *claim)
{
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && claim->skipped < claim->skips) {
        st = stream_passes_skip(stream);
        claim->skipped += st == SLUICE_OK;
        replay_add(done, st == SLUICE_OK);
    }
    if (st == SLUICE_OK && claim->skips > 0) {
        replay_end(done, stream_passes_seen(stream));
    }
    return st;
}

/* Reads the samples of a claim. Its own one goes into the item. */
static sluice_status read_round(const collected_candidates *candidates, stream_item *item,
                                collected_claim *claim)
{
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && claim->count < candidates->round) {
        st = claim->count == candidates->own ? stream_passes_take(candidates->stream, item)
                                             : stream_passes_skip(candidates->stream);
        claim->count += st == SLUICE_OK;
    }
    return st;
}

sluice_status candidates_read(collected_candidates *candidates, stream_item *item, replay *done,
                              collected_claim *claim, bool *exhausted_out)
{
    stream_passes *stream = candidates->stream;
    sluice_status st = SLUICE_OK;

    if (claim->restarts) {
        stream_passes_restart(stream);
    }
    if (!stream_passes_is_open(stream)) {
        st = stream_passes_begin(stream);
    }
    *exhausted_out = st == SLUICE_END_OF_DATA;
    if (st == SLUICE_OK) {
        st = skip_done(stream, done, claim);
    }
    if (st == SLUICE_OK) {
        st = read_round(candidates, item, claim);
    }
    if (st == SLUICE_END_OF_DATA && !*exhausted_out) {
        st = stream_passes_end(stream);
        claim->ends_pass = st == SLUICE_OK;
    }
    stream_passes_note_memory(stream);
    return st;
}

void candidates_end_read(collected_candidates *candidates, const collected_claim *claim,
                         sluice_status status, bool exhausted)
{
    candidates->exhausted = exhausted;
    candidates->failed = status < 0 || status == SLUICE_CLOSED;
    end_claim(candidates, claim);
}

void candidates_rewind(collected_candidates *candidates)
{
    candidates->rewound = true;
    candidates->exhausted = false;
    candidates->failed = false;
    candidates->pass = 0;
    candidates->position = 0;
    atomic_store_explicit(&candidates->next, 0, memory_order_relaxed);
}
