/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library's gather kernel by itself: from a slot in device memory to the tensors of a step, as
 * it is planned and launched for a run, but again and again.
 */
#include "gpu_measures.h"

#include <string.h>

extern "C" {
#include "getnext_int.h"
}

enum { ROWS = 512, SIDE = 224, TOKENS = 75264, REPEATS = 20 }; /* one column is 77 MB or 154 MB */

/* The program of each row; the kernels' time does not depend on the numbers. */
enum program_case {
    NO_PROGRAM,
    NO_OPERATORS,
    INVERT,
    JITTER, /* brightness, saturation and hue */
    ERASE,
    NEAREST,
    BILINEAR,
    ALL_OPERATORS /* JITTER after BILINEAR, then ERASE */
};

/* How each row is mixed with the row before it. */
enum mix_case { NO_MIX, BLEND, PASTE };

struct gather_case {
    const char *name;
    sluice_dtype from, to; /* i32: tokens, as they are; u16 and u32: windows of tokens */
    bool to_chw, flip;
    program_case program;
    mix_case mix;
};

static const gather_case cases[GPU_GATHERS] = {
    {"gather_u8_hwc_to_f16_chw", SLUICE_U8, SLUICE_F16, true, false, NO_PROGRAM},
    {"gather_u8_hwc_to_f16_chw_flipped", SLUICE_U8, SLUICE_F16, true, true, NO_PROGRAM},
    {"gather_u8_hwc_to_bf16_chw", SLUICE_U8, SLUICE_BF16, true, false, NO_PROGRAM},
    {"gather_u8_hwc_to_bf16_chw_flipped", SLUICE_U8, SLUICE_BF16, true, true, NO_PROGRAM},
    {"gather_u8_hwc_to_f32_chw", SLUICE_U8, SLUICE_F32, true, false, NO_PROGRAM},
    {"gather_u8_hwc_to_f32_chw_flipped", SLUICE_U8, SLUICE_F32, true, true, NO_PROGRAM},
    {"gather_u8_hwc_to_f16_hwc", SLUICE_U8, SLUICE_F16, false, false, NO_PROGRAM},
    {"gather_u8_hwc_to_f16_hwc_flipped", SLUICE_U8, SLUICE_F16, false, true, NO_PROGRAM},
    {"gather_u8_hwc_to_f32_hwc", SLUICE_U8, SLUICE_F32, false, false, NO_PROGRAM},
    {"gather_u8_hwc_copied", SLUICE_U8, SLUICE_U8, false, false, NO_PROGRAM},
    {"gather_i32_tokens_copied", SLUICE_I32, SLUICE_I32, false, false, NO_PROGRAM},
    {"gather_u16_windows_to_i32", SLUICE_U16, SLUICE_I32, false, false, NO_PROGRAM},
    {"gather_u32_windows_to_i32", SLUICE_U32, SLUICE_I32, false, false, NO_PROGRAM},
};

static const gather_case programs[GPU_PROGRAMS] = {
    {"program_f16_chw_no_operators", SLUICE_U8, SLUICE_F16, true, true, NO_OPERATORS},
    {"program_f16_chw_invert", SLUICE_U8, SLUICE_F16, true, true, INVERT},
    {"program_f16_chw_jitter", SLUICE_U8, SLUICE_F16, true, true, JITTER},
    {"program_f16_chw_erase", SLUICE_U8, SLUICE_F16, true, true, ERASE},
    {"program_f16_chw_nearest", SLUICE_U8, SLUICE_F16, true, true, NEAREST},
    {"program_f16_chw_bilinear", SLUICE_U8, SLUICE_F16, true, true, BILINEAR},
    {"program_f16_chw_all", SLUICE_U8, SLUICE_F16, true, true, ALL_OPERATORS},
    {"program_bf16_chw_all", SLUICE_U8, SLUICE_BF16, true, true, ALL_OPERATORS},
    {"program_f32_chw_all", SLUICE_U8, SLUICE_F32, true, true, ALL_OPERATORS},
    {"program_f16_hwc_all", SLUICE_U8, SLUICE_F16, false, true, ALL_OPERATORS},
    {"program_bf16_hwc_all", SLUICE_U8, SLUICE_BF16, false, true, ALL_OPERATORS},
    {"program_f32_hwc_all", SLUICE_U8, SLUICE_F32, false, true, ALL_OPERATORS},
    {"program_u8_chw_all", SLUICE_U8, SLUICE_U8, true, true, ALL_OPERATORS},
};

