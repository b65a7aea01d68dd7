/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_gather_run.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BLOCKS = 256, SEQ = 9 };

/* What the suites call in place of posix_memalign() and free(). */
int gpu_block(void **address_out, size_t alignment, size_t bytes);
void gpu_free(void *address); /* of gpu_block(), or of the heap */

static void *blocks[MOST_BLOCKS];
static cudaStream_t stream;

static void need(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "gather kernels: %s: %s, %s\n", what, cudaGetErrorName(error),
                cudaGetErrorString(error));
        abort();
    }
}

/* Of the blocks; address NULL: a free place. */
static void **place_of(const void *address)
{
    int i = 0;

    while (i < MOST_BLOCKS && blocks[i] != address) {
        i++;
    }
    return i < MOST_BLOCKS ? &blocks[i] : NULL;
}

int gpu_block(void **address_out, size_t alignment, size_t bytes)
{
    void **place = place_of(NULL);

    need(cudaSetDevice(0), "cudaSetDevice");
    if (place == NULL || alignment > 256) {
        fprintf(stderr, "gather kernels: no place for a block aligned to %zu\n", alignment);
        abort();
    }
    need(cudaMallocManaged(place, bytes > 0 ? bytes : 1, cudaMemAttachGlobal), "cudaMallocManaged");
    *address_out = *place;
    return 0;
}

void gpu_free(void *address)
{
    void **place = address != NULL ? place_of(address) : NULL;

    if (place == NULL) {
        free(address);
    } else {
        *place = NULL;
        need(cudaFree(address), "cudaFree");
    }
}

/* What the kernel writes beside the tensors. */
typedef struct run_words {
    sli_getnext_state state;
    uint64_t consumed;
    sli_batch_header header;
} run_words;

static run_words *words_of(void)
{
    static run_words *words;

    if (words == NULL) {
        need(cudaSetDevice(0), "cudaSetDevice");
        need(cudaMallocManaged((void **)&words, sizeof(*words), cudaMemAttachGlobal),
             "cudaMallocManaged");
        need(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    }
    memset(words, 0, sizeof(*words));
    sli_getnext_state_init(&words->state);
    words->state.end = SLI_GETNEXT_GOES_ON;
    words->state.seq = SEQ;
    return words;
}

void gpu_gather_thread(const sli_gather *gather, const uint8_t *slot, uint32_t t, uint32_t n,
                       sli_gather_path path)
{
    run_words *words = t + 1 == n ? words_of() : NULL;
    sli_getnext getnext = {.slots = slot};
    sli_gather copy = *gather;
    sli_kernel_launch launch;
    sli_gather_copy *header;
    void *to;

    if (words == NULL) {
        return;
    }
    getnext.ring = (sli_ring){.consumed = &words->consumed, .slots = 1};
    getnext.state = &words->state;
    copy.path = path;
    header = &copy.copies[copy.copy_count - 1];
    to = header->to; /* may be on the stack of a suite */
    header->to = (void *)&words->header;
    sli_getnext_gather_launch(&getnext, &copy, &launch);
    launch.threads = n < SLI_GATHER_THREADS ? n : SLI_GATHER_THREADS;
    launch.blocks = (n + launch.threads - 1) / launch.threads;
    need(cudaLaunchKernel(launch.function, (dim3){launch.blocks, 1, 1},
                          (dim3){launch.threads, 1, 1}, launch.args, 0, stream),
         "cudaLaunchKernel");
    need(cudaStreamSynchronize(stream), "a gather");
    memcpy(to, &words->header, header->bytes);
    if (words->consumed != SEQ || words->state.votes != 0) {
        fprintf(stderr, "gather kernels: %u threads release batch %llu, with %llu votes left\n", n,
                (unsigned long long)words->consumed, (unsigned long long)words->state.votes);
        abort();
    }
}
