/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of a sink program: grids around the bodies in step_control.h, and their launch
 * descriptions for C.
 *
 * cudaGraphSetConditional() is called by two kernels of one thread, so never concurrently.
 */
#include <cuda_runtime.h>

#include "step_control.h"

enum { DIGEST_THREADS = 256 };

static __device__ __forceinline__ void set_condition(const step_control *c, bool goes_on)
{
    if (c->getnext.has_conditional != 0) {
        cudaGraphSetConditional((cudaGraphConditionalHandle)c->getnext.conditional,
                                goes_on ? 1 : 0);
    }
}

extern "C" __global__ void __launch_bounds__(1)
    step_kernel_begin(const __grid_constant__ step_control c)
{
    set_condition(&c, step_begin(&c));
}

extern "C" __global__ void __launch_bounds__(1)
    step_kernel_next(const __grid_constant__ step_control c)
{
    set_condition(&c, step_next(&c));
}

extern "C" __global__ void __launch_bounds__(1)
    step_kernel_inner(const __grid_constant__ step_control c)
{
    step_inner(&c);
}

extern "C" __global__ void __launch_bounds__(1)
    step_kernel_mark(const __grid_constant__ step_control c)
{
    step_mark(&c);
}

extern "C" __global__ void __launch_bounds__(1)
    step_kernel_batch(const __grid_constant__ batch_frame b)
{
    step_enter_batch(&b);
}

extern "C" __global__ void __launch_bounds__(DIGEST_THREADS)
    step_kernel_digest(const __grid_constant__ step_digest d)
{
    const uint64_t t = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const uint64_t n = (uint64_t)gridDim.x * blockDim.x;

    for (uint32_t column = 0; column < d.count; column++) {
        unsigned long long sum = step_digest_share(&d, column, t, n);

        for (int lanes = 16; lanes > 0; lanes /= 2) {
            sum += __shfl_down_sync(0xFFFFFFFFu, sum, lanes);
        }
        if (threadIdx.x % 32 == 0) {
            atomicAdd((unsigned long long *)&d.sums[column], sum); /* any order */
        }
    }
}

static void fill_launch(const void *function, uint32_t blocks, uint32_t threads, void *arg,
                        sli_kernel_launch *launch)
{
    launch->function = function;
    launch->blocks = blocks;
    launch->threads = threads;
    launch->args[0] = arg;
    launch->args[1] = NULL;
}

void step_begin_launch(step_control *control, sli_kernel_launch *launch_out)
{
    fill_launch((const void *)step_kernel_begin, 1, 1, control, launch_out);
}

void step_inner_launch(step_control *control, sli_kernel_launch *launch_out)
{
    fill_launch((const void *)step_kernel_inner, 1, 1, control, launch_out);
}

void step_next_launch(step_control *control, sli_kernel_launch *launch_out)
{
    fill_launch((const void *)step_kernel_next, 1, 1, control, launch_out);
}

void step_mark_launch(step_control *control, sli_kernel_launch *launch_out)
{
    fill_launch((const void *)step_kernel_mark, 1, 1, control, launch_out);
}

void step_batch_launch(batch_frame *batch, sli_kernel_launch *launch_out)
{
    fill_launch((const void *)step_kernel_batch, 1, 1, batch, launch_out);
}

void step_digest_launch(step_digest *digest, sli_kernel_launch *launch_out)
{
    uint64_t blocks = 1;

    for (uint32_t i = 0; i < digest->count; i++) {
        const uint64_t work = digest->bytes[i] / sizeof(uint64_t) / DIGEST_THREADS;

        blocks = work > blocks ? work : blocks;
    }
    fill_launch((const void *)step_kernel_digest, blocks < INT32_MAX ? (uint32_t)blocks : INT32_MAX,
                DIGEST_THREADS, digest, launch_out);
}
