/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The planner's pass over paddings whose fill has a fraction, such as letterbox fill=127.5.
 * Images are bytes up to their conversion, so the fill is written into the converted row: the
 * padding must be the last change of the image before normalize or to_dtype, and workers convert.
 */
#include "geometry_ops.h"
#include "nested_stages.h"
#include "plan.h"
#include "stage_kinds.h"
#include "status_int.h"

static bool has_part_fill(const dataset_stage *stage)
{
    const geometry_ops *ops = stage->def->geometry;
    stage_padding padding = {0};

    return ops != NULL && ops->padding != NULL && ops->padding(stage->args.bytes, &padding) &&
           padding.has_parts;
}

/* The stage with such a fill in the parentheses of a stage; NULL: there is none. */
static const dataset_stage *find_nested(const dataset_stage *stage)
{
    const nested_stages *nested = nested_in(stage);
    const dataset_stage *found = NULL;

    for (uint32_t i = 0; nested != NULL && found == NULL && i < nested->stage_count; i++) {
        found = has_part_fill(&nested->stages[i]) ? &nested->stages[i]
                                                  : find_nested(&nested->stages[i]);
    }
    return found;
}

/* E_INVALID: `stage` with such a fill, and what is wrong with that. */
static sluice_status fail_part_fill(const dataset_stage *stage, const char *what, const char *name)
{
    stage_padding padding = {0};
    uint32_t i = 0;

    (void)stage->def->geometry->padding(stage->args.bytes, &padding);
    while (i + 1 < IMAGE_CHANNELS && padding.parts[i] == (float)padding.fill[i]) {
        i++;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "%s: fill=%g is not a whole number, and images are bytes until normalize or "
                    "to_dtype; %s%s, or set fill=%u",
                    stage->def->name, (double)padding.parts[i], what, name, padding.fill[i]);
}

/* Checks that stage `number` is the last one that changes the image before its conversion. */
static sluice_status check_part_fill(const sluice_dataset *dataset, uint32_t number)
{
    const dataset_stage *stage = &dataset->stages[number];

    for (uint32_t i = 0; i < number; i++) {
        if (view_ops_of(dataset->stages[i].def) != NULL) {
            return fail_part_fill(stage, "leave out ", dataset->stages[i].def->name);
        }
    }
    for (uint32_t i = number + 1; i < dataset->stage_count; i++) {
        const stage_def *def = dataset->stages[i].def;

        if (def->kind == STAGE_CONVERSION && !stage_moves(def)) {
            return SLUICE_OK;
        }
        if (def->kind == STAGE_DEVICE) { /* geometry cannot come after it */
            return fail_part_fill(stage, "leave out ", def->name);
        }
        if (def->kind == STAGE_GEOMETRY || def->kind == STAGE_COLOR || def->kind == STAGE_MAP ||
            def->kind == STAGE_CACHE) {
            return fail_part_fill(stage, "put it after ", def->name);
        }
    }
    return fail_part_fill(stage, "put normalize or to_dtype f32 after it", "");
}

sluice_status plan_fills(sli_plan *plan)
{
    const sluice_dataset *dataset = plan->dataset;
    sluice_status st = SLUICE_OK;

    for (uint32_t i = 0; i < dataset->stage_count && st == SLUICE_OK; i++) {
        const dataset_stage *stage = &dataset->stages[i];
        const dataset_stage *nested = find_nested(stage);

        if (nested != NULL) {
            st = fail_part_fill(nested, "put it after ", stage->def->name);
        } else if (has_part_fill(stage)) {
            plan->details->geometry.part_fill = stage;
            st = check_part_fill(dataset, i);
        }
    }
    return st;
}

sluice_status plan_fill_check(const sli_plan *plan, const sli_conversion *program,
                              const char *image)
{
    const dataset_stage *stage = plan->details->geometry.part_fill;

    return stage != NULL && program->to == SLUICE_U8
               ? fail_part_fill(stage, "let one of these convert column ", image)
               : SLUICE_OK;
}
