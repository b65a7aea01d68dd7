/* SPDX-License-Identifier: Apache-2.0 */
/* Opens devices and dispatches device and stream calls to the backend's table. */
#include "device_int.h"

#include <stdio.h>
#include <string.h>

#include "alloc_int.h"
#include "log_int.h"
#include "ranks_int.h"
#include "status_int.h"

/* Sets the ordinal for a name "kind:local": the local rank modulo the number of devices. */
static sluice_status choose_ordinal(const sli_backend *backend, sli_uri *uri)
{
    uint32_t rank;
    uint32_t count;
    sluice_status st;

    if (backend->count == NULL) {
        return sli_fail(SLUICE_E_INVALID,
                        "device %s:local must be %s:N; local chooses among the cards of a machine, "
                        "as in cuda:local",
                        backend->kind, backend->kind);
    }
    st = sli_ranks_local(&rank);
    if (st == SLUICE_OK) {
        st = backend->count(&count);
    }
    if (st == SLUICE_OK) {
        uri->ordinal = rank % count;
        sli_log(SLUICE_LOG_INFO, "device %s:local is %s:%u: local rank %u, device%s visible: %u",
                backend->kind, backend->kind, uri->ordinal, rank, count == 1 ? "" : "s", count);
    }
    return st;
}

static sluice_status open_with(const sli_backend *backend, sli_uri *uri, sluice_device **device_out)
{
    sluice_status st = uri->local ? choose_ordinal(backend, uri) : SLUICE_OK;
    sluice_device *device;

    if (st != SLUICE_OK) {
        return st;
    }
    device = sli_calloc(1, sizeof(*device));
    if (device == NULL) {
        return sli_fail(SLUICE_E_NO_MEMORY, "device %s", uri->kind);
    }
    device->backend = backend;
    device->fork_generation = sli_fork_generation();
    device->caps.node = -1;
    snprintf(device->name, sizeof(device->name), "%s:%u", backend->kind, uri->ordinal);
    st = backend->open(uri, &device->caps, &device->state);
    if (st != SLUICE_OK) {
        sli_free(device);
        return st;
    }
    *device_out = device;
    return SLUICE_OK;
}

/* Opens the first backend that succeeds, skipping backends that are opened by name only. Why an
 * earlier backend failed is logged at level info. */
static sluice_status open_auto(sli_uri *uri, sluice_device **device_out)
{
    sluice_status st = SLUICE_E_NO_DEVICE;

    for (size_t i = 0; sli_backends[i] != NULL; i++) {
        if (sli_backends[i]->by_name_only) {
            continue;
        }
        st = open_with(sli_backends[i], uri, device_out);
        if (st == SLUICE_OK) {
            return SLUICE_OK;
        }
        if (sli_backends[i + 1] != NULL) {
            sli_log(SLUICE_LOG_INFO, "device auto: not %s: %s", sli_backends[i]->kind,
                    sluice_last_error());
        }
    }
    return st;
}

sluice_status sluice_device_open(const char *uri, sluice_device **device_out)
{
    sli_uri parsed;
    sluice_status st;

    if (device_out == NULL) {
        return sli_fail(SLUICE_E_INVALID, "sluice_device_open: device_out is NULL");
    }
    st = sli_uri_parse(uri != NULL ? uri : "auto", &parsed);
    if (st != SLUICE_OK) {
        return st;
    }
    if (strcmp(parsed.kind, "auto") == 0) {
        return open_auto(&parsed, device_out);
    }
    for (size_t i = 0; sli_backends[i] != NULL; i++) {
        if (strcmp(parsed.kind, sli_backends[i]->kind) == 0) {
            return open_with(sli_backends[i], &parsed, device_out);
        }
    }
    if (strcmp(parsed.kind, "cuda") == 0) {
        return sli_fail(SLUICE_E_NO_DEVICE,
                        "device %s: this build has no CUDA; configure with "
                        "-DSLUICE_CUDA=ON, or use host:0",
                        uri);
    }
    return sli_fail(SLUICE_E_INVALID, "device %s must be auto, host:N, cuda:N or cuda:local", uri);
}

void sluice_device_close(sluice_device *device)
{
    if (device != NULL) {
        device->backend->close(device->state);
        sli_free(device);
    }
}

const char *sluice_device_name(const sluice_device *device)
{
    return device != NULL ? device->name : "";
}

