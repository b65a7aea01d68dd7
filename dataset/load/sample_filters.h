/* SPDX-License-Identifier: Apache-2.0 */
/* Loads samples, calls the filters, which may drop them, and finds lengths for pack and bucket. */
#ifndef SLUICE_SAMPLE_FILTERS_H
#define SLUICE_SAMPLE_FILTERS_H

#include "sample_loader.h"

/*
 * Like sample_load(), but also calls the filters. Sets loader->last.dropped if a filter drops the
 * sample; the contents of the row are then undefined. With bucket, sets loader->last.bucket, also
 * in sample_test(). With pack, sets loader->last.document_length, and returns E_CORRUPT if the
 * length is invalid or, without `split`, larger than a window.
 */
sluice_status sample_load_filtered(sample_loader *loader, uint64_t sample, uint64_t pass,
                                   const sample_row *row);

/*
 * For a plan with tests_first: calls the filters without decoding the image. Sets
 * loader->last.dropped if a filter drops the sample. `row` is scratch memory.
 */
sluice_status sample_test(sample_loader *loader, uint64_t sample, uint64_t pass,
                          const sample_row *row);

/* With bucket: the length of the sample that was loaded last, into this row. */
int64_t sample_bucket_length(const sample_loader *loader, const sample_row *row);

#endif
