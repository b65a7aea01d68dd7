/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The module that counts calls of CUDA, by CUPTI's callbacks: it subscribes in the process that
 * loads it, and sees the calls of all its threads, whichever runtime they go through. In a module
 * of its own, so that the programs start where libcupti is missing.
 */
#ifndef GPU_CALLS_H
#define GPU_CALLS_H

#include "gpu_figures.h"

#define GPU_CALLS_MODULE "libgpu_calls.so"

/* Since gpu_calls_begin(). */
typedef struct gpu_calls {
    uint64_t counts[GPU_CALLS];
} gpu_calls;

/* Begins to count; returns NULL, or why it cannot. */
typedef const char *gpu_calls_begin_fn(void);

/* Of the threads with that name; NULL: of all. */
typedef void gpu_calls_read_fn(const char *thread, gpu_calls *calls_out);

/* Writes "NAME COUNT" of each thread with calls of this kind, separated by commas. */
typedef void gpu_calls_list_fn(gpu_call call, char *text_out, size_t size);

#endif
