/* SPDX-License-Identifier: Apache-2.0 */
/* The library's kernels on the fake of CUDA: what queue/cuda/getnext.cu is, over the same bodies.
 */
#include <sched.h>
#include <stdlib.h>

#include "clock_int.h"
#include "cuda/getnext_gather.h"
#include "fake_cuda.h"
#include "getnext_control_int.h"

static uint64_t getnext_now_ns(void)
{
    return (uint64_t)sli_now_ns();
}

static void getnext_pause(uint32_t ns)
{
    (void)ns;
    sched_yield();
}

static void set_condition(const sli_getnext *g, bool goes_on)
{
    if (g->has_conditional != 0) {
        fake_cuda_set_conditional(g->conditional, goes_on ? 1 : 0);
    }
}

static void check_single(unsigned blocks, unsigned threads)
{
    if (blocks != 1 || threads != 1) {
        abort();
    }
}

static void begin_body(void *const *args, unsigned blocks, unsigned threads)
{
    const sli_getnext *g = args[0];

    check_single(blocks, threads);
    set_condition(g, getnext_begin(g));
}

static void next_body(void *const *args, unsigned blocks, unsigned threads)
{
    const sli_getnext *g = args[0];

    check_single(blocks, threads);
    set_condition(g, getnext_next(g));
}

/* Blocks one after another. */
static void gather_grid(void *const *args, unsigned blocks, unsigned threads, sli_gather_path path)
{
    const sli_getnext *getnext = args[0];
    const sli_gather *gather = args[1];

    for (unsigned block = 0; block < blocks; block++) {
        const uint8_t *slot = gather_slot(getnext);

        if (slot == NULL) {
            return;
        }
        for (unsigned thread = 0; thread < threads; thread++) {
            gather_thread(gather, slot, block * threads + thread, blocks * threads, path);
        }
        if (gather_block_done(getnext, blocks)) {
            getnext->state->gathered_ns = getnext_now_ns();
        }
    }
}

#define GATHER_BODY(name, path)                                                                    \
    static void name(void *const *args, unsigned blocks, unsigned threads)                         \
    {                                                                                              \
        gather_grid(args, blocks, threads, path);                                                  \
    }

GATHER_BODY(gather_copy, SLI_GATHER_COPY)
GATHER_BODY(gather_any_grid, SLI_GATHER_ANY)
GATHER_BODY(gather_planes_f32, SLI_GATHER_PLANES_F32)
GATHER_BODY(gather_planes_f16, SLI_GATHER_PLANES_F16)
GATHER_BODY(gather_planes_bf16, SLI_GATHER_PLANES_BF16)
GATHER_BODY(gather_packed_f32, SLI_GATHER_PACKED_F32)
GATHER_BODY(gather_packed_f16, SLI_GATHER_PACKED_F16)
GATHER_BODY(gather_packed_bf16, SLI_GATHER_PACKED_BF16)
GATHER_BODY(gather_windows_grid, SLI_GATHER_WINDOWS)
GATHER_BODY(gather_ragged_grid, SLI_GATHER_RAGGED)
GATHER_BODY(gather_program_grid, SLI_GATHER_PROGRAM)
GATHER_BODY(gather_program_planes_f32_grid, SLI_GATHER_PROGRAM_PLANES_F32)
GATHER_BODY(gather_program_planes_f16_grid, SLI_GATHER_PROGRAM_PLANES_F16)
GATHER_BODY(gather_program_planes_bf16_grid, SLI_GATHER_PROGRAM_PLANES_BF16)
GATHER_BODY(gather_program_packed_f32_grid, SLI_GATHER_PROGRAM_PACKED_F32)
GATHER_BODY(gather_program_packed_f16_grid, SLI_GATHER_PROGRAM_PACKED_F16)
GATHER_BODY(gather_program_packed_bf16_grid, SLI_GATHER_PROGRAM_PACKED_BF16)
GATHER_BODY(gather_mix_grid, SLI_GATHER_MIX)
GATHER_BODY(gather_mix_planes_f32_grid, SLI_GATHER_MIX_PLANES_F32)
GATHER_BODY(gather_mix_planes_f16_grid, SLI_GATHER_MIX_PLANES_F16)
GATHER_BODY(gather_mix_planes_bf16_grid, SLI_GATHER_MIX_PLANES_BF16)
GATHER_BODY(gather_mix_packed_f32_grid, SLI_GATHER_MIX_PACKED_F32)
GATHER_BODY(gather_mix_packed_f16_grid, SLI_GATHER_MIX_PACKED_F16)
GATHER_BODY(gather_mix_packed_bf16_grid, SLI_GATHER_MIX_PACKED_BF16)

/* Names as in getnext.cu. */
static const fake_kernel begin_kernel = {"sli_kernel_begin", begin_body, 1, {sizeof(sli_getnext)}};
static const fake_kernel next_kernel = {"sli_kernel_next", next_body, 1, {sizeof(sli_getnext)}};

