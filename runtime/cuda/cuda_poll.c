/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda_poll.h"

#include "clock_int.h"
#include "event_int.h"

static cudaError_t query_event(void *event)
{
    return cudaEventQuery(event);
}

static cudaError_t query_stream(void *stream)
{
    return cudaStreamQuery(stream);
}

static cudaError_t poll(cudaError_t (*query)(void *), void *object, int64_t poll_ns)
{
    const int64_t start_ns = sli_now_ns();
    cudaError_t error = cudaErrorNotReady;

    while (error == cudaErrorNotReady && sli_now_ns() - start_ns < poll_ns) {
        error = query(object);
        sli_relax();
    }
    if (cudaPeekAtLastError() == cudaErrorNotReady) {
        (void)cudaGetLastError();
    }
    return error;
}

cudaError_t cuda_poll_event(cudaEvent_t event, int64_t poll_ns)
{
    return poll(query_event, event, poll_ns);
}

cudaError_t cuda_poll_stream(cudaStream_t stream, int64_t poll_ns)
{
    return poll(query_stream, stream, poll_ns);
}
