/* SPDX-License-Identifier: Apache-2.0 */
/* Captures one call of a step as a graph. The device's context is current in all these functions.
 */
#ifndef SLUICE_STEP_CAPTURE_H
#define SLUICE_STEP_CAPTURE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include <sluice/train.h>

#include "cuda_device_int.h"

/*
 * Bytes that the stack is filled with before the first and the second capture. If a parameter's
 * byte has these two values in the two captures, the step did not write it; for example, the byte
 * is padding of a struct that is passed by value.
 */
enum { STEP_FIRST_FILL = 0xA5, STEP_SECOND_FILL = 0x5A };

typedef struct step_capture {
    const cuda_device *device;
    sluice_step_fn step;
    void *user;
    sluice_step view;      /* the view during capture; its stream is `blocking` */
    cudaStream_t blocking; /* NULL: not open */
    cudaStream_t plain;    /* the run's stream, which is not ordered with the default stream */
} step_capture;

/* Copies the view, whose stream is the run's. Call step_capture_close() also after an error. */
sluice_status step_capture_open(const cuda_device *device, const sluice_model *model,
                                const sluice_step *view, step_capture *capture_out);
void step_capture_close(step_capture *capture);

/*
 * Captures the step; calls it a second time if the cause of a failed capture is unclear. On success
 * the graph has at least one node, and the caller owns it. Returns E_UNSUPPORTED if the step cannot
 * be captured (the error text has the reason), or the step's own error. Returns E_INVALID and sets
 * *off_stream_out if the step enqueues nothing on its stream or uses the default stream, which is
 * an error in every mode.
 */
sluice_status step_capture_run(const step_capture *capture, uint8_t fill, cudaGraph_t *graph_out,
                               bool *off_stream_out);

/* Calls cudaDeviceSynchronize() once no run of this process is capturing its step. During a capture
 * CUDA would refuse the call and invalidate the capture. */
cudaError_t step_capture_synchronize(void);

#endif