#define GATHER_KERNEL(name, body)                                                                  \
    {                                                                                              \
        name, body, 2,                                                                             \
        {                                                                                          \
            sizeof(sli_getnext), sizeof(sli_gather)                                                \
        }                                                                                          \
    }

static const fake_kernel gather_kernels[] = {
    [SLI_GATHER_COPY] = GATHER_KERNEL("sli_kernel_gather_copy", gather_copy),
    [SLI_GATHER_ANY] = GATHER_KERNEL("sli_kernel_gather_any", gather_any_grid),
    [SLI_GATHER_PLANES_F32] = GATHER_KERNEL("sli_kernel_gather_planes_f32", gather_planes_f32),
    [SLI_GATHER_PLANES_F16] = GATHER_KERNEL("sli_kernel_gather_planes_f16", gather_planes_f16),
    [SLI_GATHER_PLANES_BF16] = GATHER_KERNEL("sli_kernel_gather_planes_bf16", gather_planes_bf16),
    [SLI_GATHER_PACKED_F32] = GATHER_KERNEL("sli_kernel_gather_packed_f32", gather_packed_f32),
    [SLI_GATHER_PACKED_F16] = GATHER_KERNEL("sli_kernel_gather_packed_f16", gather_packed_f16),
    [SLI_GATHER_PACKED_BF16] = GATHER_KERNEL("sli_kernel_gather_packed_bf16", gather_packed_bf16),
    [SLI_GATHER_WINDOWS] = GATHER_KERNEL("sli_kernel_gather_windows", gather_windows_grid),
    [SLI_GATHER_RAGGED] = GATHER_KERNEL("sli_kernel_gather_ragged", gather_ragged_grid),
    [SLI_GATHER_PROGRAM] = GATHER_KERNEL("sli_kernel_gather_program", gather_program_grid),
    [SLI_GATHER_PROGRAM_PLANES_F32] =
        GATHER_KERNEL("sli_kernel_gather_program_planes_f32", gather_program_planes_f32_grid),
    [SLI_GATHER_PROGRAM_PLANES_F16] =
        GATHER_KERNEL("sli_kernel_gather_program_planes_f16", gather_program_planes_f16_grid),
    [SLI_GATHER_PROGRAM_PLANES_BF16] =
        GATHER_KERNEL("sli_kernel_gather_program_planes_bf16", gather_program_planes_bf16_grid),
    [SLI_GATHER_PROGRAM_PACKED_F32] =
        GATHER_KERNEL("sli_kernel_gather_program_packed_f32", gather_program_packed_f32_grid),
    [SLI_GATHER_PROGRAM_PACKED_F16] =
        GATHER_KERNEL("sli_kernel_gather_program_packed_f16", gather_program_packed_f16_grid),
    [SLI_GATHER_PROGRAM_PACKED_BF16] =
        GATHER_KERNEL("sli_kernel_gather_program_packed_bf16", gather_program_packed_bf16_grid),
    [SLI_GATHER_MIX] = GATHER_KERNEL("sli_kernel_gather_mix", gather_mix_grid),
    [SLI_GATHER_MIX_PLANES_F32] =
        GATHER_KERNEL("sli_kernel_gather_mix_planes_f32", gather_mix_planes_f32_grid),
    [SLI_GATHER_MIX_PLANES_F16] =
        GATHER_KERNEL("sli_kernel_gather_mix_planes_f16", gather_mix_planes_f16_grid),
    [SLI_GATHER_MIX_PLANES_BF16] =
        GATHER_KERNEL("sli_kernel_gather_mix_planes_bf16", gather_mix_planes_bf16_grid),
    [SLI_GATHER_MIX_PACKED_F32] =
        GATHER_KERNEL("sli_kernel_gather_mix_packed_f32", gather_mix_packed_f32_grid),
    [SLI_GATHER_MIX_PACKED_F16] =
        GATHER_KERNEL("sli_kernel_gather_mix_packed_f16", gather_mix_packed_f16_grid),
    [SLI_GATHER_MIX_PACKED_BF16] =
        GATHER_KERNEL("sli_kernel_gather_mix_packed_bf16", gather_mix_packed_bf16_grid)};

static void describe(const fake_kernel *kernel, uint32_t blocks, uint32_t threads, void *first,
                     void *second, sli_kernel_launch *launch)
{
    launch->function = kernel;
    launch->blocks = blocks;
    launch->threads = threads;
    launch->args[0] = first;
    launch->args[1] = second;
}

void sli_getnext_begin_launch(sli_getnext *getnext, sli_kernel_launch *launch_out)
{
    describe(&begin_kernel, 1, 1, getnext, NULL, launch_out);
}

void sli_getnext_next_launch(sli_getnext *getnext, sli_kernel_launch *launch_out)
{
    describe(&next_kernel, 1, 1, getnext, NULL, launch_out);
}

void sli_getnext_gather_launch(sli_getnext *getnext, sli_gather *gather,
                               sli_kernel_launch *launch_out)
{
    describe(&gather_kernels[gather->path], sli_gather_blocks(gather), SLI_GATHER_THREADS, getnext,
             gather, launch_out);
}
