/* SPDX-License-Identifier: Apache-2.0 */
/* The fake's machine, errors, contexts and driver calls. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda_work.h"

enum { STACK = 8 };

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t fake_changed = PTHREAD_COND_INITIALIZER;
fake_cuda_live fake_live;

static fake_cuda_machine machine = {.devices = 2, .driver = CUDART_VERSION, .host_reads = true};
static struct CUctx_st contexts[FAKE_DEVICES] = {{.device = 0}, {.device = 1}};
static int64_t calls;
static int64_t calls_good = -1; /* -1: all */
static cudaError_t call_error;
static int64_t records_to_fail;
static cudaError_t record_error;
static int64_t queries_to_fail;
static cudaError_t query_error;
static int64_t copies;
static int64_t copies_good = -1;
static cudaError_t copy_error;
static int64_t copies_let = -1; /* before the rest is held; -1: all */
static int64_t copy_held = -1;
static int64_t copy_us;
static int64_t jitter_us;
static uint64_t jitter_state;
static int64_t pageable;

static _Thread_local CUcontext stack[STACK];
static _Thread_local int depth;
static _Thread_local CUcontext own; /* what the thread had current before the library was called */
static _Thread_local cudaError_t last;

void fake_forbidden(const char *what)
{
    fprintf(stderr, "fake CUDA: %s\n", what);
    abort();
}

/* ---- the tests' side ------------------------------------------------------------------------- */

void fake_cuda_start(const fake_cuda_machine *wanted)
{
    static const fake_cuda_live nothing;

    fake_streams_start();
    pthread_mutex_lock(&fake_lock);
    if (memcmp(&fake_live, &nothing, sizeof(nothing)) != 0) {
        fake_forbidden("something of the test before is still live");
    }
    machine = *wanted;
    calls = 0;
    calls_good = -1;
    records_to_fail = 0;
    queries_to_fail = 0;
    copies = 0;
    copies_good = -1;
    copies_let = -1;
    copy_held = -1;
    copy_us = 0;
    jitter_us = 0;
    jitter_state = 1;
    pageable = 0;
    fake_calls_start();
    fake_captures_start();
    fake_kernels_start();
    fake_execs_start();
    for (int i = 0; i < FAKE_DEVICES; i++) {
        contexts[i] = (struct CUctx_st){.device = i};
    }
    own = NULL;
    last = cudaSuccess;
    pthread_mutex_unlock(&fake_lock);
}

void fake_cuda_fail_after(int64_t good, cudaError_t error)
{
    pthread_mutex_lock(&fake_lock);
    calls_good = good < 0 ? -1 : calls + good;
    call_error = error;
    pthread_mutex_unlock(&fake_lock);
}

int64_t fake_cuda_calls(void)
{
    int64_t count;

    pthread_mutex_lock(&fake_lock);
    count = calls;
    pthread_mutex_unlock(&fake_lock);
    return count;
}

void fake_cuda_fail_records(int64_t count, cudaError_t error)
{
    pthread_mutex_lock(&fake_lock);
    records_to_fail = count;
    record_error = error;
    pthread_mutex_unlock(&fake_lock);
}

void fake_cuda_fail_queries(int64_t count, cudaError_t error)
{
    pthread_mutex_lock(&fake_lock);
    queries_to_fail = count;
    query_error = error;
    pthread_mutex_unlock(&fake_lock);
}

void fake_cuda_fail_copy_after(int64_t good, cudaError_t error)
{
    pthread_mutex_lock(&fake_lock);
    copies_good = copies + good;
    copy_error = error;
    pthread_mutex_unlock(&fake_lock);
}

void fake_cuda_hold_copies_after(int64_t good)
{
    pthread_mutex_lock(&fake_lock);
    copies_let = good < 0 ? -1 : copies + good;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
}

void fake_cuda_hold_copy(int64_t number)
{
    pthread_mutex_lock(&fake_lock);
    copy_held = number;
    pthread_cond_broadcast(&fake_changed);
    pthread_mutex_unlock(&fake_lock);
}

