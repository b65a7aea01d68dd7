/* SPDX-License-Identifier: Apache-2.0 */
/* The stage bucket: loads the samples of a stream for their buckets, and the rows of full ones. */
#ifndef SLUICE_KEPT_BUCKET_ROWS_H
#define SLUICE_KEPT_BUCKET_ROWS_H

#include "kept_worker.h"

/* Loads the candidate of a part of a stream, and finds its bucket. A bad sample is a zeroed row of
 * the first bucket, or an error that ends the run (part->choice.error). */
void kept_load_held(kept_worker *w, kept_part *part);

/* Fills the rows of a KEPT_ROWS claim. False: the engine stops. */
bool kept_write_bucket_rows(kept_worker *w, const kept_claim *claim);

#endif
