/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a sample behind geometry: maps, filters, array stages, conversions between maps. */
#ifndef SLUICE_SAMPLE_STEPS_H
#define SLUICE_SAMPLE_STEPS_H

#include "sample_loader.h"

/*
 * Finds the memory of each buffer for this sample: in the row, or in scratch memory; NULL: not
 * needed.
 */
void sample_find_buffers(const sample_loader *loader, const sample_row *row, void **buffers);

/*
 * Calls the filters that need only the plain columns of the source. If one drops the sample,
 * loader->dropped is true.
 */
sluice_status sample_early_filters(sample_loader *loader, uint64_t sample, uint64_t pass,
                                   void *const *buffers);

/* Runs all steps of the plan, up to a filter that drops the sample. `flags` gets what the device
 * does; `buffers` are those of the plan.
 */
sluice_status sample_steps(sample_loader *loader, uint64_t sample, uint64_t pass, uint8_t *flags,
                           void *const *buffers);

#endif