void fake_cuda_slow_copies(int64_t duration_us)
{
    pthread_mutex_lock(&fake_lock);
    copy_us = duration_us;
    pthread_mutex_unlock(&fake_lock);
}

void fake_cuda_jitter(int64_t most_us)
{
    pthread_mutex_lock(&fake_lock);
    jitter_us = most_us;
    pthread_mutex_unlock(&fake_lock);
}

fake_cuda_live fake_cuda_count(void)
{
    fake_cuda_live live;

    pthread_mutex_lock(&fake_lock);
    live = fake_live;
    pthread_mutex_unlock(&fake_lock);
    return live;
}

int64_t fake_cuda_pageable_copies(void)
{
    int64_t count;

    pthread_mutex_lock(&fake_lock);
    count = pageable;
    pthread_mutex_unlock(&fake_lock);
    return count;
}

void *fake_cuda_current(void)
{
    return depth > 0 ? stack[depth - 1] : own;
}

void fake_cuda_use(int device)
{
    own = &contexts[device];
}

/* ---- the streams' side ----------------------------------------------------------------------- */

cudaError_t fake_copy_fails(void)
{
    const int64_t place = copies++;

    return copies_good >= 0 && place >= copies_good ? copy_error : cudaSuccess;
}

cudaError_t fake_record_fails(void)
{
    return records_to_fail > 0 && records_to_fail-- > 0 ? record_error : cudaSuccess;
}

bool fake_copies_held(int64_t number)
{
    return (copies_let >= 0 && copies >= copies_let) || number == copy_held;
}

int64_t fake_copy_us(void)
{
    return copy_us;
}

int64_t fake_jitter_us(void)
{
    jitter_state = jitter_state * 6364136223846793005 + 1442695040888963407;
    return (int64_t)((jitter_state >> 33) % (uint64_t)(jitter_us + 1));
}

void fake_count_pageable(void)
{
    pageable++;
}

size_t fake_available(void)
{
    return machine.available;
}

bool fake_host_reads(void)
{
    return machine.host_reads;
}

bool fake_no_locking(void)
{
    return machine.no_locking;
}

bool fake_conditionals(void)
{
    return machine.driver >= 12030 && !machine.no_conditionals;
}

bool fake_loop_launches(void)
{
    return !machine.no_loop_launch;
}

cudaError_t fake_no_code(void)
{
    return machine.no_code;
}

bool fake_body_first(void)
{
    return machine.body_first;
}

CUcontext fake_context(const char *call)
{
    CUcontext context = fake_cuda_current();

    if (context == NULL) {
        fprintf(stderr, "fake CUDA: %s would make a context on device 0\n", call);
        abort();
    }
    return context;
}

/* ---- errors ---------------------------------------------------------------------------------- */

cudaError_t fake_answer(cudaError_t error)
{
    if (error != cudaSuccess) {
        last = error;
    }
    return error;
}

cudaError_t fake_call_of(const char *name)
{
    cudaError_t error;
    bool fails;

    fake_note(name);
    pthread_mutex_lock(&fake_lock);
    fake_guard(name);
    fails = calls_good >= 0 && calls == calls_good;
    calls++;
    error = fails ? call_error : fake_capture_refuses(name);
    pthread_mutex_unlock(&fake_lock);
    return error;
}

cudaError_t fake_query_of(const char *name)
{
    cudaError_t error;

    fake_note(name);
    pthread_mutex_lock(&fake_lock);
    fake_guard(name);
    error = queries_to_fail > 0 && queries_to_fail-- > 0 ? query_error : fake_capture_refuses(name);
    pthread_mutex_unlock(&fake_lock);
    return error;
}

cudaError_t cudaGetLastError(void)
{
    const cudaError_t error = last;

    fake_note(__func__);
    last = cudaSuccess;
    return error;
}

cudaError_t cudaPeekAtLastError(void)
{
    fake_note(__func__);
    return last;
}

/* ---- devices --------------------------------------------------------------------------------- */

