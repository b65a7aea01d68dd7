/* SPDX-License-Identifier: Apache-2.0 */
/* Sets rectangles of converted images: random_erasing after normalize, and paddings. */
#ifndef SLUICE_SAMPLE_ERASING_H
#define SLUICE_SAMPLE_ERASING_H

#include "plan.h"

/*
 * Applies the stages of a segment that erase converted values to its result `row`, which the
 * program `conversion` has written. Called if plan->details->erasing.is_used.
 */
void erase_converted(const sli_plan *plan, uint32_t segment, const sli_conversion *conversion,
                     uint64_t sample, uint64_t pass, void *row);

/*
 * Writes the fill of a padding that has a fraction (stage_padding.has_parts) into the result
 * `row`. window: of the last step of the image; flags: the flips that `conversion` has run.
 */
void fill_converted(const fused_geometry *window, const sli_conversion *conversion, uint8_t flags,
                    void *row);

#endif
