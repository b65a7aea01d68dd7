/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory and streams for other modules; backend_int.h describes each call. */
#ifndef SLUICE_DEVICE_INT_H
#define SLUICE_DEVICE_INT_H

#include <sluice/device.h>

#include "backend_int.h"

struct sluice_device {
    const sli_backend *backend;
    void *state;
    sli_device_caps caps;
    uint32_t fork_generation;
    char name[32];
};

typedef struct sli_stream {
    const sli_backend *backend;
    void *handle; /* NULL: not open */
} sli_stream;

/* Checks a device argument of `function`, which the error text names. E_INVALID: NULL, or opened
 * before a fork. */
sluice_status sli_device_check(const sluice_device *device, const char *function);

sluice_status sli_device_alloc(sluice_device *device, size_t bytes, void **block_out);
void sli_device_free(sluice_device *device, void *block, size_t bytes);

/* Bytes of free device memory; UINT64_MAX if device memory is host memory. */
sluice_status sli_device_available(sluice_device *device, uint64_t *bytes_out);

/* Page-lock host memory for the device and undo it; no-ops if the device needs no registration. */
sluice_status sli_device_register(sluice_device *device, void *block, size_t bytes);
void sli_device_unregister(sluice_device *device, void *block, size_t bytes);

/* Require caps.kernels, as do sli_stream_publish(), sli_stream_mark() and sli_stream_order(). */
sluice_status sli_device_address(sluice_device *device, void *host_block, void **address_out);
sluice_status sli_device_clear(sluice_device *device, void *block, size_t bytes);

/* Bracket a series of calls by one thread of the library. Each enter that returns OK needs one
 * leave. */
sluice_status sli_device_enter(sluice_device *device);
void sli_device_leave(sluice_device *device);

/* Opens a stream with capacity for `jobs` jobs, at least SLI_STREAM_JOBS. */
sluice_status sli_stream_open(sluice_device *device, const char *name, sli_stream_use use,
                              const sli_cpus *cpus, uint32_t jobs, sli_stream *stream_out);
void sli_stream_close(sli_stream *stream);
sluice_status sli_stream_copy(sli_stream *stream, void *to, const void *from, size_t bytes);
sluice_status sli_stream_publish(sli_stream *stream, uint64_t *words, const uint64_t *values,
                                 uint32_t count);
sluice_status sli_stream_mark(sli_stream *stream, uint64_t *mark_out);
sluice_status sli_stream_order(sli_stream *stream, uint64_t mark, void *native);
sluice_status sli_stream_write(sli_stream *stream, uint64_t *word, uint64_t value, sli_event *wake);
sluice_status sli_stream_call(sli_stream *stream, void (*call)(void *arg), void *arg);
sluice_status sli_stream_wait(sli_stream *stream, int64_t timeout_ns);
sluice_status sli_stream_status(sli_stream *stream);
const sli_thread *sli_stream_thread(const sli_stream *stream);

#endif
