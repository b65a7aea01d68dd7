/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu_kit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

gpu_verdict gpu_say(char *text, gpu_verdict verdict, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    vsnprintf(text, GPU_TEXT, format, values);
    va_end(values);
    return verdict;
}

void gpu_own_folder(char *path, size_t size)
{
    const ssize_t length = readlink("/proc/self/exe", path, size - 1);
    char *slash;

    path[length < 0 ? 0 : length] = '\0';
    slash = strrchr(path, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
}

/* ---- CUDA ------------------------------------------------------------------------------------ */

double gpu_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

cudaError_t gpu_upload(void *to, const void *from, size_t bytes)
{
    const cudaError_t error = cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice);

    return error == cudaSuccess ? cudaDeviceSynchronize() : error;
}

cudaError_t gpu_driver_call(const char *name, void *call_out)
{
    cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
    void *address = NULL;
    const cudaError_t error =
        cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &found);

    memcpy(call_out, &address, sizeof(address));
    return error == cudaSuccess && address == NULL ? cudaErrorSymbolNotFound : error;
}

cudaError_t gpu_condition(cudaGraph_t graph, unsigned int first,
                          cudaGraphConditionalHandle *handle_out)
{
    return cudaGraphConditionalHandleCreate(handle_out, graph, first, cudaGraphCondAssignDefault);
}

cudaError_t gpu_begin_while(cudaGraph_t graph, cudaGraphConditionalHandle handle,
                            cudaStream_t stream)
{
    cudaGraphNodeParams params = {};
    cudaGraphNode_t before[8];
    cudaGraphNode_t node;
    size_t count = 8;
    cudaError_t error = cudaGraphGetNodes(graph, before, &count);

    if (error != cudaSuccess) {
        return error;
    }
    params.type = cudaGraphNodeTypeConditional;
    params.conditional.handle = handle;
    params.conditional.type = cudaGraphCondTypeWhile;
    params.conditional.size = 1;
#if CUDART_VERSION >= 13000
    error = cudaGraphAddNode(&node, graph, before, NULL, count, &params);
#else
    error = cudaGraphAddNode(&node, graph, before, count, &params);
#endif
    if (error != cudaSuccess) {
        return error;
    }
    return cudaStreamBeginCaptureToGraph(stream, params.conditional.phGraph_out[0], NULL, NULL, 0,
                                         cudaStreamCaptureModeThreadLocal);
}

static __global__ void busy_kernel(const gpu_busy *busy, float *output)
{
    const long long begin = clock64();

    while (busy != NULL && (uint64_t)(clock64() - begin) < busy->ticks) {
    }
    if (output != NULL) {
        *output = 0.0f;
    }
    if (busy != NULL && busy->done != NULL) {
        *busy->done = *busy->done + 1;
        __threadfence_system();
    }
}

void gpu_launch_busy(const gpu_busy *busy, cudaStream_t stream)
{
    busy_kernel<<<1, 1, 0, stream>>>(busy, NULL);
}

/* By trying, on the default stream: 2^24 ticks are some 10 ms. */
cudaError_t gpu_ticks_of(double us, uint64_t *ticks_out)
{
    const gpu_busy trial = {1U << 24, NULL};
    gpu_busy *busy;
    double seconds = 0.0;
    cudaError_t error = cudaMalloc(&busy, sizeof(trial));

    if (error != cudaSuccess) {
        return error;
    }
    error = gpu_upload(busy, &trial, sizeof(trial));
    for (int i = 0; i < 3 && error == cudaSuccess; i++) { /* the clock may have to wake up */
        const double begin = gpu_now();

        gpu_launch_busy(busy, NULL);
        error = cudaDeviceSynchronize();
        seconds = gpu_now() - begin;
    }
    (void)cudaFree(busy);
    *ticks_out = seconds > 0.0 ? (uint64_t)((double)trial.ticks / seconds * us * 1e-6) : 0;
    return error;
}

cudaError_t gpu_make_busy(double us, volatile uint64_t *done, gpu_busy **busy_out)
{
    gpu_busy busy = {0, done};
    cudaError_t error = gpu_ticks_of(us, &busy.ticks);

    if (error == cudaSuccess) {
        error = cudaMalloc(busy_out, sizeof(busy));
    }
    return error == cudaSuccess ? gpu_upload(*busy_out, &busy, sizeof(busy)) : error;
}

