/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kind of device must be able to do. device.c is the only caller of the table; everybody
 * else uses the functions of device_int.h. A new kind of device is one such table, a line in
 * backend_registry.c, and its GetNext and its sink programs in queue and sink.
 */
#ifndef SLUICE_BACKEND_INT_H
#define SLUICE_BACKEND_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event_int.h"
#include "thread_int.h"
#include "uri_int.h"

/* What a report says of a device; "" where there is nothing to say. */
typedef struct sli_device_facts {
    char model[64];  /* "NVIDIA H200" */
    char driver[16]; /* what drives it, as its makers number it: "13.0" */
} sli_device_facts;

/* What a device can do and where it is; callers branch on this, never on its name. */
typedef struct sli_device_caps {
    bool host_memory; /* device memory is host memory: a batch can be written in its slot */
    bool poison;      /* memory given back shall be overwritten */
    bool kernels; /* GetNext is a kernel: the step's tensors lie at fixed places in device memory,
                   * and no host thread reads them */
    bool pull;    /* with kernels: they read the workers' ring itself, in page-locked memory */
    uint32_t unroll;     /* with kernels: steps of a turn of a loop; 0 is 1 */
    int64_t spin_ns;     /* how long GetNext polls before it yields; negative: it sleeps instead */
    int32_t node;        /* NUMA node asked for; -1: none */
    char pci_bus_id[16]; /* "" when it hangs off no bus */
    sli_device_facts facts;
    int32_t dlpack_type; /* a DLDeviceType of dlpack.h, and which one of that type it is there; 0:
                          * DLPack knows none */
    int32_t dlpack_id;
} sli_device_caps;

typedef struct sli_backend {
    const char *kind;  /* "host": what stands before the colon */
    bool by_name_only; /* `auto` passes it over: no steps run on it yet */

    /* Opens device uri->ordinal; refuses options it does not know. */
    sluice_status (*open)(const sli_uri *uri, sli_device_caps *caps_out, void **state_out);
    void (*close)(void *state);

    /* Device memory, at multiples of 256 bytes. */
    sluice_status (*mem_alloc)(void *state, size_t bytes, void **block_out);
    void (*mem_free)(void *state, void *block, size_t bytes);

    /* Optional (both or none): makes host memory fast to copy from (page-locks it). */
    sluice_status (*mem_register)(void *state, void *block, size_t bytes);
    void (*mem_unregister)(void *state, void *block, size_t bytes);

    /* The three that follow where caps.kernels, else NULL. */

    /* Where the device sees a block of registered host memory. */
    sluice_status (*mem_device_address)(void *state, void *host_block, void **address_out);

    /* Zeroes device memory, before anything that uses it runs. */
    sluice_status (*mem_clear)(void *state, void *block, size_t bytes);

    /*
     * Stores values[i] into words[i], which lie in device memory, behind everything given before:
     * the device sees what was copied when it sees the word. values are read before the call
     * returns. Left out after an error, it answers that error.
     */
    sluice_status (*stream_publish)(void *stream, uint64_t *words, const uint64_t *values,
                                    uint32_t count);

    /*
     * Optional (both or none): a thread of the library that uses the device much says so, and its
     * calls become cheaper. No code of a user's runs between the two.
     */
    sluice_status (*enter)(void *state);
    void (*leave)(void *state);

    /*
     * A stream does what it is given one after another, beside the caller; cpus, where its thread
     * runs, may be NULL. Copies may go on while earlier words are still to be stored. What is given
     * after an error is left out.
     */
    sluice_status (*stream_open)(void *state, const char *name, const sli_cpus *cpus,
                                 void **stream_out);
    void (*stream_close)(void *stream);

    /* Host to device. Both blocks stay as they are until the stream has done it. */
    sluice_status (*stream_copy)(void *stream, void *to, const void *from, size_t bytes);

    /*
     * Stores value into word with release order after everything given before, then notifies wake
     * (may be NULL). After an error in the stream the store is left out and wake is notified all
     * the same, so that whoever waits looks at stream_status().
     */
    sluice_status (*stream_write)(void *stream, uint64_t *word, uint64_t value, sli_event *wake);

    /* Calls call(arg) on the stream's own thread; it gives this stream nothing and never waits for
     * it. */
    sluice_status (*stream_call)(void *stream, void (*call)(void *arg), void *arg);

    /* Waits until all is done: OK, TIMEOUT, or the first error that something in it met. */
    sluice_status (*stream_wait)(void *stream, int64_t timeout_ns);

    /* The first error that something in it met, without waiting; OK when there was none. */
    sluice_status (*stream_status)(void *stream);
} sli_backend;

/* The kinds built in, the one that `auto` prefers first, host last; ends with NULL. */
extern const sli_backend *const sli_backends[];

extern const sli_backend sli_cuda_backend; /* where the build has CUDA */
extern const sli_backend sli_host_backend;

#endif
