/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the random flips of a sample. */
#ifndef SLUICE_SAMPLE_FLIPS_H
#define SLUICE_SAMPLE_FLIPS_H

#include "plan.h"

/*
 * Draws all flip stages in a segment of conversions. Each flip toggles its row flag, so two equal
 * flips cancel each other. Flips of the worker are returned in *here, and those of GetNext are
 * toggled in *on_device.
 */
static inline void draw_flips(const struct plan_details *details, uint32_t segment, uint64_t sample,
                              uint64_t pass, uint8_t *here, uint8_t *on_device)
{
    *here = 0;
    for (uint32_t i = 0; i < details->flips.count; i++) {
        const plan_flip *flip = &details->flips.stages[i];
        const sli_draws draws = {flip->key, sample, pass};

        if (flip->segment == segment &&
            flip->stage->def->flip->draw(flip->stage->args.bytes, &draws)) {
            *(flip->on_device ? on_device : here) ^= flip->stage->def->flip->row_flag;
        }
    }
}

#endif
