/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the fake share: devices and memory, streams and events. */
#ifndef SLUICE_FAKE_CUDA_STATE_H
#define SLUICE_FAKE_CUDA_STATE_H

#include <cuda.h>
#include <pthread.h>

#include "fake_cuda.h"

enum { FAKE_DEVICES = 8 };

/* A context: the primary one of its device. */
struct CUctx_st {
    int device;
    int64_t retained;
    cudaError_t broken; /* what every call answers since a copy or a kernel failed */
    int64_t sinks;      /* kernels and graphs that run or wait to */
};

extern pthread_mutex_t fake_lock; /* guards the fake's whole state */
extern pthread_cond_t fake_changed;
extern fake_cuda_live fake_live;

/* Ends the process: CUDA forbids what was done. */
void fake_forbidden(const char *what);

/*
 * Counts a call, and says whether it is the one that fails, or one that a capture of the thread's
 * forbids. The lock is not held. A call that cannot fail is only counted.
 */
cudaError_t fake_call_of(const char *name);
#define fake_call() fake_call_of(__func__)

/* The same for a query, of which a poll makes any number: counted by its name alone. */
cudaError_t fake_query_of(const char *name);
#define fake_query() fake_query_of(__func__)
void fake_note(const char *name);

/* Ends the process where sinks are guarded and one is under way. */
void fake_guard(const char *name);
bool fake_guards(void);

/* The calling thread's context; forbidden when there is none. */
CUcontext fake_context(const char *call);

/* A block of device memory. */
typedef struct fake_block {
    unsigned char *address; /* what the library is given; NULL: no block */
    unsigned char *storage; /* where the bytes are */
    size_t bytes;
    CUcontext context;
    int copies; /* into it, under way, and words */
} fake_block;

/* Page-locked host memory. */
typedef struct fake_range {
    void *start; /* NULL: no range */
    size_t bytes;
    int copies; /* from it, under way */
} fake_range;

/* The one that holds all of the bytes; NULL: none does. The lock is held, as for all that follow.
 */
fake_block *fake_block_of(const void *address, size_t bytes);
fake_range *fake_range_of(const void *from, size_t bytes);

bool fake_host_reads(void);

/* The machine's free device memory; 0: all of it. */
size_t fake_available(void);
bool fake_no_locking(void);

/* The driver's cuStreamGetCtx() and cuStreamBatchMemOp(), of fake_cuda_stream.c and _transfer.c. */
CUresult fake_stream_context(CUstream stream, CUcontext *context);
CUresult fake_stream_contexts(CUstream stream, CUcontext *context, CUgreenCtx *green);
CUresult fake_kernel_node_params(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *params);
CUresult fake_function_name(const char **name, CUfunction function);
CUresult fake_kernel_name(const char **name, CUkernel kernel);
CUresult fake_function_parameter(CUfunction function, size_t index, size_t *offset, size_t *bytes);
CUresult fake_kernel_parameter(CUkernel kernel, size_t index, size_t *offset, size_t *bytes);
CUresult fake_stream_mem_ops(CUstream stream, unsigned int count, CUstreamBatchMemOpParams *ops,
                             unsigned int flags);

/* Does this copy fail, and how? Counts it. */
cudaError_t fake_copy_fails(void);
cudaError_t fake_record_fails(void);
bool fake_copies_held(int64_t number);
int64_t fake_copy_us(void);
int64_t fake_jitter_us(void); /* of the next copy or word */
void fake_count_pageable(void);

/* The error, kept for cudaGetLastError(), and returned. */
cudaError_t fake_answer(cudaError_t error);

#endif
