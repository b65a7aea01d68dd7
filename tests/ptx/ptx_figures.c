/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernels of row programs cost: PTX instructions and loads for each pixel of the result,
 * for each kind of program and of result. A program, not a test:
 *
 *     [SLUICE_PTX_TARGET=90] sluice_ptx_figures
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_kit.h"
#include "row_program_int.h"

enum { ROWS = 2, SIDE = 224, BLOCK = 256 };

typedef struct figure {
    const char *name;
    sluice_dtype to;
    bool chw;
    uint32_t warp;
    const char *operators; /* a letter each: see operator_of() */
    uint32_t mix;
} figure;

static void *block_of(size_t bytes)
{
    void *block = aligned_alloc(BLOCK, (bytes + BLOCK - 1) / BLOCK * BLOCK);

    if (block == NULL) {
        abort();
    }
    memset(block, 0, (bytes + BLOCK - 1) / BLOCK * BLOCK);
    return block;
}

static sli_row_operator operator_of(char letter)
{
    switch (letter) {
    case 'i':
        return (sli_row_operator){SLI_ROW_BITS, UINT32_MAX, UINT32_MAX, 0};
    case 'b':
        return (sli_row_operator){SLI_ROW_BRIGHTNESS, 0, sli_f32_bits(1.25F), 0};
    case 's':
        return (sli_row_operator){SLI_ROW_SATURATION, 0, sli_f32_bits(0.75F), sli_f32_bits(0.25F)};
    case 'h':
        return (sli_row_operator){SLI_ROW_HUE, 0, sli_f32_bits(0.125F), 0};
    default:
        return (sli_row_operator){SLI_ROW_ERASE, 0, 40 | 50 << 16, 100 | 90 << 16};
    }
}

static sli_row_program program_of(const figure *f, uint32_t row)
{
    static const double matrix[9] = {0.9, -0.2, 30, 0.2, 0.9, -10, 0, 0, 1};
    sli_row_program program;

    memset(&program, 0, sizeof(program));
    program.warp = f->warp;
    if (f->warp != SLI_ROW_NO_WARP) {
        memcpy(program.matrix, matrix, sizeof(matrix));
    }
    for (const char *c = f->operators; *c != '\0'; c++) {
        program.operators[program.count++] = operator_of(*c);
    }
    program.mix = (sli_row_mix){f->mix, ROWS - 1 - row, sli_f32_bits(0.5F), sli_f32_bits(0.5F)};
    if (f->mix == SLI_ROW_PASTE) {
        program.mix.a = 50 | 60 << 16;
        program.mix.b = 112 | 112 << 16;
    }
    return program;
}

static void print_figure(const figure *f)
{
    const sluice_column columns[] = {
        {.name = "image", .dtype = SLUICE_U8, .rank = 3, .shape = {SIDE, SIDE, 3}},
        {.name = "row programs", .dtype = SLUICE_U8, .rank = 1, .shape = {sizeof(sli_row_program)}},
    };
    sli_conversion conversion = {.height = SIDE,
                                 .width = SIDE,
                                 .channels = 3,
                                 .from = SLUICE_U8,
                                 .to = f->to,
                                 .to_chw = f->chw,
                                 .flip = true,
                                 .affine = f->to != SLUICE_U8,
                                 .scale = {1 / 64.0F, 1 / 64.0F, 1 / 64.0F},
                                 .bias = {-1.5F, -1.5F, -1.5F}};
    const double pixels = (double)ROWS * SIDE * SIDE;
    ptx_counts counts = {0, 0, 0};
    sluice_tensor output = {0};
    sli_batch_header header;
    sli_layout layout;
    sli_gather gather;
    uint8_t *slot;

    if (sli_conversion_prepare(&conversion) != SLUICE_OK ||
        sli_layout_make(columns, 2, ROWS, &layout) != SLUICE_OK) {
        abort();
    }
    output.bytes = ROWS * sli_conversion_out_bytes(&conversion);
    output.data = block_of(output.bytes);
    slot = block_of(layout.slot_bytes);
    for (size_t i = 0; i < layout.row_flags_offset; i++) {
        slot[i] = (uint8_t)(i * 2654435761U >> 13);
    }
    for (uint32_t row = 0; row < ROWS; row++) {
        const sli_row_program program = program_of(f, row);

        slot[layout.row_flags_offset + row] = 0;
        memcpy(slot + layout.offsets[1] + row * sizeof(program), &program, sizeof(program));
    }
    if (sli_gather_plan(&layout, &conversion, 0,
                        f->mix != SLI_ROW_NO_MIX ? SLI_PROGRAMS_MIX : SLI_PROGRAMS_ALONE, &output,
                        &header, &gather) != SLUICE_OK) {
        abort();
    }
    ptx_kit_gather_counts(&gather, slot, &counts);
    printf("%-34s %-32s %7.1f instructions %6.2f loads a pixel\n", f->name,
           ptx_kit_gather_name((sli_gather_path)gather.path) + strlen("sli_kernel_"),
           (double)counts.instructions / pixels, (double)counts.loads / pixels);
    free(slot);
    free(output.data);
}

int main(void)
{
    static const figure figures[] = {
        {"no operators", SLUICE_F16, true, SLI_ROW_NO_WARP, "", SLI_ROW_NO_MIX},
        {"invert", SLUICE_F16, true, SLI_ROW_NO_WARP, "i", SLI_ROW_NO_MIX},
        {"brightness", SLUICE_F16, true, SLI_ROW_NO_WARP, "b", SLI_ROW_NO_MIX},
        {"saturation", SLUICE_F16, true, SLI_ROW_NO_WARP, "s", SLI_ROW_NO_MIX},
        {"hue", SLUICE_F16, true, SLI_ROW_NO_WARP, "h", SLI_ROW_NO_MIX},
        {"brightness, saturation, hue", SLUICE_F16, true, SLI_ROW_NO_WARP, "bsh", SLI_ROW_NO_MIX},
        {"erase", SLUICE_F16, true, SLI_ROW_NO_WARP, "e", SLI_ROW_NO_MIX},
        {"nearest", SLUICE_F16, true, SLI_ROW_NEAREST, "", SLI_ROW_NO_MIX},
        {"bilinear", SLUICE_F16, true, SLI_ROW_BILINEAR, "", SLI_ROW_NO_MIX},
        {"bilinear, b, s, h, erase", SLUICE_F16, true, SLI_ROW_BILINEAR, "bshe", SLI_ROW_NO_MIX},
        {"bilinear, b, s, h, erase", SLUICE_F32, true, SLI_ROW_BILINEAR, "bshe", SLI_ROW_NO_MIX},
        {"bilinear, b, s, h, erase", SLUICE_F16, false, SLI_ROW_BILINEAR, "bshe", SLI_ROW_NO_MIX},
        {"bilinear, b, s, h, erase", SLUICE_U8, true, SLI_ROW_BILINEAR, "bshe", SLI_ROW_NO_MIX},
        {"no operators", SLUICE_U8, true, SLI_ROW_NO_WARP, "", SLI_ROW_NO_MIX},
        {"mixup", SLUICE_F16, true, SLI_ROW_NO_WARP, "", SLI_ROW_BLEND},
        {"mixup, bilinear, b, s, h, erase", SLUICE_F16, true, SLI_ROW_BILINEAR, "bshe",
         SLI_ROW_BLEND},
        {"cutmix", SLUICE_F16, true, SLI_ROW_NO_WARP, "", SLI_ROW_PASTE},
    };

    for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
        print_figure(&figures[i]);
    }
    return 0;
}
