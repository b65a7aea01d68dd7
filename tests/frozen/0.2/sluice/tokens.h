/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Files of tokens as a source of a dataset, for language models.
 *
 * A sample is a window of seq + 1 tokens of one file. Its columns are `inputs`, i32 (seq), the
 * first seq tokens, and `targets`, i32 (seq), the last seq: at each place the token that comes
 * next.
 *
 * Files are those of llm.c (dev/data/data_common.py there), with a header of 256 int32 that begins
 * with the magic number 20240520 and version 1 (GPT-2, tokens of 16 bits) or 20240801 and version 7
 * (Llama 3, tokens of 32 bits), and plain files of 16 or 32-bit tokens, little-endian.
 */
#ifndef SLUICE_TOKENS_H
#define SLUICE_TOKENS_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/** Arguments of sluice_dataset_tokens(), initialized by sluice_tokens_config_init(). Texts are
 * copied. */
typedef struct sluice_tokens_config {
    size_t struct_size; /**< bytes; set by sluice_tokens_config_init() */
    const char *files;  /**< files, folders (of which *.bin are taken) and patterns with {000..123}
                             and wildcards, with commas between them */
    uint64_t seq;       /**< tokens of a sample, 1 to 2^24; must be set */
    uint64_t stride;    /**< tokens from the beginning of a window to that of the next one; 0: seq,
                             the only one with an order of llm.c */
    const char *dtype; /**< "auto": as each file's header says; "u16", "u32": plain files, without a
                            header; NULL: "auto" */
    const char *order; /**< "none"; "llmc" or "llmc_sequential", see below; NULL: "none" */
} sluice_tokens_config;

/** Sets every field to its default, zero, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_tokens_config_init_size(sluice_tokens_config *config, size_t size);

/** sluice_tokens_config_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_tokens_config_init(sluice_tokens_config *config)
{
    sluice_tokens_config_init_size(config, sizeof(*config));
}

/**
 * Windows of tokens. A file of n tokens has the windows at 0, stride, 2 * stride, ... that end
 * within it; the rest of it is not used, and no window spans two files. Windows are numbered
 * through all files, in the order of the list. Nothing is kept in memory for them.
 *
 * The files are opened at the first use of the dataset, which is when these errors are found:
 * E_CORRUPT another magic number or version, no tokens, a file that is not as long as its header
 * says; E_INVALID files of different types, dtype u16 or u32 for a file with a header, no file with
 * seq + 1 tokens; E_IO. They name the file.
 *
 * With an order of llm.c the samples, and their rows in the batches, are those that its data loader
 * (llmc/dataloader.h there) gives to the same files, batch size B, tokens T = seq, rank and number
 * of ranks: with should_shuffle = 1 ("llmc") or 0 ("llmc_sequential"). The batch size is that of
 * the stage `batch`, rank and world are those of the run or channel. No stage of order may follow,
 * and the seed of the run does not matter. A pass has floor((tokens - 1) / (world * B * seq))
 * batches of each file, each of which must have at least one. A run is resumed with the same batch
 * size, seq and world only, others are refused; it replays the generator of the shuffle from its
 * seed, which reads no data.
 *
 * @param dataset_out  owned by the caller: freed by sluice_dataset_destroy()
 *
 * Returns: E_INVALID files is NULL, seq or stride is out of range, dtype is none of the three;
 *          E_NO_MEMORY.
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_tokens(const sluice_tokens_config *config,
                                                       sluice_dataset **dataset_out);

SLUICE_END_DECLS

#endif
