/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * A cache of samples in memory, so that a later pass need not read or decode them again.
 */
#ifndef SLUICE_CACHE_H
#define SLUICE_CACHE_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/**
 * Adds a stage that keeps samples as the stages before it leave them: before decode the bytes of
 * files, after decode and deterministic crops and resizes the pixels. Stages of order are not part
 * of that, so the cache may be before or after shuffle. The values of batches do not change.
 *
 * Samples are added until the memory is full, and then kept as long as the dataset: a pass reads
 * each sample once, so a replaced sample would never be read again before it is replaced. A cache
 * of half of the samples gives half of them in each pass. Bad samples are not kept.
 *
 * The first run or channel on the dataset creates the cache; later ones, and validations, use it,
 * too. Encoded images take the bytes of their files, decoded ones height * width * channels; each
 * sample takes 8 bytes more, and up to 192 if it is kept.
 *
 * @param bytes  bound on the memory, 4096 to 2^40
 *
 * Returns: E_INVALID the stage comes after a random stage, a conversion or a map, there is a cache
 *          already, or bytes is out of bounds; when the dataset is opened: bytes are too few for
 *          a table of its samples, or more than the process may use; E_UNSUPPORTED (then) the
 * source is a stream; the sticky error of building; E_NO_MEMORY.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_cache(sluice_dataset *dataset, uint64_t bytes);

/**
 * Adds a stage as sluice_dataset_cache() does, with one cache of `bytes` for all ranks of a
 * machine: a sample that one of them has added is a hit for all. The memory has no name in any file
 * system (memfd), and the kernel frees it with the last process; a killed rank leaves nothing.
 *
 * The ranks of the machine must all open their first run or channel on the dataset, within
 * SLUICE_EXCHANGE_MS of each other (5 s). Where they cannot share a cache, a warning says why, and
 * each rank has a private cache of its part of the bytes, or none if these are too few. A process
 * that is alone on its machine has a private cache. sluice_dataset_get() uses the cache once a run
 * has opened it.
 *
 * Returns: as sluice_dataset_cache(). More bytes than the ranks of the machine may use together are
 *          E_INVALID.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_cache_shared(sluice_dataset *dataset,
                                                             uint64_t bytes);

SLUICE_END_DECLS

#endif
