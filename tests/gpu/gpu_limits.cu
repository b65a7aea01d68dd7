/* SPDX-License-Identifier: Apache-2.0 */
/* What bounds every run on this machine, whatever Sluice does: copies, launches, loops, producers.
 */
#include "gpu_measures.h"

#include <string.h>

#include "convnet_cuda.h"
#include "gpu_copies.h"

static const size_t host_bytes = 64U << 20;
static const size_t device_bytes = 256U << 20; /* more than any cache of a device holds */
enum { COPIES = 20 };

gpu_verdict gpu_measure_copy(cudaMemcpyKind kind, unsigned int host_flags, double *gb_s, char *text)
{
    const size_t bytes = kind == cudaMemcpyHostToDevice ? host_bytes : device_bytes;
    cudaStream_t stream;
    void *from;
    void *to;
    double begin = 0.0;

    NEED_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    NEED_CUDA(cudaMalloc(&to, bytes));
    if (kind == cudaMemcpyHostToDevice) {
        NEED_CUDA(cudaHostAlloc(&from, bytes, host_flags));
        memset(from, 1, bytes);
    } else {
        NEED_CUDA(cudaMalloc(&from, bytes));
    }
    for (int i = -1; i < COPIES; i++) {
        if (i == 0) {
            NEED_CUDA(cudaStreamSynchronize(stream));
            begin = gpu_now();
        }
        NEED_CUDA(cudaMemcpyAsync(to, from, bytes, kind, stream));
    }
    NEED_CUDA(cudaStreamSynchronize(stream));
    *gb_s = (double)bytes * COPIES / (gpu_now() - begin) / 1e9;
    NEED_CUDA(cudaFree(to));
    NEED_CUDA(kind == cudaMemcpyHostToDevice ? cudaFreeHost(from) : cudaFree(from));
    NEED_CUDA(cudaStreamDestroy(stream));
    return GPU_PASS;
}

static gpu_verdict run_copies(gpu_copies *run, int streams, char *text)
{
    run->device = streams == 1 ? "cuda:0,copy_streams=1" : "cuda:0,copy_streams=2";
    NEED(gpu_copies_run(run), "%s: %s", run->device, run->error);
    return GPU_PASS;
}

gpu_verdict gpu_measure_copies(gpu_rate rates[GPU_COPIES], char *text)
{
    static const struct {
        const char *name;
        size_t bytes;
        int streams;
        uint32_t group;
    } cases[GPU_COPIES] = {
        {"copies_of_4_MB_one_stream", 4194304, 1, 1},
        {"copies_of_4_MB_two_streams", 4194304, 2, 1},
        {"copies_of_4_by_4_MB_one_stream", 4194304, 1, 4},
        {"copies_of_4_by_4_MB_two_streams", 4194304, 2, 4},
        {"copies_of_196_KB_one_stream", 196608, 1, 1},
        {"copies_of_196_KB_two_streams", 196608, 2, 1},
        {"copies_of_5_by_196_KB_one_stream", 196608, 1, 5},
        {"copies_of_5_by_196_KB_two_streams", 196608, 2, 5},
    };

    for (int i = 0; i < GPU_COPIES; i++) {
        gpu_copies run = {};

        run.batch_bytes = cases[i].bytes;
        run.group = cases[i].group;
        run.copies = (uint32_t)((2U << 30) / (cases[i].bytes * cases[i].group));
        if (run_copies(&run, cases[i].streams, text) != GPU_PASS) {
            return GPU_FAIL;
        }
        rates[i].name = cases[i].name;
        rates[i].value = run.gb_per_s;
    }
    return GPU_PASS;
}

/* Where two copies share the bus, the first one is late. */
gpu_verdict gpu_measure_first_words(gpu_rate rates[GPU_FIRST_WORDS], char *text)
{
    static const struct {
        const char *name;
        size_t bytes;
        int streams;
    } cases[GPU_FIRST_WORDS] = {
        {"first_of_two_copies_of_4_MB_one_stream", 4194304, 1},
        {"first_of_two_copies_of_4_MB_two_streams", 4194304, 2},
        {"first_of_two_copies_of_38.5_MB_one_stream", 38535168, 1},
        {"first_of_two_copies_of_38.5_MB_two_streams", 38535168, 2},
    };

    for (int i = 0; i < GPU_FIRST_WORDS; i++) {
        gpu_copies run = {};

        run.batch_bytes = cases[i].bytes;
        run.group = 1;
        run.copies = 1;
        if (run_copies(&run, cases[i].streams, text) != GPU_PASS) {
            return GPU_FAIL;
        }
        rates[i].name = cases[i].name;
        rates[i].value = run.first_us;
    }
    return GPU_PASS;
}

gpu_verdict gpu_measure_fill(unsigned int host_flags, double *gb_s, char *text)
{
    void *memory;
    double begin = 0.0;

    NEED_CUDA(cudaHostAlloc(&memory, host_bytes, host_flags));
    for (int i = -1; i < COPIES; i++) {
        begin = i == 0 ? gpu_now() : begin;
        memset(memory, i + 2, host_bytes);
    }
    *gb_s = (double)host_bytes * COPIES / (gpu_now() - begin) / 1e9;
    NEED_CUDA(cudaFreeHost(memory));
    return GPU_PASS;
}

