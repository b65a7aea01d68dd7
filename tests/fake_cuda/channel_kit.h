/* SPDX-License-Identifier: Apache-2.0 */
/* Channels on the fake of CUDA, and kernels that stand for what their users enqueue. */
#ifndef SLUICE_CHANNEL_KIT_H
#define SLUICE_CHANNEL_KIT_H

#include "fake_cuda.h"
#include "train_kit.h"

enum { CHANNEL_KIT_MOST = 64, CHANNEL_KIT_COLUMNS = 4, CHANNEL_KIT_ROWS = 16 };

/* A batch: what the host is told of it, and what its readers found in the tensors. */
typedef struct channel_kit_batch {
    uint64_t number;
    uint64_t pass;
    uint32_t valid_rows;
    uint32_t rows;
    uint64_t samples[CHANNEL_KIT_ROWS];
    uint64_t digests[CHANNEL_KIT_COLUMNS]; /* of the columns */
} channel_kit_batch;

/* A channel with whatever it needs. */
typedef struct channel_kit {
    sluice_device *device;
    sluice_dataset *dataset;
    bool own_dataset;
    sluice_channel *channel;
    const sluice_batch *batch;
    channel_kit_batch seen[CHANNEL_KIT_MOST];
    size_t count;
} channel_kit;

/* A machine of two devices, whose memory the bodies of kernels can reach. */
extern const fake_cuda_machine channel_kit_machine;

/* For push and for pull. */
enum { CHANNEL_KIT_TRANSPORTS = 2 };
extern const char *const channel_kit_transports[CHANNEL_KIT_TRANSPORTS];

/* Opens all but the channel's start; dataset NULL: from text. batches 0: without end. */
sluice_status channel_kit_try(channel_kit *k, const char *device, const char *text,
                              sluice_dataset *dataset, uint64_t batches);
/* The same, with so many batches held at once. */
sluice_status channel_kit_try_held(channel_kit *k, const char *device, const char *text,
                                   sluice_dataset *dataset, uint64_t batches, uint32_t held);
void channel_kit_open(channel_kit *k, const char *device, const char *text, uint64_t batches);
void channel_kit_close(channel_kit *k);

/* A stream of a device, as a user makes one. */
cudaStream_t channel_kit_stream(int device);
void channel_kit_stream_destroy(int device, cudaStream_t stream); /* waits for it */

/*
 * Fetches a batch and has its bytes read: by a kernel in `reader` that takes so long before it
 * looks, or, where that is NULL, at once by the calling thread.
 */
sluice_status channel_kit_fetch(channel_kit *k, cudaStream_t stream, cudaStream_t reader,
                                unsigned slow_us);

/* The same; order(stream, reader) is called between the two, where both are streams. */
sluice_status channel_kit_fetch_ordered(channel_kit *k, cudaStream_t stream, cudaStream_t reader,
                                        unsigned slow_us,
                                        void (*order)(cudaStream_t stream, cudaStream_t later));

/* A kernel that does nothing for so long. */
cudaError_t channel_kit_rest(cudaStream_t stream, unsigned rest_us);

/*
 * Lets calls of CUDA fail, one at a time, with each transport. loop(device, good) lets the call
 * after `good` others fail, none if good is -1, and returns the number of calls that it made. Every
 * `stride`-th call is tried. Returns the number of calls without a failure, the smaller of both
 * transports'. Nothing is logged meanwhile.
 */
int64_t channel_kit_fail_calls(int64_t (*loop)(const char *device, int64_t good), int64_t stride);

/* What was seen is what host:0 gives, from the first batch on. The streams have been waited for. */
void channel_kit_check(const channel_kit *k, const char *text);

#endif
