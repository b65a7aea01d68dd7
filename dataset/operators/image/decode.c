/* SPDX-License-Identifier: Apache-2.0 */
/* The decode stage: marks where images are decoded. The decoders are in image_decoder.h. */
#include "dataset_state.h"
#include "struct_size_int.h"

static const char *const modes[] = {"rgb", "gray", "index", NULL};

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
    column->shape[SCHEMA_C] = args->mode == DECODE_RGB ? 3 : 1;
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if (schema->infos[i].role == ROLE_MASK) {
            schema->columns[i].dtype = SLUICE_U8;
            schema->columns[i].rank = 2;
        }
        if (schema->infos[i].role == ROLE_IMAGE && schema->columns[i].dtype == SLUICE_ENCODED) {
            schema->columns[i].dtype = SLUICE_U8;
            schema->columns[i].rank = 3;
            schema->columns[i].shape[SCHEMA_C] = column->shape[SCHEMA_C];
        }
    }
    return SLUICE_OK;
}

static const stage_param decode_params[] = {
    PARAM_(decode_args, mode, PARAM_CHOICE, "rgb", 0, 0, modes,
           "rgb; gray; index: the numbers that a palette or gray PNG, or a PGM, stores"),
    PARAM_(decode_args, max_pixels, PARAM_COUNT, "100000000", 1, 4294836225.0, NULL,
           "an image whose header gives more is an error"),
    PARAM_(decode_args, fast_scale, PARAM_BOOL, "false", 0, 0, NULL,
           "decode JPEG at 1/2, 1/4 or 1/8 if a resize to less follows; changes pixels slightly"),
};

const stage_def stage_decode = {
    .name = "decode",
    .summary = "Decodes JPEG, PNG, PPM and PGM files down to the lower edge of the next crop.",
    .gives = "image u8 (H, W, 3), or (H, W, 1) with mode=gray and mode=index; further images, too; "
             "masks u8 (H, W)",
    .kind = STAGE_DECODE,
    STAGE_PARAMS(decode_params),
    .args_size = sizeof(decode_args),
    .infer = decode_infer,
};

static const sli_struct config_struct = SLI_STRUCT(sluice_decode_config, max_pixels);

void sluice_decode_config_init_size(sluice_decode_config *config, size_t size)
{
    sli_struct_init(config, size);
}

sluice_status sluice_dataset_decode(sluice_dataset *dataset, const sluice_decode_config *config)
{
    sluice_decode_config own;
    decode_args args = {.mode = DECODE_RGB};
    sluice_status st =
        sli_struct_read_optional(&config_struct, "sluice_dataset_decode", config, &own);

    if (st == SLUICE_OK) {
        args.max_pixels = own.max_pixels > 0 ? own.max_pixels : 100000000;
        args.fast_scale = own.fast_scale;
        st = stage_arg_choose_or_default(&stage_decode, "mode", own.mode, &args.mode);
    }
    return st == SLUICE_OK ? dataset_append(dataset, &stage_decode, &args)
                           : dataset_keep(dataset, &stage_decode, st);
}