/* ---- steps ----------------------------------------------------------------------------------- */

sluice_status gpu_launched(void)
{
    const cudaError_t error = cudaGetLastError();

    return error == cudaSuccess
               ? SLUICE_OK
               : sluice_fail(SLUICE_E_DEVICE, "launch: %s", cudaGetErrorString(error));
}

sluice_status gpu_busy_step(const sluice_step *s, void *user)
{
    busy_kernel<<<1, 1, 0, (cudaStream_t)s->stream>>>((const gpu_busy *)user, &s->outputs[0]);
    return gpu_launched();
}

/* What a step can be told, as one number that a float holds; micro-batches add up. */
__host__ __device__ static inline void probe(const sluice_step *s, const int32_t *labels)
{
    uint64_t sum = *s->step * 7 + *s->epoch * 3 + *s->random_key % 1000 + *s->valid_rows;

    for (uint32_t row = 0; row < *s->valid_rows; row++) {
        sum += (uint64_t)labels[row] * (row + 1);
    }
    s->outputs[0] += (float)(sum % 65536) + *s->learning_rate + (float)*s->micro;
}

static __global__ void probe_kernel(const sluice_step s, const int32_t *labels)
{
    probe(&s, labels);
}

sluice_status gpu_probe_step(const sluice_step *s, void *user)
{
    const int32_t *labels = (const int32_t *)sluice_step_input(s, "label")->data;

    (void)user;
    if (s->stream == NULL) { /* host:N */
        probe(s, labels);
        return SLUICE_OK;
    }
    probe_kernel<<<1, 1, 0, (cudaStream_t)s->stream>>>(*s, labels);
    return gpu_launched();
}

static __global__ void nan_kernel(const sluice_step s)
{
    s.outputs[0] = *s.step == 30 ? NAN : 0.0f;
}

sluice_status gpu_nan_step(const sluice_step *s, void *user)
{
    (void)user;
    nan_kernel<<<1, 1, 0, (cudaStream_t)s->stream>>>(*s);
    return gpu_launched();
}

/* The finaliser of splitmix64, from which the source `synthetic` makes the words of a sample. */
__device__ static inline uint64_t mix64(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

/* Labels are sample indices there, and samples come in order, 100000 to a pass. */
static __global__ void content_kernel(const sluice_step s, const uint64_t *words,
                                      const int32_t *labels, uint32_t rows, uint64_t row_words,
                                      gpu_content *content)
{
    const uint64_t passes = *s.step * rows; /* without a remainder, by the choice of batches */
    unsigned long long wrong = 0;

    for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < rows * row_words;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const uint64_t sample = (passes + i / row_words) % 100000;
        const uint64_t place = i % row_words;

        wrong += words[i] != mix64(sample + 1) + (place + 1) * 0x9E3779B97F4A7C15u;
        wrong += place == 0 && labels[i / row_words] != (int32_t)sample;
    }
    if (wrong > 0) {
        atomicAdd(&content->wrong, wrong);
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        atomicAdd(&content->rows, (unsigned long long)*s.valid_rows);
        s.outputs[0] = 0.0f;
    }
}

sluice_status gpu_content_step(const sluice_step *s, void *user)
{
    const sluice_tensor *image = sluice_step_input(s, "image");
    const sluice_tensor *label = sluice_step_input(s, "label");
    const uint32_t rows = (uint32_t)image->shape[0];
    const uint64_t words = image->bytes / 8;
    const uint64_t blocks = (words + 255) / 256;

    if (image->bytes % (8 * rows) != 0 || 100000 % rows != 0) {
        return sluice_fail(SLUICE_E_INVALID, "rows must be whole words, and batches whole passes");
    }
    content_kernel<<<(unsigned int)(blocks < 2048 ? blocks : 2048), 256, 0,
                     (cudaStream_t)s->stream>>>(*s, (const uint64_t *)image->data,
                                                (const int32_t *)label->data, rows, words / rows,
                                                (gpu_content *)user);
    return gpu_launched();
}

/* ---- runs ------------------------------------------------------------------------------------ */