gpu_verdict gpu_measure_launch(double *us, char *text)
{
    const int count = 2000;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    double begin = 0.0;

    NEED_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    NEED_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    gpu_launch_busy(NULL, stream);
    NEED_CUDA(cudaStreamEndCapture(stream, &graph));
    NEED_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = -10; i < count; i++) {
        begin = i == 0 ? gpu_now() : begin;
        NEED_CUDA(cudaGraphLaunch(exec, stream));
        NEED_CUDA(cudaStreamSynchronize(stream));
    }
    *us = (gpu_now() - begin) * 1e6 / count;
    return GPU_PASS;
}

static __global__ void begin_count(cudaGraphConditionalHandle handle, uint32_t *left,
                                   uint32_t count)
{
    *left = count;
    cudaGraphSetConditional(handle, count > 0);
}

static __global__ void count_down(cudaGraphConditionalHandle handle, uint32_t *left)
{
    cudaGraphSetConditional(handle, --*left > 0);
}

gpu_verdict gpu_measure_loop(const gpu_busy *busy, uint32_t count, double *per_s, char *text)
{
    cudaGraphConditionalHandle handle;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    uint32_t *left;
    double begin = 0.0;

    NEED_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    NEED_CUDA(cudaMalloc(&left, sizeof(*left)));
    NEED_CUDA(cudaGraphCreate(&graph, 0));
    NEED_CUDA(gpu_condition(graph, 0, &handle));
    NEED_CUDA(cudaStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0,
                                            cudaStreamCaptureModeThreadLocal));
    begin_count<<<1, 1, 0, stream>>>(handle, left, count);
    NEED_CUDA(cudaStreamEndCapture(stream, NULL));
    NEED_CUDA(gpu_begin_while(graph, handle, stream));
    if (busy != NULL) {
        gpu_launch_busy(busy, stream);
    }
    count_down<<<1, 1, 0, stream>>>(handle, left);
    NEED_CUDA(cudaStreamEndCapture(stream, NULL));
    NEED_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; i++) { /* the first one warms up */
        begin = gpu_now();
        NEED_CUDA(cudaGraphLaunch(exec, stream));
        NEED_CUDA(cudaStreamSynchronize(stream));
    }
    *per_s = count / (gpu_now() - begin);
    return GPU_PASS;
}

gpu_verdict gpu_measure_convnet(double *us, char *text)
{
    static const convnet_config config = {128, 64, 64, 10, 0.02f, 0.9f, 1};
    static const struct {
        uint32_t valid_rows;
        float rate, loss, correct;
    } scalars = {128, 0.02f, 0.0f, 0.0f};
    const size_t image_bytes = 128U * 3 * 64 * 64 * sizeof(float);
    const int count = 200;
    const char *why = "";
    convnet_cuda *net = convnet_cuda_create(&config, 0, &why);
    convnet_cuda_batch batch;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    uint32_t *memory; /* the scalars, labels and images, which are zero but for the first */
    double begin = 0.0;

    NEED(net != NULL, "network: %s", why);
    NEED_CUDA(cudaMalloc(&memory, 1024 + image_bytes));
    NEED_CUDA(cudaMemset(memory, 0, 1024 + image_bytes));
    NEED_CUDA(gpu_upload(memory, &scalars, sizeof(scalars)));
    batch.valid_rows = memory;
    batch.learning_rate = (const float *)memory + 1;
    batch.loss_out = (float *)memory + 2;
    batch.correct_out = (float *)memory + 3;
    batch.labels = (const int32_t *)memory + 4;
    batch.images = (const float *)memory + 256;
    NEED_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    NEED_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    why = convnet_cuda_train_step(net, &batch, stream);
    NEED_CUDA(cudaStreamEndCapture(stream, &graph));
    NEED(why == NULL, "step: %s", why);
    NEED_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = -10; i < count; i++) {
        if (i == 0) {
            NEED_CUDA(cudaStreamSynchronize(stream));
            begin = gpu_now();
        }
        NEED_CUDA(cudaGraphLaunch(exec, stream));
    }
    NEED_CUDA(cudaStreamSynchronize(stream));
    *us = (gpu_now() - begin) * 1e6 / count;
    convnet_cuda_destroy(net);
    return GPU_PASS;
}

static sluice_status no_step(const sluice_step *s, void *user)
{
    (void)user;
    s->outputs[0] = 0.0f;
    return SLUICE_OK;
}

gpu_verdict gpu_measure_producer(const char *pipeline, uint64_t batch_bytes, double *gb_s,
                                 char *text)
{
    gpu_run run = {};

    run.device = "host:0";
    run.pipeline = pipeline;
    run.mode = SLUICE_MODE_LOOP;
    run.seconds = 1.0;
    run.sink_size = 100;
    run.step = no_step;
    gpu_train(&run);
    NEED(run.status == SLUICE_OK, "host:0: %s", run.error);
    *gb_s = gpu_share((double)run.stats.steps * (double)batch_bytes / 1e9, run.stats.seconds);
    return GPU_PASS;
}