static cudaError_t driver_answer(void)
{
    const int least = machine.oldest > 0 ? machine.oldest : CUDART_VERSION / 1000 * 1000;

    return machine.driver < least ? cudaErrorInsufficientDriver
           : machine.devices == 0 ? cudaErrorNoDevice
                                  : cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *count)
{
    cudaError_t error = fake_call();

    error = error != cudaSuccess ? error : driver_answer();
    if (error == cudaSuccess) {
        *count = machine.devices;
    }
    return fake_answer(error);
}

cudaError_t cudaDriverGetVersion(int *version)
{
    const cudaError_t error = fake_call();

    if (error == cudaSuccess) {
        *version = machine.driver;
    }
    return fake_answer(error);
}

/* In place of what is current, as cuCtxSetCurrent() does; the device has a context then. */
cudaError_t cudaSetDevice(int device)
{
    cudaError_t error = fake_call();

    if (error == cudaSuccess && (device < 0 || device >= machine.devices)) {
        error = cudaErrorInvalidDevice;
    }
    if (error == cudaSuccess) {
        *(depth > 0 ? &stack[depth - 1] : &own) = &contexts[device];
    }
    return fake_answer(error);
}

cudaError_t cudaGetDevice(int *device)
{
    const cudaError_t error = fake_call();

    if (error == cudaSuccess) {
        *device = fake_context(__func__)->device;
    }
    return fake_answer(error);
}

static int attribute_of(enum cudaDeviceAttr attribute)
{
    switch (attribute) {
    case cudaDevAttrKernelExecTimeout:
        return machine.watchdog;
    case cudaDevAttrMultiProcessorCount:
        return FAKE_MULTIPROCESSORS;
    case cudaDevAttrComputeMode:
        return machine.prohibited ? cudaComputeModeProhibited : cudaComputeModeDefault;
    case cudaDevAttrComputeCapabilityMajor:
        return machine.capability == 0 ? 9 : machine.capability / 10;
    case cudaDevAttrComputeCapabilityMinor:
        return machine.capability % 10;
    default:
        fake_forbidden("cudaDeviceGetAttribute: an attribute that the fake has not");
        return 0;
    }
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    cudaError_t error = fake_call();

    if (error == cudaSuccess && device >= machine.devices) {
        error = cudaErrorInvalidDevice;
    }
    if (error == cudaSuccess) {
        *value = attribute_of(attribute);
    }
    return fake_answer(error);
}

cudaError_t cudaDeviceGetPCIBusId(char *text, int size, int device)
{
    const cudaError_t error = fake_call();

    if (error == cudaSuccess) {
        snprintf(text, (size_t)size, "0000:%02X:00.0", 0x17 + device);
    }
    return fake_answer(error);
}

/* ---- the driver ------------------------------------------------------------------------------ */

static CUresult get_device(CUdevice *device, int ordinal)
{
    const cudaError_t error = fake_call_of("cuDeviceGet");

    if (error == cudaSuccess) {
        *device = ordinal;
    }
    return (CUresult)error;
}

static CUresult retain(CUcontext *context, CUdevice device)
{
    const cudaError_t error = fake_call_of("cuDevicePrimaryCtxRetain");

    if (error == cudaSuccess) {
        pthread_mutex_lock(&fake_lock);
        contexts[device].retained++;
        fake_live.contexts++;
        pthread_mutex_unlock(&fake_lock);
        *context = &contexts[device];
    }
    return (CUresult)error;
}

static CUresult release(CUdevice device)
{
    const cudaError_t error = fake_call_of("cuDevicePrimaryCtxRelease");

    pthread_mutex_lock(&fake_lock);
    if (contexts[device].retained-- == 0) {
        fake_forbidden("a context is released that nobody has");
    }
    fake_live.contexts--;
    pthread_mutex_unlock(&fake_lock);
    return (CUresult)error;
}

