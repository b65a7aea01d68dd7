/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of full buckets: loads their samples. */
#ifndef SLUICE_KEPT_BUCKET_ROWS_H
#define SLUICE_KEPT_BUCKET_ROWS_H

#include "kept_worker.h"

/* Fills the rows of a KEPT_ROWS claim. False: the engine stops. */
bool kept_write_bucket_rows(kept_worker *w, const kept_claim *claim);

#endif
