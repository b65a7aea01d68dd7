/* SPDX-License-Identifier: Apache-2.0 */
/* The network of the examples: its CUDA step against the CPU's, and captured against launched. */
#include "gpu_checks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "convnet.h"
#include "convnet_cuda.h"

enum { BATCH = 24, SIDE = 32, CLASSES = 10, PIXELS = 3 * SIDE * SIDE };

static const convnet_config config = {BATCH, SIDE, SIDE, CLASSES, 0.05f, 0.9f, 7};

/* All that a step reads and writes, on the device. */
struct device_batch {
    float images[BATCH * PIXELS];
    int32_t labels[BATCH];
    uint32_t valid_rows;
    float learning_rate;
    float loss;
    float correct;
};

struct fixture {
    convnet *cpu;
    convnet_cuda *gpu;
    device_batch *host;   /* what is copied to */
    device_batch *device; /* this */
    convnet_cuda_batch batch;
    float *weights; /* copied from the device */
    size_t count;   /* weights and momentum */
    bool in_halves; /* steps are a gradient and an update, as of devices that share a batch */
    cudaStream_t stream;
};

static void fill(device_batch *b)
{
    uint32_t state = 1;

    for (uint32_t i = 0; i < BATCH * PIXELS; i++) {
        state = state * 1664525u + 1013904223u;
        b->images[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
    for (uint32_t row = 0; row < BATCH; row++) {
        b->labels[row] = (int32_t)(row % CLASSES);
    }
    b->learning_rate = 0.05f;
    b->valid_rows = BATCH;
}

static gpu_verdict set_up(fixture *f, char *text)
{
    const char *why = "";
    size_t count;

    f->cpu = convnet_create(&config);
    f->gpu = convnet_cuda_create(&config, 0, &why);
    NEED(f->cpu != NULL && f->gpu != NULL, "no network: %s", why);
    (void)convnet_weights(f->cpu, &count);
    f->count = 2 * count;
    f->weights = (float *)malloc(f->count * sizeof(float));
    f->host = (device_batch *)malloc(sizeof(*f->host));
    NEED(f->weights != NULL && f->host != NULL, "no memory");
    fill(f->host);
    NEED_CUDA(cudaStreamCreateWithFlags(&f->stream, cudaStreamNonBlocking));
    NEED_CUDA(cudaMalloc(&f->device, sizeof(*f->device)));
    f->batch.images = f->device->images;
    f->batch.labels = f->device->labels;
    f->batch.valid_rows = &f->device->valid_rows;
    f->batch.learning_rate = &f->device->learning_rate;
    f->batch.loss_out = &f->device->loss;
    f->batch.correct_out = &f->device->correct;
    return GPU_PASS;
}

/* A step whose sums are those of one device. */
static const char *train_in_halves(fixture *f)
{
    float *sums;
    size_t count;
    const char *why = convnet_cuda_train_gradient(f->gpu, &f->batch, f->stream, &sums, &count);

    return why == NULL ? convnet_cuda_train_update(f->gpu, &f->batch, f->stream) : why;
}

/* One step by launches, or of a graph; the results are in f->host and f->weights then. */
static gpu_verdict step(fixture *f, cudaGraphExec_t graph, char *text)
{
    const char *why = NULL;

    NEED_CUDA(gpu_upload(f->device, f->host, sizeof(*f->host)));
    if (graph != NULL) {
        NEED_CUDA(cudaGraphLaunch(graph, f->stream));
    } else {
        why = f->in_halves ? train_in_halves(f)
                           : convnet_cuda_train_step(f->gpu, &f->batch, f->stream);
    }
    NEED(why == NULL, "step: %s", why);
    NEED_CUDA(cudaStreamSynchronize(f->stream));
    NEED_CUDA(cudaMemcpy(f->host, f->device, sizeof(*f->host), cudaMemcpyDeviceToHost));
    why = convnet_cuda_get(f->gpu, f->weights);
    NEED(why == NULL, "weights: %s", why);
    return GPU_PASS;
}

/* Three steps: the second has momentum, and rows that do not count; the third is in halves. */
gpu_verdict check_convnet_step(char *text)
{
    static fixture f;
    float worst = 0.0f;

    if (set_up(&f, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    for (int n = 0; n < 3; n++) {
        size_t count;
        const float *weights = convnet_weights(f.cpu, &count);
        float loss;
        float accuracy;

        f.host->valid_rows = n == 1 ? BATCH - 5 : BATCH;
        f.host->learning_rate = 0.05f / (float)(n + 1);
        f.in_halves = n == 2;
        convnet_set_learning_rate(f.cpu, f.host->learning_rate);
        convnet_train_step(f.cpu, f.host->images, f.host->labels, f.host->valid_rows, &loss,
                           &accuracy);
        if (step(&f, NULL, text) != GPU_PASS) {
            return GPU_FAIL;
        }
        worst = fmaxf(worst, fabsf(loss - f.host->loss));
        worst = fmaxf(worst, fabsf(accuracy - f.host->correct));
        for (size_t i = 0; i < f.count; i++) {
            const float difference = fabsf(weights[i] - f.weights[i]);

            worst = difference <= worst ? worst : difference; /* also where it is no number */
        }
    }
    NEED(worst < 1e-4f, "differs by %g from the CPU", (double)worst);
    return gpu_say(text, GPU_PASS, "3 steps: loss, accuracy, weights within %.1e of the CPU",
                   (double)worst);
}

/* Captured once, with the values of another step, and replayed: the same bits as launched. */
gpu_verdict check_convnet_captured(char *text)
{
    static fixture launched;
    static fixture replayed;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    const char *why;

    if (set_up(&launched, text) != GPU_PASS || set_up(&replayed, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    NEED_CUDA(cudaStreamBeginCapture(replayed.stream, cudaStreamCaptureModeGlobal));
    why = convnet_cuda_train_step(replayed.gpu, &replayed.batch, replayed.stream);
    NEED_CUDA(cudaStreamEndCapture(replayed.stream, &graph));
    NEED(why == NULL, "capture: %s", why);
    NEED_CUDA(cudaGraphInstantiate(&exec, graph, 0));
    for (uint32_t n = 0; n < 5; n++) {
        launched.host->valid_rows = replayed.host->valid_rows = BATCH - n;
        launched.host->learning_rate = replayed.host->learning_rate = 0.01f * (float)n;
        if (step(&launched, NULL, text) != GPU_PASS || step(&replayed, exec, text) != GPU_PASS) {
            return GPU_FAIL;
        }
        NEED(memcmp(launched.weights, replayed.weights, launched.count * sizeof(float)) == 0 &&
                 memcmp(&launched.host->loss, &replayed.host->loss, sizeof(float)) == 0,
             "step %u is another one when replayed", n);
    }
    return gpu_say(text, GPU_PASS, "5 steps replayed from one capture: the same bits");
}