static CUresult get_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    const cudaError_t error = fake_call_of("cuDeviceGetAttribute");

    if (attribute != CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS ||
        device >= machine.devices) {
        fake_forbidden("cuDeviceGetAttribute: an attribute or a device that the fake has not");
    }
    if (error == cudaSuccess) {
        *value = !machine.no_mem_ops;
    }
    return (CUresult)error;
}

static CUresult get_name(char *name, int size, CUdevice device)
{
    const cudaError_t error = fake_call_of("cuDeviceGetName");

    if (error == cudaSuccess) {
        snprintf(name, (size_t)size, "Fake GPU %d", device);
    }
    return (CUresult)error;
}

static CUresult push(CUcontext context)
{
    const cudaError_t error = fake_call_of("cuCtxPushCurrent");

    if (error == cudaSuccess) {
        pthread_mutex_lock(&fake_lock);
        if (context->retained == 0 || depth == STACK) {
            fake_forbidden("a context is pushed that is not there, or too many are");
        }
        stack[depth++] = context;
        fake_live.pushed++;
        pthread_mutex_unlock(&fake_lock);
    }
    return (CUresult)error;
}

static CUresult pop(CUcontext *context)
{
    const cudaError_t error = fake_call_of("cuCtxPopCurrent");

    pthread_mutex_lock(&fake_lock);
    if (depth == 0) {
        fake_forbidden("a context is popped that was not pushed");
    }
    *context = stack[--depth];
    fake_live.pushed--;
    pthread_mutex_unlock(&fake_lock);
    return (CUresult)error;
}

/* The driver's calls, each with the version of CUDA that has it so. */
static const struct {
    const char *name;
    int since;
    void (*call)(void);
} driver_calls[] = {{"cuDeviceGet", 2000, (void (*)(void))get_device},
                    {"cuDevicePrimaryCtxRetain", 7000, (void (*)(void))retain},
                    {"cuDevicePrimaryCtxRelease", 11000, (void (*)(void))release},
                    {"cuCtxPushCurrent", 4000, (void (*)(void))push},
                    {"cuCtxPopCurrent", 4000, (void (*)(void))pop},
                    {"cuDeviceGetAttribute", 2000, (void (*)(void))get_attribute},
                    {"cuDeviceGetName", 2000, (void (*)(void))get_name},
                    {"cuStreamBatchMemOp", 11070, (void (*)(void))fake_stream_mem_ops},
                    {"cuGraphKernelNodeGetParams", 12000, (void (*)(void))fake_kernel_node_params},
                    {"cuFuncGetName", 12030, (void (*)(void))fake_function_name},
                    {"cuFuncGetParamInfo", 12040, (void (*)(void))fake_function_parameter},
                    {"cuKernelGetName", 12030, (void (*)(void))fake_kernel_name},
                    {"cuKernelGetParamInfo", 12040, (void (*)(void))fake_kernel_parameter},
                    {"cuStreamGetCtx", 9020, (void (*)(void))fake_stream_context},
                    {"cuStreamGetCtx", 12050, (void (*)(void))fake_stream_contexts}};

/* The latest form of a call that both the version and the driver have. */
cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **address,
                                             unsigned int version, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *found)
{
    cudaError_t error = fake_call();
    int best = -1;

    (void)flags;
    *found = cudaDriverEntryPointSymbolNotFound;
    error = error != cudaSuccess ? error : driver_answer();
    for (size_t i = 0; i < sizeof(driver_calls) / sizeof(driver_calls[0]); i++) {
        const int since = driver_calls[i].since;

        if (error != cudaSuccess || strcmp(driver_calls[i].name, symbol) != 0 ||
            since > machine.driver ||
            (machine.missing != NULL && strcmp(machine.missing, symbol) == 0)) {
            continue;
        }
        if (since > (int)version) {
            *found = best < 0 ? cudaDriverEntryPointVersionNotSufficent : *found;
        } else if (since > best) {
            best = since;
            memcpy(address, &driver_calls[i].call, sizeof(*address));
            *found = cudaDriverEntryPointSuccess;
        }
    }
    return fake_answer(error);
}
