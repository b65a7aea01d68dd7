/* SPDX-License-Identifier: Apache-2.0 */
/* The steps for a sample after geometry: maps, filters, array stages, conversions between maps. */
#ifndef SLUICE_SAMPLE_STEPS_H
#define SLUICE_SAMPLE_STEPS_H

#include "sample_loader.h"

/*
 * Finds the memory of each of the plan's buffers for this sample, in the row or in scratch memory.
 * NULL: the buffer is not needed.
 */
void sample_find_buffers(const sample_loader *loader, const sample_row *row, void **buffers);

/*
 * Calls the filters that read only plain columns of the source. Sets loader->last.dropped if a
 * filter drops the sample.
 */
sluice_status sample_early_filters(sample_loader *loader, uint64_t sample, uint64_t pass,
                                   void *const *buffers);

/*
 * Runs the steps of the plan in order; stops after a filter that drops the sample. Skips early
 * filters, and all filters unless loader->filters is set. `flags` is the row's flags: a flip left
 * to the device is toggled there. `buffers` is from sample_find_buffers().
 */
sluice_status sample_steps(sample_loader *loader, uint64_t sample, uint64_t pass, uint8_t *flags,
                           void *const *buffers);

#endif
