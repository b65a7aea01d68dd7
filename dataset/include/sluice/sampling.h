/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Datasets that are made of others, their parts: one after another, in turns, or side by side. The
 * choice at a position is a pure function of the seed, the pass and the position, so ranks and
 * resumed runs need no state.
 */
#ifndef SLUICE_SAMPLING_H
#define SLUICE_SAMPLING_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

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
