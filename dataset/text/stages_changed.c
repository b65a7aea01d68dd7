/* SPDX-License-Identifier: Apache-2.0 */
/* Finds stages that give other pixels than in version 0.1, when a run resumes from a state of it.
 */
#include <string.h>

#include "dataset_state.h"
#include "geometry_ops.h"
#include "operators/window/crop.h"
#include "pipeline_text.h"
#include "plan_int.h"
#include "stage_registry.h"
#include "status_int.h"

/* What is before a stage, in the stages of 0.1, where no stage had others in parentheses. */
typedef struct walk {
    bool scales;                   /* decode fast_scale=true, and no resize after it */
    const dataset_stage *crop;     /* the last crop after the last resize; NULL: none */
    const dataset_stage *extended; /* the last crop that may pad, before a resize; NULL: none */
    bool resized;
} walk;

static const void *argument(const dataset_stage *stage, uint32_t i)
{
    return (const char *)stage->args.bytes + stage->def->params[i].offset;
}

static bool has_fast_scale(const dataset_stage *decode)
{
    for (uint32_t i = 0; i < decode->def->param_count; i++) {
        if (strcmp(decode->def->params[i].name, "fast_scale") == 0) {
            return *(const bool *)argument(decode, i);
        }
    }
    return false;
}

static bool may_pad(const dataset_stage *crop)
{
    stage_padding padding = {0};

    return crop->def->geometry->padding != NULL &&
           crop->def->geometry->padding(crop->args.bytes, &padding);
}

/* True if a crop after another one may extend beyond it. A centred crop does if it is larger. */
static bool extends(const dataset_stage *crop, const dataset_stage *before)
{
    const param_size *size = argument(crop, 0);
    const param_size *old = argument(before, 0);

    return may_pad(crop) &&
           (crop->def->draws || size->height > old->height || crop_width(size) > crop_width(old));
}

/* 0.1 took pixels beside a crop from the resized image, where they are zero now. */
static sluice_status take_crop(walk *w, const dataset_stage *stage)
{
    if (!w->resized) {
        w->extended = may_pad(stage) ? stage : w->extended;
        return SLUICE_OK;
    }
    if (w->crop != NULL && extends(stage, w->crop)) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the state is of version 0.1, and %s after resize and %s pads with zeros "
                        "now, not with the pixels that %s has cut off",
                        stage->def->name, w->crop->def->name, w->crop->def->name);
    }
    w->crop = stage;
    return SLUICE_OK;
}

/* 0.1 decoded at the full scale if a crop that may pad is before the resize. */
static sluice_status take_resize(walk *w, const dataset_stage *stage)
{
    if (w->scales && w->extended != NULL) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "the state is of version 0.1, and decode fast_scale=true decodes at a "
                        "smaller scale now if %s is before %s",
                        w->extended->def->name, stage->def->name);
    }
    *w = (walk){.resized = true};
    return SLUICE_OK;
}

static sluice_status take_stage(walk *w, const dataset_stage *stage)
{
    const stage_def *def = stage->def;

    if (def->kind == STAGE_DECODE) {
        w->scales = has_fast_scale(stage);
    } else if (def->kind == STAGE_GEOMETRY && def->geometry->resizes) {
        return take_resize(w, stage);
    } else if (def->kind == STAGE_GEOMETRY && def->geometry->crops) {
        return take_crop(w, stage);
    }
    return SLUICE_OK;
}

sluice_status sli_stages_check_changed(const char *stages)
{
    dataset_stage list[DATASET_MAX_STAGES];
    uint32_t count = 0;
    walk w = {.resized = false};
    sluice_status st = pipeline_parse_stages(registry_stages_with_calls(), stages, list, &count);

    for (uint32_t i = 0; i < count && st == SLUICE_OK; i++) {
        st = take_stage(&w, &list[i]);
    }
    st = st == SLUICE_E_INVALID ? SLUICE_OK : st; /* of the parser: 0.1 had no such stages */
    for (uint32_t i = 0; i < count; i++) {
        stage_args_free(list[i].def, list[i].args.bytes);
    }
    return st;
}
