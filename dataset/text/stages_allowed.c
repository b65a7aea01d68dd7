/* SPDX-License-Identifier: Apache-2.0 */
#include "stages_allowed_int.h"

#include <string.h>

#include "alloc_int.h"
#include "conversion_ops.h"
#include "dataset_state.h"
#include "map_ops.h"
#include "pipeline_text.h"
#include "source_arguments.h"
#include "source_stage_ops.h"
#include "stage_registry.h"
#include "status_int.h"

/* Returns the next name without blanks around it, and moves behind it; NULL: there are no more. */
static const char *next_name(const char **at, size_t *length_out)
{
    const char *name = *at + strspn(*at, " ,");
    size_t length = strcspn(name, ",");

    *at = name + length;
    while (length > 0 && name[length - 1] == ' ') {
        length--;
    }
    *length_out = length;
    return length > 0 ? name : NULL;
}

/* True if the name is STAGE.ARGUMENT. */
static bool is_name(const char *name, size_t length, const char *stage, const char *argument)
{
    const size_t first = strlen(stage);

    return length == first + 1 + strlen(argument) && memcmp(name, stage, first) == 0 &&
           name[first] == '.' && memcmp(name + first + 1, argument, strlen(argument)) == 0;
}

bool sli_stages_is_allowed(const char *allowed, const char *stage, const char *argument)
{
    const char *name;
    size_t length;

    while (allowed != NULL && (name = next_name(&allowed, &length)) != NULL) {
        if (is_name(name, length, stage, argument)) {
            return true;
        }
    }
    return false;
}

/* True if other arguments of the stage would give a pass other samples, or another order: a group
 * has stages of order in its parts, and tokens are divided into samples. */
static bool decides_samples(const stage_def *def)
{
    return stage_group(def) != GROUP_NONE || (def->source != NULL && def->source->path != NULL) ||
           def->kind == STAGE_INDEX || def->kind == STAGE_PACK || def->kind == STAGE_BUCKET ||
           (def->kind == STAGE_MAP && def->map != NULL && def->map->is_filter);
}

/* True if the texts of an identity never have the value of an argument. */
static bool is_never_compared(const stage_def *def, const stage_param *param)
{
    const source_argument is =
        def->kind == STAGE_SOURCE ? source_argument_of(def, param) : ARGUMENT_DATA;

    return param->choices == offload_targets || is == ARGUMENT_NONE ||
           (is == ARGUMENT_PLACE && param->default_text == NULL);
}

/* Finds the argument in a list of stages. *found_out: it is there. E_INVALID: it may not differ. */
static sluice_status find_name(const dataset_stage *stages, uint32_t count, const char *name,
                               size_t length, bool *found_out)
{
    for (uint32_t i = 0; i < count; i++) {
        const stage_def *def = stages[i].def;

        for (uint32_t k = 0; k < def->param_count; k++) {
            if (!is_name(name, length, def->name, def->params[k].name)) {
                continue;
            }
            *found_out = true;
            if (is_never_compared(def, &def->params[k])) {
                return sli_fail(SLUICE_E_INVALID,
                                "allow: %.*s has no effect: its value is never compared%s; leave "
                                "it out",
                                (int)length, name,
                                def->kind == STAGE_SOURCE
                                    ? ", but number and names of samples and classes are"
                                    : "");
            }
            return decides_samples(def)
                       ? sli_fail(SLUICE_E_INVALID,
                                  "allow: %.*s cannot be allowed: %s decides which samples a pass "
                                  "has, and the saved position would be among others; restore its "
                                  "value, or begin anew",
                                  (int)length, name, def->name)
                       : SLUICE_OK;
        }
    }
    return SLUICE_OK;
}

/* Finds the argument among the stages of a text. */
static sluice_status find_in(const char *text, const char *name, size_t length, bool *found_out)
{
    dataset_stage *stages = sli_calloc(DATASET_MAX_STAGES, sizeof(*stages));
    uint32_t count = 0;
    sluice_status st;

    if (stages == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the stages of a pipeline");
    }
    st = pipeline_parse_stages(registry_stages_with_calls(), text, stages, &count);
    if (st == SLUICE_OK) {
        st = find_name(stages, count, name, length, found_out);
    }
    for (uint32_t i = 0; i < count; i++) {
        stage_args_free(stages[i].def, stages[i].args.bytes);
    }
    sli_free(stages);
    return st;
}

sluice_status sli_stages_check_allowed(const char *allowed, const char *stages, const char *source)
{
    const char *name;
    size_t length;
    sluice_status st = SLUICE_OK;

    while (st == SLUICE_OK && (name = next_name(&allowed, &length)) != NULL) {
        bool found = false;

        st = find_in(source, name, length, &found);
        if (st == SLUICE_OK && !found) {
            st = find_in(stages, name, length, &found);
        }
        if (st == SLUICE_OK && !found) {
            st =
                sli_fail(SLUICE_E_INVALID,
                         "allow: the pipeline has no %.*s; each name must be STAGE.ARGUMENT of a "
                         "stage before batch, outside of parentheses, such as letterbox.size, with "
                         "commas between them",
                         (int)(length < 100 ? length : 100), name);
        }
    }
    return st;
}
