/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Polling the device. A blocking wait costs an interrupt and a thread wake-up, some tens of
 * microseconds: for work that is about to end, polling is cheaper.
 *
 * cudaErrorNotReady is a regular result of these calls and is not left as the thread's last error.
 * The thread must have entered the device by sli_cuda_enter_thread(), since a query is among the
 * calls that invalidate captures in mode global.
 */
#ifndef SLUICE_CUDA_POLL_H
#define SLUICE_CUDA_POLL_H

#include <cuda_runtime_api.h>
#include <stdint.h>

/* Poll until the work is done, for up to poll_ns (0: do not poll). Return cudaErrorNotReady if the
 * work may still be pending. */
cudaError_t cuda_poll_event(cudaEvent_t event, int64_t poll_ns);
cudaError_t cuda_poll_stream(cudaStream_t stream, int64_t poll_ns);

#endif
