/* SPDX-License-Identifier: Apache-2.0 */
/* Warns of functions of the program that have no version, when a run resumes. */
#include <string.h>

#include "dataset_state.h"
#include "log_int.h"
#include "pipeline_text.h"
#include "plan_int.h"
#include "stage_registry.h"

/* The argument of a stage with this name; NULL: it has none. */
static const void *argument(const dataset_stage *stage, const char *name, param_type type)
{
    for (uint32_t i = 0; i < stage->def->param_count; i++) {
        const stage_param *param = &stage->def->params[i];

        if (param->type == type && strcmp(param->name, name) == 0) {
            return (const char *)stage->args.bytes + param->offset;
        }
    }
    return NULL;
}

static void warn_of(const dataset_stage *stage)
{
    const uint64_t *version = argument(stage, "version", PARAM_COUNT);
    const char *const *name = argument(stage, "name", PARAM_TEXT);
    const bool is_named = name != NULL && *name != NULL;

    if (version != NULL && *version == 0) {
        sli_log(SLUICE_LOG_WARN,
                "%s%s%.100s has no version, so a resumed run cannot tell whether its function has "
                "changed; set a version, and raise it with each change",
                stage->def->name, is_named ? " " : "", is_named ? *name : "");
    }
}

void sli_stages_warn_unversioned(const char *stages)
{
    dataset_stage list[DATASET_MAX_STAGES];
    uint32_t count = 0;

    if (pipeline_parse_stages(registry_stages_with_calls(), stages, list, &count) == SLUICE_OK) {
        for (uint32_t i = 0; i < count; i++) {
            warn_of(&list[i]);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        stage_args_free(list[i].def, list[i].args.bytes);
    }
}
