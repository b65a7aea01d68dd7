/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs what a kernel of GetNext does, for suites: the C bodies or, with SLI_PTX, what nvcc makes of
 * them (tests/ptx) or, with SLI_GPU, the gather kernels on a GPU, whose accesses are not seen. A
 * suite may define GATHER_LOADS and GATHER_STORES before, for words of 4 bytes that are loaded and
 * of 16 that are stored.
 */
#ifndef SLUICE_TEST_KERNEL_RUN_H
#define SLUICE_TEST_KERNEL_RUN_H

#include "cuda/getnext_gather.h"
#include "testing.h"

/* True, and the test is skipped: kernels run whose accesses no hook and no protected page sees. */
static inline bool kernel_run_is_blind(void)
{
#if defined(SLI_GPU)
    t_skip("the accesses of a GPU are not seen");
    return true;
#else
    return false;
#endif
}

#if defined(SLI_PTX)
#include "ptx_kit.h"

static inline void kernel_run_access(const void *at, size_t bytes, bool stores)
{
    (void)at;
    if (stores && bytes == 16) {
        GATHER_STORES(at, bytes);
    } else if (!stores && bytes == 4) {
        GATHER_LOADS(at, bytes);
    }
}

/* Thread t of n of a grid. */
static inline void run_gather_thread(const sli_gather *gather, const uint8_t *slot, uint32_t t,
                                     uint32_t n, sli_gather_path path)
{
    ptx_kit_gather_thread(gather, slot, t, n, path, kernel_run_access);
}

#if defined(SLUICE_GETNEXT_CONTROL_INT_H) /* which a suite of the control kernels includes before  \
                                           */
static const ptx_host kernel_run_host = {.now_ns = getnext_now_ns, .pause = getnext_pause};

static inline bool run_begin(const sli_getnext *g)
{
    return ptx_kit_control("sli_kernel_begin", g, &kernel_run_host);
}

static inline bool run_next(const sli_getnext *g)
{
    return ptx_kit_control("sli_kernel_next", g, &kernel_run_host);
}
#endif
#elif defined(SLI_GPU)
#include "gpu_gather_run.h"
#define run_gather_thread gpu_gather_thread
#else
#define run_gather_thread gather_thread
#define run_begin         getnext_begin
#define run_next          getnext_next
#endif

#endif
