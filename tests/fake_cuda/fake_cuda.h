/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake of the CUDA runtime and driver: the calls that the library and its users' steps make, with
 * the prototypes of CUDA's own headers, linked in place of cudart. Streams are threads with a queue
 * each, so that copies and kernels happen later and beside the caller; device memory lies where the
 * host cannot read it, unless the machine is one whose kernels are to run; contexts, and what is
 * current in which thread, are kept as CUDA documents them. Captures, graphs and their loops follow
 * CUDA's rules, and what CUDA answers with an error is answered with that. A call made in a way
 * that CUDA leaves undefined, or that the library must not make, ends the process with its name.
 * The library must not use the default streams on its own, nor run anything in a stream that waits
 * for them.
 *
 * What it cannot show: that CUDA is as documented, and how fast anything is.
 */
#ifndef SLUICE_FAKE_CUDA_H
#define SLUICE_FAKE_CUDA_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

/* The machine. */
typedef struct fake_cuda_machine {
    int devices;
    int driver;           /* as cudaDriverGetVersion() gives it; 0: there is none */
    int oldest;           /* driver that the runtime takes; 0: of its own major version */
    bool watchdog;        /* kernels have a time limit */
    bool host_reads;      /* the host can read and write device memory (no GPU's is so) */
    bool no_locking;      /* page-locking is refused, as beyond ulimit -l */
    bool no_mem_ops;      /* no 64-bit stream memory operations */
    const char *missing;  /* a call of the driver that it does not have; may be NULL */
    size_t available;     /* bytes of device memory that are free; 0: all of it */
    bool no_conditionals; /* graphs with conditional nodes are refused; as below driver 12.3 */
    bool no_loop_launch;  /* they can be made, and no launch of them is taken */
    bool prohibited;      /* the compute mode */
    int capability;       /* compute capability, 75 for 7.5; 0: 9.0 */
    cudaError_t no_code;  /* the error of loading a kernel; 0: kernels load */
    bool body_first;      /* a broken one: bodies of loops run before the condition is looked at */
} fake_cuda_machine;

/*
 * Starts anew: no calls yet, nothing fails, no copy is held, no knob is turned. Nothing may be
 * live. Before the first start there are two devices, whose memory the host can read.
 */
void fake_cuda_start(const fake_cuda_machine *machine);

/* The call after `good` ones answers error, and has no effect unless it gives something back. */
void fake_cuda_fail_after(int64_t good, cudaError_t error);

/* Calls that can fail, since the start; without queries of streams and events. */
int64_t fake_cuda_calls(void);

/* The next `count` queries of streams and events answer error. */
void fake_cuda_fail_queries(int64_t count, cudaError_t error);

/* Calls of that name since the start, those that cannot fail too; the driver's have its names. */
int64_t fake_cuda_count_of(const char *name);

/*
 * The six below are about copies from the host to a device that are given to a stream; nodes of
 * graphs, and copies in other directions, are never held, slow or the ones that fail.
 *
 * The copy after `good` ones fails when it is done; from then on its device answers only error.
 */
void fake_cuda_fail_copy_after(int64_t good, cudaError_t error);

/* The next `count` requests to record an event answer error. */
void fake_cuda_fail_records(int64_t count, cudaError_t error);

/* Copies after `good` more, and all that is behind them, stand still; negative: none does. */
void fake_cuda_hold_copies_after(int64_t good);

/* Of the copies given since the start, 0 is the first, this one stands still, and all that is
 * behind it in its stream; negative: none does. */
void fake_cuda_hold_copy(int64_t number);

/* Every copy takes this much longer. */
void fake_cuda_slow_copies(int64_t duration_us);

/* Copies, and words that streams store, take up to this much longer, each a time of its own. */
void fake_cuda_jitter(int64_t most_us);

/* Streams that stand at a wait for an event. */
int64_t fake_cuda_waits(void);

/* The kernel after `good` more, in graphs or alone, does not run; its device is broken by it. */
void fake_cuda_fail_kernel_after(int64_t good, cudaError_t error);

/* Kernels that have run since the start. */
int64_t fake_cuda_kernels(void);

/*
 * Streams opened from here on have one thread a device, which does one thing at a time in the order
 * in which it was submitted: the least that CUDA promises. What waits for another stream there
 * waits for ever.
 */
void fake_cuda_least_concurrency(bool least);

/* Graphs made executable from here on do what no edge orders the other way round. */
void fake_cuda_reverse_branches(bool reverse);

/*
 * From here on calls are allowed that users may make and the library must not: of the default
 * streams, of streams that are ordered with the legacy one, and the destruction of a stream that
 * still has work. Without this such a call ends the process.
 */
void fake_cuda_allow_users_calls(bool allow);

/* The stream becomes one of a green context. */
void fake_cuda_make_green(cudaStream_t stream);

/*
 * From here on, whatever allocates, page-locks, makes streams, events or execs, or loads a kernel
 * ends the process while a kernel or a graph runs or waits to on the calling thread's device; where
 * no device is current, on any.
 */
void fake_cuda_guard_sinks(bool guard);

/* Things that were taken and not given back. */
typedef struct fake_cuda_live {
    int64_t contexts; /* retained, as often as they were */
    int64_t blocks;
    int64_t locked; /* host ranges */
    int64_t streams;
    int64_t events;
    int64_t pushed; /* contexts on the stacks of all threads */
    int64_t graphs; /* but those that nodes own */
    int64_t execs;
    int64_t captures;
} fake_cuda_live;

fake_cuda_live fake_cuda_count(void);

/* Copies done from memory that was not page-locked, since the start. */
int64_t fake_cuda_pageable_copies(void);

/* The context that is current in the calling thread; NULL: none. */
void *fake_cuda_current(void);

/* Makes a device's context current, as a user of CUDA has done before he calls the library. */
void fake_cuda_use(int device);

/* The device that a block lies on; -1: none. */
int fake_cuda_device_of(const void *block);

/*
 * A kernel: what stands for a __global__ function's address in cudaLaunchKernel() and in nodes. The
 * body does what the whole grid does, on the stream's thread. args point at the values that the
 * arguments had when the kernel was launched or captured. It reads and writes device memory by its
 * address, so the machine must be one whose host can.
 */
enum { FAKE_KERNEL_ARGS = 8 };

typedef struct fake_kernel {
    const char *name;
    void (*body)(void *const *args, unsigned blocks, unsigned threads);
    unsigned arg_count;
    size_t arg_bytes[FAKE_KERNEL_ARGS];
} fake_kernel;

/* cudaGraphSetConditional(), for bodies of kernels in a graph of that variable. */
void fake_cuda_set_conditional(uint64_t handle, unsigned value);

/* Of every device; blocks of 256 threads that a multiprocessor runs at once. */
enum { FAKE_MULTIPROCESSORS = 4, FAKE_BLOCKS_EACH = 3, FAKE_HIGHEST = -5 };

/* Reads device memory, as a copy back would. */
void fake_cuda_read(void *to, const void *block, size_t bytes);

#endif
