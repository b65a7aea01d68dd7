/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA streams that implement one sli_stream: one for steps, one or two for copies.
 *
 * Within one CUDA stream, a word stored after a copy delays the next copy: the copy engine idles
 * until completion of the copy is signalled and the word is stored after a fence. With two CUDA
 * streams the next copy is in the other CUDA stream and waits for neither. Words still advance in
 * call order: before it stores a word, the caller makes one CUDA stream wait for an event of the
 * other.
 *
 * Only one thread at a time may call these functions, with the device's context current.
 */
#ifndef SLUICE_STREAM_HANDLES_H
#define SLUICE_STREAM_HANDLES_H

#include "cuda_device_int.h"

typedef struct stream_handles {
    const cuda_device *device;
    cudaStream_t at[CUDA_MOST_COPY_STREAMS];
    uint32_t count;
    uint32_t current; /* index of the CUDA stream that the calls below submit to */
} stream_handles;

/*
 * Creates non-blocking CUDA streams: one of default priority for steps, or as many of the highest
 * priority for copies as the device was opened with. The struct must be zeroed. After an error,
 * close destroys the CUDA streams that were created.
 */
sluice_status stream_handles_open(stream_handles *handles, const cuda_device *device,
                                  const char *name, sli_stream_use use);

/* Waits until all CUDA streams are idle; close destroys them. Errors are logged as warnings. */
void stream_handles_synchronize(const stream_handles *handles);
void stream_handles_close(stream_handles *handles);

/* Switches to the next CUDA stream for later submissions. */
void stream_handles_alternate(stream_handles *handles);

sluice_status stream_handles_copy(const stream_handles *handles, void *to, const void *from,
                                  size_t bytes);

/* Stores values[i] into words[i] in device memory, each after a fence. */
sluice_status stream_handles_store(const stream_handles *handles, uint64_t *words,
                                   const uint64_t *values, uint32_t count);

sluice_status stream_handles_record(const stream_handles *handles, cudaEvent_t event);

/* Makes later submissions wait for the last record of the event. */
sluice_status stream_handles_wait(const stream_handles *handles, cudaEvent_t event);

#endif
