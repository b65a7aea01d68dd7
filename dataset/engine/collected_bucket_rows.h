/* SPDX-License-Identifier: Apache-2.0 */
/* The stage bucket: loads the samples of a stream for their buckets, and the rows of full ones. */
#ifndef SLUICE_COLLECTED_BUCKET_ROWS_H
#define SLUICE_COLLECTED_BUCKET_ROWS_H

#include "collected_worker.h"

/* Loads the candidate of a part of a stream, and finds its bucket. A bad sample is a zeroed row of
 * the first bucket, or an error that ends the run (part->choice.error). */
void collected_load_held(collected_worker *w, collected_part *part);

/* Fills the rows of a COLLECTED_ROWS claim. False: the engine stops. */
bool collected_write_bucket_rows(collected_worker *w, const collected_claim *claim);

#endif
