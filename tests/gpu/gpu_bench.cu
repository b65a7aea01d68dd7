/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures on a GPU: first its limits, then steps per second of sluice_train(), one factor at a
 * time around a base cell, against the same kernel in a device loop without any data. CSV as it
 * goes, a short table last; below 8 minutes. Exits with 77 where there is no GPU.
 *
 * The step is a busy kernel of one thread; data are the source `synthetic`, without conversions.
 */
#include "gpu_kit.h"

#include <stdio.h>
#include <string.h>

#include "convnet_cuda.h"

struct payload {
    const char *name;
    const char *pipeline;
    uint64_t bytes;
};

/* One value of each factor. */
struct cell {
    int mode, step, payload, sink;
};

static const sluice_mode modes[] = {SLUICE_MODE_DIRECT, SLUICE_MODE_DATA, SLUICE_MODE_GRAPH,
                                    SLUICE_MODE_LOOP};
static const int step_us[] = {5, 50, 500, 5000};
static const payload payloads[] = {
    {"8 KB", "synthetic 100000 shape=32,32,1 | batch 8", 8192},
    {"196 KB", "synthetic 100000 shape=32,64,3 | batch 32", 196608},
    {"38.5 MB", "synthetic 100000 shape=224,224,3 | batch 256", 38535168},
};
static const int sinks[] = {1, 10, 100, 1000};

enum { MODES = 4, STEPS = 4, PAYLOADS = 3, SINKS = 4 };
enum { BASE_STEP = 1, BASE_PAYLOAD = 1, BASE_SINK = 2 };
enum { MAX_CELLS = MODES * (STEPS + PAYLOADS + SINKS - 2), ALL_SECONDS = 450 };
static const double CELL_SECONDS = 1.5;

/* What came of a cell, for the table. */
struct result {
    cell at;
    bool ok;
    double steps_per_s, share;
};

static struct {
    double begin;
    gpu_busy *busy[STEPS];   /* on the device */
    double reference[STEPS]; /* steps per second without data */
    result results[MAX_CELLS];
    int count;
    char text[GPU_TEXT]; /* what failed */
} bench;

/* ---- limits ---------------------------------------------------------------------------------- */

/* Copies 64 MB 20 times; returns GB/s. */
static gpu_verdict measure_copy(cudaMemcpyKind kind, unsigned int host_flags, double *gb_s,
                                char *text)
{
    const size_t bytes = 64U << 20;
    const int count = 20;
    cudaStream_t stream;
    void *from;
    void *to;
    double begin;

    NEED_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    NEED_CUDA(cudaMalloc(&to, bytes));
    if (kind == cudaMemcpyHostToDevice) {
        NEED_CUDA(cudaHostAlloc(&from, bytes, host_flags));
        memset(from, 1, bytes);
    } else {
        NEED_CUDA(cudaMalloc(&from, bytes));
    }
    NEED_CUDA(cudaMemcpyAsync(to, from, bytes, kind, stream));
    NEED_CUDA(cudaStreamSynchronize(stream));
    begin = gpu_now();
    for (int i = 0; i < count; i++) {
        NEED_CUDA(cudaMemcpyAsync(to, from, bytes, kind, stream));
    }
    NEED_CUDA(cudaStreamSynchronize(stream));
    *gb_s = (double)bytes * count / (gpu_now() - begin) / 1e9;
    NEED_CUDA(cudaFree(to));
    NEED_CUDA(kind == cudaMemcpyHostToDevice ? cudaFreeHost(from) : cudaFree(from));
    NEED_CUDA(cudaStreamDestroy(stream));
    return GPU_PASS;
}

/* A graph of one empty kernel, launched and waited for; returns microseconds. */
static gpu_verdict measure_launch(double *us, char *text)
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

/* A device loop of a busy kernel, if it is not NULL, and one that counts; returns iterations/s. */
static gpu_verdict measure_loop(const gpu_busy *busy, uint32_t count, double *per_s, char *text)
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

/* A training step of the examples' network on 128 images of 64 x 64, replayed; returns us. */
static gpu_verdict measure_convnet(double *us, char *text)
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

