/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Stages that choose which samples a pass has: a subset, weighted sampling with replacement, and
 * classes in equal numbers; and datasets that are made of others, their parts: one after another,
 * in turns, or side by side. The choice at a position is a pure function of the seed, the pass and
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

/**
 * Creates a dataset of the samples of several datasets, one part after another. A part has a source
 * and any stages that select or order samples (not shard), choose or rename columns; stages such as
 * decode are added to the new dataset, and work on the samples of all parts. Shuffles of different
 * parts have different orders, unless they are given the same seed. All parts have the same
 * columns: names, types and shapes, in the same order.
 *
 * Samples are numbered part by part. The name of a sample is the number of its part, from 1, and
 * its name there: "2/cat/7.jpg".
 *
 * On success the new dataset owns the parts: neither use nor destroy them. On an error the caller
 * still owns them.
 *
 * Returns: E_INVALID a NULL, a part that was used, is given twice, or does not fit, with its
 *          number; the sticky error of a part; E_NO_MEMORY. The first use of the dataset opens the
 *          parts, and returns their errors; E_UNSUPPORTED a part is a stream; E_INVALID a part has
 *          another name than the first part for a class of the column `label`.
 *
 * @param parts        the parts, in order
 * @param count        number of parts, 1 to 64; a part may be made of others, to a depth of 8
 * @param dataset_out  the dataset, for sluice_dataset_destroy()
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_concat(sluice_dataset *const *parts, uint32_t count,
                                                       sluice_dataset **dataset_out);

/**
 * Creates a dataset of the samples of several datasets in turns. Parts and errors are those of
 * sluice_dataset_concat(). Among the first n positions of a pass a part has n times its share,
 * rounded down or up; its share is its weight over the sum of all weights. The schedule of the
 * turns is the same in each pass.
 *
 * A pass ends when the part that lasts longest ends, or the first one of those marked by `ends`. A
 * part that ends earlier begins its next pass: if it has a shuffle, in another order. In the next
 * pass of the dataset each part continues where it was, so over many passes all samples of a part
 * occur equally often. A repeated sample gets new random numbers.
 *
 * Returns: as sluice_dataset_concat(); also E_INVALID a weight of 0, weights whose sum is above
 *          1000000 after division by their greatest common divisor, a bit of `ends` without a part.
 *          A run fails with E_INVALID if a part has no samples.
 *
 * @param weights  for each part; NULL: all equal
 * @param ends     bit i: a pass may end with parts[i]; 0: with the one that lasts longest
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_mix(sluice_dataset *const *parts,
                                                    const uint64_t *weights, uint64_t ends,
                                                    uint32_t count, sluice_dataset **dataset_out);

/**
 * Creates a dataset of the columns of several datasets side by side: sample i has the columns of
 * sample i of each part. Parts and errors are those of sluice_dataset_concat(), but names of
 * columns must differ between parts, and no part may contain shuffle, weights, balance or mix:
 * shuffle the new dataset instead. Images after the first one are further images of the sample:
 * they must have its size, and get its crops, resizes and flips by the same random numbers.
 *
 * Returns: as sluice_dataset_concat(). At the first use: E_INVALID a part has another number of
 *          samples than the first one.
 *
 * Threads: any.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_zip(sluice_dataset *const *parts, uint32_t count,
                                                    sluice_dataset **dataset_out);

SLUICE_END_DECLS

#endif
