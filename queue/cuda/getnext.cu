/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GetNext's kernels: __global__ wrappers of the functions in getnext_control_int.h and
 * getnext_gather.h, and launch descriptions for C callers. Structs are passed by value as grid
 * constants, so that taking their address makes no copy.
 *
 * cudaGraphSetConditional() must not be called concurrently. Only the two one-thread kernels call
 * it, and they never run at the same time.
 */
#include <cuda_runtime.h>

#include "getnext_control_int.h"
#include "getnext_gather.h"

static __device__ __forceinline__ void set_condition(const sli_getnext *g, bool goes_on)
{
    if (g->has_conditional != 0) {
        cudaGraphSetConditional((cudaGraphConditionalHandle)g->conditional, goes_on ? 1 : 0);
    }
}

extern "C" __global__ void __launch_bounds__(1)
    sli_kernel_begin(const __grid_constant__ sli_getnext g)
{
    set_condition(&g, getnext_begin(&g));
}

extern "C" __global__ void __launch_bounds__(1)
    sli_kernel_next(const __grid_constant__ sli_getnext g)
{
    set_condition(&g, getnext_next(&g));
}

template <sli_gather_path path>
static __device__ __forceinline__ void gather_grid(const sli_getnext *getnext,
                                                   const sli_gather *gather)
{
    const uint8_t *slot = gather_slot(getnext);

    if (slot == NULL) {
        return; /* all threads of the grid return here, or none does */
    }
    gather_thread(gather, slot, blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x,
                  path);
    __syncwarp(); /* threads of a warp leave the loops above at different times, and a compiler may
                     keep them apart; all of a warp must arrive at the barrier together */
    __syncthreads();
    if (threadIdx.x == 0) {
        if (gather_block_done(getnext, gridDim.x)) {
            getnext->state->gathered_ns = getnext_now_ns();
        }
    }
}

/* `blocks` of a multiprocessor leave a thread 65536 / blocks / SLI_GATHER_THREADS registers. */
#define GATHER_KERNEL_OF(name, path, blocks)                                                       \
    extern "C" __global__ void __launch_bounds__(SLI_GATHER_THREADS, blocks)                       \
        name(const __grid_constant__ sli_getnext getnext, const __grid_constant__ sli_gather g)    \
    {                                                                                              \
        gather_grid<path>(&getnext, &g);                                                           \
    }

#define GATHER_KERNEL(name, path)  GATHER_KERNEL_OF(name, path, 4)
#define PROGRAM_KERNEL(name, path) GATHER_KERNEL_OF(name, path, 3)
#define MIX_KERNEL(name, path)     GATHER_KERNEL_OF(name, path, 2)

GATHER_KERNEL(sli_kernel_gather_copy, SLI_GATHER_COPY)
GATHER_KERNEL(sli_kernel_gather_any, SLI_GATHER_ANY)
GATHER_KERNEL(sli_kernel_gather_planes_f32, SLI_GATHER_PLANES_F32)
GATHER_KERNEL(sli_kernel_gather_planes_f16, SLI_GATHER_PLANES_F16)
GATHER_KERNEL(sli_kernel_gather_planes_bf16, SLI_GATHER_PLANES_BF16)
GATHER_KERNEL(sli_kernel_gather_packed_f32, SLI_GATHER_PACKED_F32)
GATHER_KERNEL(sli_kernel_gather_packed_f16, SLI_GATHER_PACKED_F16)
GATHER_KERNEL(sli_kernel_gather_packed_bf16, SLI_GATHER_PACKED_BF16)
GATHER_KERNEL(sli_kernel_gather_windows, SLI_GATHER_WINDOWS)
GATHER_KERNEL(sli_kernel_gather_ragged, SLI_GATHER_RAGGED)
PROGRAM_KERNEL(sli_kernel_gather_program, SLI_GATHER_PROGRAM)
PROGRAM_KERNEL(sli_kernel_gather_program_planes_f32, SLI_GATHER_PROGRAM_PLANES_F32)
PROGRAM_KERNEL(sli_kernel_gather_program_planes_f16, SLI_GATHER_PROGRAM_PLANES_F16)
PROGRAM_KERNEL(sli_kernel_gather_program_planes_bf16, SLI_GATHER_PROGRAM_PLANES_BF16)
PROGRAM_KERNEL(sli_kernel_gather_program_packed_f32, SLI_GATHER_PROGRAM_PACKED_F32)
PROGRAM_KERNEL(sli_kernel_gather_program_packed_f16, SLI_GATHER_PROGRAM_PACKED_F16)
PROGRAM_KERNEL(sli_kernel_gather_program_packed_bf16, SLI_GATHER_PROGRAM_PACKED_BF16)
MIX_KERNEL(sli_kernel_gather_mix, SLI_GATHER_MIX)
MIX_KERNEL(sli_kernel_gather_mix_planes_f32, SLI_GATHER_MIX_PLANES_F32)
MIX_KERNEL(sli_kernel_gather_mix_planes_f16, SLI_GATHER_MIX_PLANES_F16)
MIX_KERNEL(sli_kernel_gather_mix_planes_bf16, SLI_GATHER_MIX_PLANES_BF16)
MIX_KERNEL(sli_kernel_gather_mix_packed_f32, SLI_GATHER_MIX_PACKED_F32)
MIX_KERNEL(sli_kernel_gather_mix_packed_f16, SLI_GATHER_MIX_PACKED_F16)
MIX_KERNEL(sli_kernel_gather_mix_packed_bf16, SLI_GATHER_MIX_PACKED_BF16)

