/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a device backend. backends/device.c is the only caller of the table; other code
 * calls the functions of device_int.h. A new kind of device needs a table, a line in
 * backends/backend_registry.c, and implementations of GetNext and of the sink programs in queue and
 * sink.
 */
#ifndef SLUICE_BACKEND_INT_H
#define SLUICE_BACKEND_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event_int.h"
#include "thread_int.h"
#include "uri_int.h"

/* Facts about a device for reports; "": unknown. */
typedef struct sli_device_facts {
    char model[64];  /* "NVIDIA H200" */
    char driver[16]; /* CUDA version that the driver supports, "13.0" */
} sli_device_facts;

/* Capabilities and location of a device; callers branch on these, never on its name. */
typedef struct sli_device_caps {
    bool host_memory; /* device memory is host memory: workers write batches into their slots */
    bool poison;      /* released slots are overwritten with a pattern */
    bool kernels; /* GetNext is a kernel: the step's tensors have fixed addresses in device memory,
                     and no host thread reads them */
    bool pull;    /* with kernels: the kernels read the workers' ring directly, in page-locked
                     memory */
    uint32_t unroll;     /* with kernels: steps per iteration of a loop; 0 means 1 */
    int64_t spin_ns;     /* how long GetNext polls before it yields; negative: it sleeps instead */
    int32_t node;        /* requested NUMA node of host memory; -1: no preference */
    char pci_bus_id[16]; /* "" without a PCI bus */
    sli_device_facts facts;
    int32_t dlpack_type; /* DLDeviceType of dlpack.h; 0: no DLPack equivalent */
    int32_t dlpack_id;   /* device_id of DLPack */
} sli_device_caps;

/* Minimum capacity of a stream in jobs: stores of words, calls, and on a host device copies.
 * Callers block while the stream is full. */
enum { SLI_STREAM_JOBS = 256 };

/* Purpose of a stream; a device may create it differently for each. */
typedef enum sli_stream_use {
    SLI_STREAM_STEPS, /* launches of steps, and a few copies for them */
    SLI_STREAM_COPIES /* copies of batches to the device */
} sli_stream_use;

typedef struct sli_backend {
    const char *kind;  /* "host": the part of a device's name before the colon */
    bool by_name_only; /* skipped by `auto`; opened only if requested by name */

    /* Opens device uri->ordinal. E_INVALID: an unknown option. */
    sluice_status (*open)(const sli_uri *uri, sli_device_caps *caps_out, void **state_out);
    void (*close)(void *state);

    /* Optional: returns the number of devices, at least 1. The device name "kind:local" assigns
     * them to the local ranks round-robin. NULL: the backend does not support that name. */
    sluice_status (*count)(uint32_t *count_out);

    /* Device memory, aligned to 256 bytes. */
    sluice_status (*mem_alloc)(void *state, size_t bytes, void **block_out);
    void (*mem_free)(void *state, void *block, size_t bytes);

    /* Optional: bytes of free device memory. NULL: device memory is host memory. */
    sluice_status (*mem_available)(void *state, uint64_t *bytes_out);

    /* Optional (both or none): page-locks host memory, so that copies from it are fast. */
    sluice_status (*mem_register)(void *state, void *block, size_t bytes);
    void (*mem_unregister)(void *state, void *block, size_t bytes);

    /* The next five (mem_device_address to stream_order) are required if caps.kernels. */

    /* The device address of a block of registered host memory. */
    sluice_status (*mem_device_address)(void *state, void *host_block, void **address_out);

    /* Zeroes device memory; work that is submitted later sees the zeros. */
    sluice_status (*mem_clear)(void *state, void *block, size_t bytes);

    /*
     * Stores values[i] into words[i] in device memory with release order after all work submitted
     * before: a device that sees the word sees the copied data. values are read before the call
     * returns. After an error in the stream it stores nothing and returns that error. Words are
     * stored in order, but copies submitted later may run concurrently with earlier copies, so they
     * must write other memory.
     */
    sluice_status (*stream_publish)(void *stream, uint64_t *words, const uint64_t *values,
                                    uint32_t count);

    /*
     * A mark is a point in the stream after all work submitted so far. stream_order: all later work
     * in `native`, the device's own handle of a stream of steps, runs after the mark; the host does
     * not wait. Marks are valid until the stream is closed.
     */
    sluice_status (*stream_mark)(void *stream, uint64_t *mark_out);
    sluice_status (*stream_order)(void *stream, uint64_t mark, void *native);

    /*
     * Optional (both or none): bracket a series of calls by one thread of the library and make each
     * cheaper. No user code runs between the two.
     */
    sluice_status (*enter)(void *state);
    void (*leave)(void *state);

    /*
     * A stream runs its work in order, asynchronously to the caller, except that a copy may run
     * before earlier words and calls are done. Work submitted after an error is skipped. cpus is
     * the affinity of the stream's thread and may be NULL; jobs is the capacity.
     */
    sluice_status (*stream_open)(void *state, const char *name, sli_stream_use use,
                                 const sli_cpus *cpus, uint32_t jobs, void **stream_out);
    void (*stream_close)(void *stream);

    /* Copies host memory to the device. Neither block may be changed until the copy is done. */
    sluice_status (*stream_copy)(void *stream, void *to, const void *from, size_t bytes);

    /*
     * Stores value into word with release order after all work submitted before, then notifies wake
     * (may be NULL). After an error in the stream the store is skipped, but wake is notified, so
     * that a waiting thread checks stream_status().
     */
    sluice_status (*stream_write)(void *stream, uint64_t *word, uint64_t value, sli_event *wake);

    /* Calls call(arg) on the thread of the stream. The function must not submit work to this stream
     * or wait for it. */
    sluice_status (*stream_call)(void *stream, void (*call)(void *arg), void *arg);

    /* Waits until the stream is idle: OK, TIMEOUT, or the first error of its work. */
    sluice_status (*stream_wait)(void *stream, int64_t timeout_ns);

    /* The first error of the stream's work so far, without waiting; OK: no error. */
    sluice_status (*stream_status)(void *stream);

    /* The thread that runs the functions of stream_call(). If the stream has no thread, an
     * sli_thread that was never started. */
    const sli_thread *(*stream_thread)(const void *stream);
} sli_backend;

/* The backends of this build in the order in which `auto` tries them, host last; ends with NULL. */
extern const sli_backend *const sli_backends[];

extern const sli_backend sli_cuda_backend; /* only in builds with CUDA */
extern const sli_backend sli_host_backend;

#endif
