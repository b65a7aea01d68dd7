/* SPDX-License-Identifier: Apache-2.0 */
#include "lender_streams.h"

#include "cuda_error_int.h"
#include "status_int.h"

sluice_status lender_stream_identify(const cuda_device *device, cudaStream_t stream,
                                     lender_stream *stream_out)
{
    const cudaError_t error = cudaStreamGetId(stream, &stream_out->id);

    stream_out->handle = stream;
    return error == cudaSuccess
               ? SLUICE_OK
               : sli_cuda_fail(error, "device cuda:%u: cudaStreamGetId", device->ordinal);
}

sluice_status lender_stream_check_captures(const cuda_device *device, cudaStream_t stream,
                                           const char *function, const char *which)
{
    enum cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
    const cudaError_t error = cudaStreamIsCapturing(stream, &capture);

    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device cuda:%u: cudaStreamIsCapturing", device->ordinal);
    }
    return capture == cudaStreamCaptureStatusNone
               ? SLUICE_OK
               : sli_fail(SLUICE_E_INVALID,
                          "%s: %s is being captured; a batch is fetched and released outside the "
                          "graph that reads it",
                          function, which);
}

sluice_status lender_stream_check(const cuda_device *device, cudaStream_t stream,
                                  const char *function)
{
    CUcontext context = NULL;
    CUgreenCtx green = NULL;
    const cudaError_t error = sli_cuda_stream_contexts(device, stream, &context, &green);

    if (error != cudaSuccess) {
        return sli_cuda_fail(error, "device cuda:%u: cuStreamGetCtx", device->ordinal);
    }
    if (green != NULL) {
        return sli_fail(SLUICE_E_UNSUPPORTED,
                        "%s: the stream is of a green context (cuGreenCtxStreamCreate), and must "
                        "be of the primary context of cuda:%u, which cudart uses: pass one of "
                        "cudaStreamCreate(), and order yours behind it by an event",
                        function, device->ordinal);
    }
    if (context != device->context) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: the stream is of another device or context, and must be of the "
                        "primary context of cuda:%u, which cudart uses",
                        function, device->ordinal);
    }
    return lender_stream_check_captures(device, stream, function, "the stream");
}

sluice_status lender_stream_check_same(const cuda_device *device, const lender_stream *before,
                                       const char *function)
{
    lender_stream now;
    const sluice_status st = lender_stream_identify(device, before->handle, &now);

    if (st != SLUICE_OK || now.id == before->id) {
        return st;
    }
    return sli_fail(SLUICE_E_INVALID,
                    "%s: the handle of the stream of the call before is now another stream's "
                    "(cudaStreamPerThread of another thread, or it was destroyed), so the readers "
                    "of the last batch cannot be waited for: with config.held of 2 or more, call "
                    "sluice_channel_release() with their stream before",
                    function);
}
