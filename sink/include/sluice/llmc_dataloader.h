/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The data loader of llm.c, served by Sluice: the calls and fields that programs of llm.c use, with
 * the same batches, bit for bit, read ahead by worker threads. In such a program
 *
 *     #include "llmc/dataloader.h"
 *
 * becomes
 *
 *     #include <sluice/llmc_dataloader.h>
 *
 * and the program is linked with the library. Differences to llm.c: files may be of either of
 * llm.c's formats, and larger than 2 GiB; the memory of inputs and targets belongs to the loader
 * and changes with each batch, so a program must not store the pointers; there is no EvalLoader. As
 * in llm.c, errors are printed to stderr and end the process with exit status 1; the functions that
 * do so are compiled into the program, from this header.
 *
 * The fields describe the batches that were consumed, not those that were prefetched, so a program
 * can save them (current_shard_idx, current_sample_idx, shard_indices, intra_shard_indices,
 * shuffle_rng) and write them back before dataloader_resume(). Batches are prefetched in the order
 * that follows from the fields. A change of current_sample_idx, intra_shard_indices or shuffle_rng
 * takes effect with the next batch. A change of current_shard_idx or shard_indices takes effect
 * with dataloader_resume() or dataloader_load_shard_(), as in llm.c. Prefetched batches are then
 * dropped. B, T, process_rank and num_processes are fixed by dataloader_init().
 *
 * <sluice/sluice.h> does not include this header, since its names are llm.c's.
 */
#ifndef SLUICE_LLMC_DATALOADER_H
#define SLUICE_LLMC_DATALOADER_H

#include <assert.h>
#include <glob.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sluice/llmc.h>

SLUICE_BEGIN_DECLS

/** A data loader: the fields of llm.c's loader, without its file and its buffer. Set by
 * dataloader_init(). */
typedef struct DataLoader {
    int process_rank;          /**< from 0 */
    int num_processes;         /**< number of processes that share the files */
    size_t B;                  /**< rows of a batch of this process */
    size_t T;                  /**< tokens per row (sequence length) */
    size_t num_tokens;         /**< of all files */
    size_t shard_num_samples;  /**< global batches in the current file */
    glob_t glob_result;        /**< the files */
    size_t current_shard_idx;  /**< position of the current file in the order of the pass */
    size_t current_sample_idx; /**< position of the next batch in the order of the current file */
    int *inputs;  /**< (B, T) set by dataloader_next_batch(), valid until the next call */
    int *targets; /**< (B, T) the inputs shifted by one token */
    sluice_mt19937 shuffle_rng;      /**< laid out as mt19937_state of llm.c */
    int should_shuffle;              /**< not 0: files and batches are shuffled in each pass */
    int *shard_indices;              /**< (files) their order in this pass; allocated by malloc() */
    int *intra_shard_indices;        /**< (shard_num_samples) order of the batches; allocated by
                                          malloc() */
    size_t total_batch_size_bytes;   /**< bytes of a global batch */
    size_t local_batch_offset_bytes; /**< offset of this process's batch in a global batch */
    size_t header_bytes;             /**< bytes of each file's header */
    int64_t file_size_bytes;         /**< size of the current file */
    size_t loaded_shard;             /**< number of the current file. Not a field of llm.c's */
    sluice_llmc *sluice;             /**< object that prefetches. Not a field of llm.c's */
} DataLoader;

/** Ends the process with the library's error text unless the status is OK. Threads: any. */
static inline void dataloader_check_(sluice_status status)
{
    if (status != SLUICE_OK) {
        fprintf(stderr, "Error: %s\n", sluice_last_error());
        exit(EXIT_FAILURE);
    }
}

/** malloc() that ends the process if there is no memory. Threads: any. */
static inline int *dataloader_room_(size_t count)
{
    int *room = (int *)malloc((count > 0 ? count : 1) * sizeof(int));

    if (room == NULL) {
        fprintf(stderr, "Error: out of memory\n");
        exit(EXIT_FAILURE);
    }
    return room;
}

/**
 * Selects the current file, by its number in the (shuffled) order of the pass. Changes neither
 * current_shard_idx nor current_sample_idx. Returns its number of tokens.
 *
 * Threads: one at a time, of all calls with this loader.
 */
static inline int64_t dataloader_load_shard_(DataLoader *loader, int shard_index)
{
    uint64_t tokens = 0;
    uint64_t bytes = 0;
    uint64_t batches = 0;

    if (loader->should_shuffle) {
        shard_index = loader->shard_indices[shard_index];
    }
    dataloader_check_(
        sluice_llmc_shard(loader->sluice, (size_t)shard_index, &tokens, &bytes, &batches));
    loader->loaded_shard = (size_t)shard_index;
    loader->shard_num_samples = (size_t)batches;
    loader->file_size_bytes = (int64_t)bytes;
    return (int64_t)tokens;
}

/** Permutes the batches of the current file. Threads: as dataloader_load_shard_(). */
static inline void prepare_intra_shard_indices_(DataLoader *loader)
{
    free(loader->intra_shard_indices);
    loader->intra_shard_indices = dataloader_room_(loader->shard_num_samples);
    for (size_t i = 0; i < loader->shard_num_samples; i++) {
        loader->intra_shard_indices[i] = (int)i;
    }
    sluice_mt19937_permute(&loader->shuffle_rng, loader->intra_shard_indices,
                           loader->shard_num_samples);
}

