/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Stages that decide which samples, or parts of samples, form the rows of a batch. The number of
 * rows in a pass is not known beforehand. Every rank processes all samples; rows are dealt to the
 * ranks in turns.
 *
 * Returns: E_INVALID invalid arguments, or a position where the stage is not allowed; the sticky
 *          error of building; E_NO_MEMORY.
 */
#ifndef SLUICE_ASSEMBLY_H
#define SLUICE_ASSEMBLY_H

#include <sluice/dataset.h>

SLUICE_BEGIN_DECLS

/** Most edges of sluice_dataset_bucket(). */
#define SLUICE_MAX_EDGES 32

/**
 * Joins documents to windows of `seq` tokens, in the order of the samples: a row of a batch is a
 * window, not a sample. A batch then has three columns:
 *
 *   the documents' column  (seq) tokens, in the type of the documents
 *   position               i32 (seq): the token's index in its document, from 0; padding: 0
 *   document               i32 (seq): the number of its document in the window, from 0; -1: padding
 *
 * The windows of a pass depend on its samples and their order alone, not on the number of workers.
 * The last window of a pass is padded and, without `split`, each window that the next document
 * does not fit into. Windows are dealt to ranks in turns; each rank reads all documents. A resumed
 * run reads the pass's documents from the first one again, and logs at level info how long that
 * took. Empty documents are in no window. A document that cannot be read ends the run (policy
 * fail), is replaced by the next sample of the pass (replace), or is left out (zero; replace, if
 * the source is a stream). The sample number of a row is that of the document of its first token.
 *
 * Of the later stages only project, drop, rename and batch are allowed.
 *
 * @param column  a plain column of integers with one dimension, whose length is in the column
 *                NAME_length if it has one, as ragged columns have; NULL: "tokens"
 * @param seq     tokens in a window, 1 to 16 777 216
 * @param split   true: a document that does not fit into the rest of a window continues in the next
 *                one. False: it begins in the next window; a document of more than seq tokens is a
 *                bad sample
 * @param pad     the value of padding tokens
 *
 * Returns: E_INVALID also for a column of another kind, a pad outside the range of the column's
 *          type, an earlier stage `bucket`, or a source with an order of its own. A run fails with
 *          E_UNSUPPORTED with several ranks after a stage `shard`.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_pack(sluice_dataset *dataset, const char *column,
                                                     uint32_t seq, bool split, uint32_t pad);

/**
 * Groups samples of similar length (bucketing): all samples of a batch are of one bucket. Samples
 * enter their buckets in the order of the pass. The first bucket with a full batch for every rank
 * gives the next batch of each rank. Batches do not depend on the number of workers. At the end of
 * a pass each bucket that is not empty makes one padded batch, by ascending length, or its samples
 * are dropped: sluice_dataset_batch() has the choice. The shapes of the columns do not change.
 *
 * Every rank reads the lengths of all samples. If the length is a plain column of the source, and
 * filters read only such columns, a sample is loaded only for its row. Else every sample is loaded
 * for its length, and a second time for its row. A resumed run reads the lengths from the beginning
 * of the pass again, logs how long that took, and must have the same batch size and
 * number of ranks. A sample whose length cannot be read ends the run with error policy fail, even
 * if it would be dropped at the end of the pass; else it enters the first bucket, and is listed in
 * the report. With error policy replace the next sample of its bucket replaces a bad sample.
 *
 * The samples of a stream are loaded once, by every rank, and those of this rank wait in memory
 * until their bucket is full: up to a batch for each bucket, at the declared shapes. A bad sample
 * ends the run when it is loaded (policy fail), or the next good sample of its batch, cyclically,
 * replaces it (replace).
 *
 * @param length  a plain scalar of an integer type, such as the column NAME_length of a ragged
 *                column NAME
 * @param edges   (count) the largest length in each bucket, ascending; longer samples are in one
 *                more bucket
 * @param count   1 to SLUICE_MAX_EDGES
 *
 * Returns: E_INVALID also for a column of another kind, edges that do not ascend, a second bucket,
 *          or a source with an order of its own. A run fails with E_UNSUPPORTED with several
 *          ranks after a stage `shard`.
 *
 * Threads: the one that builds the dataset.
 */
SLUICE_API_CHECKED sluice_status sluice_dataset_bucket(sluice_dataset *dataset, const char *length,
                                                       const uint64_t *edges, uint32_t count);

SLUICE_END_DECLS

#endif
