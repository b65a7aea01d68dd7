/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GetNext's grid on rows that have programs, the body that nvcc compiles, run on the CPU: whatever
 * the grid, the image column has the bytes of sli_row_program_run().
 */
#include <stdlib.h>

#include "getnext_int.h"
#include "kernel_run.h"
#include "testing.h"

enum { BATCH = 5, COLUMNS = 2 };

/* A batch of images and their programs, in a slot and gathered from it. */
typedef struct batch {
    sli_conversion conversion;
    sli_row_programs programs;
    sli_layout layout;
    sluice_tensor output;
    sli_batch_header *header;
    uint8_t *slot;
    sli_gather gather;
} batch;

static void *block_of(size_t bytes)
{
    void *block = NULL;

    T_EQ(posix_memalign(&block, SLI_COLUMN_ALIGNMENT, bytes), 0);
    return block;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

/* An operator of every kind in turn, with random numbers. */
static sli_row_operator operator_of(uint32_t kind, uint32_t width, uint32_t height, uint32_t *state)
{
    const float factor = (float)(next_random(state) % 2000) / 1000;
    sli_row_operator op = {kind, next_random(state) * 257, sli_f32_bits(factor),
                           sli_f32_bits(1 - factor)};

    if (kind == SLI_ROW_BITS) {
        op.a = next_random(state) * 513;
    } else if (kind == SLI_ROW_SOLARIZE) {
        op.value = next_random(state) % 257;
    } else if (kind == SLI_ROW_HUE) {
        op.a = sli_f32_bits(factor / 2 - 0.5F);
    } else if (kind == SLI_ROW_ERASE) {
        op.a = next_random(state) % width | next_random(state) % height << 16;
        op.b = next_random(state) % width | next_random(state) % height << 16;
    }
    return op;
}

/* A projective map to points inside the image and outside. */
static void set_warp(sli_row_program *program, uint32_t row, uint32_t *state)
{
    program->warp = row == 4 ? SLI_ROW_CONSTANT : row % 3;
    program->before = row == 3 ? 5 : row % 2;
    program->fill = next_random(state) * 259;
    for (int i = 0; i < 9; i++) {
        program->matrix[i] = (double)(next_random(state) % 2001) / 1000 - 1;
    }
    program->matrix[6] /= 50;
    program->matrix[7] = row == 1 ? 0 : program->matrix[7] / 50;
    program->matrix[8] = 1;
    program->matrix[0] += 0.7;
    program->matrix[4] += 0.7;
}

/* Rows are blended, pasted into, and not mixed; a rectangle may be empty or beyond the image. */
static sli_row_mix mix_of(uint32_t row, uint32_t width, uint32_t height, uint32_t *state)
{
    static const uint32_t partners[BATCH] = {3, 0, 1, 2, UINT32_MAX};
    static const sli_row_mix_kind kinds[BATCH] = {SLI_ROW_BLEND, SLI_ROW_PASTE, SLI_ROW_NO_MIX,
                                                  SLI_ROW_BLEND, SLI_ROW_BLEND};
    const float share = row == 0 ? 1 : (float)(next_random(state) % 1000) / 1000;
    sli_row_mix mix = {kinds[row], partners[row], sli_f32_bits(share), sli_f32_bits(1 - share)};

    if (mix.kind == SLI_ROW_PASTE) {
        mix.a = next_random(state) / 1021 % width | next_random(state) / 1021 % height << 16;
        mix.b = next_random(state) / 1021 % width | next_random(state) / 1021 % height << 16;
    }
    return mix;
}

/* Rows have 0, 2, 4, 8 operators and no sample; warps of both filters, and none. */
static void fill_slot(batch *b)
{
    sli_row_program *programs =
        (sli_row_program *)(void *)(b->slot + b->layout.offsets[COLUMNS - 1]);
    const sli_conversion *c = &b->conversion;
    uint32_t state = 7 + c->width + 64 * c->channels + 512 * c->to_chw + 1024 * c->flip +
                     2048 * c->affine + 4096 * (uint32_t)c->to;

    for (size_t i = 0; i < b->layout.slot_bytes; i++) {
        b->slot[i] = (uint8_t)next_random(&state);
    }
    for (uint32_t row = 0; row < BATCH; row++) {
        static const uint32_t counts[BATCH] = {0, 2, 4, SLI_ROW_OPERATORS, UINT32_MAX};

        programs[row].count = counts[row];
        set_warp(&programs[row], row, &state);
        programs[row].mix = (sli_row_mix){SLI_ROW_NO_MIX, 0, 0, 0};
        if (b->programs == SLI_PROGRAMS_MIX) {
            programs[row].mix = mix_of(row, b->conversion.width, b->conversion.height, &state);
        }
        for (uint32_t i = 0; i < SLI_ROW_OPERATORS; i++) {
            programs[row].operators[i] = operator_of(
                (row + i) % (SLI_ROW_ERASE + 1), b->conversion.width, b->conversion.height, &state);
        }
        b->slot[b->layout.row_flags_offset + row] =
            (uint8_t)((row % 2 != 0 ? SLI_ROW_FLIP : 0) |
                      (row / 2 % 2 != 0 ? SLI_ROW_FLIP_LINES : 0));
    }
    b->slot[b->layout.row_flags_offset + BATCH - 1] = SLI_ROW_ZERO;
}

static void open_batch(batch *b, const sli_conversion *conversion, sli_row_programs programs)
{
    const sluice_column columns[COLUMNS] = {
        {.name = "image",
         .dtype = SLUICE_U8,
         .rank = 3,
         .shape = {conversion->height, conversion->width, conversion->channels}},
        {.name = "row programs", .dtype = SLUICE_U8, .rank = 1, .shape = {sizeof(sli_row_program)}},
    };

    memset(b, 0, sizeof(*b));
    b->conversion = *conversion;
    b->programs = programs;
    T_OK(sli_conversion_prepare(&b->conversion));
    T_OK(sli_layout_make(columns, COLUMNS, BATCH, &b->layout));
    b->output.bytes = BATCH * sli_conversion_out_bytes(conversion);
    b->output.data = block_of(b->output.bytes);
    b->header = block_of(sizeof(*b->header));
    b->slot = block_of(b->layout.slot_bytes);
    fill_slot(b);
    T_OK(sli_gather_plan(&b->layout, &b->conversion, 0, programs, &b->output, b->header,
                         &b->gather));
}

static void close_batch(batch *b)
{
    free(b->output.data);
    free(b->header);
    free(b->slot);
}

static void check_batch(const batch *b)
{
    const sli_row_batch rows = {(const void *)(b->slot + b->layout.offsets[COLUMNS - 1]),
                                b->slot + b->layout.offsets[0],
                                b->slot + b->layout.row_flags_offset};
    const size_t bytes = sli_conversion_out_bytes(&b->conversion);
    uint8_t *want = block_of(bytes);

    for (uint32_t row = 0; row < BATCH; row++) {
        sli_row_program_run(&rows, row, &b->conversion, want);
        T_EQ(memcmp((const uint8_t *)b->output.data + row * bytes, want, bytes), 0);
    }
    free(want);
}

static void check_grids(const sli_conversion *conversion, sli_row_programs programs,
                        uint32_t *paths)
{
    static const uint32_t grids[][2] = {{1, 1}, {1, 7}, {3, 32}};
    batch b;

    open_batch(&b, conversion, programs);
    *paths |= UINT32_C(1) << b.gather.path;
    for (size_t i = 0; i < sizeof(grids) / sizeof(grids[0]); i++) {
        const uint32_t threads = grids[i][0] * grids[i][1];

        memset(b.output.data, 0xEE, b.output.bytes);
        for (uint32_t t = 0; t < threads; t++) {
            run_gather_thread(&b.gather, b.slot, t, threads, (sli_gather_path)b.gather.path);
        }
        check_batch(&b);
    }
    close_batch(&b);
}

static void programs_have_the_bits_of_the_host_on_every_path(void)
{
    static const sluice_dtype types[] = {SLUICE_U8, SLUICE_F32, SLUICE_F16, SLUICE_BF16};
    static const uint32_t widths[] = {1, 4, 8, 9, 16, 24};
    uint32_t paths = 0;

    for (uint32_t i = 0; i < 4 * 6 * SLI_MAX_CHANNELS * 8; i++) {
        sli_conversion c = {.height = 5,
                            .width = widths[i / 4 % 6],
                            .channels = i / 24 % SLI_MAX_CHANNELS + 1,
                            .from = SLUICE_U8,
                            .to = types[i % 4]};
        const uint32_t variant = i / 24 / SLI_MAX_CHANNELS;

        c.to_chw = (variant & 1) != 0;
        c.flip = (variant & 2) != 0;
        c.affine = (variant & 4) != 0 && c.to != SLUICE_U8;
        for (uint32_t k = 0; k < c.channels; k++) {
            c.scale[k] = 1.0F / (57.3F + (float)k);
            c.bias[k] = -1.7F - 0.3F * (float)k;
        }
        check_grids(&c, SLI_PROGRAMS_ALONE, &paths);
        check_grids(&c, SLI_PROGRAMS_MIX, &paths);
    }
    T_EQ(paths, (UINT32_C(1) << SLI_GATHER_PATHS) - (UINT32_C(1) << SLI_GATHER_PROGRAM));
}

const t_test gather_programs_tests[] = {
    T_TEST(programs_have_the_bits_of_the_host_on_every_path),
    T_END,
};
