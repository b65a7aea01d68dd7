/* SPDX-License-Identifier: Apache-2.0 */
#include "color_stage.h"

sluice_status color_infer(const char *stage, uint32_t operations, stage_schema *schema)
{
    const sluice_status st = schema_want_bytes(schema, stage, true);

    return st == SLUICE_OK ? schema_add_operations(schema, stage, operations) : st;
}

bool color_chance(double p, const sli_draws *draws)
{
    uint32_t bits[4];

    sli_draw(draws, 0, bits);
    return sli_unit(bits[0]) < p;
}
