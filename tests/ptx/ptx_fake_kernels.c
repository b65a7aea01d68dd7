/* SPDX-License-Identifier: Apache-2.0 */
/* The library's kernels on the fake of CUDA, as PTX: in place of fake_kernels.c and
 * fake_step_kernels.c, which have the C bodies. */
#include <sched.h>

#include "clock_int.h"
#include "cuda/step_kernels.h"
#include "fake_cuda.h"
#include "ptx_kit.h"

/* As step_kernels.cu launches its digest, on a device of few multiprocessors. */
enum { DIGEST_BLOCKS = 2, DIGEST_THREADS = 256 };

static uint64_t now_ns(void)
{
    return (uint64_t)sli_now_ns();
}

static void let_others_run(uint32_t ns)
{
    (void)ns;
    sched_yield();
}

static void set_conditional(uint64_t handle, uint32_t value)
{
    fake_cuda_set_conditional(handle, value);
}

static const ptx_host host = {
    .now_ns = now_ns, .pause = let_others_run, .set_conditional = set_conditional};

static void run(const char *name, void *const *args, unsigned params, unsigned blocks,
                unsigned threads)
{
    const ptx_launch launch = {.kernel = ptx_kit_kernel(name),
                               .host = &host,
                               .params = {args[0], params > 1 ? args[1] : NULL},
                               .blocks = blocks,
                               .threads = threads};

    ptx_kit_run(&launch);
}

/* A kernel of the fake: its name in the PTX, and the size of its parameters. */
#define KERNEL(name, count, ...)                                                                   \
    static void name##_body(void *const *args, unsigned blocks, unsigned threads)                  \
    {                                                                                              \
        run(#name, args, count, blocks, threads);                                                  \
    }                                                                                              \
    static const fake_kernel name##_fake = {#name, name##_body, count, {__VA_ARGS__}};

#define GATHERS(X)                                                                                 \
    X(COPY, copy)                                                                                  \
    X(ANY, any)                                                                                    \
    X(PLANES_F32, planes_f32)                                                                      \
    X(PLANES_F16, planes_f16)                                                                      \
    X(PLANES_BF16, planes_bf16)                                                                    \
    X(PACKED_F32, packed_f32)                                                                      \
    X(PACKED_F16, packed_f16)                                                                      \
    X(PACKED_BF16, packed_bf16)                                                                    \
    X(WINDOWS, windows)                                                                            \
    X(RAGGED, ragged)                                                                              \
    X(PROGRAM, program)                                                                            \
    X(PROGRAM_PLANES_F32, program_planes_f32)                                                      \
    X(PROGRAM_PLANES_F16, program_planes_f16)                                                      \
    X(PROGRAM_PLANES_BF16, program_planes_bf16)                                                    \
    X(PROGRAM_PACKED_F32, program_packed_f32)                                                      \
    X(PROGRAM_PACKED_F16, program_packed_f16)                                                      \
    X(PROGRAM_PACKED_BF16, program_packed_bf16)                                                    \
    X(MIX, mix)                                                                                    \
    X(MIX_PLANES_F32, mix_planes_f32)                                                              \
    X(MIX_PLANES_F16, mix_planes_f16)                                                              \
    X(MIX_PLANES_BF16, mix_planes_bf16)                                                            \
    X(MIX_PACKED_F32, mix_packed_f32)                                                              \
    X(MIX_PACKED_F16, mix_packed_f16)                                                              \
    X(MIX_PACKED_BF16, mix_packed_bf16)

#define GATHER_KERNEL(path, name)                                                                  \
    KERNEL(sli_kernel_gather_##name, 2, sizeof(sli_getnext), sizeof(sli_gather))
#define GATHER_ENTRY(path, name) [SLI_GATHER_##path] = &sli_kernel_gather_##name##_fake,

KERNEL(sli_kernel_begin, 1, sizeof(sli_getnext))
KERNEL(sli_kernel_next, 1, sizeof(sli_getnext))
GATHERS(GATHER_KERNEL)
KERNEL(step_kernel_begin, 1, sizeof(step_control))
KERNEL(step_kernel_inner, 1, sizeof(step_control))
KERNEL(step_kernel_next, 1, sizeof(step_control))
KERNEL(step_kernel_mark, 1, sizeof(step_control))
KERNEL(step_kernel_batch, 1, sizeof(batch_frame))
KERNEL(step_kernel_digest, 1, sizeof(step_digest))

static const fake_kernel *const gathers[SLI_GATHER_PATHS] = {GATHERS(GATHER_ENTRY)};

static void describe(const fake_kernel *kernel, uint32_t blocks, uint32_t threads, void *first,
                     void *second, sli_kernel_launch *launch_out)
{
    *launch_out = (sli_kernel_launch){kernel, blocks, threads, {first, second}};
}

void sli_getnext_begin_launch(sli_getnext *getnext, sli_kernel_launch *launch_out)
{
    describe(&sli_kernel_begin_fake, 1, 1, getnext, NULL, launch_out);
}

void sli_getnext_next_launch(sli_getnext *getnext, sli_kernel_launch *launch_out)
{
    describe(&sli_kernel_next_fake, 1, 1, getnext, NULL, launch_out);
}

void sli_getnext_gather_launch(sli_getnext *getnext, sli_gather *gather,
                               sli_kernel_launch *launch_out)
{
    describe(gathers[gather->path], sli_gather_blocks(gather), SLI_GATHER_THREADS, getnext, gather,
             launch_out);
}

void step_begin_launch(step_control *control, sli_kernel_launch *launch_out)
{
    describe(&step_kernel_begin_fake, 1, 1, control, NULL, launch_out);
}

void step_inner_launch(step_control *control, sli_kernel_launch *launch_out)
{
    describe(&step_kernel_inner_fake, 1, 1, control, NULL, launch_out);
}

void step_next_launch(step_control *control, sli_kernel_launch *launch_out)
{
    describe(&step_kernel_next_fake, 1, 1, control, NULL, launch_out);
}

void step_mark_launch(step_control *control, sli_kernel_launch *launch_out)
{
    describe(&step_kernel_mark_fake, 1, 1, control, NULL, launch_out);
}

void step_batch_launch(batch_frame *batch, sli_kernel_launch *launch_out)
{
    describe(&step_kernel_batch_fake, 1, 1, batch, NULL, launch_out);
}

void step_digest_launch(step_digest *digest, sli_kernel_launch *launch_out)
{
    describe(&step_kernel_digest_fake, DIGEST_BLOCKS, DIGEST_THREADS, digest, NULL, launch_out);
}
