/* SPDX-License-Identifier: Apache-2.0 */
#include "decode_fusion.h"

#include <string.h>

/* Geometry stages that are fused, with their paddings. */
typedef struct fused_stages {
    uint32_t count;
    const stage_def *defs[DATASET_MAX_STAGES];
    bool pads[DATASET_MAX_STAGES];
    stage_padding paddings[DATASET_MAX_STAGES];
} fused_stages;

static bool have_one_padding(const stage_padding *a, const stage_padding *b)
{
    return a->edge == EDGE_CONSTANT && b->edge == EDGE_CONSTANT &&
           memcmp(a->fill, b->fill, sizeof(a->fill)) == 0 && a->mask_fill == b->mask_fill;
}

/* True if the stage behind the last one, which does not turn or make views, is fused with those
 * before it. These are the rules of joins_group() in plan.c. */
static bool joins(const fused_stages *fused)
{
    const uint32_t at = fused->count;
    const bool resizes = fused->defs[at]->resizes;
    const stage_padding *padding = &fused->paddings[at];

    for (uint32_t i = at; i-- > 0;) {
        const bool resized = fused->defs[i]->resizes;

        if ((!resizes && fused->pads[at] && fused->pads[i] &&
             !have_one_padding(padding, &fused->paddings[i])) ||
            (resized && padding->edge != EDGE_CONSTANT) ||
            (resizes && fused->paddings[i].edge != EDGE_CONSTANT)) {
            return false;
        }
        if (resized) {
            return !resizes && !(fused->pads[at] && i + 1 < at);
        }
    }
    return true;
}

/* Adds a geometry stage. False: it is not fused. */
static bool add_stage(fused_stages *fused, const dataset_stage *stage)
{
    const stage_def *def = stage->def;
    stage_padding *padding = &fused->paddings[fused->count];

    if (def->views != NULL || def->turns || (def->tiles > 0 && fused->count > 0)) {
        return false;
    }
    *padding = (stage_padding){0};
    fused->defs[fused->count] = def;
    fused->pads[fused->count] = def->padding != NULL && def->padding(stage->args.bytes, padding);
    if (!joins(fused)) {
        return false;
    }
    fused->count++;
    return true;
}

/* Crops have it in their names. A mosaic shows a part of each image. */
static bool crops(const stage_def *def)
{
    return def->tiles > 0 || strstr(def->name, "crop") != NULL;
}

decode_fusion dataset_decode_fusion(const sluice_dataset *dataset)
{
    fused_stages fused = {0};
    decode_fusion found = {false, false};

    for (uint32_t i = 1; i < dataset->stage_count; i++) {
        const dataset_stage *stage = &dataset->stages[i];

        if (stage->def->kind == STAGE_COLOR ||
            (stage->def->kind == STAGE_CACHE && fused.count > 0)) {
            break;
        }
        if (stage->def->kind != STAGE_GEOMETRY) {
            continue;
        }
        if (!add_stage(&fused, stage)) {
            break;
        }
        found.resizes = found.resizes || stage->def->resizes;
        found.crops = found.crops || crops(stage->def);
        if (stage->def->tiles > 0) {
            break;
        }
    }
    return found;
}
