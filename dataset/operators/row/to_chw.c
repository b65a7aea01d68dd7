/* SPDX-License-Identifier: Apache-2.0 */
/* The to_chw stage: stores channels as planes instead of interleaved. */
#include "conversion_ops.h"
#include "stage.h"
#include "status_int.h"

static sluice_status to_chw_infer(const void *args, sluice_column *column, column_info *info)
{
    const uint64_t channels = column->shape[SCHEMA_C];

    (void)args;
    if (info->is_chw) {
        return sli_fail(SLUICE_E_INVALID, "to_chw: the image %s is (C, H, W) already",
                        column->name);
    }
    column->shape[2] = column->shape[SCHEMA_W];
    column->shape[1] = column->shape[SCHEMA_H];
    column->shape[0] = channels;
    info->is_chw = true;
    return SLUICE_OK;
}

static void to_chw_convert(const void *args, const column_info *before, conversion_state *state)
{
    (void)args;
    (void)before;
    state->chw = true;
}

static const stage_param to_chw_params[] = {
    OFFLOAD_PARAM,
    COLUMNS_PARAM(conversion_args, columns),
};

const stage_def stage_to_chw = {
    .name = "to_chw",
    .summary = "Transposes (H, W, C) to (C, H, W).",
    .elsewhere = "HWC2CHW",
    .gives = "image (C, H, W), the same type",
    .kind = STAGE_CONVERSION,
    STAGE_PARAMS(to_chw_params),
    .args_size = sizeof(conversion_args),
    .selects = true,
    .conversion =
        &(const conversion_ops){
            .infer_image = to_chw_infer,
            .convert = to_chw_convert,
            .moves = true,
        },
};
