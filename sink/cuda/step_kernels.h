/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of a sink program on CUDA, and the data that they share with the host. They are
 * GetNext's kernels of one thread, with the work of a run before and after each step:
 *
 *     begin -> while (another step): gather -> [digest] -> step -> next
 *
 * or, unrolled, (gather -> [digest] -> step -> inner)* before the last step of an iteration.
 *
 * begin and next wait for a batch and write the step's frame, to which the step's view points; next
 * first stores the step's outputs (its trace) and checks them (the NaN guard). mark stores the time
 * at which device maps end, in modes that call the step for each batch. The bodies are in
 * step_control.h, for nvcc and for a C compiler; the kernels are in step_kernels.cu.
 */
#ifndef SLUICE_STEP_KERNELS_H
#define SLUICE_STEP_KERNELS_H

#include <sluice/train.h>

#include "getnext_int.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The values that the step's view points to: in device memory, at the same addresses for the whole
 * run. */
typedef struct step_frame {
    uint64_t step;
    uint64_t epoch;
    uint64_t random_key;
    uint32_t micro;
    float learning_rate;
    float outputs[SLUICE_MAX_OUTPUTS];
} step_frame;

/* Record of a step that ran, in mapped host memory: one entry per step between two collects. */
typedef struct step_trace {
    uint64_t pass;
    uint64_t first_sample;
    uint64_t digest;
    uint32_t valid_rows;
    uint32_t padding;
    uint64_t gather_ns; /* gather_ns, map_ns, step_ns: sums over the step's batches */
    uint64_t map_ns;
    uint64_t step_ns;
    float outputs[SLUICE_MAX_OUTPUTS];
} step_trace;

/* Device memory used only by the kernels; initially zero. */
typedef struct step_state {
    step_trace current;  /* trace of the current step */
    uint32_t valid_rows; /* number of rows with samples in the current batch */
    uint32_t padding;
    uint64_t nan_steps;
    uint64_t idle_ns;   /* idle time between launches, from the end of a step to the arrival of the
                           next batch */
    uint64_t mapped_ns; /* when the device maps of the current batch ended; 0: not measured */
    uint64_t ended_ns;  /* when the last step ended; 0: no step has ended yet */
    uint64_t digests[SLUICE_MAX_COLUMNS]; /* sums over the current batch, one per column */
} step_state;

/* Progress that the kernels report to the host, in mapped host memory; initially zero. All counts
 * are over the whole run. */
typedef struct step_report {
    uint64_t batches_done; /* stored after each batch, relaxed: orders no other memory */
    uint64_t ended;        /* nonzero if a launch ended early; reset by the host */
    uint64_t nan_steps;    /* this field and those below: valid after a launch */
    uint64_t first_nan_step;
    uint64_t idle_ns;
    uint64_t idle_turn; /* nonzero if next ran although the launch had already ended */
} step_report;

/* Arguments of the one-thread kernels. */
typedef struct step_control {
    sli_getnext getnext;
    step_frame *frame;
    step_state *state;
    step_trace *traces; /* (capacity) */
    step_report *report;
    const float *rates;  /* (capacity) learning rates of the steps after the last collect */
    uint64_t first_step; /* first step of the run */
    uint64_t epoch_step; /* first step of `epoch`, as in sink_plan */
    uint64_t epoch;
    uint64_t steps_per_epoch;
    uint64_t seed; /* config.seed, mixed by sli_mix64() */
    uint32_t output_count;
    uint32_t column_count; /* number of columns to digest; 0: no digest */
    uint8_t nan_guard;     /* a sluice_nan_guard */
    uint8_t epoch_is_pass; /* sink_plan.unknown: the epoch of a step is the pass of its batch */
    uint8_t one_batch;     /* each launch is one batch and is ordered after its arrival */
} step_control;

/* Arguments of the kernel that writes the frame of a batch of a channel, for its device maps. */
typedef struct batch_frame {
    const sli_batch_header *header; /* of the batch, after its gather */
    step_frame *frame;
    uint64_t number; /* of the batch; its step */
    uint64_t random_key;
} batch_frame;

/* The tensors of the step, for the digest. */
typedef struct step_digest {
    const uint8_t *columns[SLUICE_MAX_COLUMNS]; /* aligned for 8-byte words */
    uint64_t bytes[SLUICE_MAX_COLUMNS];
    uint64_t *sums;
    uint32_t count;
} step_digest;

/* Fill in the kernels' launch descriptions, callable from C. A description points to the argument,
 * which must outlive it. The digest has a thread for each word of the largest column, which must be
 * filled in; a smaller grid does the same work. */
void step_begin_launch(step_control *control, sli_kernel_launch *launch_out);
void step_inner_launch(step_control *control, sli_kernel_launch *launch_out);
void step_next_launch(step_control *control, sli_kernel_launch *launch_out);
void step_mark_launch(step_control *control, sli_kernel_launch *launch_out);
void step_batch_launch(batch_frame *batch, sli_kernel_launch *launch_out);
void step_digest_launch(step_digest *digest, sli_kernel_launch *launch_out);

#ifdef __cplusplus
}
#endif

#endif
