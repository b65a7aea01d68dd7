/* SPDX-License-Identifier: Apache-2.0 */
/* What was drawn for a sample, as text. */
#ifndef SLUICE_DESCRIBED_SAMPLE_H
#define SLUICE_DESCRIBED_SAMPLE_H

#include "sample_loader.h"

/*
 * Appends what the first image of a sample went through, a line for each step and for the
 * operations of its lines; with several views the steps before them, and then those of each view.
 * The sample must be the last one that was loaded; its colours are drawn again, into the memory of
 * its steps. Nothing is appended without an image.
 */
sluice_status describe_sample(sample_loader *loader, uint64_t sample, uint64_t pass,
                              sli_text *text);

#endif
