/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_programs.h"

#include <assert.h>
#include <string.h>

/* The value of a byte in all four bytes of a pixel. */
static uint32_t in_all(uint8_t value)
{
    return value * UINT32_C(0x01010101);
}

static uint32_t pixel_of(const uint8_t value[4])
{
    return value[0] | (uint32_t)value[1] << 8 | (uint32_t)value[2] << 16 | (uint32_t)value[3] << 24;
}

/* Sets the only warp of a program, after the operators that it has so far. */
static void set_warp(const image_warp *warp, sli_row_program *program)
{
    assert(program->warp == SLI_ROW_NO_WARP && warp->shifts == NULL);
    program->warp = warp->nearest    ? SLI_ROW_NEAREST
                    : warp->constant ? SLI_ROW_CONSTANT
                                     : SLI_ROW_BILINEAR;
    program->before = program->count;
    program->fill = pixel_of(warp->fill);
    memcpy(program->matrix, warp->matrix.m, sizeof(program->matrix));
}

static sli_row_operator operator_of_erase(const color_rectangle *erased)
{
    return (sli_row_operator){
        .kind = SLI_ROW_ERASE,
        .value = pixel_of(erased->value),
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
    memset(program_out, 0, sizeof(*program_out));
    for (uint32_t i = 0; i < chain->count; i++) {
        const color_operation *operation = &chain->operations[i];

        if (operation->kind == COLOR_WARP) {
            set_warp(&operation->warp, program_out);
        } else {
            assert(program_out->count < SLI_ROW_OPERATORS);
            program_out->operators[program_out->count++] = operator_of(operation);
        }
    }
}
