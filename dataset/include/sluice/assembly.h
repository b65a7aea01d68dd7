/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Stages that decide which samples, or parts of them, a row of a batch has. How many rows a pass
 * has is not known beforehand. Every rank goes through all samples, and takes the rows in turns.
 *
 * Returns: E_INVALID invalid arguments, or a position where the stage is not allowed; the sticky
 *          error of building; E_NO_MEMORY.
 */
#ifndef SLUICE_ASSEMBLY_H
#define SLUICE_ASSEMBLY_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/**
 * Joins documents to windows of `seq` tokens, in the order of the samples: a row of a batch is a
 * window, not a sample. A batch then has three columns:
 *
 *   the documents' column  (seq) tokens, in the type of the documents
 *   position               i32 (seq): the token's index in its document, from 0
 *   document               i32 (seq): the number of its document in the window, from 0; -1: padding
 *
 * The windows of a pass depend on its samples and their order alone, not on the number of workers.
 * A window is padded at the end of a pass, or without `split`. Windows are dealt to ranks in turns;
 * each rank reads all documents. A resumed run reads the documents of the pass that were done
 * before, and logs at level info how long that took. Empty documents are in no window. A document
 * that cannot be read ends the run, is replaced by the next sample of the pass, or, with policy
 * zero, is left out. The sample number of a row is that of the document of its first token.
 *
 * Of the later stages only project, drop, rename and batch are allowed.
 *
 * @param column  a plain column of integers with one dimension, whose length is in the column
 *                NAME_length if it has one, as ragged columns have; NULL: "tokens"
 * @param seq     tokens in a window, 1 to 16 777 216
 * @param split   a document that does not fit into the rest of a window is divided. False: it
 *                begins in the next window; a document of more than seq tokens is a bad sample
 * @param pad     the token of padding
 *
 * Returns: E_INVALID also for a column of another kind, a pad that the column's type does not have,
 *          a stage `shard`, or a source with an order of its own. A run fails with E_UNSUPPORTED if
 *          the source is read as a stream.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_pack(sluice_dataset *dataset, const char *column,
                                                     uint32_t seq, bool split, uint32_t pad);

/**
 * Makes batches of samples of similar length: a batch holds samples of one bucket. Samples go to
 * their buckets in the order of the pass; the next batch is of the first bucket that has a batch
 * for every rank. So batches depend on the samples and their order alone, not on the number of
 * workers. At the end of a pass what is left in the buckets makes one padded batch for each bucket,
 * by ascending length, or is dropped, as sluice_dataset_batch() says. The columns have the shapes
 * that they have without this stage.
 *
 * Every rank looks at the length of all samples. If the length is a plain column of the source, a
 * sample is loaded once it has a row; else every sample is loaded to know its length, and once more
 * for its row. A resumed run goes through the pass from its beginning, logs at level info how long
 * that took, and must have the same batch size and number of ranks. A sample whose length cannot be
 * read counts as one of length 0. Error policy replace takes the next sample of the same bucket.
 *
 * @param length  a plain scalar of an integer type, such as the column NAME_length of a ragged
 *                column NAME
 * @param edges   (count) the largest length in each bucket, ascending; longer samples are in one
 *                more bucket
 * @param count   1 to SLUICE_MAX_RANK
 *
 * Returns: E_INVALID also for a column of another kind, edges that do not ascend, a second bucket,
 * a stage `shard`, or a source with an order of its own. A run fails with E_UNSUPPORTED if the
 * source is read as a stream.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_bucket(sluice_dataset *dataset, const char *length,
                                                       const uint64_t *edges, uint32_t count);

SLUICE_END_DECLS

#endif
