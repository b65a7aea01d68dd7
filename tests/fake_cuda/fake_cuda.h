/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fake of the CUDA runtime and driver: exactly the calls that runtime/cuda makes, with the
 * prototypes of CUDA's own headers, linked in place of cudart. Streams are threads with a queue
 * each, so that copies happen later and beside the caller; device memory lies where the host cannot
 * read it; contexts, and what is current in which thread, are kept as CUDA documents them. A call
 * made in a way that CUDA forbids ends the process with its name.
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
    int driver;          /* as cudaDriverGetVersion() gives it; 0: there is none */
    bool watchdog;       /* kernels have a time limit */
    bool host_reads;     /* the host can read and write device memory (no GPU's is so) */
    bool no_locking;     /* page-locking is refused, as beyond ulimit -l */
    bool no_mem_ops;     /* no 64-bit stream memory operations */
    const char *missing; /* a call of the driver that it does not have; may be NULL */
} fake_cuda_machine;

/*
 * Starts anew: no calls yet, nothing fails, no copy is held. Nothing may be live. Before the first
 * start there are two devices, whose memory the host can read.
 */
void fake_cuda_start(const fake_cuda_machine *machine);

/* The call after `good` ones answers error, and has no effect unless it gives something back. */
void fake_cuda_fail_after(int64_t good, cudaError_t error);

/* Calls that can fail, since the start. */
int64_t fake_cuda_calls(void);

/* The copy after `good` ones fails when it is done; from then on its device answers only error. */
void fake_cuda_fail_copy_after(int64_t good, cudaError_t error);

/* The next `count` requests to record an event answer error. */
void fake_cuda_fail_records(int64_t count, cudaError_t error);

/* Copies after `good` more, and all that is behind them, stand still; negative: none does. */
void fake_cuda_hold_copies_after(int64_t good);

/* Every copy takes this much longer. */
void fake_cuda_slow_copies(int64_t duration_us);

/* Things that were taken and not given back. */
typedef struct fake_cuda_live {
    int64_t contexts; /* retained, as often as they were */
    int64_t blocks;
    int64_t locked; /* host ranges */
    int64_t streams;
    int64_t events;
    int64_t pushed; /* contexts on the stacks of all threads */
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

/* Reads device memory, as a copy back would. */
void fake_cuda_read(void *to, const void *block, size_t bytes);

#endif
