/* SPDX-License-Identifier: Apache-2.0 */
/* Capturing a step: one call of it as a graph. The device's context is current in all of these. */
#ifndef SLUICE_STEP_CAPTURE_H
#define SLUICE_STEP_CAPTURE_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include <sluice/train.h>

/*
 * What the stack below the step's frame holds in a first and in a second capture. Bytes that hold
 * the one and then the other were not written by the step: padding of a struct that it passes by
 * value, for one.
 */
enum { STEP_FIRST_FILL = 0xA5, STEP_SECOND_FILL = 0x5A };

typedef struct step_capture {
    sluice_step_fn step;
    void *user;
    sluice_step view;      /* as the step sees it while it is captured: its stream is `blocking` */
    cudaStream_t blocking; /* NULL: not open */
    cudaStream_t plain;    /* the run's, which is not ordered with the default stream */
} step_capture;

/* Copies the view, whose stream is the run's. After an error, too, close gives back what was made.
 */
sluice_status step_capture_open(const sluice_model *model, const sluice_step *view,
                                step_capture *capture_out);
void step_capture_close(step_capture *capture);

/*
 * Calls the step, twice where it is not clear why it cannot be captured. OK: the graph, which has a
 * node at least, is the caller's. E_UNSUPPORTED, with what stood in the way, when it cannot be
 * captured; or what the call returned. E_INVALID, and *off_stream_out is true: the step enqueues
 * nothing on its stream, or something on the default stream, which is an error in every mode.
 */
sluice_status step_capture_run(const step_capture *capture, uint8_t fill, cudaGraph_t *graph_out,
                               bool *off_stream_out);

/*
 * cudaDeviceSynchronize() that waits while a run of this process captures its step: CUDA refuses
 * the call meanwhile, and it would invalidate the capture.
 */
cudaError_t step_capture_synchronize(void);

#endif
