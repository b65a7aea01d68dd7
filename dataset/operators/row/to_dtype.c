/* SPDX-License-Identifier: Apache-2.0 */
/* The to_dtype stage: casts the image's values to another type. */
#include "conversion_ops.h"
#include "stage.h"
#include "status_int.h"

typedef struct to_dtype_args {
    conversion_args common;
    sluice_dtype dtype;
    bool scale;
} to_dtype_args;

static sluice_status to_dtype_infer(const void *opaque, sluice_column *column, column_info *info)
{
    const to_dtype_args *args = opaque;

    if (args->dtype == SLUICE_U8 && (column->dtype != SLUICE_U8 || args->scale)) {
        return sli_fail(SLUICE_E_INVALID,
                        "to_dtype u8: the image is %s%s, and must be u8, without scale=true",
                        sluice_dtype_name(column->dtype), args->scale ? ", and scale=true" : "");
    }
    if ((column->dtype == SLUICE_F16 || column->dtype == SLUICE_BF16) &&
        column->dtype != args->dtype) {
        return sli_fail(
            SLUICE_E_INVALID,
            "to_dtype %s: the image is %s, already rounded to 16 bits, and must be u8, u16 or f32",
            sluice_dtype_name(args->dtype), sluice_dtype_name(column->dtype));
    }
    if (args->dtype != SLUICE_U8 && args->dtype != SLUICE_F32 && args->dtype != SLUICE_F16 &&
        args->dtype != SLUICE_BF16) {
        return sli_fail(SLUICE_E_INVALID, "to_dtype: dtype=%s must be f32, f16, bf16 or u8",
                        sluice_dtype_name(args->dtype));
    }
    if (args->scale && column->dtype != SLUICE_U8 && column->dtype != SLUICE_U16) {
        return sli_fail(SLUICE_E_INVALID,
                        "to_dtype: scale=true is for bytes and 16 bits; the image is %s",
                        sluice_dtype_name(column->dtype));
    }
    info->is_converted = info->is_converted || column->dtype != args->dtype;
    column->dtype = args->dtype;
    if (args->scale) {
        info->white = 1;
    }
    return SLUICE_OK;
}

static void to_dtype_convert(const void *opaque, const column_info *before, conversion_state *state)
{
    const to_dtype_args *args = opaque;

    state->dtype = args->dtype;
    for (uint32_t c = 0; c < SLI_MAX_CHANNELS && args->scale; c++) {
        state->scale[c] /= before->white;
        state->bias[c] /= before->white;
    }
    state->affine = state->affine || args->scale;
}

static const stage_param to_dtype_params[] = {
    PARAM_(to_dtype_args, dtype, PARAM_DTYPE, NULL, 0, 0, NULL, "f32, f16, bf16 or u8"),
    PARAM_(to_dtype_args, scale, PARAM_BOOL, "false", 0, 0, NULL,
           "scale bytes, or 16 bits, to 0..1"),
    OFFLOAD_PARAM,
    COLUMNS_PARAM(to_dtype_args, common.columns),
};

const stage_def stage_to_dtype = {
    .name = "to_dtype",
    .summary = "Casts the image's values; scale=true scales bytes, or 16 bits, to 0..1.",
    .elsewhere = "ToDtype ToType TypeCast",
    .example = "to_dtype f32 scale=true",
    .gives = "image of that type, the same shape",
    .details =
        "From u8 the type u8 changes nothing. Of an image of f32, a finite value that the type "
        "cannot represent, such as 65520 as f16, makes a bad sample; NaN and infinities "
        "stay.",
    .kind = STAGE_CONVERSION,
    STAGE_PARAMS(to_dtype_params),
    .args_size = sizeof(to_dtype_args),
    .selects = true,
    .conversion =
        &(const conversion_ops){
            .infer_image = to_dtype_infer,
            .convert = to_dtype_convert,
        },
};
