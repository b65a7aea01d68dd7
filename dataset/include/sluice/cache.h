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
 * files, after decode and deterministic crops and resizes the pixels, after a map the columns that
 * later stages or the batch use. Stages of order are not part of that, so the cache may be before
 * or after shuffle. The values of batches do not change.
 *
 * A map before the cache is called once for each sample that is kept. It must have a version, give
 * the same for a sample in each pass, and must not call sluice_sample_random(), which ends the run
 * with E_INVALID. Stages between the last map and the cache do not convert images.
 *
 * Samples are added until the memory is full, and are never evicted: a pass reads each sample once,
 * so eviction would not give more hits. A cache that holds half of the samples has hits for half of
 * each pass. Bad samples are not cached. The memory is freed with the dataset.
 *
 * The first run or channel on the dataset creates the cache; later ones, and validations, use it,
 * too. Encoded images take the bytes of their files, decoded ones height * width * channels. Unless
 * a map comes before the cache, each mask and each further image has an entry of its own, with the
 * bytes of its file. The table takes 8 bytes for each entry that the samples of the dataset can
 * have; an entry takes about 300 bytes more.
 *
 * @param bytes  bound on the memory, 4096 to 2^40
 *
 * Returns: E_INVALID the cache comes after a random stage, bucket or a map without a version; it
 *          comes after a conversion, and no map is before it; it comes after a map and a filter;
 *          the dataset has a cache already; bytes is out of bounds. E_NO_MEMORY; the sticky error
 *          of building. A run fails with E_INVALID if bytes are fewer than the table of the samples
 *          takes, or more than the process may use; with E_UNSUPPORTED if the source is a stream.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_cache(sluice_dataset *dataset, uint64_t bytes);

/**
 * Adds a stage as sluice_dataset_cache() does, with one cache of `bytes` for all ranks of a
 * machine: a sample that one of them has added is a hit for all. The memory is a memfd, without a
 * name in any file system. The kernel frees it when the last process ends, also if it is killed.
 *
 * All ranks of the machine must open their first run or channel on the dataset within
 * SLUICE_EXCHANGE_MS of each other (default 5 s). If they cannot share a cache, a warning says why,
 * and each rank has a private cache of bytes / ranks, or none if that is too small. A process that
 * is the only rank of its machine has a private cache. sluice_dataset_get() uses the cache after a
 * run or channel has created it.
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
