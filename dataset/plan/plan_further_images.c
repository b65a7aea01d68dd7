/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner's pass over further images of a sample: finds those that are needed. The pass over
 * conversions makes their programs.
 */
#include "alloc_int.h"
#include "plan.h"

static bool is_further(const sli_plan *plan, uint32_t column)
{
    return plan->dataset->source_schema.infos[column].role == ROLE_IMAGE &&
           plan->details->memory.buffers[column].needed;
}

sluice_status plan_further_images(sli_plan *plan)
{
    const uint32_t columns = plan->dataset->source_schema.column_count;
    struct plan_details *details = plan->details;
    uint32_t count = 0;

    for (uint32_t i = 0; i < columns; i++) {
        count += is_further(plan, i);
    }
    if (count == 0) {
        return SLUICE_OK;
    }
    details->images.further = sli_calloc(count, sizeof(*details->images.further));
    if (details->images.further == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the images of a plan");
    }
    for (uint32_t i = 0; i < columns; i++) {
        if (is_further(plan, i)) {
            plan_further_image *further = &details->images.further[details->images.further_count++];

            further->column = i;
            further->decode = dataset_decode_of(plan->dataset, i);
        }
    }
    return SLUICE_OK;
}

const plan_further_image *plan_further_of(const struct plan_details *details, uint32_t column)
{
    const plan_further_image *further = details->images.further;

    while (further->column != column) {
        further++;
    }
    return further;
}
