/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_programs.h"

#include <assert.h>
#include <string.h>

/* The value of a byte in all four bytes of a pixel. */
static uint32_t in_all(uint8_t value)
{
    return value * UINT32_C(0x01010101);
}

static sli_row_operator operator_of_erase(const color_rectangle *erased)
{
    return (sli_row_operator){
        .kind = SLI_ROW_ERASE,
        .value = erased->value[0] | (uint32_t)erased->value[1] << 8 |
                 (uint32_t)erased->value[2] << 16 | (uint32_t)erased->value[3] << 24,
        .a = erased->x | erased->y << 16,
        .b = erased->width | erased->height << 16,
    };
}

static sli_row_operator operator_of(const color_operation *operation)
{
    sli_row_operator result = {.a = sli_f32_bits(operation->factor),
                               .b = sli_f32_bits(operation->rest)};

    switch (operation->kind) {
    case COLOR_BITS:
        return (sli_row_operator){SLI_ROW_BITS, in_all(operation->keep), in_all(operation->flip),
                                  0};
    case COLOR_SOLARIZE:
        return (sli_row_operator){SLI_ROW_SOLARIZE, (uint32_t)operation->factor, 0, 0};
    case COLOR_ERASE:
        return operator_of_erase(&operation->erased);
    case COLOR_BRIGHTNESS:
        result.kind = SLI_ROW_BRIGHTNESS;
        break;
    case COLOR_SATURATION:
        result.kind = SLI_ROW_SATURATION;
        break;
    case COLOR_HUE:
        result.kind = SLI_ROW_HUE;
        break;
    default:
        assert(operation->kind == COLOR_GRAY);
        result.kind = SLI_ROW_GRAY;
        break;
    }
    return result;
}

void program_of_chain(const color_chain *chain, sli_row_program *program_out)
{
    assert(chain->count <= SLI_ROW_OPERATORS);
    memset(program_out, 0, sizeof(*program_out));
    program_out->count = chain->count;
    for (uint32_t i = 0; i < chain->count; i++) {
        program_out->operators[i] = operator_of(&chain->operations[i]);
    }
}
