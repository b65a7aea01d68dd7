/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of llm.c's data loader, for one rank. A piece is batch * world consecutive windows of a
 * shard: one batch for each of the `world` ranks, rank 0 first. Windows past the last whole piece
 * of a shard are not used.
 *
 * A pass goes through the shards, and through the pieces of each. If the order is not shuffled,
 * both are in their stored order. If it is, a generator permutes them: it is seeded once, with 42 +
 * rank, and continues through the passes. At the beginning of a pass it permutes the list of shards
 * that the previous pass left; at the beginning of a shard it permutes the numbers of its pieces.
 *
 * The permutations of the last few thousand shards are stored, in bounded memory. A request for an
 * earlier one replays the generator from the beginning; that reads no data.
 */
#ifndef SLUICE_LLMC_ORDER_H
#define SLUICE_LLMC_ORDER_H

#include <stdbool.h>

#include "llmc_int.h"
#include "source.h"

/* A shard, divided into pieces. */
typedef struct llmc_shard {
    uint64_t first;
    uint32_t pieces; /* at least 1 */
} llmc_shard;

typedef struct llmc_request {
    const llmc_shard *shards; /* copied */
    uint32_t shard_count;
    uint32_t batch; /* rows of one rank's batch */
    uint32_t rank;
    uint32_t world;
    bool shuffled;
    const sli_llmc_begin *begin; /* NULL: start at the beginning; otherwise `shuffled` must be set.
                                    Copied */
} llmc_request;

/* Makes the order, which is freed by its close(). Returns E_NO_MEMORY on failure. */
sluice_status llmc_order_make(const llmc_request *request, source_order **order_out);

#endif
