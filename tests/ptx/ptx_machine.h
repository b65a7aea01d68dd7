/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs PTX, the assembly that nvcc makes of our kernels, on the CPU. A module is the text of one
 * file; its instructions are decoded once, and then interpreted, thread after thread. The
 * semantics are those of NVIDIA's "Parallel Thread Execution ISA".
 *
 * Addresses are addresses of this process. Each access must be aligned to its size, and with an
 * address sanitizer it must be in memory that the process owns. Whatever is not known (an
 * instruction, a directive, a space of memory) or not allowed ends the process, with the kernel,
 * the line of the PTX and the reason.
 */
#ifndef SLUICE_TEST_PTX_MACHINE_H
#define SLUICE_TEST_PTX_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PTX_PARAMS = 2, PTX_WARP = 32 };

typedef struct ptx_module ptx_module;
typedef struct ptx_kernel ptx_kernel;
typedef struct ptx_order ptx_order;

/* An access to global memory. */
typedef void ptx_access_hook(const void *at, size_t bytes, bool stores);

/* What kernels ask the machine for. */
typedef struct ptx_host {
    uint64_t (*now_ns)(void);                                 /* %globaltimer */
    void (*pause)(uint32_t ns);                               /* nanosleep */
    void (*set_conditional)(uint64_t handle, uint32_t value); /* cudaGraphSetConditional() */
    ptx_access_hook *access; /* NULL, or is told of each access before it is made */
} ptx_host;

/* What one launch has done. */
typedef struct ptx_counts {
    uint64_t instructions;
    uint64_t loads;  /* instructions that load from global memory */
    uint64_t stores; /* the same for stores and atomics */
} ptx_counts;

typedef struct ptx_launch {
    const ptx_kernel *kernel;
    const ptx_host *host;
    ptx_order *order;               /* NULL, or checks the order of accesses (ptx_order.h) */
    const void *params[PTX_PARAMS]; /* of the sizes that the kernel declares */
    uint32_t blocks;
    uint32_t threads; /* of a block */
} ptx_launch;

/*
 * Reads a file. Ends the process if it cannot be decoded. edit: NULL, or FROM=>TO: what is replaced
 * in the text before; *edits_out is increased by the number of places.
 */
ptx_module *ptx_module_load(const char *path, const char *edit, uint32_t *edits_out);
void ptx_module_free(ptx_module *module);

/* Returns NULL if the module has no kernel of this name. */
const ptx_kernel *ptx_module_find(const ptx_module *module, const char *name);

/* The size that the kernel declares for a parameter; 0: it has none there. */
size_t ptx_kernel_param_bytes(const ptx_kernel *kernel, unsigned param);

/* Runs a grid: its blocks one after another, the threads of a block in turns between barriers. */
void ptx_run(const ptx_launch *launch, ptx_counts *counts);

/*
 * Runs only thread `thread` of block 0, to its end. Barriers let it pass.
 */
void ptx_run_thread(const ptx_launch *launch, uint32_t thread, ptx_counts *counts);

#endif
