/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a sample behind geometry: maps, array stages, and conversions between maps. */
#ifndef SLUICE_SAMPLE_STEPS_H
#define SLUICE_SAMPLE_STEPS_H

#include "sample_loader.h"

/* Runs all steps of the plan. `flags` gets what the device does; `buffers` are those of the plan.
 */
sluice_status sample_steps(sample_loader *loader, uint64_t sample, uint64_t pass, uint8_t *flags,
                           void *const *buffers);

#endif
