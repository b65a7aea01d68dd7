/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the order of llm.c for token files. */
#ifndef SLUICE_LLMC_SHARDS_H
#define SLUICE_LLMC_SHARDS_H

#include "llmc_order.h"
#include "token_shards.h"

typedef struct llmc_bounds {
    uint32_t batch; /* rows of one rank's batch */
    uint32_t rank;
    uint32_t world;
    bool shuffled;
} llmc_bounds;

/*
 * Makes the list of shards for an order, (shards->count); the caller frees it by sli_free(). Errors
 * as in llmc_order_of_shards().
 */
sluice_status llmc_list_shards(const token_shards *shards, const llmc_bounds *bounds,
                               llmc_shard **list_out);

/*
 * Makes the order of the shards, whose stride must equal their seq. `begin` may be NULL. E_INVALID:
 * a file has fewer tokens than one batch of all ranks; the message names it; E_UNSUPPORTED: more
 * batches than can be counted; E_NO_MEMORY.
 */
sluice_status llmc_order_of_shards(const token_shards *shards, const llmc_bounds *bounds,
                                   const sli_llmc_begin *begin, source_order **order_out);

#endif
