/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU as a device: its options, shared by its memory and its streams. */
#ifndef SLUICE_HOST_DEVICE_H
#define SLUICE_HOST_DEVICE_H

#include <stdatomic.h>
#include <stdint.h>

#include "backend_int.h"

typedef struct host_device {
    int64_t latency_ns;          /* added to every copy */
    int64_t bytes_per_second;    /* bandwidth limit of copies; 0: no limit */
    _Atomic int64_t good_copies; /* number of copies that still succeed before all fail;
                                    negative: all succeed */
} host_device;

sluice_status host_stream_open(void *state, const char *name, sli_stream_use use,
                               const sli_cpus *cpus, uint32_t jobs, void **stream_out);
void host_stream_close(void *stream);
sluice_status host_stream_copy(void *stream, void *to, const void *from, size_t bytes);
sluice_status host_stream_write(void *stream, uint64_t *word, uint64_t value, sli_event *wake);
sluice_status host_stream_call(void *stream, void (*call)(void *arg), void *arg);
sluice_status host_stream_wait(void *stream, int64_t timeout_ns);
sluice_status host_stream_status(void *stream);
const sli_thread *host_stream_thread(const void *stream);

#endif
