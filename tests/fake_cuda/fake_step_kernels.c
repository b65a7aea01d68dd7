/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of a sink program on the fake: the bodies that nvcc compiles, run by the stream's
 * thread. */
#include <sched.h>
#include <time.h>

#include "cuda/step_control.h"
#include "fake_cuda.h"

/* Enough to show that shares add up. */
enum { DIGEST_BLOCKS = 2, DIGEST_THREADS = 8 };

static uint64_t getnext_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void getnext_pause(uint32_t ns)
{
    (void)ns;
    sched_yield();
}

static void set_condition(const step_control *c, bool goes_on)
{
    if (c->getnext.has_conditional != 0) {
        fake_cuda_set_conditional(c->getnext.conditional, goes_on ? 1 : 0);
    }
}

static void begin_body(void *const *args, unsigned blocks, unsigned threads)
{
    const step_control *c = args[0];

    (void)blocks;
    (void)threads;
    set_condition(c, step_begin(c));
}

static void next_body(void *const *args, unsigned blocks, unsigned threads)
{
    const step_control *c = args[0];

    (void)blocks;
    (void)threads;
    set_condition(c, step_next(c));
}

static void inner_body(void *const *args, unsigned blocks, unsigned threads)
{
    (void)blocks;
    (void)threads;
    step_inner(args[0]);
}

static void mark_body(void *const *args, unsigned blocks, unsigned threads)
{
    (void)blocks;
    (void)threads;
    step_mark(args[0]);
}

static void batch_body(void *const *args, unsigned blocks, unsigned threads)
{
    (void)blocks;
    (void)threads;
    step_enter_batch(args[0]);
}

static void digest_body(void *const *args, unsigned blocks, unsigned threads)
{
    const step_digest *d = args[0];
    const uint64_t n = (uint64_t)blocks * threads;

    for (uint32_t column = 0; column < d->count; column++) {
        for (uint64_t t = 0; t < n; t++) {
            d->sums[column] += step_digest_share(d, column, t, n);
        }
    }
}

static const fake_kernel begin_kernel = {"step_begin", begin_body, 1, {sizeof(step_control)}};
static const fake_kernel next_kernel = {"step_next", next_body, 1, {sizeof(step_control)}};
static const fake_kernel inner_kernel = {"step_inner", inner_body, 1, {sizeof(step_control)}};
static const fake_kernel mark_kernel = {"step_mark", mark_body, 1, {sizeof(step_control)}};
static const fake_kernel batch_kernel = {"step_batch", batch_body, 1, {sizeof(batch_frame)}};
static const fake_kernel digest_kernel = {"step_digest", digest_body, 1, {sizeof(step_digest)}};

static void describe(const fake_kernel *kernel, uint32_t blocks, uint32_t threads, void *arg,
                     sli_kernel_launch *launch_out)
{
    *launch_out = (sli_kernel_launch){kernel, blocks, threads, {arg, NULL}};
}

void step_begin_launch(step_control *control, sli_kernel_launch *launch_out)
{
    describe(&begin_kernel, 1, 1, control, launch_out);
}

void step_inner_launch(step_control *control, sli_kernel_launch *launch_out)
{
    describe(&inner_kernel, 1, 1, control, launch_out);
}

void step_next_launch(step_control *control, sli_kernel_launch *launch_out)
{
    describe(&next_kernel, 1, 1, control, launch_out);
}

void step_mark_launch(step_control *control, sli_kernel_launch *launch_out)
{
    describe(&mark_kernel, 1, 1, control, launch_out);
}

void step_batch_launch(batch_frame *batch, sli_kernel_launch *launch_out)
{
    describe(&batch_kernel, 1, 1, batch, launch_out);
}

void step_digest_launch(step_digest *digest, sli_kernel_launch *launch_out)
{
    describe(&digest_kernel, DIGEST_BLOCKS, DIGEST_THREADS, digest, launch_out);
}
