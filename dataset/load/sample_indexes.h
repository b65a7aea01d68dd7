/* SPDX-License-Identifier: Apache-2.0 */
/* Stores the decode indexes that workers make, and counts them. */
#ifndef SLUICE_SAMPLE_INDEXES_H
#define SLUICE_SAMPLE_INDEXES_H

#include "sample_loader.h"

/*
 * Stores a new index of the image, and counts the outcome. Called after decoding, even if that
 * failed.
 */
void sample_count_index(sample_loader *loader, uint64_t sample, const sample_data *data,
                        sluice_status st);

#endif
