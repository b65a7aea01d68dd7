/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Batches of token files in the order of llm.c's data loader, read ahead, for a program that stores
 * the state of that order itself. <sluice/llmc_dataloader.h> uses these calls. A dataset with
 * `tokens order=llmc` has the same order and stores the state itself.
 */
#ifndef SLUICE_LLMC_H
#define SLUICE_LLMC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <sluice/status.h>

SLUICE_BEGIN_DECLS

/** A Mersenne Twister MT19937, laid out as mt19937_state of llm.c (llmc/rand.h there), whose bytes
 * programs save. This struct never grows. */
typedef struct sluice_mt19937 {
    unsigned long long seed_; /**< the seed */
    int left_;                /**< numbers until the next generation of words, plus one */
    unsigned next_;           /**< index of the word of the next number */
    unsigned state_[624];     /**< the words */
    unsigned MATRIX_A[2];     /**< 0 and 0x9908b0df, once seeded */
} sluice_mt19937;

/** Seeds a generator. Threads: any, one at a time for a generator. */
SLUICE_API void sluice_mt19937_seed(sluice_mt19937 *generator, uint32_t seed);

/**
 * Permutes (count) elements by Fisher-Yates, from the last one down: element i is swapped with
 * element (random number modulo i + 1). A generator that is not seeded is seeded with 5489 first.
 *
 * Threads: any, one at a time for a generator.
 */
SLUICE_API void sluice_mt19937_permute(sluice_mt19937 *generator, int *elements, size_t count);

/** Token files and batches that are prefetched. */
typedef struct sluice_llmc sluice_llmc;

/**
 * Opens files of tokens, of either format of llm.c. Prefetching begins with the first batch that is
 * read.
 *
 * @param paths     (count) the files, in the order of their numbers; copied
 * @param batch     B: rows of a batch of this rank
 * @param seq       T: tokens of a row
 * @param llmc_out  owned by the caller: freed by sluice_llmc_close()
 *
 * Returns: E_INVALID a NULL, sizes that are 0 or too large, a rank that is not below world, a file
 *          with fewer than world * batch * seq + 1 tokens, files of different types; E_CORRUPT a
 *          file that is not as its header says; E_IO; E_NO_MEMORY. Errors of a file name it.
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_llmc_open(const char *const *paths, size_t count,
                                                  size_t batch, size_t seq, int rank, int world,
                                                  sluice_llmc **llmc_out);

/** Stops prefetching; frees the object. NULL is fine. Threads: any, once no call uses it. */
SLUICE_API void sluice_llmc_close(sluice_llmc *llmc);

/** Returns the bytes of a token in the files: 2 or 4. Threads: any. */
SLUICE_API size_t sluice_llmc_token_bytes(const sluice_llmc *llmc);

/**
 * Returns a file's number of tokens, its bytes, and its number of pieces: global batches, one batch
 * for each rank.
 *
 * Returns: E_INVALID there is no file of that number, or a NULL.
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_llmc_shard(const sluice_llmc *llmc, size_t shard,
                                                   uint64_t *tokens_out, uint64_t *bytes_out,
                                                   uint64_t *pieces_out);

/** A batch, and the state of the order, which determines what to prefetch. */
typedef struct sluice_llmc_position {
    size_t struct_size;              /**< bytes; set by sluice_llmc_position_init() */
    size_t shard;                    /**< number of the file, in the order of paths */
    size_t piece;                    /**< global batch within the file, in the file's order */
    size_t slot;                     /**< position of the file in the pass: shards[slot] is shard */
    size_t index;                    /**< position of the piece: pieces[index] is piece */
    const int *shards;               /**< (files) their order in this pass; NULL: not shuffled */
    const int *pieces;               /**< (pieces of the file) their order */
    const sluice_mt19937 *generator; /**< its state after the permutation of pieces */
} sluice_llmc_position;

/** Sets every field to zero, and struct_size. Threads: any. */
static inline void sluice_llmc_position_init(sluice_llmc_position *position)
{
    memset(position, 0, sizeof(*position));
    position->struct_size = sizeof(*position);
}

/**
 * Reads this rank's batch of a piece. If it follows the batch of the last call in the order, it was
 * prefetched. Otherwise it is read now, and prefetching continues after it.
 *
 * @param position     not used after the call
 * @param inputs_out   (batch, seq) the tokens; lent until the next call, or close. The memory
 * differs from call to call
 * @param targets_out  (batch, seq) the tokens that come next; lent as inputs
 *
 * Returns: E_INVALID there is no such file or piece, or a NULL; E_IO, E_CORRUPT a file has changed;
 *          E_NO_MEMORY.
 * Threads: one at a time, for an object.
 */
SLUICE_API_CHECKED sluice_status sluice_llmc_read(sluice_llmc *llmc,
                                                  const sluice_llmc_position *position,
                                                  int **inputs_out, int **targets_out);

SLUICE_END_DECLS

#endif