sluice_status sli_device_check(const sluice_device *device, const char *function)
{
    if (device == NULL) {
        return sli_fail(SLUICE_E_INVALID, "%s: device is NULL", function);
    }
    if (device->fork_generation != sli_fork_generation()) {
        return sli_fail(SLUICE_E_INVALID,
                        "%s: device %s was opened before a fork; open one in the child instead",
                        function, device->name);
    }
    return SLUICE_OK;
}

sluice_status sli_device_alloc(sluice_device *device, size_t bytes, void **block_out)
{
    return device->backend->mem_alloc(device->state, bytes, block_out);
}

void sli_device_free(sluice_device *device, void *block, size_t bytes)
{
    if (block != NULL) {
        device->backend->mem_free(device->state, block, bytes);
    }
}

sluice_status sli_device_available(sluice_device *device, uint64_t *bytes_out)
{
    if (device->backend->mem_available == NULL) {
        *bytes_out = UINT64_MAX;
        return SLUICE_OK;
    }
    return device->backend->mem_available(device->state, bytes_out);
}

sluice_status sli_device_register(sluice_device *device, void *block, size_t bytes)
{
    if (device->backend->mem_register == NULL) {
        return SLUICE_OK;
    }
    return device->backend->mem_register(device->state, block, bytes);
}

void sli_device_unregister(sluice_device *device, void *block, size_t bytes)
{
    if (device->backend->mem_unregister != NULL) {
        device->backend->mem_unregister(device->state, block, bytes);
    }
}

sluice_status sli_device_address(sluice_device *device, void *host_block, void **address_out)
{
    return device->backend->mem_device_address(device->state, host_block, address_out);
}

sluice_status sli_device_clear(sluice_device *device, void *block, size_t bytes)
{
    return device->backend->mem_clear(device->state, block, bytes);
}

sluice_status sli_device_enter(sluice_device *device)
{
    return device->backend->enter != NULL ? device->backend->enter(device->state) : SLUICE_OK;
}

void sli_device_leave(sluice_device *device)
{
    if (device->backend->leave != NULL) {
        device->backend->leave(device->state);
    }
}

sluice_status sli_stream_open(sluice_device *device, const char *name, sli_stream_use use,
                              const sli_cpus *cpus, uint32_t jobs, sli_stream *stream_out)
{
    const uint32_t capacity = jobs > SLI_STREAM_JOBS ? jobs : SLI_STREAM_JOBS;
    void *handle;
    sluice_status st =
        device->backend->stream_open(device->state, name, use, cpus, capacity, &handle);

    if (st == SLUICE_OK) {
        stream_out->backend = device->backend;
        stream_out->handle = handle;
    }
    return st;
}

void sli_stream_close(sli_stream *stream)
{
    if (stream->handle != NULL) {
        stream->backend->stream_close(stream->handle);
        stream->handle = NULL;
    }
}

sluice_status sli_stream_copy(sli_stream *stream, void *to, const void *from, size_t bytes)
{
    return stream->backend->stream_copy(stream->handle, to, from, bytes);
}

sluice_status sli_stream_publish(sli_stream *stream, uint64_t *words, const uint64_t *values,
                                 uint32_t count)
{
    return stream->backend->stream_publish(stream->handle, words, values, count);
}

sluice_status sli_stream_mark(sli_stream *stream, uint64_t *mark_out)
{
    return stream->backend->stream_mark(stream->handle, mark_out);
}

sluice_status sli_stream_order(sli_stream *stream, uint64_t mark, void *native)
{
    return stream->backend->stream_order(stream->handle, mark, native);
}

sluice_status sli_stream_write(sli_stream *stream, uint64_t *word, uint64_t value, sli_event *wake)
{
    return stream->backend->stream_write(stream->handle, word, value, wake);
}

sluice_status sli_stream_call(sli_stream *stream, void (*call)(void *arg), void *arg)
{
    return stream->backend->stream_call(stream->handle, call, arg);
}

sluice_status sli_stream_wait(sli_stream *stream, int64_t timeout_ns)
{
    return stream->backend->stream_wait(stream->handle, timeout_ns);
}

sluice_status sli_stream_status(sli_stream *stream)
{
    return stream->backend->stream_status(stream->handle);
}

const sli_thread *sli_stream_thread(const sli_stream *stream)
{
    return stream->backend->stream_thread(stream->handle);
}
