/* SPDX-License-Identifier: Apache-2.0 */
/* The to_chw stage: stores channels as planes instead of interleaved. */
#include "stage.h"
#include "status_int.h"

static sluice_status to_chw_infer(const void *args, stage_schema *schema)
{
    sluice_column *column = schema->image >= 0 ? &schema->columns[schema->image] : NULL;
    uint64_t channels;

    (void)args;
    if (column == NULL || column->dtype == SLUICE_ENCODED) {
        return sli_fail(SLUICE_E_INVALID,
                        "to_chw: there is no decoded image; put decode before it");
    }
    if (schema->is_chw) {
        return sli_fail(SLUICE_E_INVALID, "to_chw: the image is (C, H, W) already");
    }
    channels = column->shape[SCHEMA_C];
    column->shape[2] = column->shape[SCHEMA_W];
    column->shape[1] = column->shape[SCHEMA_H];
    column->shape[0] = channels;
    schema->is_chw = true;
    return SLUICE_OK;
}

static void to_chw_convert(const void *args, const stage_schema *before, conversion_state *state)
{
    (void)args;
    (void)before;
    state->chw = true;
}

static const stage_param to_chw_params[] = {
    OFFLOAD_PARAM,
};

const stage_def stage_to_chw = {
    .name = "to_chw",
    .summary = "Transposes (H, W, C) to (C, H, W).",
    .gives = "image (C, H, W), the same type",
    .kind = STAGE_CONVERSION,
    STAGE_PARAMS(to_chw_params),
    .args_size = sizeof(conversion_args),
    .infer = to_chw_infer,
    .convert = to_chw_convert,
    .moves = true,
};

sluice_status sluice_dataset_to_chw(sluice_dataset *dataset)
{
    const conversion_args args = {OFFLOAD_AUTO};

    return dataset_append(dataset, &stage_to_chw, &args);
}
