/* SPDX-License-Identifier: Apache-2.0 */
/* What may follow the stage device: GetNext makes one pass over an image, by a program with one
 * warp and few operators (row_program_int.h). */
#include <string.h>

#include "rng_int.h"
#include "row_program_int.h"
#include "stage.h"
#include "stage_kinds.h"
#include "status_int.h"

/* The parameters of a warp that say how it samples. Adjacent warps with the same ones are one. */
static const char *const sampling_params[] = {"filter", "fill", "mask_fill"};

/* Sets *hash_out to a hash of how a warp samples, which is not 0. */
static sluice_status hash_sampling(const stage_def *def, const void *args, uint64_t *hash_out)
{
    sli_text text = {0};

    for (uint32_t i = 0; i < def->param_count; i++) {
        for (size_t k = 0; k < sizeof(sampling_params) / sizeof(sampling_params[0]); k++) {
            if (strcmp(def->params[i].name, sampling_params[k]) == 0) {
                stage_arg_print(&def->params[i], args, &text);
                sli_text_add(&text, " ");
            }
        }
    }
    if (text.failed || text.data == NULL) {
        sli_text_free(&text);
        return sli_fail(SLUICE_E_NO_MEMORY, "arguments of %s", def->name);
    }
    *hash_out = sli_hash_text(text.data) | 1;
    sli_text_free(&text);
    return SLUICE_OK;
}

/* Checks that adjacent warps after device are one. */
static sluice_status check_one_warp(const stage_def *def, const void *args,
                                    const stage_schema *before, stage_schema *schema)
{
    uint64_t sampling = 0;
    const sluice_status st = hash_sampling(def, args, &sampling);

    if (st != SLUICE_OK) {
        return st;
    }
    if (schema_has(before, STATE_DEVICE_WARP) && before->device_sampling != sampling) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s is a second warp after device, which samples an image once; give both "
                        "the same filter, fill and mask_fill, or put device after the warps",
                        def->name);
    }
    schema->device_sampling = sampling;
    return SLUICE_OK;
}

sluice_status schema_check_device(const stage_def *def, const void *args,
                                  const stage_schema *before, stage_schema *schema)
{
    if (def->kind != STAGE_COLOR) {
        return SLUICE_OK;
    }
    schema->device_operations += schema->colors.operations - before->colors.operations;
    if (schema->device_operations > SLI_ROW_OPERATORS) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: the colour stages and warps after device have more than %d "
                        "operations; a color_jitter has 4, the others 1; put device after some of "
                        "them",
                        def->name, SLI_ROW_OPERATORS);
    }
    return stage_warps(def, args) ? check_one_warp(def, args, before, schema) : SLUICE_OK;
}
