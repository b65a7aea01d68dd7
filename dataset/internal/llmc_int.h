/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Token files and the order of llm.c over them, for <sluice/llmc.h>: datasets that begin at any
 * state of that order, and single batches.
 */
#ifndef SLUICE_LLMC_INT_H
#define SLUICE_LLMC_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sluice/dataset.h>

#include "mt19937_int.h"

typedef struct sli_llmc_files sli_llmc_files;

/* The parameters of an llm.c order. */
typedef struct sli_llmc_shape {
    uint32_t batch;
    uint64_t seq;
    uint32_t rank;
    uint32_t world;
} sli_llmc_shape;

/* A state of llm.c's data loader, in pass 0. Positions before it are never requested. */
typedef struct sli_llmc_begin {
    sli_mt19937 generator;  /* after all draws for the shard at `slot` */
    const uint32_t *shards; /* order of the shards in this pass */
    uint32_t slot;          /* position of the current shard in that order */
    const uint32_t *pieces; /* order of the current shard's pieces */
} sli_llmc_begin;

/* Opens token files; paths are copied. Errors as in sluice_llmc_open(). */
sluice_status sli_llmc_files_open(const char *const *paths, size_t count,
                                  const sli_llmc_shape *shape, sli_llmc_files **files_out);
void sli_llmc_files_close(sli_llmc_files *files);

uint32_t sli_llmc_token_bytes(const sli_llmc_files *files);
uint64_t sli_llmc_tokens(const sli_llmc_files *files, size_t shard);
uint64_t sli_llmc_file_bytes(const sli_llmc_files *files, size_t shard);
uint32_t sli_llmc_pieces(const sli_llmc_files *files, size_t shard);

/*
 * Returns the number that datasets of these files give to the first sample in the rank's part of a
 * piece.
 */
uint64_t sli_llmc_sample(const sli_llmc_files *files, size_t shard, size_t piece);

/*
 * Reads the rank's part of a piece; inputs and targets are (batch, seq). Returns E_IO, E_CORRUPT or
 * E_NO_MEMORY on failure.
 */
sluice_status sli_llmc_read(const sli_llmc_files *files, size_t shard, size_t piece,
                            int32_t *inputs, int32_t *targets);

/*
 * Makes an open dataset of samples in the order of llm.c, without the stage batch, whose batches of
 * shape.batch samples are those of llm.c. It borrows the files. begin: copied, with its lists; NULL:
 * the order is not shuffled.
 */
sluice_status sli_llmc_dataset(sli_llmc_files *files, const sli_llmc_begin *begin,
                               sluice_dataset **dataset_out);

#endif
