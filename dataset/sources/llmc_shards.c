/* SPDX-License-Identifier: Apache-2.0 */
#include "llmc_shards.h"

#include "alloc_int.h"
#include "status_int.h"

/*
 * Returns the number of tokens in one piece, which is one batch on every rank; UINT64_MAX: more
 * than any file has.
 */
static uint64_t tokens_of_piece(const llmc_bounds *bounds, uint64_t seq)
{
    uint64_t tokens = seq;

    if (__builtin_mul_overflow(tokens, bounds->batch, &tokens) ||
        __builtin_mul_overflow(tokens, bounds->world, &tokens)) {
        return UINT64_MAX;
    }
    return tokens;
}

static sluice_status count_pieces(const token_shard *shard, const llmc_bounds *bounds, uint64_t seq,
                                  llmc_shard *out)
{
    const uint64_t tokens = tokens_of_piece(bounds, seq);
    const uint64_t pieces = (shard->tokens - 1) / tokens;

    if (pieces == 0) {
        return sli_fail(
            SLUICE_E_INVALID,
            "tokens: %s: it has %llu tokens; a batch of %u rows of %llu on %u ranks takes %llu and "
            "one more, and the order of llm.c needs at least one batch of each file",
            shard->path, (unsigned long long)shard->tokens, bounds->batch, (unsigned long long)seq,
            bounds->world, (unsigned long long)tokens);
    }
    if (pieces > INT32_MAX) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "tokens: %s: %llu batches are more than the order of llm.c can count",
                        shard->path, (unsigned long long)pieces);
    }
    *out = (llmc_shard){shard->first, (uint32_t)pieces};
    return SLUICE_OK;
}

sluice_status llmc_list_shards(const token_shards *shards, const llmc_bounds *bounds,
                               llmc_shard **list_out)
{
    llmc_shard *list = sli_calloc(shards->count, sizeof(*list));
    sluice_status st =
        list != NULL ? SLUICE_OK : sli_fail(SLUICE_E_NO_MEMORY, "the order of llm.c");

    for (size_t i = 0; st == SLUICE_OK && i < shards->count; i++) {
        st = count_pieces(&shards->shards[i], bounds, shards->seq, &list[i]);
    }
    if (st != SLUICE_OK) {
        sli_free(list);
        return st;
    }
    *list_out = list;
    return SLUICE_OK;
}

sluice_status llmc_order_of_shards(const token_shards *shards, const llmc_bounds *bounds,
                                   const sli_llmc_begin *begin, source_order **order_out)
{
    llmc_request request = {.shard_count = (uint32_t)shards->count,
                            .batch = bounds->batch,
                            .rank = bounds->rank,
                            .world = bounds->world,
                            .shuffled = bounds->shuffled,
                            .begin = begin};
    llmc_shard *list = NULL;
    sluice_status st = llmc_list_shards(shards, bounds, &list);

    if (st == SLUICE_OK) {
        request.shards = list;
        st = llmc_order_make(&request, order_out);
    }
    sli_free(list);
    return st;
}
