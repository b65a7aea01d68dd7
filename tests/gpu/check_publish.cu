/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Publish ordering can be seen to fail: a ring of one slot is filled and announced as the library
 * does it, by a copy with a memory operation of the stream behind it, and by stores of the host;
 * and then the wrong way round. A grid that waits for the word, and then reads all, must find
 * nothing stale in the one and something in the other.
 */
#include "gpu_checks.h"

#include <cuda.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "publish_order.h"

enum { BLOCKS = 64, THREADS = 256 };

/* Device memory. */
struct seen {
    unsigned long long stale; /* words */
    unsigned int late;        /* blocks that waited in vain */
    unsigned int votes;
};

/* What one way of publishing goes through; batches are numbered on, from one trial to the next. */
struct slot {
    sli_ring ring; /* ready where the words are, consumed in mapped host memory */
    uint64_t *words;
    uint64_t *staging; /* pinned; NULL: the host writes the words themselves */
    uint64_t seq;
    seen *result;
    cudaStream_t copies;
    cudaStream_t reader;
    CUresult (*operate)(CUstream, unsigned int, CUstreamBatchMemOpParams *, unsigned int);
};

struct trial {
    uint64_t bytes;
    int rounds;
};

static const uint64_t most_bytes = 64U << 20;

/* Every block waits by itself, at most two seconds or so: nothing orders one block's loads behind
 * what another one has seen. */
static __global__ void look(sli_ring ring, const volatile uint64_t *words, uint64_t count,
                            uint64_t seq, seen *result)
{
    __shared__ bool there;
    uint64_t stale;

    if (threadIdx.x == 0) {
        const long long begin = clock64();

        there = sli_ring_peek(&ring, seq) == SLI_RING_BATCH;
        while (!there && clock64() - begin < (1LL << 32)) {
            there = sli_ring_peek(&ring, seq) == SLI_RING_BATCH;
        }
        if (!there) {
            atomicAdd(&result->late, 1U);
        }
    }
    __syncthreads();
    stale = there ? publish_stale(words, count, seq, blockIdx.x * blockDim.x + threadIdx.x,
                                  (uint64_t)gridDim.x * blockDim.x)
                  : 0;
    if (stale > 0) {
        atomicAdd(&result->stale, (unsigned long long)stale);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        if (sli_ring_vote(&result->votes, gridDim.x)) {
            sli_ring_release(&ring, seq);
        }
    }
}

/* What is copied arrives behind what is announced, or before it. */
static gpu_verdict publish_by_copy(slot *s, uint64_t bytes, publish_order order, char *text)
{
    CUstreamBatchMemOpParams word;

    memset(&word, 0, sizeof(word));
    word.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    word.writeValue.address = (CUdeviceptr)s->ring.ready;
    word.writeValue.value64 = sli_ring_word(s->seq, SLI_RING_BATCH);
    for (int half = 0; half < 2; half++) {
        if ((half == 0) == (order == PUBLISH_BEHIND)) {
            NEED_CUDA(
                cudaMemcpyAsync(s->words, s->staging, bytes, cudaMemcpyHostToDevice, s->copies));
        } else {
            NEED(s->operate(s->copies, 1, &word, 0) == CUDA_SUCCESS, "cuStreamBatchMemOp failed");
        }
    }
    return GPU_PASS;
}

/* The grid begins, or reads what was announced, meanwhile. */
static void a_moment(void *)
{
    const struct timespec wait = {0, 300000};

    nanosleep(&wait, NULL);
}