/**
 * Begins a pass. The generator of a shuffled loader continues from its current state, also in the
 * middle of a pass.
 *
 * Threads: as dataloader_load_shard_().
 */
static inline void dataloader_reset(DataLoader *loader)
{
    loader->current_shard_idx = 0;
    loader->current_sample_idx = 0;
    if (loader->should_shuffle) {
        sluice_mt19937_permute(&loader->shuffle_rng, loader->shard_indices,
                               loader->glob_result.gl_pathc);
    }
    dataloader_load_shard_(loader, 0);
    if (loader->should_shuffle) {
        prepare_intra_shard_indices_(loader);
    }
}

/** Advances to the next file, or the next pass. Threads: as dataloader_load_shard_(). */
static inline void dataloader_advance_(DataLoader *loader)
{
    if (loader->current_shard_idx + 1 >= loader->glob_result.gl_pathc) {
        dataloader_reset(loader);
        return;
    }
    loader->current_shard_idx++;
    loader->current_sample_idx = 0;
    dataloader_load_shard_(loader, (int)loader->current_shard_idx);
    if (loader->should_shuffle) {
        prepare_intra_shard_indices_(loader);
    }
}

/**
 * Opens the files that match a pattern of glob(3), at the first batch.
 *
 * Threads: any, each with a loader of its own.
 */
static inline void dataloader_init(DataLoader *loader, const char *filename_pattern, size_t B,
                                   size_t T, int process_rank, int num_processes,
                                   int should_shuffle)
{
    size_t token_bytes;

    memset(loader, 0, sizeof(*loader));
    loader->process_rank = process_rank;
    loader->num_processes = num_processes;
    loader->B = B;
    loader->T = T;
    loader->should_shuffle = should_shuffle;
    if (glob(filename_pattern, 0, NULL, &loader->glob_result) != 0 ||
        loader->glob_result.gl_pathc == 0) {
        fprintf(stderr, "Error: no file matches the pattern %s\n", filename_pattern);
        exit(EXIT_FAILURE);
    }
    dataloader_check_(sluice_llmc_open((const char *const *)loader->glob_result.gl_pathv,
                                       loader->glob_result.gl_pathc, B, T, process_rank,
                                       num_processes, &loader->sluice));
    token_bytes = sluice_llmc_token_bytes(loader->sluice);
    loader->header_bytes = 256 * sizeof(int);
    loader->total_batch_size_bytes = (size_t)num_processes * B * T * token_bytes;
    loader->local_batch_offset_bytes = (size_t)process_rank * B * T * token_bytes;
    if (should_shuffle) {
        sluice_mt19937_seed(&loader->shuffle_rng, 42 + (uint32_t)process_rank);
        loader->shard_indices = dataloader_room_(loader->glob_result.gl_pathc);
    }
    for (size_t i = 0; i < loader->glob_result.gl_pathc; i++) {
        if (should_shuffle) {
            loader->shard_indices[i] = (int)i;
        }
        loader->num_tokens += (size_t)dataloader_load_shard_(loader, (int)i);
    }
    dataloader_reset(loader);
}

/**
 * Sets inputs and targets to batch current_sample_idx of the current file.
 *
 * Threads: as dataloader_load_shard_().
 */
static inline void dataloader_load_batch(DataLoader *loader)
{
    sluice_llmc_position position;

    sluice_llmc_position_init(&position);
    position.shard = loader->loaded_shard;
    position.slot = loader->current_shard_idx;
    position.index = loader->current_sample_idx;
    position.piece = loader->current_sample_idx;
    if (loader->should_shuffle) {
        position.piece = (size_t)loader->intra_shard_indices[loader->current_sample_idx];
        position.shards = loader->shard_indices;
        position.pieces = loader->intra_shard_indices;
        position.generator = &loader->shuffle_rng;
    }
    dataloader_check_(
        sluice_llmc_read(loader->sluice, &position, &loader->inputs, &loader->targets));
}

/** Sets inputs and targets to the next batch. Threads: as dataloader_load_shard_(). */
static inline void dataloader_next_batch(DataLoader *loader)
{
    if (loader->current_sample_idx >= loader->shard_num_samples) {
        dataloader_advance_(loader);
    }
    dataloader_load_batch(loader);
    loader->current_sample_idx++;
}

/**
 * Continues at a position that a program has stored. With a shuffled loader the program restores
 * shard_indices, intra_shard_indices and shuffle_rng first.
 *
 * Threads: as dataloader_load_shard_().
 */
static inline void dataloader_resume(DataLoader *loader, size_t current_shard_idx,
                                     size_t current_sample_idx)
{
    loader->current_shard_idx = current_shard_idx;
    loader->current_sample_idx = current_sample_idx;
    dataloader_load_shard_(loader, (int)current_shard_idx);
}

/** Frees everything that a loader owns. Threads: as dataloader_load_shard_(). */
static inline void dataloader_free(DataLoader *loader)
{
    sluice_llmc_close(loader->sluice);
    if (loader->should_shuffle) {
        free(loader->shard_indices);
        free(loader->intra_shard_indices);
    }
    globfree(&loader->glob_result);
}

SLUICE_END_DECLS

#endif
