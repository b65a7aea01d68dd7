/* SPDX-License-Identifier: Apache-2.0 */
#include "fill_args.h"

#include <math.h>

#include "status_int.h"

sluice_status fill_check_parts(const char *stage, const fill_args *args)
{
    const param_reals *fill = &args->fill;

    for (uint32_t i = 0; i < fill->count; i++) {
        const double value = fill->values[i];

        if (!(value == 0 || (value >= 1 && value <= 255))) {
            return sli_fail(
                SLUICE_E_INVALID,
                "%s: fill=%g must be 0, or from 1 to 255 (white); 0.5 of darknet is 127.5", stage,
                value);
        }
    }
    return fill->count > 0 && fill->name[0] == '\0'
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s: fill must be one number, or one for each channel of the image",
                          stage);
}

sluice_status fill_check(const char *stage, const fill_args *args)
{
    const param_reals *fill = &args->fill;

    for (uint32_t i = 0; i < fill->count; i++) {
        if (!(fill->values[i] >= 0 && fill->values[i] <= 255) ||
            fill->values[i] != rint(fill->values[i])) {
            return sli_fail(SLUICE_E_INVALID, "%s: fill=%g must be a whole number from 0 to 255",
                            stage, fill->values[i]);
        }
    }
    return fill_check_parts(stage, args);
}

sluice_status fill_infer(const char *stage, const fill_args *args, const stage_schema *schema)
{
    for (uint32_t i = 0; i < schema->column_count; i++) {
        const uint64_t channels = schema->columns[i].shape[SCHEMA_C];

        if (schema_is_image(schema, i) && args->fill.count != 1 && args->fill.count != channels) {
            return sli_fail(SLUICE_E_INVALID,
                            "%s: fill has %u values and column %s %llu channels; there must be one "
                            "value, or one for each channel",
                            stage, args->fill.count, schema->columns[i].name,
                            (unsigned long long)channels);
        }
    }
    return SLUICE_OK;
}

void fill_set(const fill_args *args, stage_padding *padding_out)
{
    padding_out->has_parts = false;
    for (uint32_t i = 0; i < IMAGE_CHANNELS; i++) {
        const double value = args->fill.values[i < args->fill.count ? i : 0];

        padding_out->fill[i] = (uint8_t)rint(value);
        padding_out->parts[i] = (float)value;
        padding_out->has_parts = padding_out->has_parts || value != rint(value);
    }
    padding_out->mask_fill = (uint8_t)args->mask_fill;
}