static gpu_verdict play_round(slot *s, uint64_t bytes, publish_order order, char *text)
{
    const uint64_t count = bytes / sizeof(uint64_t);

    s->seq++;
    NEED(sli_ring_may_fill(&s->ring, s->seq), "batch %llu was not released",
         (unsigned long long)s->seq - 1);
    if (s->staging != NULL) {
        publish_fill(s->staging, count, s->seq);
    }
    look<<<BLOCKS, THREADS, 0, s->reader>>>(s->ring, s->words, count, s->seq, s->result);
    NEED_CUDA(cudaGetLastError());
    if (s->staging == NULL) {
        publish_by_host(&s->ring, s->words, count, s->seq, order, a_moment, NULL);
    } else if (publish_by_copy(s, bytes, order, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    NEED_CUDA(cudaStreamSynchronize(s->reader));
    NEED_CUDA(cudaStreamSynchronize(s->copies));
    return GPU_PASS;
}

static gpu_verdict play(slot *s, const trial *t, publish_order order, unsigned long long *stale_out,
                        char *text)
{
    static const seen nothing = {0, 0, 0};
    seen result;

    NEED_CUDA(gpu_upload(s->result, &nothing, sizeof(nothing)));
    for (int round = 0; round < t->rounds; round++) {
        if (play_round(s, t->bytes, order, text) != GPU_PASS) {
            return GPU_FAIL;
        }
    }
    NEED_CUDA(cudaMemcpy(&result, s->result, sizeof(result), cudaMemcpyDeviceToHost));
    NEED(result.late == 0, "%u blocks saw no word in 2 s, of %llu bytes", result.late,
         (unsigned long long)t->bytes);
    *stale_out += result.stale;
    return GPU_PASS;
}

/* Mapped host memory has one address for both sides where unified addressing is, on all that is
 * 64-bit Linux. */
static gpu_verdict open_slot(slot *s, bool by_copy, char *text)
{
    memset(s, 0, sizeof(*s));
    NEED_CUDA(cudaStreamCreateWithFlags(&s->copies, cudaStreamNonBlocking));
    NEED_CUDA(cudaStreamCreateWithFlags(&s->reader, cudaStreamNonBlocking));
    NEED_CUDA(cudaMalloc(&s->result, sizeof(*s->result)));
    NEED_CUDA(cudaHostAlloc((void **)&s->ring.consumed, 256, cudaHostAllocMapped));
    memset(s->ring.consumed, 0, 256);
    s->ring.slots = 1;
    if (by_copy) {
        NEED_CUDA(gpu_driver_call("cuStreamBatchMemOp", &s->operate));
        NEED_CUDA(cudaMalloc(&s->ring.ready, 256));
        NEED_CUDA(cudaMemset(s->ring.ready, 0, 256));
        NEED_CUDA(cudaMalloc(&s->words, most_bytes));
        NEED_CUDA(cudaMemset(s->words, 0, most_bytes));
        NEED_CUDA(cudaHostAlloc((void **)&s->staging, most_bytes, cudaHostAllocDefault));
    } else {
        s->ring.ready = s->ring.consumed + 16; /* in a line of its own */
        NEED_CUDA(cudaHostAlloc((void **)&s->words, most_bytes, cudaHostAllocMapped));
        memset(s->words, 0, most_bytes);
    }
    NEED_CUDA(cudaDeviceSynchronize());
    return GPU_PASS;
}

/* Both ways of publishing; how many words were stale in each. */
static gpu_verdict try_order(publish_order order, const trial *trials, int count,
                             unsigned long long stale_out[2], char *text)
{
    for (int way = 0; way < 2; way++) {
        slot s;

        stale_out[way] = 0;
        if (open_slot(&s, way == 0, text) != GPU_PASS) {
            return GPU_FAIL;
        }
        for (int i = 0; i < count; i++) {
            if (play(&s, &trials[i], order, &stale_out[way], text) != GPU_PASS) {
                return GPU_FAIL;
            }
        }
    }
    return GPU_PASS;
}

gpu_verdict check_publish_order(char *text)
{
    static const trial right[] = {{4096, 2000}, {1U << 20, 500}, {64U << 20, 20}};
    static const trial mutant[] = {{64U << 20, 10}};
    unsigned long long stale[2];
    unsigned long long found[2];

    if (try_order(PUBLISH_BEHIND, right, 3, stale, text) != GPU_PASS ||
        try_order(PUBLISH_BEFORE, mutant, 1, found, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    NEED(stale[0] == 0 && stale[1] == 0, "%llu stale words behind a copy, %llu of the host's",
         stale[0], stale[1]);
    NEED(found[0] > 0 && found[1] > 0,
         "the mutant is not seen (%llu and %llu stale words): this check shows nothing", found[0],
         found[1]);
    return gpu_say(
        text, GPU_PASS,
        "2520 batches by copies and 2520 by the host without a stale word; announced too "
        "early, %llu and %llu in 10 batches of 64 MB each",
        found[0], found[1]);
}