/* Mixup and cutmix: the kernels run the programs of two rows, or of one for each unit of pixels. */
static const gather_case mixes[GPU_MIXES] = {
    {"mixup_f16_chw", SLUICE_U8, SLUICE_F16, true, true, NO_OPERATORS, BLEND},
    {"mixup_f16_chw_all", SLUICE_U8, SLUICE_F16, true, true, ALL_OPERATORS, BLEND},
    {"mixup_f32_hwc", SLUICE_U8, SLUICE_F32, false, true, NO_OPERATORS, BLEND},
    {"mixup_bf16_chw_all", SLUICE_U8, SLUICE_BF16, true, true, ALL_OPERATORS, BLEND},
    {"mixup_u8_hwc", SLUICE_U8, SLUICE_U8, false, true, NO_OPERATORS, BLEND},
    {"cutmix_f16_chw", SLUICE_U8, SLUICE_F16, true, true, NO_OPERATORS, PASTE},
    {"cutmix_f16_chw_all", SLUICE_U8, SLUICE_F16, true, true, ALL_OPERATORS, PASTE},
    {"cutmix_bf16_hwc_all", SLUICE_U8, SLUICE_BF16, false, true, ALL_OPERATORS, PASTE},
};

/* A slot, the tensor and all that the kernel is given. */
struct bed {
    sli_layout layout;
    sli_conversion conversion;
    sli_getnext getnext;
    sli_gather gather;
    sli_kernel_launch launch;
    uint8_t *slot;
    uint8_t *output;
    sli_batch_header *header;
    uint64_t bytes; /* that a launch reads and writes of the column */
    cudaStream_t stream;
    cudaEvent_t begin, end;
};

static bool is_windows(const gather_case *c)
{
    return c->from == SLUICE_U16 || c->from == SLUICE_U32;
}

static sluice_column column_of(const gather_case *c)
{
    const bool tokens = c->from == SLUICE_I32 || is_windows(c);
    sluice_column column = {};

    strcpy(column.name, tokens ? "tokens" : "image");
    column.dtype = c->from;
    column.rank = tokens ? 1 : 3;
    column.shape[0] = tokens ? TOKENS + is_windows(c) : SIDE;
    column.shape[1] = tokens ? 0 : SIDE;
    column.shape[2] = tokens ? 0 : 3;
    return column;
}

/* Inputs and targets of a row are windows of its tokens, one token apart. */
static sluice_status plan_windows(bed *b, const gather_case *c)
{
    const sluice_column column = column_of(c);
    sluice_tensor tensors[2] = {};
    sli_output outputs[2] = {};
    sluice_status st = sli_layout_make(&column, 1, ROWS, &b->layout);

    for (int i = 0; i < 2; i++) {
        strcpy(outputs[i].type.name, i == 0 ? "inputs" : "targets");
        outputs[i].type.dtype = c->to;
        outputs[i].type.rank = 1;
        outputs[i].type.shape[0] = TOKENS;
        outputs[i].offset = i;
        tensors[i].data = b->output + (size_t)i * ROWS * TOKENS * sizeof(int32_t);
        if (st == SLUICE_OK) {
            st = sli_output_check(&outputs[i], &b->layout);
        }
    }
    b->bytes = (b->layout.row_bytes[0] + 2 * TOKENS * sizeof(int32_t)) * ROWS;
    return st == SLUICE_OK
               ? sli_gather_plan_outputs(&b->layout, outputs, 2, tensors, b->header, &b->gather)
               : st;
}

static sluice_status plan(bed *b, const gather_case *c)
{
    const bool has_programs = c->program != NO_PROGRAM;
    const sli_row_programs kind = !has_programs      ? SLI_PROGRAMS_NONE
                                  : c->mix == NO_MIX ? SLI_PROGRAMS_ALONE
                                                     : SLI_PROGRAMS_MIX;
    const bool converts = c->from != c->to || has_programs;
    sluice_column columns[2] = {column_of(c), {}};
    sluice_tensor output = {};
    sluice_status st;

    strcpy(columns[1].name, "row programs");
    columns[1].dtype = SLUICE_U8;
    columns[1].rank = 1;
    columns[1].shape[0] = sizeof(sli_row_program);
    st = sli_layout_make(columns, has_programs ? 2 : 1, ROWS, &b->layout);
    b->conversion.height = b->conversion.width = SIDE;
    b->conversion.channels = 3;
    b->conversion.from = c->from;
    b->conversion.to = c->to;
    b->conversion.to_chw = c->to_chw;
    b->conversion.flip = c->flip;
    b->conversion.affine = c->to != SLUICE_U8;
    for (int i = 0; i < 3; i++) {
        b->conversion.scale[i] = 1.0f / 64.0f;
        b->conversion.bias[i] = -1.5f;
    }
    if (st == SLUICE_OK && converts) {
        st = sli_conversion_prepare(&b->conversion);
    }
    output.data = b->output;
    b->bytes = b->layout.row_bytes[0] * ROWS * 2;
    if (converts) {
        b->bytes = (b->layout.row_bytes[0] + sli_conversion_out_bytes(&b->conversion)) * ROWS;
    }
    return st == SLUICE_OK ? sli_gather_plan(&b->layout, converts ? &b->conversion : NULL, 0, kind,
                                             &output, b->header, &b->gather)
                           : st;
}

