/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner's pass over mixup and cutmix: whether GetNext mixes the image of the batch. It does
 * so after the stage device, and wherever it is preferred for conversions: the image then stays
 * bytes in the slot. Workers mix the labels and further images.
 */
#include "plan.h"
#include "row_program_int.h"
#include "stage_kinds.h"
#include "status_int.h"

/* True if the pipeline requests the device for stages of the image. */
static bool is_requested(const sli_plan *plan, const plan_segment *segment)
{
    for (uint32_t k = 0; k < segment->count; k++) {
        if (plan_offload_of(&plan->dataset->stages[segment->stages[k]]) == OFFLOAD_DEVICE) {
            return true;
        }
    }
    return plan->details->colors.device > 0;
}

/* Returns why workers must run the conversions; NULL: they need not. */
static const char *why_on_workers(const sli_plan *plan, const plan_segment *segment)
{
    for (uint32_t k = 0; k < segment->count; k++) {
        const dataset_stage *stage = &plan->dataset->stages[segment->stages[k]];

        if (stage_erases(stage->def)) {
            return "random_erasing after a conversion runs on the workers; put it before "
                   "normalize, to_dtype and to_chw";
        }
        if (plan_offload_of(stage) == OFFLOAD_HOST) {
            return "a conversion has offload=host; leave offload out";
        }
    }
    return plan->details->geometry.part_fill != NULL ? "the fill of a padding has a fraction"
                                                     : NULL;
}

/* Returns why GetNext cannot mix the image; NULL: it can. */
static const char *why_not(const sli_plan *plan, const plan_segment *segment,
                           const sli_conversion *whole)
{
    const char *workers = why_on_workers(plan, segment);

    if (workers != NULL) {
        return workers;
    }
    if (plan->dataset->opened_schema.mixes > 1) {
        return "a batch may be mixed several times, and GetNext mixes it once; choose one of the "
               "mixes for each batch: random_choice (mixup ...) (cutmix ...)";
    }
    if (whole->from != SLUICE_U8 || whole->from_chw) {
        return "a map writes the image, and it is not u8 (H, W, C)";
    }
    if (whole->width > SLI_ROW_PROGRAM_SIDE || whole->height > SLI_ROW_PROGRAM_SIDE) {
        return "the image has more than 65535 pixels in width or height";
    }
    return plan->column_count == SLUICE_MAX_COLUMNS
               ? "there is no room for a column of row programs; drop a column"
               : NULL;
}

sluice_status plan_mixes(sli_plan *plan, const plan_segment *segment, const sli_conversion *whole)
{
    const bool requested = is_requested(plan, segment);
    const char *why = why_not(plan, segment, whole);

    if (requested && why != NULL) {
        return sli_fail(
            SLUICE_E_INVALID,
            "GetNext cannot mix the image on the device: %s; or put mixup and cutmix on "
            "the workers: leave device and offload=device out",
            why);
    }
    plan->device_mixes = why == NULL && (requested || plan->settings.prefer_device);
    return SLUICE_OK;
}
