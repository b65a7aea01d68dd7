/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Token files as a source of a dataset, for language models.
 *
 * A sample is a window of seq + 1 tokens of one file. Its columns are `inputs`, i32 (seq), the
 * first seq tokens, and `targets`, i32 (seq), the last seq tokens: targets[i] is the token after
 * inputs[i].
 *
 * Two formats are read, both little-endian. Files of llm.c (see its dev/data/data_common.py) have a
 * header of 256 int32, which begins with the magic number 20240520 and version 1 (GPT-2, 16-bit
 * tokens) or with 20240801 and version 7 (Llama 3, 32-bit tokens). Plain files have 16 or 32-bit
 * tokens only.
 */
#ifndef SLUICE_TOKENS_H
#define SLUICE_TOKENS_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/** Arguments of sluice_dataset_tokens(), initialized by sluice_tokens_config_init(). Texts are
 * copied. */
typedef struct sluice_tokens_config {
    size_t struct_size; /**< bytes; set by sluice_tokens_config_init() */
    const char *files;  /**< comma-separated files, folders (all *.bin in them) and patterns with
                             {000..123} and wildcards */
    uint64_t seq;       /**< tokens of a sample, 1 to 2^24; required */
    uint64_t stride;    /**< tokens from the beginning of a window to the beginning of the next one;
                             0: seq, which is required with an order of llm.c */
    const char *dtype;  /**< "auto": determined by each file's header; "u16", "u32": plain files,
                             without a header; NULL: "auto" */
    const char *order;  /**< "none"; "llmc" or "llmc_sequential", see below; NULL: "none" */
    const char *offload; /**< where the columns are made of a window: "auto", "host" or "device",
                             see below; NULL: "auto" */
} sluice_tokens_config;

/** Sets every field to its default, zero, in a struct of `size` bytes. Threads: any. */
SLUICE_API void sluice_tokens_config_init_size(sluice_tokens_config *config, size_t size);

/** sluice_tokens_config_init_size() with the size of the caller's struct. Threads: any. */
static inline void sluice_tokens_config_init(sluice_tokens_config *config)
{
    sluice_tokens_config_init_size(config, sizeof(*config));
}

/**
 * Makes a dataset of windows of tokens. Windows begin at tokens 0, stride, 2 * stride, ... of a
 * file, as long as they end within it; the rest of the file is not used, and no window spans two
 * files. Windows are numbered through all files, in the order of the list. They take no memory.
 *
 * The files are opened at the first use of the dataset, which then returns these errors: E_CORRUPT
 * another magic number or version, no tokens, a file whose length contradicts its header; E_INVALID
 * files of different types, dtype u16 or u32 for a file with a header, no file with seq + 1 tokens;
 * E_IO. The message has the file.
 *
 * With offload "device" a window crosses to the device once, as the file stores it (u16 or u32),
 * and GetNext makes both columns of it; with "host" the workers write them as i32. "auto" is
 * "device" on devices whose GetNext is a kernel (cuda:N), unless a map or an array stage reads a
 * column, and "host" elsewhere. The step gets the same bits.
 *
 * With an order of llm.c the samples, and their rows in the batches, are the same as those of its
 * data loader (llmc/dataloader.h) for the same files, batch size B, tokens T = seq, rank and number
 * of ranks: with should_shuffle = 1 ("llmc") or 0 ("llmc_sequential"). The batch size is that of
 * the stage `batch`; rank and world are those of the run or channel. No stage of order may follow,
 * and the seed of the run has no effect. A pass has floor((tokens - 1) / (world * B * seq)) batches
 * of each file, and every file must have at least one. A run can be resumed only with the same
 * batch size, seq and world. It then replays the generator of the shuffle from its seed, which
 * reads no data.
 *
 * @param dataset_out  owned by the caller: freed by sluice_dataset_destroy()
 *
 * Returns: E_INVALID files is NULL, seq or stride is out of range, dtype, order or offload is
 *          invalid; E_NO_MEMORY. An offload "device" that is not possible is an error of opening
 *          the run or channel.
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_tokens(const sluice_tokens_config *config,
                                                       sluice_dataset **dataset_out);

SLUICE_END_DECLS

#endif
