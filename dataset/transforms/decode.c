/* SPDX-License-Identifier: Apache-2.0 */
/* decode: the stage. How files are decoded is image_decoder.h's. */
#include "dataset_state.h"

static const char *const modes[] = {"rgb", "gray", NULL};

static sluice_status decode_infer(const void *opaque, stage_schema *schema)
{
    const decode_args *args = opaque;
    sluice_column *column = schema->image >= 0 ? &schema->columns[schema->image] : NULL;

    if (column == NULL || column->dtype != SLUICE_ENCODED) {
        return sli_fail(SLUICE_E_INVALID,
                        "decode: there is no encoded image; the source gives pixels already, or "
                        "this is the second decode");
    }
    column->dtype = SLUICE_U8;
    column->rank = 3;
    column->shape[SCHEMA_C] = args->mode == 0 ? 3 : 1;
    return SLUICE_OK;
}

static const stage_param decode_params[] = {
    PARAM_(decode_args, mode, PARAM_CHOICE, "rgb", 0, 0, modes, "what comes out"),
    PARAM_(decode_args, max_pixels, PARAM_COUNT, "100000000", 1, 4294836225.0, NULL,
           "an image that says it has more is refused"),
    PARAM_(
        decode_args, fast_scale, PARAM_BOOL, "false", 0, 0, NULL,
        "decode JPEG at 1/2, 1/4 or 1/8 where a resize to less follows; changes pixels a little"),
};

const stage_def stage_decode = {
    .name = "decode",
    .summary = "Decodes JPEG and PNG files, JPEG only as far as the crop that follows needs.",
    .gives = "image u8 (H, W, 3), or (H, W, 1) with mode=gray",
    .kind = STAGE_DECODE,
    STAGE_PARAMS(decode_params),
    .args_size = sizeof(decode_args),
    .infer = decode_infer,
};

sluice_status sluice_dataset_decode(sluice_dataset *dataset, const char *mode, uint64_t max_pixels,
                                    bool fast_scale)
{
    decode_args args = {.max_pixels = max_pixels > 0 ? max_pixels : 100000000,
                        .fast_scale = fast_scale};
    sluice_status st = stage_arg_choose(&stage_decode, "mode", mode, &args.mode);

    return st == SLUICE_OK ? dataset_append(dataset, &stage_decode, &args)
                           : dataset_keep(dataset, &stage_decode, st);
}