static void add_operator(sli_row_program *program, sli_row_operator_kind kind, uint32_t value,
                         uint32_t a, uint32_t b)
{
    sli_row_operator *op = &program->operators[program->count++];

    op->kind = kind;
    op->value = value;
    op->a = a;
    op->b = b;
}

static sli_row_program program_of(program_case which)
{
    static const double matrix[9] = {0.9, -0.2, 30, 0.2, 0.9, -10, 0, 0, 1};
    const bool all = which == ALL_OPERATORS;
    sli_row_program program = {};

    if (which == NEAREST || which == BILINEAR || all) {
        program.warp = which == NEAREST ? SLI_ROW_NEAREST : SLI_ROW_BILINEAR;
        memcpy(program.matrix, matrix, sizeof(matrix));
    }
    if (which == INVERT) {
        add_operator(&program, SLI_ROW_BITS, UINT32_MAX, UINT32_MAX, 0);
    }
    if (which == JITTER || all) {
        add_operator(&program, SLI_ROW_BRIGHTNESS, 0, sli_f32_bits(1.25f), 0);
        add_operator(&program, SLI_ROW_SATURATION, 0, sli_f32_bits(0.75f), sli_f32_bits(0.25f));
        add_operator(&program, SLI_ROW_HUE, 0, sli_f32_bits(0.125f), 0);
    }
    if (which == ERASE || all) {
        add_operator(&program, SLI_ROW_ERASE, 0, 40 | 50 << 16, 100 | 90 << 16);
    }
    return program;
}

/* A box of a quarter of the image, or equal parts. */
static sli_row_mix mix_of(mix_case which, int row)
{
    sli_row_mix mix = {};

    mix.kind = which == BLEND ? SLI_ROW_BLEND : which == PASTE ? SLI_ROW_PASTE : SLI_ROW_NO_MIX;
    mix.partner = (uint32_t)((row + ROWS - 1) % ROWS);
    mix.a = which == BLEND ? sli_f32_bits(0.5f) : 50 | 60 << 16;
    mix.b = which == BLEND ? sli_f32_bits(0.5f) : SIDE / 2 | SIDE / 2 << 16;
    return mix;
}

static gpu_verdict fill_programs(bed *b, const gather_case *c, char *text)
{
    sli_row_program program = program_of(c->program);

    for (int row = 0; row < ROWS; row++) {
        program.mix = mix_of(c->mix, row);
        NEED_CUDA(gpu_upload(b->slot + b->layout.offsets[1] + row * sizeof(program), &program,
                             sizeof(program)));
    }
    return GPU_PASS;
}

/* A batch is found and stays so; every other row is flipped, where rows have programs also upside
 * down. */
static gpu_verdict fill(bed *b, const gather_case *c, char *text)
{
    sli_getnext_state state;
    uint8_t flags[ROWS];

    for (int row = 0; row < ROWS; row++) {
        flags[row] = (row % 2 == 0 ? SLI_ROW_FLIP : 0) |
                     (c->program != NO_PROGRAM && row / 2 % 2 == 0 ? SLI_ROW_FLIP_LINES : 0);
    }
    NEED_CUDA(cudaMalloc(&b->slot, b->layout.slot_bytes));
    NEED_CUDA(cudaMemset(b->slot, 77, b->layout.slot_bytes));
    NEED_CUDA(gpu_upload(b->slot + b->layout.row_flags_offset, flags, sizeof(flags)));
    sli_getnext_state_init(&state);
    state.end = SLI_GETNEXT_GOES_ON;
    NEED_CUDA(cudaMalloc(&b->getnext.state, sizeof(state)));
    NEED_CUDA(gpu_upload(b->getnext.state, &state, sizeof(state)));
    NEED_CUDA(cudaHostAlloc((void **)&b->getnext.ring.consumed, 256, cudaHostAllocMapped));
    b->getnext.ring.slots = 1;
    b->getnext.slots = b->slot;
    b->getnext.slot_bytes = b->layout.slot_bytes;
    b->getnext.micro_batches = 1;
    return GPU_PASS;
}

