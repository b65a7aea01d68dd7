/* SPDX-License-Identifier: Apache-2.0 */
#include "color_stage.h"

#include "status_int.h"

static sluice_status check_image(const char *stage, const stage_schema *schema, uint32_t i)
{
    const sluice_column *column = &schema->columns[i];
    const uint64_t channels = column->shape[SCHEMA_C];

    if (column->dtype == SLUICE_ENCODED) {
        return sli_fail(SLUICE_E_INVALID, "%s: the image is still encoded; put decode before it",
                        stage);
    }
    if (column->dtype != SLUICE_U8 || schema->is_chw) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s changes the colours of bytes; put it before normalize, to_dtype and "
                        "to_chw",
                        stage);
    }
    if (channels != 1 && channels != COLOR_CHANNELS) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: column %s has %llu channels; want 1 (gray) or 3 (RGB)", stage,
                        column->name, (unsigned long long)channels);
    }
    return SLUICE_OK;
}

sluice_status color_infer(const char *stage, uint32_t operations, stage_schema *schema)
{
    if (schema->image < 0) {
        return sli_fail(SLUICE_E_INVALID, "%s: there is no image", stage);
    }
    for (uint32_t i = 0; i < schema->column_count; i++) {
        if ((int)i == schema->image || schema->infos[i].role == ROLE_IMAGE) {
            sluice_status st = check_image(stage, schema, i);

            if (st != SLUICE_OK) {
                return st;
            }
        }
    }
    schema->color_operations += operations;
    return schema->color_operations <= COLOR_MAX_OPERATIONS
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s: the colour stages have more than %d operations; a color_jitter has "
                          "4, the others 1",
                          stage, COLOR_MAX_OPERATIONS);
}

bool color_chance(double p, const sli_draws *draws)
{
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    return sli_unit(bits[0]) < p;
}
