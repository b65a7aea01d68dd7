/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the CUDA backend. */
#include "cuda_device.h"
#include "cuda_device_int.h"
#include "cuda_memory.h"
#include "cuda_stream.h"

static sluice_status cuda_enter(void *state)
{
    return sli_cuda_enter_thread(state);
}

static void cuda_leave(void *state)
{
    sli_cuda_leave_thread(state);
}

const sli_backend sli_cuda_backend = {
    .kind = "cuda",
    .by_name_only = true,
    .open = cuda_device_open,
    .close = cuda_device_close,
    .count = cuda_device_count,
    .mem_alloc = cuda_memory_alloc,
    .mem_free = cuda_memory_free,
    .mem_available = cuda_memory_available,
    .mem_register = cuda_memory_register,
    .mem_unregister = cuda_memory_unregister,
    .mem_device_address = cuda_memory_device_address,
    .mem_clear = cuda_memory_clear,
    .stream_publish = cuda_stream_publish,
    .stream_mark = cuda_stream_mark,
    .stream_order = cuda_stream_order,
    .enter = cuda_enter,
    .leave = cuda_leave,
    .stream_open = cuda_stream_open,
    .stream_close = cuda_stream_close,
    .stream_copy = cuda_stream_copy,
    .stream_write = cuda_stream_write,
    .stream_call = cuda_stream_call,
    .stream_wait = cuda_stream_wait,
    .stream_status = cuda_stream_status,
    .stream_thread = cuda_stream_thread,
};
