/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Stages that choose which samples a pass has: a subset, weighted sampling with replacement, and
 * classes in equal numbers. The choice at a position is a pure function of the seed, the pass and
 * the position, so ranks and resumed runs need no state.
 *
 * Returns: E_INVALID a NULL, an unknown column; the sticky error of building; E_NO_MEMORY.
 */
#ifndef SLUICE_SAMPLING_H
#define SLUICE_SAMPLING_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/**
 * Selects the samples that a file lists, in the order of the file. Each line has the number of a
 * sample in the source, from 0. If a sample is listed several times, it has other random numbers
 * each time. The stage must come before all other stages that select or order samples.
 *
 * The file is read at the first use of the dataset. Errors then: E_IO; E_CORRUPT a line that is not
 * a number below source_samples of sluice_dataset_info, with FILE:LINE; E_INVALID a file without
 * lines.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_subset(sluice_dataset *dataset, const char *file);

/**
 * Draws samples with replacement; the probability of a sample is proportional to its weight. A draw
 * is a function of seed, pass and position, so it does not depend on the number of ranks, nor on
 * whether the run was resumed. If a pass draws a sample several times, the sample has other random
 * numbers each time. The stage must come before shuffle, shard and repeat.
 *
 * The weights are read at the first use of the dataset, and take 8 bytes of memory per sample.
 * Errors then: E_IO; E_CORRUPT a weight that is not a finite number of at least 0; E_INVALID a file
 * whose number of lines is not the number of samples of the source, a column that is not the
 * source's or has not one number for each sample, or no weight above 0.
 *
 * @param by       name of a column of the source that has one number for each sample; or else the
 *                 path of a file with one number in each line, for each sample of the source
 * @param samples  number of samples of a pass; 0: as many as before the stage
 * @param seed     of the draws; or SLUICE_SEED_OF_RUN
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_weights(sluice_dataset *dataset, const char *by,
                                                        uint64_t samples, uint64_t seed);

/**
 * Draws from all classes equally often, in turns: position p of a pass is of class p modulo the
 * number of classes. The samples of a class are drawn in a random order; after the last one they
 * are drawn again, in another order and with other random numbers. A pass continues where the
 * previous pass ended, so over many passes all samples of a class are drawn equally often. The
 * stage must come before shuffle, shard and repeat.
 *
 * The classes are read at the first use of the dataset, and take 4 bytes of memory per sample.
 *
 * @param column   name of a column of the source that has one whole number for each sample; NULL:
 *                 "label"
 * @param samples  number of samples of a pass; 0: as many as before the stage
 * @param seed     of the order; or SLUICE_SEED_OF_RUN
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_balance(sluice_dataset *dataset, const char *column,
                                                        uint64_t samples, uint64_t seed);

SLUICE_END_DECLS

#endif
