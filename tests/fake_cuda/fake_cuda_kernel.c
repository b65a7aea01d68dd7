/* SPDX-License-Identifier: Apache-2.0 */
/* The fake's kernels: what is one, what is loaded, and launches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake_cuda_work.h"
#include "probe_kernel.h"

enum { LOADED = 256, MOST_THREADS = 1024, MOST_ARG_BYTES = 32764, ARG_ALIGNMENT = 16 };

static const fake_kernel *loaded[LOADED];
static size_t loaded_count;
static int64_t kernels;
static int64_t kernels_good = -1;
static cudaError_t kernel_error;

void fake_kernels_start(void)
{
    loaded_count = 0;
    kernels = 0;
    kernels_good = -1;
}

void fake_cuda_fail_kernel_after(int64_t good, cudaError_t error)
{
    pthread_mutex_lock(&fake_lock);
    kernels_good = kernels + good;
    kernel_error = error;
    pthread_mutex_unlock(&fake_lock);
}

int64_t fake_cuda_kernels(void)
{
    int64_t count;

    pthread_mutex_lock(&fake_lock);
    count = kernels;
    pthread_mutex_unlock(&fake_lock);
    return count;
}

/* ---- what is a kernel ------------------------------------------------------------------------ */

static bool is_mapped(const void *start, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = (uintptr_t)start / page * page;
    unsigned char there[2];

    return mincore((void *)first, (uintptr_t)start + bytes - first, there) == 0;
}

/* Anything can be given as a kernel: so it must look like one before it is believed. */
const fake_kernel *fake_kernel_of(const void *function)
{
    const fake_kernel *kernel = function;
    size_t bytes = 0;

    if (kernel == NULL || (uintptr_t)kernel % _Alignof(fake_kernel) != 0 ||
        !is_mapped(kernel, sizeof(*kernel)) || kernel->arg_count > FAKE_KERNEL_ARGS ||
        kernel->body == NULL || !is_mapped(kernel->name, 1)) {
        return NULL;
    }
    for (unsigned i = 0; i < FAKE_KERNEL_ARGS; i++) {
        bytes += kernel->arg_bytes[i];
        if ((kernel->arg_bytes[i] != 0) != (i < kernel->arg_count) || bytes > MOST_ARG_BYTES) {
            return NULL;
        }
    }
    return kernel;
}

void fake_load(const char *call, const fake_kernel *kernel)
{
    for (size_t i = 0; i < loaded_count; i++) {
        if (loaded[i] == kernel) {
            return;
        }
    }
    if (fake_guards()) {
        fprintf(stderr, "fake CUDA: %s loads kernel %s while a sink runs\n", call, kernel->name);
        abort();
    }
    if (loaded_count == LOADED) {
        fake_forbidden("more kernels than the fake has place for");
    }
    loaded[loaded_count++] = kernel;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
    cudaError_t error = fake_call();
    const fake_kernel *kernel = fake_kernel_of(function);

    pthread_mutex_lock(&fake_lock);
    error = error != cudaSuccess ? error : fake_context(__func__)->broken;
    error = error != cudaSuccess ? error : fake_no_code();
    if (error == cudaSuccess && kernel == NULL) {
        error = cudaErrorInvalidDeviceFunction;
    }
    if (error == cudaSuccess) {
        fake_load(__func__, kernel);
        memset(attributes, 0, sizeof(*attributes));
        attributes->maxThreadsPerBlock = MOST_THREADS;
        attributes->numRegs = 32;
        attributes->binaryVersion = 90;
        attributes->ptxVersion = 90;
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                          int threads, size_t shared_bytes)
{
    cudaError_t error = fake_call();
    const fake_kernel *kernel = fake_kernel_of(function);

    pthread_mutex_lock(&fake_lock);
    error = error != cudaSuccess ? error : fake_context(__func__)->broken;
    if (error == cudaSuccess && kernel == NULL) {
        error = cudaErrorInvalidDeviceFunction;
    }
    if (error == cudaSuccess && (threads <= 0 || threads > MOST_THREADS || shared_bytes != 0)) {
        error = cudaErrorInvalidValue;
    }
    if (error == cudaSuccess) {
        *blocks = FAKE_BLOCKS_EACH * 256 / threads;
    }
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

static void no_body(void *const *args, unsigned blocks, unsigned threads)
{
    (void)args;
    (void)blocks;
    (void)threads;
}

const void *cuda_probe_kernel(void)
{
    static const fake_kernel probe = {.name = "sli_kernel_probe", .body = no_body};

    return &probe;
}

/* ---- launches -------------------------------------------------------------------------------- */

static size_t whole_args(size_t bytes)
{
    return (bytes + ARG_ALIGNMENT - 1) / ARG_ALIGNMENT * ARG_ALIGNMENT;
}

fake_kernel_call *fake_kernel_call_make(const fake_kernel *kernel, unsigned blocks,
                                        unsigned threads, void *const *args)
{
    const size_t head = whole_args(sizeof(fake_kernel_call));
    size_t bytes = head;
    fake_kernel_call *call;
    unsigned char *at;

    for (unsigned i = 0; i < kernel->arg_count; i++) {
        bytes += whole_args(kernel->arg_bytes[i]);
    }
    call = malloc(bytes);
    if (call == NULL) {
        fake_forbidden("the machine has no memory for the fake");
        return NULL;
    }
    *call = (fake_kernel_call){.kernel = kernel, .blocks = blocks, .threads = threads};
    at = (unsigned char *)call + head;
    for (unsigned i = 0; i < kernel->arg_count; i++) {
        call->args[i] = memcpy(at, args[i], kernel->arg_bytes[i]);
        at += whole_args(kernel->arg_bytes[i]);
    }
    return call;
}

cudaError_t fake_kernel_call_new(const void *function, dim3 grid, dim3 block, void *const *args,
                                 fake_kernel_call **call_out)
{
    const fake_kernel *kernel = fake_kernel_of(function);
    const uint64_t blocks = (uint64_t)grid.x * grid.y * grid.z;
    const uint64_t threads = (uint64_t)block.x * block.y * block.z;

    if (kernel == NULL) {
        return cudaErrorInvalidDeviceFunction;
    }
    if (blocks == 0 || blocks > INT32_MAX || threads == 0 || threads > MOST_THREADS) {
        return cudaErrorInvalidConfiguration;
    }
    if (kernel->arg_count > 0 && args == NULL) {
        return cudaErrorInvalidValue;
    }
    *call_out = fake_kernel_call_make(kernel, (unsigned)blocks, (unsigned)threads, args);
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args,
                             size_t shared, cudaStream_t stream)
{
    cudaError_t error = fake_call();
    fake_work work = {.kind = FAKE_KERNEL};

    (void)shared;
    pthread_mutex_lock(&fake_lock);
    if (error == cudaSuccess) {
        error = fake_kernel_call_new(function, grid, block, args, &work.kernel);
    }
    error = fake_give(__func__, stream, &work, error);
    pthread_mutex_unlock(&fake_lock);
    return fake_answer(error);
}

void fake_do_kernel(CUcontext context, const fake_kernel_call *call)
{
    if (kernels_good >= 0 && kernels == kernels_good) {
        context->broken = kernel_error;
        return;
    }
    kernels++;
    pthread_mutex_unlock(&fake_lock);
    call->kernel->body(call->args, call->blocks, call->threads);
    pthread_mutex_lock(&fake_lock);
}
