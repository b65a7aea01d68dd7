/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner's pass over further images of a sample: makes a conversion program for each. All
 * their conversions are in the first segment, since a pipeline with several images has no
 * conversion after a map. Runs before the pass over conversions, which may shorten that segment.
 */
#include <string.h>

#include "alloc_int.h"
#include "plan.h"

/* Folds all conversions into one program. `type` is the image's type after the conversions. */
static sluice_status make_program(const sli_plan *plan, const sluice_column *type,
                                  sli_conversion *out)
{
    const plan_segment *segment = &plan->details->segments[0];
    conversion_state state = {.dtype = SLUICE_U8, .scale = {1, 1, 1, 1}};
    uint32_t at;

    for (uint32_t k = 0; k < segment->count; k++) {
        const dataset_stage *stage = &plan->dataset->stages[segment->stages[k]];
        stage_schema before;
        const sluice_status st = dataset_schema_after(plan->dataset, segment->stages[k], &before);

        if (st != SLUICE_OK) {
            return st;
        }
        stage->def->convert(stage->args.bytes, &before, &state);
    }
    at = state.chw ? 1 : 0;
    memset(out, 0, sizeof(*out));
    out->height = (uint32_t)type->shape[at];
    out->width = (uint32_t)type->shape[at + 1];
    out->channels = (uint32_t)type->shape[state.chw ? 0 : SCHEMA_C];
    out->from = SLUICE_U8;
    out->to = state.dtype;
    out->to_chw = state.chw;
    out->flip = state.flip;
    out->affine = state.affine;
    for (uint32_t i = 0; i < SLI_MAX_CHANNELS; i++) {
        out->scale[i] = (float)state.scale[i];
        out->bias[i] = (float)state.bias[i];
    }
    return sli_conversion_prepare(out);
}

static bool is_partner(const sli_plan *plan, uint32_t column)
{
    return plan->dataset->source_schema.infos[column].role == ROLE_IMAGE &&
           plan->details->buffers[column].needed;
}

sluice_status plan_partners(sli_plan *plan)
{
    const uint32_t columns = plan->dataset->source_schema.column_count;
    struct plan_details *details = plan->details;
    uint32_t count = 0;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < columns; i++) {
        count += is_partner(plan, i);
    }
    if (count == 0) {
        return SLUICE_OK;
    }
    details->partners = sli_calloc(count, sizeof(*details->partners));
    if (details->partners == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the images of a plan");
    }
    for (uint32_t i = 0; i < columns && st == SLUICE_OK; i++) {
        if (is_partner(plan, i)) {
            plan_partner *partner = &details->partners[details->partner_count++];

            partner->column = i;
            st = make_program(plan, &details->buffers[i].type, &partner->conversion);
        }
    }
    return st;
}

const plan_partner *plan_partner_of(const struct plan_details *details, uint32_t column)
{
    const plan_partner *partner = details->partners;

    while (partner->column != column) {
        partner++;
    }
    return partner;
}
