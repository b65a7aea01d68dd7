/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sluice_channel: a loop in streams of its own gets the batches of host:0, byte by byte. Each batch
 * is copied back behind a kernel that takes a while, so one that is overwritten too early shows.
 * And a capture that is under way meanwhile gets what is captured, and nothing spoils it.
 */
#include "gpu_checks.h"
#include "gpu_loop.h"

#include <stdlib.h>
#include <string.h>

enum { BATCHES = 200, STREAMS = 3 };

static const char *const pipeline =
    "synthetic 5000 shape=40,48,3 | shuffle | random_horizontal_flip | normalize imagenet | "
    "to_chw | batch 16";

static sluice_status open_loop(gpu_loop *l, const char *device)
{
    return gpu_loop_open(l, device, pipeline, BATCHES, 1, NULL);
}

static size_t bytes_of(const sluice_batch *batch)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < batch->input_count; i++) {
        bytes += batch->inputs[i].bytes;
    }
    return bytes;
}

/* The batch's columns behind each other in pinned memory, once the stream has done it. */
static cudaError_t copy_back(const sluice_batch *batch, uint8_t *to, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;

    for (uint32_t i = 0; i < batch->input_count && error == cudaSuccess; i++) {
        const sluice_tensor *t = &batch->inputs[i];

        error = cudaMemcpyAsync(to, t->data, t->bytes, cudaMemcpyDeviceToHost, stream);
        to += t->bytes;
    }
    return error;
}

/* How the calls of a loop choose their streams. */
typedef cudaStream_t choice(const cudaStream_t *streams, unsigned int batch);

static cudaStream_t always_one(const cudaStream_t *streams, unsigned int)
{
    return streams[0];
}

static cudaStream_t another_each_time(const cudaStream_t *streams, unsigned int batch)
{
    return streams[batch % STREAMS];
}

static cudaStream_t the_default(const cudaStream_t *, unsigned int)
{
    return cudaStreamLegacy;
}

static cudaStream_t none(const cudaStream_t *, unsigned int)
{
    return NULL;
}

/* Where no stream is given, the reader is in one of the caller's, who waits for it. */
static gpu_verdict fetch(gpu_loop *l, choice *choose, const cudaStream_t *streams,
                         const gpu_busy *busy, uint8_t **seen, char *text)
{
    const sluice_batch *batch = NULL;

    for (unsigned int n = 0; n < BATCHES; n++) {
        const cudaStream_t stream = choose(streams, n);
        const cudaStream_t reader = stream != NULL ? stream : streams[0];
        const sluice_status st =
            sluice_channel_get_next(l->channel, stream, SLUICE_FOREVER, &batch);

        NEED(st == SLUICE_OK, "batch %u: %s", n, sluice_last_error());
        if (*seen == NULL) {
            NEED_CUDA(cudaMallocHost(seen, BATCHES * bytes_of(batch)));
        }
        gpu_launch_busy(busy, reader);
        NEED_CUDA(copy_back(batch, *seen + n * bytes_of(batch), reader));
        if (stream == NULL) {
            NEED_CUDA(cudaStreamSynchronize(reader));
        }
    }
    NEED(sluice_channel_get_next(l->channel, streams[0], SLUICE_FOREVER, &batch) ==
             SLUICE_END_OF_DATA,
         "no end: %s", sluice_last_error());
    NEED_CUDA(cudaDeviceSynchronize());
    return GPU_PASS;
}

static gpu_verdict compare(const uint8_t *seen, char *text)
{
    gpu_loop host = {};
    const sluice_batch *batch = NULL;

    NEED(open_loop(&host, "host:0") == SLUICE_OK, "host:0: %s", sluice_last_error());
    for (unsigned int n = 0; n < BATCHES; n++) {
        NEED(sluice_channel_get_next(host.channel, NULL, SLUICE_FOREVER, &batch) == SLUICE_OK,
             "host:0: %s", sluice_last_error());
        for (uint32_t i = 0; i < batch->input_count; i++) {
            NEED(memcmp(seen, batch->inputs[i].data, batch->inputs[i].bytes) == 0,
                 "batch %u: %s is not host:0's", n, batch->inputs[i].name);
            seen += batch->inputs[i].bytes;
        }
    }
    gpu_loop_close(&host);
    return GPU_PASS;
}

static gpu_verdict check(const char *device, choice *choose, char *text)
{
    cudaStream_t streams[STREAMS];
    uint8_t *seen = NULL;
    gpu_busy *busy;
    gpu_loop l = {};
    gpu_verdict verdict;

    NEED_CUDA(gpu_make_busy(200.0, NULL, &busy));
    for (int i = 0; i < STREAMS; i++) {
        NEED_CUDA(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    }
    NEED(open_loop(&l, device) == SLUICE_OK, "%s: %s", device, sluice_last_error());
    verdict = fetch(&l, choose, streams, busy, &seen, text);
    gpu_loop_close(&l);
    return verdict == GPU_PASS ? compare(seen, text) : verdict;
}

gpu_verdict check_channel(char *text)
{
    static const char *const devices[] = {"cuda:0,transport=push", "cuda:0,transport=pull"};
    static choice *const choices[] = {always_one, another_each_time, the_default, none};

    for (int i = 0; i < 8; i++) {
        const gpu_verdict verdict = check(devices[i % 2], choices[i / 2], text);

        if (verdict != GPU_PASS) {
            return verdict;
        }
    }
    return gpu_say(text, GPU_PASS, "%d batches in each of 8 ways, every byte as on host:0",
                   (int)BATCHES);
}

/* Fetches half of the batches: in a stream, or waiting for each. */
static gpu_verdict fetch_half(gpu_loop *l, cudaStream_t stream, char *text)
{
    const sluice_batch *batch = NULL;

    for (unsigned int n = 0; n < BATCHES / 2; n++) {
        NEED(sluice_channel_get_next(l->channel, stream, SLUICE_FOREVER, &batch) == SLUICE_OK,
             "batch %u: %s", n, sluice_last_error());
    }
    return GPU_PASS;
}

/* Of the strictest mode, in which no thread may do what a graph cannot hold. */
gpu_verdict check_capture_beside(char *text)
{
    cudaStream_t captured;
    cudaStream_t stream;
    cudaGraph_t graph;
    size_t nodes = 0;
    gpu_busy *busy;
    gpu_loop l = {};

    NEED_CUDA(gpu_make_busy(10.0, NULL, &busy));
    NEED_CUDA(cudaStreamCreateWithFlags(&captured, cudaStreamNonBlocking));
    NEED_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    NEED(open_loop(&l, "cuda:0") == SLUICE_OK, "%s", sluice_last_error());
    NEED_CUDA(cudaStreamBeginCapture(captured, cudaStreamCaptureModeGlobal));
    if (fetch_half(&l, stream, text) != GPU_PASS || fetch_half(&l, NULL, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    gpu_launch_busy(busy, captured);
    NEED_CUDA(cudaStreamEndCapture(captured, &graph));
    NEED_CUDA(cudaGraphGetNodes(graph, NULL, &nodes));
    NEED(nodes == 1, "%zu nodes were captured, want 1", nodes);
    NEED_CUDA(cudaGraphDestroy(graph));
    gpu_loop_close(&l);
    return gpu_say(text, GPU_PASS, "%d batches were fetched while a stream was captured",
                   (int)BATCHES);
}
