/* SPDX-License-Identifier: Apache-2.0 */
/* Streams that the caller of a channel passes. The device's context is current in all these
 * functions. */
#ifndef SLUICE_LENDER_STREAMS_H
#define SLUICE_LENDER_STREAMS_H

#include "cuda_device_int.h"

/*
 * Equal handles may be two streams: cudaStreamPerThread is one for each thread, and a new stream
 * may have the handle of one that was destroyed. Identifiers never repeat in a process.
 */
typedef struct lender_stream {
    cudaStream_t handle;
    unsigned long long id;
} lender_stream;

sluice_status lender_stream_identify(const cuda_device *device, cudaStream_t stream,
                                     lender_stream *stream_out);

/* Checks that the handle is still that stream's. E_INVALID, E_DEVICE. */
sluice_status lender_stream_check_same(const cuda_device *device, const lender_stream *before,
                                       const char *function);

/* Checks that a stream is of the device's primary context, of no green context, and not being
 * captured. function: the caller's, for error texts. E_INVALID, E_UNSUPPORTED, E_DEVICE. */
sluice_status lender_stream_check(const cuda_device *device, cudaStream_t stream,
                                  const char *function);

/* which: the stream, for error texts. */
sluice_status lender_stream_check_captures(const cuda_device *device, cudaStream_t stream,
                                           const char *function, const char *which);

#endif