static double thread_cpu_seconds(void)
{
    struct timespec used;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (double)used.tv_sec + 1e-9 * (double)used.tv_nsec;
}

static sluice_status sink_begins(sluice_hook *hook, void *user)
{
    gpu_run *run = (gpu_run *)user;

    (void)hook;
    run->sink_began = gpu_now();
    run->cpu_began = thread_cpu_seconds();
    return SLUICE_OK;
}

static sluice_status sink_ends(sluice_hook *hook, void *user)
{
    gpu_run *run = (gpu_run *)user;

    (void)hook;
    if (run->sinks++ > 0) { /* the first may have to capture */
        run->sink_seconds += gpu_now() - run->sink_began;
        run->cpu_seconds += thread_cpu_seconds() - run->cpu_began;
    }
    if (run->sink_ended != NULL) {
        run->sink_ended(run->sink_user);
    }
    return SLUICE_OK;
}

static sluice_status note_records(sluice_hook *hook, void *user)
{
    gpu_run *run = (gpu_run *)user;

    for (uint64_t i = 0; i < hook->record_count; i++) {
        const sluice_step_record *record = sluice_hook_record(hook, i);
        uint32_t bits;

        memcpy(&bits, &record->outputs[0], sizeof(bits));
        run->outputs = (run->outputs ^ bits) * 0x9E3779B97F4A7C15u;
        run->outputs ^= run->outputs >> 29;
        run->misplaced += record->step != run->stats.steps;
        run->stats.steps++; /* until the report says it */
    }
    return SLUICE_OK;
}

static float probe_rate(uint64_t step, void *user)
{
    (void)user;
    return (float)(step % 8) / 8.0f;
}

static void train_on(gpu_run *run, sluice_device *device, sluice_dataset *dataset)
{
    sluice_callback callback;
    sluice_callback *const callbacks[] = {&callback};
    sluice_schedule learning_rate;
    sluice_report *report = NULL;
    sluice_train_config config;
    sluice_model model;

    sluice_callback_init(&callback);
    callback.step_begin = sink_begins;
    callback.records = note_records;
    callback.step_end = sink_ends;
    callback.user = run;
    sluice_model_init(&model);
    model.step = run->step;
    model.user = run->user;
    model.reads_valid_rows = true;
    sluice_train_config_init(&config);
    config.dataset_sink_mode = true;
    config.sink_size = run->sink_size;
    config.max_steps = run->steps;
    config.max_seconds = run->seconds;
    config.mode = run->mode;
    config.slots = run->slots;
    config.workers = run->workers;
    config.micro_batches = run->micro_batches;
    config.digest = run->digest;
    config.stop = run->stop;
    config.seed = 7;
    sluice_schedule_init(&learning_rate);
    learning_rate.function = probe_rate;
    config.learning_rate = &learning_rate;
    config.device_maps = &run->map;
    config.device_map_count = run->map != NULL;
    config.callbacks = callbacks;
    config.callback_count = 1;
    run->status = sluice_train(device, &model, dataset, &config, &report);
    run->ended = gpu_now();
    snprintf(run->error, sizeof(run->error), "%s", run->status < 0 ? sluice_last_error() : "");
    if (report != NULL && sluice_report_stats_get(report, &run->stats) != SLUICE_OK) {
        run->status = SLUICE_E_INVALID;
    }
    sluice_report_destroy(report);
}

void gpu_train(gpu_run *run)
{
    sluice_device *device = NULL;
    sluice_dataset *dataset = NULL;

    memset(&run->stats, 0, sizeof(run->stats));
    run->stats.struct_size = sizeof(run->stats);
    run->outputs = run->misplaced = run->sinks = 0;
    run->sink_seconds = run->cpu_seconds = 0.0;
    run->status = sluice_device_open(run->device, &device);
    if (run->status == SLUICE_OK) {
        run->status = sluice_dataset_parse(run->pipeline, &dataset);
    }
    if (run->status == SLUICE_OK) {
        train_on(run, device, dataset);
    } else {
        snprintf(run->error, sizeof(run->error), "%s", sluice_last_error());
    }
    sluice_dataset_destroy(dataset);
    sluice_device_close(device);
}
