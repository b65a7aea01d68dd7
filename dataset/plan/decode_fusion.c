/* SPDX-License-Identifier: Apache-2.0 */
/* Which stages the decoder saves work for: those that the first step of an image may consist of. */
#include <string.h>

#include "plan.h"

/* True if the stage is applied to some images only: its argument p is below 1. */
static bool may_be_left_out(const dataset_stage *stage)
{
    for (uint32_t i = 0; i < stage->def->param_count; i++) {
        const stage_param *param = &stage->def->params[i];

        if (param->type == PARAM_REAL && strcmp(param->name, "p") == 0) {
            return *(const double *)(const void *)(stage->args.bytes + param->offset) < 1;
        }
    }
    return false;
}

/* Adds what a group without branches is. Returns true if every image has a step of it. */
static bool add_group(const struct plan_details *details, const plan_group *group,
                      decode_fusion *found)
{
    const dataset_stage *first =
        group->count > 0 ? details->geometry.stages[group->first].stage : NULL;

    if (first != NULL && first->def->geometry->views != NULL) {
        return true; /* of the whole image */
    }
    for (uint32_t i = group->first; i < group->first + group->count; i++) {
        const geometry_ops *ops = details->geometry.stages[i].stage->def->geometry;

        found->resizes = found->resizes || ops->resizes;
        found->crops = found->crops || ops->crops;
    }
    if (first != NULL && (first->def->flip == NULL || !may_be_left_out(first))) {
        return true;
    }
    for (uint32_t i = group->color_first; i < group->color_end; i++) {
        if (!may_be_left_out(details->colors.stages[i].stage)) {
            return true;
        }
    }
    return false;
}

/* Adds the groups that may give an image its first step. Returns true if every image has one. */
static bool add_list(const struct plan_details *details, const plan_list *list,
                     decode_fusion *found)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const plan_branches *branches = list->groups[i].branches;
        bool ends = branches != NULL              ? !may_be_left_out(branches->stage)
                    : list->groups[i].map != NULL ? true /* which reads the whole image */
                                                  : add_group(details, &list->groups[i], found);

        for (uint32_t k = 0; branches != NULL && k < branches->count; k++) {
            ends = add_list(details, &branches->lists[k], found) && ends;
        }
        if (ends) {
            return true;
        }
    }
    return false;
}

decode_fusion plan_decode_fusion(const sli_plan *plan)
{
    const struct plan_details *details = plan->details;
    const bool has_tiles = details->geometry.mosaic.tiles > 0;
    decode_fusion found = {false, false};

    if (!add_list(details, has_tiles ? &details->geometry.mosaic.list : &details->geometry.list,
                  &found) &&
        has_tiles) {
        found.resizes = true; /* a tile is resized, and shows a part of its image */
        found.crops = true;
    }
    return found;
}
