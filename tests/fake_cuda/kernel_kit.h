/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue where GetNext is a kernel, on the fake of CUDA: a thread of the test polls the words in
 * device memory and reads the slots, as the kernels do.
 */
#ifndef SLUICE_KERNEL_KIT_H
#define SLUICE_KERNEL_KIT_H

#include <pthread.h>

#include "fake_cuda.h"
#include "queue_kit.h"

/* A machine whose device memory the test's threads read in place. */
extern const fake_cuda_machine readable;

/* A device for push and one for pull. */
enum { TRANSPORTS = 2 };
extern const char *const transports[TRANSPORTS];

void nothing_is_live(void);

/* As describe() and open_queue() of queue_kit.h, with kernels. */
void describe_kernels(fixture *f, const char *uri, uint32_t slots);
void open_kernels(fixture *f, const char *uri, uint32_t slots);

/* Is the slot batch seq, whole? */
bool is_batch(const fixture *f, const sli_getnext *g, uint64_t seq);

/* A thread that consumes batches until something else stands in the ring. */
typedef struct kernel {
    pthread_t thread;
    fixture *f;
    uint64_t batches;   /* that came, in order and whole */
    uint64_t wrong;     /* that did not */
    sli_ring_kind kind; /* by what it ended */
    int64_t step_us;
} kernel;

void start_kernel(kernel *k, fixture *f, int64_t step_us);

#endif
