/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gather kernels on a GPU, for suites of tests/queue (kits/kernel_run.h with SLI_GPU). Their
 * posix_memalign() and free() are others, by definitions of the build: memory that both the host
 * and the kernels reach. An error of CUDA ends the process.
 */
#ifndef SLUICE_TEST_GPU_GATHER_RUN_H
#define SLUICE_TEST_GPU_GATHER_RUN_H

#include "getnext_int.h"

/* In place of gather_thread(), for t of 0 to n - 1: the last call runs all n threads. */
void gpu_gather_thread(const sli_gather *gather, const uint8_t *slot, uint32_t t, uint32_t n,
                       sli_gather_path path);

#endif