static void fill_launch(const void *function, uint32_t blocks, uint32_t threads, void *first,
                        void *second, sli_kernel_launch *launch)
{
    launch->function = function;
    launch->blocks = blocks;
    launch->threads = threads;
    launch->args[0] = first;
    launch->args[1] = second;
}

void sli_getnext_begin_launch(sli_getnext *getnext, sli_kernel_launch *launch_out)
{
    fill_launch((const void *)sli_kernel_begin, 1, 1, getnext, NULL, launch_out);
}

void sli_getnext_next_launch(sli_getnext *getnext, sli_kernel_launch *launch_out)
{
    fill_launch((const void *)sli_kernel_next, 1, 1, getnext, NULL, launch_out);
}

static const void *gather_kernel(uint32_t path)
{
    switch (path) {
    case SLI_GATHER_COPY:
        return (const void *)sli_kernel_gather_copy;
    case SLI_GATHER_PLANES_F32:
        return (const void *)sli_kernel_gather_planes_f32;
    case SLI_GATHER_PLANES_F16:
        return (const void *)sli_kernel_gather_planes_f16;
    case SLI_GATHER_PLANES_BF16:
        return (const void *)sli_kernel_gather_planes_bf16;
    case SLI_GATHER_PACKED_F32:
        return (const void *)sli_kernel_gather_packed_f32;
    case SLI_GATHER_PACKED_F16:
        return (const void *)sli_kernel_gather_packed_f16;
    case SLI_GATHER_PACKED_BF16:
        return (const void *)sli_kernel_gather_packed_bf16;
    case SLI_GATHER_WINDOWS:
        return (const void *)sli_kernel_gather_windows;
    case SLI_GATHER_RAGGED:
        return (const void *)sli_kernel_gather_ragged;
    case SLI_GATHER_PROGRAM:
        return (const void *)sli_kernel_gather_program;
    case SLI_GATHER_PROGRAM_PLANES_F32:
        return (const void *)sli_kernel_gather_program_planes_f32;
    case SLI_GATHER_PROGRAM_PLANES_F16:
        return (const void *)sli_kernel_gather_program_planes_f16;
    case SLI_GATHER_PROGRAM_PLANES_BF16:
        return (const void *)sli_kernel_gather_program_planes_bf16;
    case SLI_GATHER_PROGRAM_PACKED_F32:
        return (const void *)sli_kernel_gather_program_packed_f32;
    case SLI_GATHER_PROGRAM_PACKED_F16:
        return (const void *)sli_kernel_gather_program_packed_f16;
    case SLI_GATHER_PROGRAM_PACKED_BF16:
        return (const void *)sli_kernel_gather_program_packed_bf16;
    case SLI_GATHER_MIX:
        return (const void *)sli_kernel_gather_mix;
    case SLI_GATHER_MIX_PLANES_F32:
        return (const void *)sli_kernel_gather_mix_planes_f32;
    case SLI_GATHER_MIX_PLANES_F16:
        return (const void *)sli_kernel_gather_mix_planes_f16;
    case SLI_GATHER_MIX_PLANES_BF16:
        return (const void *)sli_kernel_gather_mix_planes_bf16;
    case SLI_GATHER_MIX_PACKED_F32:
        return (const void *)sli_kernel_gather_mix_packed_f32;
    case SLI_GATHER_MIX_PACKED_F16:
        return (const void *)sli_kernel_gather_mix_packed_f16;
    case SLI_GATHER_MIX_PACKED_BF16:
        return (const void *)sli_kernel_gather_mix_packed_bf16;
    default:
        return (const void *)sli_kernel_gather_any;
    }
}

void sli_getnext_gather_launch(sli_getnext *getnext, sli_gather *gather,
                               sli_kernel_launch *launch_out)
{
    fill_launch(gather_kernel(gather->path), sli_gather_blocks(gather), SLI_GATHER_THREADS, getnext,
                gather, launch_out);
}
