/* SPDX-License-Identifier: Apache-2.0 */
/* The order of llm.c over files of tokens. */
#ifndef SLUICE_LLMC_SHARDS_H
#define SLUICE_LLMC_SHARDS_H

#include "llmc_order.h"
#include "token_shards.h"

typedef struct llmc_bounds {
    uint32_t batch; /* rows of a batch of one rank */
    uint32_t rank;
    uint32_t world;
    bool shuffled;
} llmc_bounds;

/* Makes the list of an order's shards, (shards->count), freed by sli_free(). Errors as below. */
sluice_status llmc_list_shards(const token_shards *shards, const llmc_bounds *bounds,
                               llmc_shard **list_out);

/*
 * The stride of the shards is their seq. `begin` may be NULL. E_INVALID, with the file: it has
 * fewer tokens than a batch of all ranks takes; E_UNSUPPORTED: more batches than can be counted;
 * E_NO_MEMORY.
 */
sluice_status llmc_order_of_shards(const token_shards *shards, const llmc_bounds *bounds,
                                   const sli_llmc_begin *begin, source_order **order_out);

#endif