static gpu_verdict make(bed *b, const gather_case *c, char *text)
{
    const size_t most = (size_t)ROWS * SIDE * SIDE * 3 * sizeof(float);
    int multiprocessors = 0;
    int each = 0;

    memset(b, 0, sizeof(*b));
    NEED_CUDA(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    NEED_CUDA(cudaMalloc(&b->output, most));
    NEED_CUDA(cudaMalloc(&b->header, sizeof(*b->header)));
    NEED((is_windows(c) ? plan_windows(b, c) : plan(b, c)) == SLUICE_OK, "%s: %s", c->name,
         sluice_last_error());
    if (fill(b, c, text) != GPU_PASS ||
        (c->program != NO_PROGRAM && fill_programs(b, c, text) != GPU_PASS)) {
        return GPU_FAIL;
    }
    sli_getnext_gather_launch(&b->getnext, &b->gather, &b->launch);
    NEED_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, b->launch.function,
                                                            (int)b->launch.threads, 0));
    if (b->launch.blocks > (uint32_t)(each * multiprocessors)) {
        b->launch.blocks = (uint32_t)(each * multiprocessors);
    }
    NEED_CUDA(cudaStreamCreateWithFlags(&b->stream, cudaStreamNonBlocking));
    NEED_CUDA(cudaEventCreate(&b->begin));
    NEED_CUDA(cudaEventCreate(&b->end));
    return GPU_PASS;
}

/* The first and last token of both windows: the bytes of the slot are all 77. */
static gpu_verdict check_windows(const bed *b, const gather_case *c, char *text)
{
    const int32_t want = c->from == SLUICE_U16 ? 0x4D4D : 0x4D4D4D4D;
    const size_t at[4] = {0, (size_t)ROWS * TOKENS - 1, (size_t)ROWS * TOKENS,
                          (size_t)2 * ROWS * TOKENS - 1};

    for (int i = 0; i < 4; i++) {
        int32_t got = 0;

        NEED_CUDA(
            cudaMemcpy(&got, b->output + at[i] * sizeof(got), sizeof(got), cudaMemcpyDeviceToHost));
        NEED(got == want, "%s: token %zu is %d, want %d", c->name, at[i], got, want);
    }
    return GPU_PASS;
}

static gpu_verdict destroy(bed *b, char *text)
{
    NEED_CUDA(cudaFree(b->slot));
    NEED_CUDA(cudaFree(b->output));
    NEED_CUDA(cudaFree(b->header));
    NEED_CUDA(cudaFree(b->getnext.state));
    NEED_CUDA(cudaFreeHost(b->getnext.ring.consumed));
    NEED_CUDA(cudaStreamDestroy(b->stream));
    NEED_CUDA(cudaEventDestroy(b->begin));
    NEED_CUDA(cudaEventDestroy(b->end));
    return GPU_PASS;
}

static gpu_verdict measure(const gather_case *c, double *gb_s, char *text)
{
    float ms = 0.0f;
    bed b;

    if (make(&b, c, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    *b.getnext.ring.consumed = 0;
    for (int i = -3; i < REPEATS; i++) {
        if (i == 0) {
            NEED_CUDA(cudaEventRecord(b.begin, b.stream));
        }
        NEED_CUDA(cudaLaunchKernel(b.launch.function, dim3(b.launch.blocks), dim3(b.launch.threads),
                                   b.launch.args, 0, b.stream));
    }
    NEED_CUDA(cudaEventRecord(b.end, b.stream));
    NEED_CUDA(cudaStreamSynchronize(b.stream));
    NEED_CUDA(cudaEventElapsedTime(&ms, b.begin, b.end));
    NEED(*b.getnext.ring.consumed == 1, "%s: the slot is not given back", c->name);
    if (is_windows(c) && check_windows(&b, c, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    *gb_s = gpu_share((double)b.bytes * REPEATS / 1e6, (double)ms);
    return destroy(&b, text);
}

static gpu_verdict measure_all(const gather_case *all, int count, gpu_rate *rates, char *text)
{
    for (int i = 0; i < count; i++) {
        rates[i].name = all[i].name;
        if (measure(&all[i], &rates[i].value, text) != GPU_PASS) {
            return GPU_FAIL;
        }
    }
    return GPU_PASS;
}

gpu_verdict gpu_measure_gathers(gpu_rate rates[GPU_GATHERS], char *text)
{
    return measure_all(cases, GPU_GATHERS, rates, text);
}

gpu_verdict gpu_measure_programs(gpu_rate rates[GPU_PROGRAMS], char *text)
{
    return measure_all(programs, GPU_PROGRAMS, rates, text);
}

gpu_verdict gpu_measure_mixes(gpu_rate rates[GPU_MIXES], char *text)
{
    return measure_all(mixes, GPU_MIXES, rates, text);
}
