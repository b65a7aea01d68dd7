/* SPDX-License-Identifier: Apache-2.0 */
/* Captures one call of a step as a graph. The device's context is current in all these functions.
 */
#ifndef SLUICE_STEP_CAPTURE_H
#define SLUICE_STEP_CAPTURE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include <sluice/train.h>

/*
 * Fill bytes of the stack that the step will use, in the first and in the second capture. A byte
 * that differs between the captures in exactly this way was not written by the step; for example,
 * it is padding of a struct that is passed by value.
 */
enum { STEP_FIRST_FILL = 0xA5, STEP_SECOND_FILL = 0x5A };

typedef struct step_capture {
    sluice_step_fn step;
    void *user;
    sluice_step view;      /* the view during capture; its stream is `blocking` */
    cudaStream_t blocking; /* NULL: not open */
    cudaStream_t plain;    /* the run's stream, which is not ordered with the default stream */
} step_capture;

/* Copies the view; its stream is the run's. After an error, too, step_capture_close() frees
 * everything. */
sluice_status step_capture_open(const sluice_model *model, const sluice_step *view,
                                step_capture *capture_out);
void step_capture_close(step_capture *capture);

/*
 * Captures the step; calls it a second time if the cause of a failed capture is unclear. OK: the
 * graph has at least one node, and the caller owns it. E_UNSUPPORTED: the step cannot be captured;
 * the text has the reason. Also returns an error of the step. E_INVALID and *off_stream_out is
 * true: the step enqueues nothing on its stream, or uses the default stream, which is an error in
 * every mode.
 */
sluice_status step_capture_run(const step_capture *capture, uint8_t fill, cudaGraph_t *graph_out,
                               bool *off_stream_out);

/*
 * cudaDeviceSynchronize() that first waits until no run of this process is capturing its step:
 * during a capture CUDA refuses the call, and the call would invalidate the capture.
 */
cudaError_t step_capture_synchronize(void);

#endif
