/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of llm.c's data loader, of one rank. A batch of `batch` rows on each of `world` ranks
 * is a piece of batch * world consecutive windows of a shard, of which rank r has the r-th part. A
 * pass goes through the shards, and through the pieces of each, in order; or, shuffled, in an order
 * that a generator gives: it is seeded once, with 42 + rank, and runs on through the passes. At the
 * beginning of a pass it permutes the list of shards that the pass before left; at the beginning of
 * a shard it permutes the numbers of its pieces. Windows past the last piece are not used.
 *
 * Permutations of the last few thousand shards that were asked for are kept, in a bounded memory.
 * What is behind them is made again from the beginning; that reads no data.
 */
#ifndef SLUICE_LLMC_ORDER_H
#define SLUICE_LLMC_ORDER_H

#include <stdbool.h>

#include "llmc_int.h"
#include "source.h"

/* A shard: the number of its first window, and of its pieces. */
typedef struct llmc_shard {
    uint64_t first;
    uint32_t pieces; /* at least 1 */
} llmc_shard;

typedef struct llmc_request {
    const llmc_shard *shards; /* copied */
    uint32_t shard_count;
    uint32_t batch; /* rows of a batch of one rank */
    uint32_t rank;
    uint32_t world;
    bool shuffled;
    const sli_llmc_begin *begin; /* NULL: at the beginning; else the order is shuffled. Copied */
} llmc_request;

/* E_NO_MEMORY; E_UNSUPPORTED: more pieces than can be counted. The order's close() frees it. */
sluice_status llmc_order_make(const llmc_request *request, source_order **order_out);

#endif
