/* SPDX-License-Identifier: Apache-2.0 */
#include "nested_stages.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "conversion_ops.h"
#include "geometry_ops.h"
#include "stage_kinds.h"
#include "status_int.h"

/* ---- text ------------------------------------------------------------------------------------ */

/* Prints a weight in units of 1e-9. */
static void print_weight(uint64_t weight, sli_text *text)
{
    const uint64_t unit = 1000000000;
    char digits[12];
    size_t length;

    sli_text_add(text, "%" PRIu64, weight / unit);
    if (weight % unit != 0) {
        snprintf(digits, sizeof(digits), "%09" PRIu64, weight % unit);
        for (length = 9; digits[length - 1] == '0';) {
            length--;
        }
        sli_text_add(text, ".%.*s", (int)length, digits);
    }
    sli_text_add(text, ":");
}

static void print_nested(const nested_stages *nested, sli_text *text)
{
    for (uint32_t i = 0; i < nested->branch_count; i++) {
        const nested_branch *branch = &nested->branches[i];

        sli_text_add(text, "%s", i > 0 ? " " : "");
        if (branch->weight > 0) {
            print_weight(branch->weight, text);
        }
        for (uint32_t k = 0; k < branch->count; k++) {
            const dataset_stage *stage = &nested->stages[branch->first + k];

            sli_text_add(text, "%s%s", k == 0 ? "(" : " | ", stage->def->name);
            stage_args_print(stage->def, stage->args.bytes, text);
        }
        sli_text_add(text, ")");
    }
}

/* ---- lifetime -------------------------------------------------------------------------------- */

sluice_status nested_create(nested_stages **nested_out)
{
    nested_stages *nested = sli_calloc(1, sizeof(*nested));

    if (nested == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "the stages in parentheses");
    }
    nested->references = 1;
    nested->print = print_nested;
    *nested_out = nested;
    return SLUICE_OK;
}

static const stage_param *find_param(const stage_def *def)
{
    for (uint32_t i = 0; i < def->param_count; i++) {
        if (def->params[i].type == PARAM_STAGES) {
            return &def->params[i];
        }
    }
    return NULL;
}

nested_stages **nested_of(const stage_def *def, void *args)
{
    const stage_param *param = find_param(def);

    return param != NULL ? (nested_stages **)(void *)((unsigned char *)args + param->offset) : NULL;
}

const nested_stages *nested_in(const dataset_stage *stage)
{
    const stage_param *param = find_param(stage->def);

    return param != NULL
               ? *(nested_stages *const *)(const void *)(stage->args.bytes + param->offset)
               : NULL;
}

void nested_retain(nested_stages *nested)
{
    if (nested != NULL) {
        nested->references++;
    }
}

void nested_release(nested_stages *nested)
{
    if (nested == NULL || --nested->references > 0) {
        return;
    }
    for (uint32_t i = 0; i < nested->stage_count; i++) {
        stage_args_free(nested->stages[i].def, nested->stages[i].args.bytes);
    }
    sli_free(nested);
}

/* ---- branches -----------------------------------------------------------------------------------
 */

static bool is_batch_map(const stage_def *def)
{
    return def->kind == STAGE_BATCH_MAP && def->batch != NULL;
}

bool nested_are_batch_maps(const nested_stages *nested)
{
    return is_batch_map(nested->stages[0].def);
}

bool nested_have_geometry(const nested_stages *nested)
{
    for (uint32_t i = 0; i < nested->stage_count; i++) {
        if (nested->stages[i].def->kind == STAGE_GEOMETRY) {
            return true;
        }
    }
    return false;
}

/* True for a stage that works on the image in front of the conversions, one image into one. */
static bool is_of_image(const stage_def *def)
{
    return def->kind == STAGE_COLOR || stage_before_geometry(def) != NULL ||
           (def->kind == STAGE_GEOMETRY && def->geometry->views == NULL &&
            def->geometry->tiles == NULL);
}

/* Checks that a stage may be in the parentheses of `def`, with the stages before it. */
static sluice_status check_stage(const stage_def *def, const nested_stages *nested,
                                 const dataset_stage *added, const stage_def *first)
{
    const stage_def *stage = added->def;

    if (!is_of_image(stage) && !is_batch_map(stage)) {
        return sli_fail(
            SLUICE_E_INVALID,
            "%s: %s cannot be in its parentheses; put it before or after %s, which takes "
            "crops, resizes, flips, colours and warps, or mixup and cutmix",
            def->name, stage->name, def->name);
    }
    if (stage_before_geometry(stage) != NULL &&
        ((const conversion_args *)(const void *)added->args.bytes)->offload == OFFLOAD_DEVICE) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: %s offload=device: what is in parentheses runs on the workers; leave "
                        "offload out",
                        def->name, stage->name);
    }
    if (nested->stage_count > 0) {
        first = nested->stages[0].def;
    }
    return is_batch_map(stage) == is_batch_map(first)
               ? SLUICE_OK
               : sli_fail(
                     SLUICE_E_INVALID,
                     "%s: %s and %s cannot be in the same parentheses: one works on images, the "
                     "other on whole batches",
                     def->name, first->name, stage->name);
}

sluice_status nested_add(const stage_def *def, nested_stages *nested, uint64_t weight,
                         const dataset_stage *stages, uint32_t count)
{
    sluice_status st = SLUICE_OK;

    if (count == 0) {
        return sli_fail(SLUICE_E_INVALID, "%s: parentheses without a stage", def->name);
    }
    if (count > NESTED_STAGES - nested->stage_count) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: the stages in its parentheses must be at most %d; put some of them "
                        "into a random_apply 1 (...) there, which is one of them",
                        def->name, NESTED_STAGES);
    }
    for (uint32_t i = 0; i < count && st == SLUICE_OK; i++) {
        st = check_stage(def, nested, &stages[i], stages[0].def);
    }
    if (st != SLUICE_OK) {
        return st;
    }
    nested->branches[nested->branch_count++] = (nested_branch){weight, nested->stage_count, count};
    memcpy(&nested->stages[nested->stage_count], stages, count * sizeof(*stages));
    stages_begin_geometry(&nested->stages[nested->stage_count], count);
    nested->stage_count += count;
    return SLUICE_OK;
}