static gpu_verdict measure_limits(char *text)
{
    double pinned = 0.0;
    double combined = 0.0;
    double device = 0.0;
    double launch = 0.0;
    double loop = 0.0;
    double network = 0.0;

    if (measure_copy(cudaMemcpyHostToDevice, cudaHostAllocDefault, &pinned, text) != GPU_PASS ||
        measure_copy(cudaMemcpyHostToDevice, cudaHostAllocWriteCombined, &combined, text) !=
            GPU_PASS ||
        measure_copy(cudaMemcpyDeviceToDevice, 0, &device, text) != GPU_PASS ||
        measure_launch(&launch, text) != GPU_PASS ||
        measure_loop(NULL, 10000, &loop, text) != GPU_PASS ||
        measure_convnet(&network, text) != GPU_PASS) {
        return GPU_FAIL;
    }
    printf("limit,value,unit\n");
    printf("pinned_h2d,%.2f,GB/s\n", pinned);
    printf("write_combined_h2d,%.2f,GB/s\n", combined);
    printf("device_copy,%.2f,GB/s copied\n", device);
    printf("graph_launch_and_sync,%.2f,us\n", launch);
    printf("while_iteration,%.2f,us\n", 1e6 / loop);
    printf("convnet_step_of_128_images,%.1f,us\n", network);
    for (int i = 0; i < STEPS; i++) {
        NEED_CUDA(gpu_make_busy(step_us[i], NULL, &bench.busy[i]));
        if (measure_loop(bench.busy[i], (uint32_t)(500000 / step_us[i]), &bench.reference[i],
                         text) != GPU_PASS) {
            return GPU_FAIL;
        }
        printf("steps_of_%d_us_without_data,%.1f,1/s\n", step_us[i], bench.reference[i]);
    }
    return GPU_PASS;
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void run_cell(cell at)
{
    result *r = &bench.results[bench.count++];
    gpu_run run = {};

    run.device = "cuda:0";
    run.pipeline = payloads[at.payload].pipeline;
    run.mode = modes[at.mode];
    run.seconds = CELL_SECONDS;
    run.sink_size = sinks[at.sink];
    run.step = gpu_busy_step;
    run.user = bench.busy[at.step];
    gpu_train(&run);
    r->at = at;
    r->ok = run.status == SLUICE_OK && run.stats.seconds > 0.0;
    if (!r->ok) {
        printf("%s,%d,%llu,%d,failed: %s\n", sluice_mode_name(run.mode), step_us[at.step],
               (unsigned long long)payloads[at.payload].bytes, sinks[at.sink], run.error);
        return;
    }
    r->steps_per_s = (double)run.stats.steps / run.stats.seconds;
    r->share = r->steps_per_s / bench.reference[at.step];
    printf("%s,%d,%llu,%d,%llu,%.3f,%.1f,%.4f,%.3f,%llu,%llu,%llu,%.4f,%.4f\n",
           sluice_mode_name(run.mode), step_us[at.step],
           (unsigned long long)payloads[at.payload].bytes, sinks[at.sink],
           (unsigned long long)run.stats.steps, run.stats.seconds, r->steps_per_s, r->share,
           r->steps_per_s * (double)payloads[at.payload].bytes / 1e9,
           (unsigned long long)run.stats.launches, (unsigned long long)run.stats.syncs,
           (unsigned long long)run.stats.yields, run.stats.data_wait_share,
           run.sink_seconds > 0.0 ? run.cpu_seconds / run.sink_seconds : 0.0);
}

/* Every mode: the base cell, then each other value of each factor. */
static void run_cells(void)
{
    printf("mode,step_us,batch_bytes,sink_size,steps,seconds,steps_per_s,share_of_no_data,gb_per_s,"
           "launches,syncs,yields,data_wait_share,trainer_cpu_share\n");
    for (int n = 0; n < MAX_CELLS && gpu_now() - bench.begin < ALL_SECONDS; n++) {
        cell at = {n % MODES, BASE_STEP, BASE_PAYLOAD, BASE_SINK};
        const int k = n / MODES;

        if (k < STEPS) {
            at.step = k;
        } else if (k < STEPS + PAYLOADS - 1) {
            at.payload = k - STEPS < BASE_PAYLOAD ? k - STEPS : k - STEPS + 1;
        } else {
            at.sink = k - (STEPS + PAYLOADS - 1);
            at.sink += at.sink >= BASE_SINK ? 1 : 0;
        }
        run_cell(at);
        fflush(stdout);
    }
}

/* A line for each but the mode, a column for each mode: steps per second as a share of no data. */
static void print_table(void)
{
    printf("\nsteps/s as %% of the same kernel without data\n%-9s %-8s %5s ", "step", "batch",
           "sink");
    for (int i = 0; i < MODES; i++) {
        printf("%8s", sluice_mode_name(modes[i]));
    }
    for (int n = 0; n < bench.count; n++) {
        const result *r = &bench.results[n];

        if (r->at.mode == 0) {
            printf("\n%6d us %-8s %5d ", step_us[r->at.step], payloads[r->at.payload].name,
                   sinks[r->at.sink]);
        }
        if (r->ok) {
            printf("%8.1f", 100.0 * r->share);
        } else {
            printf("%8s", "failed");
        }
    }
    printf("\n%d cells in %.0f s\n", bench.count, gpu_now() - bench.begin);
}

int main(void)
{
    sluice_device *device = NULL;
    const sluice_status st = sluice_device_open("cuda:0", &device);

    if (st != SLUICE_OK) {
        printf("SKIP bench: %s\n", sluice_last_error());
        return st == SLUICE_E_NO_DEVICE ? 77 : 1;
    }
    sluice_device_close(device);
    bench.begin = gpu_now();
    if (measure_limits(bench.text) != GPU_PASS) {
        printf("FAIL limits: %s\n", bench.text);
        return 1;
    }
    fflush(stdout);
    run_cells();
    print_table();
    for (int n = 0; n < bench.count; n++) {
        if (!bench.results[n].ok) {
            return 1;
        }
    }
    return 0;
}
